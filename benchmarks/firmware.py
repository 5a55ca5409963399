"""The real firmware on a simulated Uno, in cycles and simulated time: ``python -m benchmarks.firmware``.

Size and speed of the program, frames lost in ten minutes, how true the pulses are, what a jittery or a lost host does to
them, and how long the conformance suite takes.  Only the last is a time of this machine.  simavr enters interrupts in no
time, where an AVR takes four cycles or more: a quarter of a microsecond each.
"""

from __future__ import annotations

import json
import math
import random
import subprocess
import time
from pathlib import Path

from benchmarks import uno_rig
from benchmarks.uno_rig import FRAME_US, POINT_US, Rig
from picker_dynamics.board.firmware.packages import missing
from picker_dynamics.errors import MissingDependencyError
from picker_dynamics.sim.avr_firmware import CYCLES_PER_US

BACKENDS = ("pca9685", "timer")
BAUDS = (500_000, 115_200)
RECEIVE, FRAME, GRAVITY, TELEMETRY, OUTPUT = 1, 2, 3, 4, 5
SECTIONS = {RECEIVE: "receive", FRAME: "frame", GRAVITY: "gravity", TELEMETRY: "telemetry", OUTPUT: "output"}
JITTER_US = 20_000
FRAME_CYCLES_MAX = 27 * 20 * CYCLES_PER_US
"""Time in which a frame of the host, 27 bytes at most, arrives at 500 kBd."""


def run(minutes: float = 10.0, levels: int = 100) -> dict:
    """All figures; ready for JSON.

    Args:
        minutes: simulated, of counting lost frames.
        levels: pulses at which the outputs are compared with what they should be.

    Returns:
        The figures; where what the build needs is not installed only ``not_run``, which says what.
    """
    problem = missing("avr", "sim")
    if problem:
        return {"not_run": problem}
    results: dict = {"simulated_minutes": minutes, "levels": levels}
    results["size"] = {backend: size(backend) for backend in BACKENDS}
    results["busy"] = {backend: busy(backend) for backend in BACKENDS}
    results["lost_frames"] = {str(baud): lost_frames(baud, minutes) for baud in BAUDS}
    results["pulse_error"] = {backend: pulse_error(backend, levels) for backend in BACKENDS}
    results["jitter"] = jitter()
    results["lost_host"] = lost_host()
    results["conformance"] = {backend: conformance(backend) for backend in BACKENDS}
    results["blocked_us"] = max(part["blocked_us"] for name in ("busy", "conformance") for part in results[name].values())
    return results


# --- the program ----------------------------------------------------------------------------------------


def size(backend: str) -> dict:
    """Flash and static RAM of the picker's firmware [bytes]."""
    sections = _sections(uno_rig.elf(backend))
    return {
        "flash_bytes": sections[".text"] + sections[".data"],
        "static_ram_bytes": sum(sections.get(name, 0) for name in (".data", ".bss", ".noinit")),
    }


def _sections(elf: Path) -> dict[str, int]:
    told = subprocess.run(["avr-size", "-A", str(elf)], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in told.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 3 and row[0].startswith(".")}


