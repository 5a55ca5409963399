"""Checks of how pulses move between set-points and at their end, as telemetry shows them.  Slow, unless they say otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from picker_dynamics.board.protocol import BoardState, Reset, Stop, Telemetry, ahead_us

from .check import Checks
from .host import LEAD_US, Host
from .outputs import joints_of
from .requirements import CheckSkipped, Violation, require, require_hold, require_underruns
from .session import REACH, SLOW, Session
from .track import Point, evaluated_us, find_phase, moved, phase_us, play, require_on_way, runs, send, watch_closely

check = Checks()
STILL = 8
"""A joint that moves by no more than this per frame [1/8 us] counts as standing."""
GRAVITY = 2
"""Change of pulses by which gravity compensation may shorten a slow stop [1/8 us]."""


def begin_us(session: Session) -> int:
    """Board time at which a motion may begin that is sent now."""
    return session.host.board_now_us() + LEAD_US


def even(session: Session, speed: int, count: int, begin: int) -> list[Point]:
    """Points one frame apart in which every joint moves evenly; the last is not repeated."""
    return [(begin + session.frame_us * k, moved(session, (speed * k,) * session.n)) for k in range(count + 1)]


def slow(session: Session) -> int:
    """Speed of a slow motion that is still more than standing [1/8 us per frame].

    Raises:
        CheckSkipped: no joint may move so fast.
    """
    speed = min([SLOW, *(limit.speed for limit in session.limits)])
    if speed <= STILL:
        raise CheckSkipped(f"the joints' speed limit is {speed} per frame, which counts as standing")
    return speed


@check(
    "pulses are interpolated to the last bit, a servo frame apart; a motion whose last point repeats the one before ends there"
)
def pulses_are_interpolated(session: Session, host: Host) -> None:
    before = session.take()
    _, points, seen = find_phase(session)
    require_hold(seen[-1], points[-1][1])
    require_underruns(before, seen[-1])


@check("a frame that starts at F plays what holds at F + half a frame")
def frames_play_their_middle(session: Session, host: Host) -> None:
    session.take()
    found, _, seen = find_phase(session)
    frames, frame = runs(seen), session.frame_us
    first = frames[0].first_us
    ahead = [round(ahead_us(one.first_us, first) / frame) * frame for one in frames]
    # The pulses changed between two telemetry frames, so E - F is at least the first and at most the second of these.
    at_least = max(ahead_us(found[0] + later & 0xFFFF_FFFF, one.first_us) for one, later in zip(frames, ahead))
    at_most = min(ahead_us(found[-1] + later & 0xFFFF_FFFF, one.before_us) for one, later in zip(frames, ahead))
    require(
        at_least - 100 <= frame // 2 <= at_most + 1_500,
        f"set-points to be evaluated {frame // 2} us after a frame starts",
        f"{at_least} to {at_most} us",
    )


@check("a line as long as the lead allows is interpolated as the page says (times are halved until 16 bits hold them)")
def long_lines_are_interpolated(session: Session, host: Host) -> None:
    session.take()
    phase_us(session)
    begin = begin_us(session)
    span = session.info.max_lead_ms * 1000 - LEAD_US - 60_000
    ends = moved(session, [REACH - 7 * joint for joint in range(session.n)])
    points = [(begin, session.start), (begin + span, ends), (begin + span + session.frame_us, ends)]
    watch_closely(session)
    seen = play(session, points)
    require_on_way(session, points, seen, "on one long line")


@check("the first set-point starts a line from where the outputs are, at the instant played last")
def a_line_starts_where_the_arm_is(session: Session, host: Host) -> None:
    session.take()
    phase_us(session)
    session.still()
    watch_closely(session)
    frame = session.frame_us
    sent, _ = evaluated_us(session, host.board_now_us())
    ends = moved(session, (10 * SLOW,) * session.n)
    end = sent + max(LEAD_US, 12 * frame) + 5_000
    rest = [(end, ends), (end + frame, ends)]
    seen = play(session, rest)
    ways = [[(sent + k * frame, session.start), *rest] for k in range(-1, 4)]
    problems = []
    for points in ways:
        try:
            require_on_way(session, points, seen, "from where the arm was")
            return
        except Violation as error:
            problems.append(error)
    raise problems[1]


@check("a queue that ends while no joint moves by more than 1 us a frame is no underrun")
def a_creeping_end_is_no_underrun(session: Session, host: Host) -> None:
    before = session.take()
    points = even(session, STILL, 8, begin_us(session))
    after = play(session, points)[-1]
    require_underruns(before, after)
    require(after.pulses == points[-1][1], f"to stand at {points[-1][1]}", after.pulses)


@check("a queue that runs out in motion is an underrun: counted, braked, held, no fault; the last point is reached at least")
def an_underrun_is_braked_and_counted(session: Session, host: Host) -> None:
    before = session.take()
    speed = slow(session)
    points = even(session, speed, 8, begin_us(session))
    after = play(session, points)[-1]
    require_underruns(before, after, 1)
    require(
        (after.state, after.faults) == (BoardState.HOLD, 0),
        "HOLD without a fault",
        f"{after.state.name}, {after.fault_text or 'no fault'}",
    )
    _require_stop_beyond(session, after.pulses, points[-1][1], speed)


@check("after an underrun set-points lead on from where the arm is")
def a_late_host_is_joined_again(session: Session, host: Host) -> None:
    session.take()
    play(session, even(session, slow(session), 4, begin_us(session)))
    phase_us(session)
    watch_closely(session)
    begin = begin_us(session)
    here = host.fresh().pulses
    points = [(begin, here), (begin + 15 * session.frame_us, session.start), (begin + 16 * session.frame_us, session.start)]
    require_on_way(session, points, play(session, points), "back from where the arm stood")


@check("STOP in motion flushes the queue, decelerates and holds; after RESET nothing resumes")
def stop_ends_a_motion(session: Session, host: Host) -> None:
    session.take()
    speed = slow(session)
    points = even(session, speed, 14, begin_us(session))
    points.append((points[-1][0] + session.frame_us, points[-1][1]))
    send(session, points)
    host.until(lambda: ahead_us(host.telemetry[-1].time_us, points[5][0]) >= 0)
    host.ask(Stop())
    at_stop = host.fresh()
    require(
        at_stop.faults & 1 and at_stop.queue_depth == 0,
        "STOPPED and an empty queue",
        f"faults {at_stop.faults}, {at_stop.queue_depth} points",
    )
    held = session.still()
    require(held.state is BoardState.HOLD, "HOLD", held.state.name)
    _require_stop_beyond(session, held.pulses, at_stop.pulses, speed)
    far = points[-1][1]
    require(
        all(pulse != end for joint, (pulse, end) in enumerate(zip(held.pulses, far)) if session.usable >> joint & 1),
        "the motion not to be finished",
        held.pulses,
    )
    host.ask(Reset())
    mark = host.mark()
    host.wait(300_000)
    for one in host.since(mark, Telemetry):
        require_hold(one, held.pulses, "nothing to resume after RESET")


def _require_stop_beyond(session: Session, pulses: Sequence[int], last: Sequence[int], speed: int) -> None:
    """Each joint stands at or beyond a point, no further than braking from a speed takes.

    Less by GRAVITY where the board compensates for the change of its weight while it brakes.
    """
    signs = [1 if far >= pulse else -1 for pulse, far in zip(session.start, moved(session, (1,) * session.n))]
    for joint in joints_of(session.usable):
        brake, way, left = session.limits[joint].brake, 2 * speed, speed
        while left > 0:
            way, left = way + left, left - brake
        beyond = signs[joint] * (pulses[joint] - last[joint])
        require(-GRAVITY <= beyond <= way, f"joint {joint} to stand 0 to {way} beyond {last[joint]}", pulses[joint])
