"""How pulses move between set-points and at their end, servo frame by servo frame, and what a lost host means.

Where the pulses have to be is written from the protocol's page, not from any firmware.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from firmware_bench import FRAME_US, Bench

from picker_dynamics.board.protocol import (
    BoardState,
    Fault,
    MessageType,
    Nack,
    Ping,
    Reason,
    Reset,
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
LEAD_US = 60_000
STILL = 8
"""A joint that moves by no more than this per frame [1/8 us] counts as standing."""


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


def require_braked(bench: Bench, seen: Sequence[Telemetry], speed: int) -> None:
    """Require each step to be smaller by ``brake`` than the one before; gravity may add less than half of that."""
    for joint, limit in enumerate(bench.limits):
        wanted = list(range(speed - limit.brake, 0, -limit.brake))
        got = steps(seen, joint)[-len(wanted) :]
        assert len(got) == len(wanted) and all(abs(a - b) <= gravity(bench, speed) for a, b in zip(got, wanted)), (got, wanted)


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
def long_lines_are_interpolated(bench: Bench) -> None:
    """As long as the lead allows: times are halved until 16 bits hold them."""
    begin = soon(bench.enabled())
    ends = tuple(pulse + 320 - 7 * joint for joint, pulse in enumerate(bench.start))
    points = [(begin, bench.start), (begin + 1_700_000, ends), (begin + 1_720_000, ends)]
    require_on_way(bench, points, play(bench, points))


@rule
def a_line_starts_where_the_arm_is(bench: Bench) -> None:
    """At the instant played last, in the middle of the frame in which the first set-point comes."""
    bench.enabled()
    begin = watched(bench)
    bench.run(FRAME_US - bench.phase_us() + 5_000)
    played_us = bench.board_us() - bench.phase_us() + FRAME_US // 2
    points = [(played_us, bench.start), (played_us + 265_000, bench.at(200)), (played_us + 285_000, bench.at(200))]
    assert bench.points(*points[1:]) == []
    bench.run(400_000)
    require_on_way(bench, points, frames(bench, begin))


@rule
def jitter_changes_nothing(bench: Bench) -> None:
    """A host that is late by up to 20 ms, while the queue holds."""
    late, begin_us = random.Random(2), soon(bench.enabled())
    begin = watched(bench)
    points = [(begin_us + 10_000 * k, bench.at(320 * min(k, 59) ** 2 // 59**2)) for k in range(61)]
    for time_us, pulses in points:
        bench.run(max(0, ahead_us((time_us - LEAD_US + late.randrange(20_000)) % 2**32, bench.board_us())), host_alive=False)
        assert bench.points((time_us, pulses)) == []
    bench.run(200_000)
    require_on_way(bench, points, frames(bench, begin))


@rule
def a_creeping_end_is_no_underrun(bench: Bench) -> None:
    """No joint moves by more than 1 us a frame."""
    points = bench.even(STILL, 8, soon(bench.enabled()))
    play(bench, points)
    bench.tells(underruns=0, pulses=points[-1][1], state=BoardState.HOLD)


@rule
def an_underrun_is_braked_counted_and_joined_again(bench: Bench) -> None:
    """No fault; the last point is reached at least; later set-points lead on from where the arm is."""
    begin = soon(bench.enabled())
    points = bench.even(100, 8, begin - bench.phase_us(begin) + FRAME_US // 2 - 2_000)  # nearly a frame's way is left
    play(bench, points)
    after = bench.tells(underruns=1, faults=0, state=BoardState.HOLD)
    for joint, limit in enumerate(bench.limits):
        assert -gravity(bench, 100) <= after.pulses[joint] - points[-1][1][joint] <= 200 + sum(range(100, 0, -limit.brake))
    begin = soon(bench)
    back = [(begin, after.pulses), (begin + 15 * FRAME_US, bench.start), (begin + 16 * FRAME_US, bench.start)]
    require_on_way(bench, back, play(bench, back))


@rule
def a_lagging_arm_is_led_from_its_target(bench: Bench) -> None:
    """And not from where it is; a motion that has ended leaves no speed behind."""
    speed, begin = bench.enabled().limits[0].speed, watched(bench)
    ends, at_us = bench.at(2.5 * speed), bench.board_us() + LEAD_US
    assert bench.points((at_us, bench.start), (at_us + 1, ends), (at_us + 2, ends)) == []
    while not bench.telemetry[-1].limited or bench.telemetry[-1].queue_depth:
        bench.run(1000)
    assert bench.points((bench.board_us() + 5 * FRAME_US, ends)) == []
    bench.still()
    assert steps(frames(bench, begin)) == [speed, speed, round(2.5 * speed) - 2 * speed]
    at_us = bench.board_us() + LEAD_US
    assert bench.points((at_us, bench.start), (at_us + 1, bench.start)) == []
    bench.still()
    bench.run(FRAME_US - bench.phase_us() + 5_000)
    further = bench.at(1)
    assert bench.points((bench.board_us() - bench.phase_us() + FRAME_US + FRAME_US // 2 - 2_000, further)) == []
    bench.run(100_000).tells(underruns=0, pulses=further, state=BoardState.HOLD)


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
def stop_brakes_evenly_and_nothing_resumes(bench: Bench) -> None:
    """The queue is flushed, the arm decelerates and holds; after RESET it stays there."""
    bench.enabled()
    begin = watched(bench)
    assert bench.points(*bench.even(240, 14, bench.board_us() + LEAD_US)) == []
    bench.run(LEAD_US + 6 * FRAME_US)
    bench.acked(Stop())
    bench.tells(faults=Fault.STOPPED.bit, queue_depth=0)
    held = bench.still()
    bench.run(60_000)
    require_braked(bench, frames(bench, begin), 240)
    assert any(one.state is BoardState.BRAKE for one in bench.telemetry[begin:]) and held.pulses[0] < bench.at(240 * 14)[0]
    bench.acked(Reset())
    bench.run(300_000).tells(state=BoardState.HOLD, pulses=held.pulses)


@rule
def braking_ends_at_the_limit(bench: Bench) -> None:
    """Without going beyond it."""
    begin, speed, highest = soon(bench.enabled()), 240, bench.limits[0].highest
    near = highest - 6 * speed
    frame = -(-(near - bench.start[0]) // speed)
    points = [(begin, bench.start), *((begin + FRAME_US * (frame + k), (near + k * speed,) * bench.n) for k in range(7))]
    seen = play(bench, points)
    assert max(max(one.pulses) for one in seen) <= highest
    last = bench.tells(underruns=1, state=BoardState.HOLD)
    assert all(abs(pulse - highest) <= gravity(bench, speed) for pulse in last.pulses)


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
def a_silent_host_is_lost(bench: Bench) -> None:
    """At the first frame after host_timeout_ms; the arm goes on holding, and RESET is enough."""
    before = bench.enabled().last
    after = silent(bench)[1][-1]
    assert after.faults == Fault.HOST_LOST.bit and after.state is BoardState.HOLD
    assert (after.live, after.owned, after.pulses) == (before.live, before.owned, before.pulses)
    bench.refused(SetPoint(bench.board_us() + LEAD_US & 0xFFFF_FFFF, bench.start), Reason.FAULT, Fault.HOST_LOST.bit)
    bench.acked(Reset())
    bench.tells(faults=0)


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
    silent(bench, bytes(damaged) + build(2, MessageType.PING, 0, b"") + b"noise\0")
    assert not any(isinstance(one, Nack) and one.reason is Reason.STALE for _, one in bench.heard)