def busy(backend: str, seconds: float = 10.0) -> dict:
    """Set-points and telemetry at 100 Hz while everything moves, then a stop: load, blocking, and time by section."""
    rig = Rig(backend)
    uno = rig.owner.uno
    uno.markers()
    uno.clear_statistics()
    arrivals: list[int] = []
    drawn = random.Random(4)
    spent: list[tuple[int, int, int]] = []  # section, begin and end [cycles]
    last = None
    for k, point in enumerate(rig.wander(seconds)):
        rig.pass_until(rig.begin_us + k * POINT_US + drawn.randrange(POINT_US - 1_000))
        rig.send(point)
        arrivals.append(uno.line_free())
        rig.pass_until(rig.begin_us + (k + 1) * POINT_US)
        for mark in uno.markers():
            if last is not None:
                spent.append((last.value, last.cycle, mark.cycle))
            last = mark
    counted = uno.statistics
    rig.stop()
    braking = uno.markers()
    gravity = [after.cycle - one.cycle for one, after in zip(braking, braking[1:]) if one.value == GRAVITY]
    longest = {
        name: max((end - begin for section, begin, end in spent if section == number), default=0)
        for number, name in SECTIONS.items()
        if number != GRAVITY
    }
    return {
        "seconds": seconds,
        "cpu_percent": round(100 * counted.load, 2),
        "blocked_us": uno.statistics.longest_blocked_us,
        "parse_to_queue_ms": _ms(longest["receive"]),
        "arrival_to_queue_ms": _ms(_worst_wait(arrivals, spent)),
        "longest_cycles": longest,
        "gravity_cycles": {
            "mean": round(sum(gravity) / len(gravity)) if gravity else 0,
            "longest": max(gravity, default=0),
            "frames": len(gravity),
        },
        "stack_bytes": uno.statistics.stack,
        "overruns": counted.overruns,
        "markers_lost": counted.markers_lost,
    }


def _worst_wait(arrivals: list[int], spent: list[tuple[int, int, int]]) -> int:
    """Longest time from the arrival of a set-point's last byte to its place in the queue [cycles]."""
    ends = [(begin, end) for section, begin, end in spent if section == RECEIVE]
    worst, at = 0, 0
    for arrival, following in zip(arrivals, [*arrivals[1:], math.inf]):
        done = arrival
        while at < len(ends) and ends[at][0] < following - FRAME_CYCLES_MAX:
            done = max(done, ends[at][1])
            at += 1
        worst = max(worst, done - arrival)
    return worst


def _ms(cycles: int) -> float:
    return round(cycles / CYCLES_PER_US / 1000, 4)


# --- the wire -------------------------------------------------------------------------------------------


def lost_frames(baud: int, minutes: float) -> dict:
    """Set-points that the board did not take, and frames of the board that did not arrive."""
    rig = Rig(baud=baud, tick_us=5_000, watched=False)
    uno, host = rig.owner.uno, rig.host
    board_speed = uno.board_speed()
    before, sent, telemetry, missed = host.last, 0, 0, 0
    rig.forget()
    last = None
    for k, point in enumerate(rig.wander(60.0 * minutes)):
        rig.send(point)
        sent += 1
        rig.pass_until(rig.begin_us + (k + 1) * POINT_US)
        for sequence, _ in host.heard:
            missed += 0 if last is None else (sequence - last - 1) & 0xFFFF
            last, telemetry = sequence, telemetry + 1
        rig.forget()
    after, damaged = host.last, host.decoder.broken
    taken = after.accepted - before.accepted & 0xFFFF
    refused = after.rejected - before.rejected & 0xFFFF
    unheard = (sent - taken - refused) & 0xFFFF
    return {
        "set_points": sent,
        "refused": refused,
        "telemetry": telemetry,
        "damaged_at_the_board": after.bad_frames,
        "damaged_at_the_host": damaged,
        "overruns": uno.statistics.overruns,
        "underruns": after.underruns,
        "board_speed": board_speed,
        "speed_error_percent": round(100 * (board_speed / baud - 1), 2),
        "lost": unheard + refused + missed + damaged,
    }


# --- pulses ---------------------------------------------------------------------------------------------


