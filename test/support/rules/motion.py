"""How pulses move between set-points and at their end, servo frame by servo frame, and what a lost host means.

Where the pulses have to be is written from the protocol's page, not from any firmware.
"""

import math
import random
from collections.abc import Callable, Sequence

from firmware_bench import FRAME_US, Bench

from picker_dynamics.board.protocol import (
    PROTOCOL_VERSION,
    BoardState,
    Disable,
    Enable,
    Halt,
    MessageType,
    Nack,
    Ping,
    Reason,
    SetPoint,
    Stop,
    Telemetry,
    TelemetryPeriod,
    ahead_us,
    encode,
)
from picker_dynamics.board.protocol.framing import build

from .rule import Rules

rule = Rules()
Point = tuple[int, Sequence[int]]
LEAD_US, SPACING_US, SLOW_US = 60_000, 20_000, 40_000
"""How long before it holds a set-point is sent; how far apart those of a swing are; with less than what queued play is slow."""
RAMP_FRAMES = 25
"""In which play comes up to its pace from standstill."""


def on_line(t0: int, p0: int, t1: int, p1: int, t: int) -> int:
    """The pulse at ``t`` on the line from (t0, p0) to (t1, p1), to the last bit as the page has it."""
    span, elapsed = ahead_us(t1, t0), ahead_us(t, t0)
    while span > 65535:
        span, elapsed = span // 2, elapsed // 2
    return p0 + ((p1 - p0) * (elapsed * 65536 // span) + 32768) // 65536


def way_at(points: Sequence[Point], time_us: int, joint: int = 0) -> int:
    """The pulse that holds at a board time; before the first point and after the last it stands."""
    before = points[0]
    for point in points:
        if ahead_us(point[0] % 2**32, time_us) > 0:
            if point is before:
                break
            return on_line(before[0], before[1][joint], point[0], point[1][joint], time_us)
        before = point
    return before[1][joint]


def frames(bench: Bench, begin: int) -> list[Telemetry]:
    """Telemetry from the middle of each servo frame: what it shows was evaluated for that very time."""
    seen = [one for one in bench.telemetry[begin:] if 5_000 < bench.phase_us(one.time_us) < 15_000]
    gaps = {round(ahead_us(b.time_us, a.time_us) / FRAME_US) for a, b in zip(seen, seen[1:])}
    assert gaps == {1}, "telemetry of every frame"
    return seen


def watched(bench: Bench) -> int:
    """Ask for telemetry in the middle of each frame too; where it begins."""
    bench.acked(TelemetryPeriod(10))
    bench.run(100_000)
    return len(bench.telemetry)


def play(bench: Bench, points: Sequence[Point]) -> list[Telemetry]:
    """Send all points, and wait until nothing moves; telemetry of each frame."""
    begin = watched(bench)
    assert bench.points(*points) == []
    bench.run(max(0, ahead_us(points[-1][0] % 2**32, bench.board_us())) + 2 * FRAME_US)
    bench.still()
    bench.run(2 * FRAME_US)
    return frames(bench, begin)


def sent(bench: Bench, points: Sequence[Point], line: Callable[[int], int | None] = lambda _k: 0) -> list[Reason]:
    """Send each point as a host does, over a line that delivers the k-th later by so much [us], or never; reasons of refusals."""
    begin, at_us = len(bench.heard), points[0][0] - LEAD_US
    for k, (time_us, pulses) in enumerate(points):
        late_us = line(k)
        if late_us is not None:
            at_us = max(at_us, time_us - LEAD_US + late_us)
            bench.run(max(bench.wire_us, ahead_us(at_us % 2**32, bench.board_us())))
            bench.write(SetPoint(time_us % 2**32, tuple(pulses)))
    bench.run(bench.wire_us)
    return [one.reason for _, one in bench.heard[begin:] if isinstance(one, Nack)]


def swing(bench: Bench, speed: int) -> list[Point]:
    """A swing to and fro in a second, in which no joint goes faster than ``speed`` [1/8 us per frame], and 0.4 s of rest."""
    begin_us, reach = soon(bench), speed * 1e6 / FRAME_US / math.pi
    sway = [reach * (1.0 - math.cos(math.pi * min(k, 50) / 25)) / 2.0 for k in range(70)]
    return [(begin_us + SPACING_US * k, bench.at(by)) for k, by in enumerate(sway)]


def steps(seen: Sequence[Telemetry], joint: int = 0) -> list[int]:
    """Changes of a joint's pulse from frame to frame, without the standing before and after them."""
    found = [b.pulses[joint] - a.pulses[joint] for a, b in zip(seen, seen[1:])]
    moving = [k for k, step in enumerate(found) if step]
    return found[moving[0] : moving[-1] + 1] if moving else []


def require_on_way(bench: Bench, points: Sequence[Point], seen: Sequence[Telemetry]) -> None:
    """Require every pulse to be where the way has it, to the last bit where frames are known to the microsecond."""
    for one in seen:
        evaluated_us = one.time_us - bench.phase_us(one.time_us) + FRAME_US // 2
        for joint, pulse in enumerate(one.pulses):
            around = [way_at(points, (evaluated_us + off) % 2**32, joint) for off in {0, bench.grain_us // 2, bench.grain_us}]
            assert min(around) <= pulse <= max(around), (joint, one.time_us, pulse, around)


def soon(bench: Bench) -> int:
    """Board time at which a motion begins that is played next."""
    return bench.board_us() + 150_000 + LEAD_US


def gravity(bench: Bench, speed: int) -> int:
    """What gravity compensation may add to a braked step [1/8 us]; the page leaves that to the board."""
    return 1 + speed // 12 if bench.grain_us else 0


# -- between set-points ----------------------------------------------------------------------------------------------


@rule
def pulses_are_interpolated(bench: Bench) -> None:
    """A frame that starts at F plays what holds at F + half a frame; a motion whose last point is repeated ends there."""
    begin, way, points = soon(bench.enabled()), 0, []
    for k in range(14):
        points.append((begin + 17_000 * k, bench.at(way)))
        way += (11 + 5 * k % 7) * (1 if k < 8 else -1)
    points.append((points[-1][0] + 17_000, points[-1][1]))
    seen = play(bench, points)
    require_on_way(bench, points, seen)
    bench.tells(state=BoardState.HOLD, pulses=points[-1][1], underruns=0)


@rule
def a_line_starts_where_the_arm_is(bench: Bench) -> None:
    """At the instant played last, in the middle of the frame in which the first set-point comes."""
    bench.enabled()
    begin = watched(bench)
    bench.run(FRAME_US - bench.phase_us() + 5_000)
    played_us = bench.board_us() - bench.phase_us() + FRAME_US // 2
    points = [
        (played_us, bench.start),
        (played_us + 265_000, bench.at(near(bench))),
        (played_us + 285_000, bench.at(near(bench))),
    ]
    assert bench.points(*points[1:]) == []
    bench.run(400_000)
    require_on_way(bench, points, frames(bench, begin))


@rule
def jitter_changes_nothing(bench: Bench) -> None:
    """A host that is late, as long as SLOW_US from what was played last, half a frame before a frame begins, are queued."""
    late, spacing_us, begin_us = random.Random(2), 10_000, soon(bench.enabled())
    most_us = LEAD_US - spacing_us - (SLOW_US - FRAME_US // 2) - bench.wire_us - bench.grain_us
    begin = watched(bench)
    points = [(begin_us + spacing_us * k, bench.at(320 * min(k, 59) ** 2 // 59**2)) for k in range(61)]
    assert sent(bench, points, lambda _k: late.randrange(most_us)) == []
    bench.run(200_000)
    require_on_way(bench, points, frames(bench, begin))


@rule
def a_lagging_arm_is_led_from_its_target(bench: Bench) -> None:
    """And not from where it is."""
    speed, begin = bench.enabled().limits[0].speed, watched(bench)
    ends, at_us = bench.at(2.5 * speed), bench.board_us() + LEAD_US
    assert bench.points((at_us, bench.start), (at_us + 1, ends), (at_us + 2, ends)) == []
    while not bench.telemetry[-1].limited or bench.telemetry[-1].queue_depth:
        bench.run(1000)
    assert bench.points((bench.board_us() + 5 * FRAME_US, ends)) == []
    bench.still()
    assert steps(frames(bench, begin)) == [speed, speed, round(2.5 * speed) - 2 * speed]


# -- a line that loses, holds or delays ------------------------------------------------------------------------------


def near(bench: Bench) -> int:
    """How near its outputs a motion may begin, for any joint [1/8 us]."""
    return min(limit.speed for limit in bench.limits) // 4


@rule
def points_that_stop_let_it_rest_on_its_way(bench: Bench) -> None:
    """At the last point, slower and slower, without a fault; it is counted.  What follows is played from standstill on."""
    speed, stops = 2 * near(bench.enabled()), 10
    begin, points = watched(bench), swing(bench, speed)
    assert sent(bench, points[:stops]) == []
    held = bench.still()
    assert (held.pulses, held.underruns, held.faults) == (points[stops - 1][1], 1, 0)
    assert abs(1000 * held.behind_ms - ahead_us(held.time_us, points[stops - 1][0] % 2**32)) <= 2 * FRAME_US, "it waits there"
    ends = steps(frames(bench, begin))[-4:]
    assert ends == sorted(ends, reverse=True) and 0 < ends[-1] <= speed // 8, ends
    begin = len(bench.telemetry)
    assert sent(bench, points[stops : stops + 14]) == []
    bench.run(100_000)
    rising = steps(frames(bench, begin))
    assert len(rising) > 8 and all(step <= speed * (k + 1) / RAMP_FRAMES + 2 for k, step in enumerate(rising)), rising


@rule
def delay_is_told_and_made_up_where_nothing_moves(bench: Bench) -> None:
    """``behind_ms``: 0 on time, how late the board plays in motion, 0 again as soon as the arm may stand."""
    speed, late_us = 2 * near(bench.enabled()), 70_000
    begin, first = watched(bench), swing(bench, speed)
    again_us = first[-1][0] + SPACING_US
    points = [*first, *((again_us + SPACING_US * k, pulses) for k, (_, pulses) in enumerate(first))]
    assert sent(bench, points, lambda k: late_us if 10 <= k < 20 else 0) == []
    bench.run(200_000)
    seen = frames(bench, begin)
    before, late, after = (
        [one for one in seen if begin_us < ahead_us(one.time_us, first[0][0] % 2**32) < end_us]
        for begin_us, end_us in ((0, 100_000), (500_000, 1_000_000), (1_300_000, 2_800_000))
    )
    assert {one.behind_ms for one in (*before, *after)} == {0}
    delays = [one.behind_ms for one in late]
    assert late_us - LEAD_US <= 1000 * min(delays) and 1000 * max(delays) <= late_us + 250_000, delays
    require_on_way(bench, points, [*before, *after])
    bench.tells(underruns=0, state=BoardState.HOLD, pulses=points[-1][1])


@rule
def play_is_never_faster_than_meant(bench: Bench) -> None:
    """Whatever a line does: each frame's step is one that the points mean; what was missing for too long is never gone to."""
    speed, moved, refused = min(limit.speed for limit in bench.enabled().limits) // 2, 0, set()
    for seed in range(8):
        line, begin, points = _bad_line(random.Random(seed)), watched(bench), swing(bench, speed)
        refused |= set(sent(bench, points, line))
        bench.still()
        bench.run(60_000)
        seen = frames(bench, begin)
        for joint in range(bench.n):
            assert max(map(abs, steps(seen, joint)), default=0) <= speed + 2, (seed, joint, steps(seen, joint))
        moved += len(steps(seen))
        bench.acked(Disable(bench.all))
        bench.acked(Enable(bench.all, bench.start))
    bench.tells(faults=0)
    assert Reason.GAP in refused and refused <= {Reason.GAP, Reason.PAST, Reason.QUEUE_FULL} and moved > 150, (refused, moved)


def _bad_line(pick: random.Random) -> Callable[[int], int | None]:
    """One that for a while holds, loses or delays what comes, and then loses a tenth."""
    begin, long, late_us = pick.randrange(3, 30), pick.randrange(2, 40), pick.randrange(20_000, 150_000)
    kind = pick.choice(("holds", "loses", "delays"))

    def line(k: int) -> int | None:
        left = begin + long - k
        if 0 < left <= long:
            return {"holds": left * SPACING_US, "loses": None, "delays": late_us}[kind]
        return None if left <= 0 and pick.random() < 0.1 else 0

    return line


# -- speed and braking -----------------------------------------------------------------------------------------------


@rule
def the_speed_limit_holds(bench: Bench) -> None:
    """Who lags is reported in ``limited``, and still arrives."""
    begin, ends = soon(bench.enabled()), bench.at(3000)
    seen = play(bench, [(begin, bench.start), (begin + 1, ends), (begin + 2, ends)])
    for joint, limit in enumerate(bench.limits):
        assert steps(seen, joint) == [limit.speed] * (3000 // limit.speed) + [3000 % limit.speed]
    assert bench.all in {one.limited for one in seen}
    bench.tells(limited=0, pulses=ends, state=BoardState.HOLD, underruns=0)


@rule
def braking_ends_at_the_limit(bench: Bench) -> None:
    """Without going beyond it."""
    begin_us, count, far = soon(bench.enabled()), 33, bench.limits[0].highest - bench.start[0]
    begin, speed, highest = watched(bench), -(-far // count), bench.limits[0].highest
    points = [(begin_us + FRAME_US * k, bench.at(far * min(k, count) / count)) for k in range(count + 2)]
    assert sent(bench, points) == []
    while bench.telemetry[-1].pulses[0] < highest - speed - 1:
        bench.run(1000)
    bench.acked(Stop())
    held = bench.still()
    assert max(max(one.pulses) for one in bench.telemetry[begin:]) <= highest
    assert held.state is BoardState.HOLD and all(abs(pulse - highest) <= gravity(bench, speed) for pulse in held.pulses)


@rule
def halt_drops_what_was_sent_and_latches_nothing(bench: Bench) -> None:
    """The arm decelerates and holds; what begins anew is taken then, without RESET."""
    bench.enabled().moving()
    bench.acked(Halt())
    bench.tells(faults=0, queue_depth=0, state=BoardState.BRAKE)
    held = bench.still()
    bench.run(300_000).tells(state=BoardState.HOLD, pulses=held.pulses)
    assert bench.points((bench.board_us() + LEAD_US, held.pulses)) == []


# -- a host that is gone ---------------------------------------------------------------------------------------------


def silent(bench: Bench, say: bytes = b"") -> tuple[int, list[Telemetry]]:
    """Say a last word, and then nothing valid; its board time, and telemetry until the host is lost, which is in time."""
    begin, last_us = len(bench.telemetry), bench.acked(Ping()).time_us
    timeout_us = 1000 * bench.config.host_timeout_ms
    while ahead_us(bench.board_us(), last_us) < timeout_us + 400_000:
        bench.raw(say)
        bench.run(40_000, host_alive=False)
    seen = bench.telemetry[begin:]
    lost_us, kept_us = ([ahead_us(one.time_us, last_us) for one in seen if bool(one.faults) is lost] for lost in (True, False))
    assert lost_us[0] > timeout_us and kept_us[-1] <= timeout_us + FRAME_US + 2_000, (lost_us[:1], kept_us[-1:])
    return last_us, [one for one in seen if one.faults]


@rule
def a_lost_host_is_not_followed(bench: Bench) -> None:
    """Its queue is flushed and its motion braked: standstill within half a second of its last word."""
    bench.enabled()
    points = [(bench.board_us() + LEAD_US + 2 * FRAME_US * k, bench.at(40 * k)) for k in range(15)]
    assert bench.points(*points) == []
    last_us, lost = silent(bench)
    held = lost[-1]
    assert lost[0].queue_depth == 0 and held.state is BoardState.HOLD and held.pulses[0] < points[-1][1][0]
    stood_us = next(ahead_us(one.time_us, last_us) for one in lost if one.pulses == held.pulses)
    assert stood_us <= 500_000 + 2 * FRAME_US


@rule
def only_valid_frames_keep_the_host(bench: Bench) -> None:
    """Any of this version; damaged ones and those of another version do not."""
    bench.enabled().run(3_000 * bench.config.host_timeout_ms)
    bench.tells(faults=0)
    damaged = bytearray(encode(Ping(), 0))
    damaged[-2] ^= 1 if damaged[-2] != 1 else 2
    silent(bench, bytes(damaged) + build(PROTOCOL_VERSION + 1, MessageType.PING, 0, b"") + b"noise\0")
    assert not any(isinstance(one, Nack) and one.reason is Reason.STALE for _, one in bench.heard)
