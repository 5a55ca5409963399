"""A host that drives the picker's firmware on a simulated Uno, for measuring: 100 set-points a second, 60 ms ahead."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from firmware_bench import Bench
from inspected_uno import executed

from picker_dynamics.board.firmware import toolchain
from picker_dynamics.board.protocol import Enable, Ping, Reset, SetPoint, Stop, Telemetry, TelemetryPeriod, pulse_units
from picker_dynamics.robot import servo_arm

FRAME_US = 20_000
POINT_US = 10_000
LEAD_US = 60_000
TELEMETRY_MS = 10
SHOWN_US = 4_000
"""So long after a frame began its pulses are at the outputs."""

Pulses = tuple[int, ...]


@cache
def picker():
    """The picker and its servos."""
    return servo_arm.load()


@cache
def elf(backend: str, baud: int = 500_000) -> Path:
    """The picker's firmware."""
    arm, servos = picker()
    return toolchain.build(servos, arm, backend, baud=baud)


class Rig:
    """A board that has been met and whose joints stand at the rest pose, and what a host does with it.

    Args:
        backend, baud: of the firmware.
        tick_us: how finely simulated time is cut.
        lead_us: how far ahead set-points are stamped.
        ready: switch the joints on, telemetry at 100 Hz.
        greeted: wait for the board, and say hello.
        watched: note what the outputs are told in each servo frame.

    Attributes:
        begin_us: host time of the first set-point.
        counts: what a PCA9685 was told, by the number of the servo frame.
    """

    def __init__(
        self,
        backend: str = "pca9685",
        *,
        baud: int = 500_000,
        tick_us: int = 500,
        lead_us: int = LEAD_US,
        ready: bool = True,
        watched: bool = True,
        greeted: bool = True,
    ):
        _, servos = picker()
        library = toolchain.library("sim")
        self.owner = executed(library, elf(backend, baud), servos, backend)
        self.host = Bench()
        self.host.connect(self.owner)
        self.host.step_us, self.host.wire_us, self.host.grain_us = tick_us, 2000, 1000
        if greeted:
            self.host.greeted()
        start = tuple(pulse_units(pulse) for pulse in servos.to_pulse_us(servos.rest).tolist())
        self.limits, self.start, self.at = self.owner.config.joints, start, start
        self.counts: dict[int, Pulses] = {}
        self._watched, self._lead_us = watched and backend == "pca9685", lead_us
        if ready:
            self.host.acked(Enable(self.host.all, start))
            self.host.acked(TelemetryPeriod(TELEMETRY_MS))
        self.begin_us = self.host.now_us
        self._stamp_us = self.host.board_us() + lead_us if greeted else 0
        self._from = len(self.host.telemetry)

    # -- one point after the other ---------------------------------------------------------------------

    def send(self, pulses: Pulses) -> None:
        """The next set-point, 10 ms after the one before."""
        self.host.write(SetPoint(self._stamp_us & 0xFFFF_FFFF, pulses))
        self._stamp_us += POINT_US
        self.at = pulses

    def pass_until(self, host_us: int) -> None:
        """Let time pass."""
        while (left := host_us - self.host.now_us) > 0:
            self.host.run(min(left, 2_000) if self._watched else left, host_alive=False)
            if self._watched:
                self._look()

    def _look(self) -> None:
        board_us = self.owner.board_time_us(self.host.now_us)
        if board_us % FRAME_US > SHOWN_US:
            self.counts[board_us // FRAME_US] = tuple(map(self.owner.uno.chip_counts, self.owner.servos.channels))

    def frames(self) -> list[tuple[int, Telemetry]]:
        """Telemetry since the beginning that shows the pulses of a servo frame, and the frame's number."""
        shown = {one.time_us // FRAME_US: one for one in self.host.telemetry[self._from :] if one.time_us % FRAME_US > SHOWN_US}
        return sorted(shown.items())

    def forget(self) -> None:
        """Drop what was heard but the last telemetry."""
        last = self.host.telemetry[-1]
        self.host.heard.clear()
        self.host.track.clear()
        self.host.telemetry[:] = [last]
        self.counts.clear()

    # -- motions ---------------------------------------------------------------------------------------

    def wander(self, seconds: float) -> Iterator[Pulses]:
        """All joints swing, each with its own period, at up to two thirds of their speed."""
        for k in range(round(seconds * 1e6) // POINT_US):
            t, pulses = k * POINT_US * 1e-6, []
            for joint, (start, limit) in enumerate(zip(self.start, self.limits)):
                far = limit.highest if limit.highest - start >= start - limit.lowest else limit.lowest
                swing, period_s = 0.4 * (far - start), 1.1 + 0.17 * joint
                pulses.append(round(start + swing * (1.0 - math.cos(2.0 * math.pi * t / period_s)) / 2.0))
            yield tuple(pulses)

    def levels(self, count: int) -> Iterator[Pulses]:
        """Pulses all over the joints' ranges, both ends among them."""
        drawn = random.Random(5)
        yield tuple(limit.lowest for limit in self.limits)
        yield tuple(limit.highest for limit in self.limits)
        for _ in range(count - 2):
            yield tuple(drawn.randint(limit.lowest, limit.highest) for limit in self.limits)

    def ramp_to(self, level: Pulses) -> None:
        """Go there at half the speed limit."""
        start = self.at
        frames = max(2 * abs(b - a) / limit.speed for a, b, limit in zip(start, level, self.limits))
        count = max(1, math.ceil(frames * FRAME_US / POINT_US))
        for k in range(1, count + 1):
            self.hold(tuple(a + (b - a) * k // count for a, b in zip(start, level)), POINT_US)

    def hold(self, level: Pulses, duration_us: int) -> None:
        """Go on sending a point every 10 ms."""
        until_us = self.host.now_us + duration_us
        while (now_us := self.host.now_us) < until_us:
            due_us = self._stamp_us - self._lead_us - self.host.board_us() + now_us
            if due_us <= now_us:
                self.send(level)
            self.pass_until(min(until_us, max(due_us, now_us + 500)))

    def stop(self) -> None:
        """Stop in mid-motion, and wait for standstill."""
        self.host.acked(Stop())
        self.pass_until(self.host.now_us + 600_000)
        self.host.acked(Reset())

    def fall_silent_in_motion(self, offset_us: int) -> int:
        """Fill the queue with a fast swing, say a last word, and wait until all is over; board time of the last word."""
        fast = [limit.speed * 9 // 10 for limit in self.limits]
        begin_us = self.host.board_us() + LEAD_US
        pulses = list(self.start)
        signs = [1 if limit.highest - pulse >= pulse - limit.lowest else -1 for pulse, limit in zip(pulses, self.limits)]
        for k in range(self.host.info.queue_capacity):
            self.host.write(SetPoint(begin_us + k * FRAME_US & 0xFFFF_FFFF, tuple(pulses)))
            self.pass_until(self.host.now_us + 2_000)
            for joint, limit in enumerate(self.limits):
                if not limit.lowest <= pulses[joint] + signs[joint] * fast[joint] <= limit.highest:
                    signs[joint] = -signs[joint]
                pulses[joint] += signs[joint] * fast[joint]
        self.pass_until(self.host.now_us + (offset_us - self.host.board_us()) % FRAME_US)
        self._from = len(self.host.telemetry)
        last_us = self.host.acked(Ping()).time_us
        self.pass_until(self.host.now_us + 1_200_000)
        return last_us
