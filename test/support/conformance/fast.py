"""Checks that need speed: limits, braking by `brake`, the ends of the pulse range.  Only where nothing is connected."""

from __future__ import annotations

from picker_dynamics.board.protocol import BoardState, Stop, Telemetry, ahead_us

from .check import Checks
from .host import Host
from .motion import begin_us, even
from .outputs import joints_of
from .requirements import CheckSkipped, require, require_hold, require_underruns
from .session import Session
from .track import directions, moved, play, send, steps, take_in_phase, watch_closely

check = Checks()


def room(session: Session) -> int:
    """How far every joint can go in its direction [1/8 us]."""
    return min(
        limit.highest - pulse if sign > 0 else pulse - limit.lowest
        for pulse, sign, limit in zip(session.start, directions(session), session.limits)
        if sign
    )


def top_speed(session: Session) -> int:
    """A speed that all joints reach, and from which braking takes a while [1/8 us per frame]."""
    speed = min(min(limit.speed for limit in session.limits) * 6 // 10, room(session) // 20)
    if speed < 40:
        raise CheckSkipped(f"{room(session) / 8:g} us of room are too little to be fast")
    return speed


def moving(session: Session, speed: int, count: int) -> None:
    """Bring all joints into even motion, and wait until they are half way through."""
    host = session.host
    watch_closely(session)
    points = even(session, speed, count, begin_us(session))
    send(session, points)
    host.until(lambda: ahead_us(host.telemetry[-1].time_us, points[count // 2][0]) >= 0)


def frames_of(session: Session, seen: list[Telemetry], joint: int) -> list[int]:
    """Steps of a joint's pulse from servo frame to servo frame, without the standing before and after them."""
    all_steps = steps(session, seen, joint)
    while all_steps and not all_steps[-1]:
        all_steps.pop()
    while all_steps and not all_steps[0]:
        all_steps.pop(0)
    return all_steps


def like(got: list[int], wanted: list[int], speed: int) -> bool:
    """Whether steps are those of plain braking, but for what gravity compensation may add: the page leaves that to the board."""
    return len(got) == len(wanted) and all(abs(a - b) <= compensation(speed) for a, b in zip(got, wanted))


def compensation(speed: int) -> int:
    """How much gravity compensation may add to a braked step from this speed [1/8 us]: less than half of `brake` takes off."""
    return 1 + speed // 12


def require_braked(session: Session, seen: list[Telemetry], speed: int) -> None:
    """Require braking: from even motion each step is smaller by `brake` than the one before, until the joint stands."""
    for joint in joints_of(session.usable):
        limit = session.limits[joint]
        got = frames_of(session, seen, joint)
        wanted = list(range(speed - limit.brake, 0, -limit.brake))
        tail = got[len(got) - len(wanted) :]
        require(like(tail, wanted, speed), f"joint {joint} to brake in steps of {wanted} from {speed} per frame", tail)
        before = got[: len(got) - len(wanted)]
        require(max(before, default=0) <= speed + 1, f"joint {joint} at {speed} per frame before", before)


@check("no joint moves by more than `speed` per frame; who lags is reported in limited, and still arrives")
def the_speed_limit_holds(session: Session, host: Host) -> None:
    take_in_phase(session)
    watch_closely(session)
    far = room(session) * 8 // 10
    begin = begin_us(session)
    ends = moved(session, (far,) * session.n)
    points = [(begin, session.start), (begin + 1, ends), (begin + 2, ends)]
    seen = play(session, points)
    for joint in joints_of(session.usable):
        speed = session.limits[joint].speed
        got = frames_of(session, seen, joint)
        wanted = [speed] * (far // speed) + ([far % speed] if far % speed else [])
        require(got == wanted, f"joint {joint} to move in steps of {wanted}", got)
    held_back = {one.limited for one in seen if one.state is BoardState.MOVE and one.queue_depth == 0}
    require(session.usable in held_back, f"limited {session.usable:#x}", [hex(one) for one in held_back])
    last = seen[-1]
    require_hold(last, ends)
    require(not last.limited, "none limited", f"{last.limited:#x}")
    require_underruns(seen[0], host.fresh())


@check("BRAKE takes `brake` off the speed in each frame: STOP")
def stop_brakes_evenly(session: Session, host: Host) -> None:
    take_in_phase(session)
    speed = top_speed(session)
    begin = len(host.telemetry)
    moving(session, speed, 12)
    host.expect_ack(Stop())
    session.still()
    host.wait(2 * session.frame_us)
    seen = host.telemetry[begin:]
    require_braked(session, seen, speed)
    require(any(one.state is BoardState.BRAKE for one in seen), "state BRAKE while it brakes", {one.state.name for one in seen})


@check("braking ends at the joint's limit, without going beyond it")
def braking_ends_at_the_limit(session: Session, host: Host) -> None:
    take_in_phase(session)
    speed = top_speed(session)
    signs = directions(session)
    limits = tuple(
        pulse if not sign else limit.highest if sign > 0 else limit.lowest
        for pulse, sign, limit in zip(session.start, signs, session.limits)
    )
    near = tuple(limit - sign * 6 * speed for limit, sign in zip(limits, signs))
    begin = begin_us(session)
    way = max(abs(a - b) for a, b in zip(near, session.start)) // speed + 2
    frame = session.frame_us
    points = [(begin, session.start), (begin + way * frame, near)]
    points += [(begin + (way + k) * frame, tuple(end + sign * k * speed for end, sign in zip(near, signs))) for k in range(1, 7)]
    seen = play(session, points)
    for one in seen:
        for joint in joints_of(session.usable):
            limit = session.limits[joint]
            require(limit.lowest <= one.pulses[joint] <= limit.highest, f"joint {joint} within its limits", one.pulses[joint])
    close = all(abs(a - b) <= compensation(speed) for a, b in zip(seen[-1].pulses, limits))
    require(seen[-1].state is BoardState.HOLD and close, f"HOLD at {limits}", f"{seen[-1].state.name} at {seen[-1].pulses}")
    require_underruns(seen[0], seen[-1], 1)