def pulse_error(backend: str, levels: int) -> dict:
    """Standing pulses against what they should be, at levels all over the range, with the wire as busy as ever."""
    rig = Rig(backend)
    count_us = rig.owner.uno.chip_count_us() if backend == "pca9685" else None
    worst_us, sum_us, seen = 0.0, 0.0, 0
    for level in rig.levels(levels):
        rig.ramp_to(level)
        rig.hold(level, 4 * FRAME_US)
        for _ in range(5 * FRAME_US // 1000):
            rig.hold(level, 1_000)
            for true, ideal in zip(rig.owner.pulses_us, level):
                error = abs(true - ideal / 8)
                worst_us, sum_us, seen = max(worst_us, error), sum_us + error, seen + 1
    figures = {"levels": levels, "worst_us": round(worst_us, 3), "mean_us": round(sum_us / seen, 3)}
    return figures if count_us is None else {**figures, "worst_counts": round(worst_us / count_us, 4)}


def jitter(seconds: float = 5.0, late_us: int = JITTER_US) -> dict:
    """The same motion from a punctual host and from one that is late by up to 20 ms: largest difference of the pulses."""

    def track(late) -> tuple[dict[int, tuple[int, ...]], dict[int, tuple[int, ...]]]:
        rig = Rig(lead_us=70_000)
        told, counts = {}, {}
        for k, point in enumerate(rig.wander(seconds)):
            rig.pass_until(rig.begin_us + k * POINT_US + late(k))
            rig.send(point)
        rig.pass_until(rig.begin_us + round(seconds * 1e6))
        for frame, one in rig.frames():
            told[frame] = one.pulses
        for frame, one in rig.counts.items():
            counts[frame] = one
        return told, counts

    drawn = random.Random(3)
    delays = [drawn.randrange(late_us) for _ in range(round(seconds * 1e6) // POINT_US)]
    (told, counts), (late_told, late_counts) = track(lambda k: 0), track(lambda k: delays[k])
    return {
        "seconds": seconds,
        "late_ms": late_us / 1000,
        "frames": len(told.keys() & late_told.keys()),
        "worst_eighths_us": _difference(told, late_told),
        "worst_counts": _difference(counts, late_counts),
    }


def _difference(one: dict[int, tuple[int, ...]], other: dict[int, tuple[int, ...]]) -> int:
    return max(abs(a - b) for frame in one.keys() & other.keys() for a, b in zip(one[frame], other[frame]))


def lost_host(words: int = 10) -> dict:
    """The host falls silent in a fast motion whose queue reaches far; the last word comes at different parts of a frame."""
    worst_ms, share, standing_ms = 0.0, 0.0, []
    for k in range(words):
        rig = Rig()
        last_us = rig.fall_silent_in_motion(k * FRAME_US // words)
        frames = dict(rig.frames())
        steps = {
            frame: [abs(a - b) / limit.speed for a, b, limit in zip(frames[frame].pulses, frames[frame - 1].pulses, rig.limits)]
            for frame in sorted(frames)[1:]
            if frame - 1 in frames
        }
        share = max(share, max(max(one) for one in steps.values()))
        moved = max(frame for frame, one in steps.items() if any(one))
        standing_ms.append(round((moved * FRAME_US - last_us) / 1000, 2))
        worst_ms = max(worst_ms, standing_ms[-1])
    return {"standstill_ms": worst_ms, "all_ms": standing_ms, "largest_step_share_of_limit": round(share, 4)}


# --- the suite ------------------------------------------------------------------------------------------


def conformance(backend: str) -> dict:
    """The rules of the protocol on the firmware: how many it keeps, and how long that takes on this machine."""
    from _pytest.outcomes import Skipped
    from rules import RULES

    begin_s, simulated_us, ended, blocked_us, stack = time.monotonic(), 0, {"passed": [], "failed": [], "skipped": []}, 0.0, 0
    for name, rule in RULES.items():
        bench = Rig(backend, ready=False, greeted=False).host
        try:
            rule(bench)
            ended["passed"].append(name)
        except (AssertionError, IndexError):
            ended["failed"].append(name)
        except Skipped:
            ended["skipped"].append(name)
        counted = bench.firmware.uno.statistics
        simulated_us, blocked_us = simulated_us + bench.now_us, max(blocked_us, counted.longest_blocked_us)
        stack = max(stack, counted.stack)
    return {
        "wall_s": round(time.monotonic() - begin_s, 2),
        "simulated_s": round(simulated_us * 1e-6, 1),
        "passed": len(ended["passed"]),
        "failed": len(ended["failed"]),
        "failures": ended["failed"],
        "skipped": ended["skipped"],
        "blocked_us": blocked_us,
        "stack_bytes": stack,
    }


if __name__ == "__main__":
    try:
        print(json.dumps(run(), indent=2))
    except MissingDependencyError as error:
        raise SystemExit(str(error)) from error
