"""The board's outputs from servo frame to servo frame: follow the queued set-points, brake, hold, within the limits.

Set-points are interpolated linearly, in integers of at most 32 bits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import TIME_MODULUS, BoardState, Reason, SetPoint, ahead_us

SLOW_US = 40_000
"""With less than this queued, and not at rest at its end, play slows down in proportion [us]: outputs come to rest on their way
where points stop coming."""

NEARLY_US = 2_000
"""With no more than this left, the way is gone to its end [us]."""

FULL_RATE, RAMP_US = 256, 500_000
"""Rate at which time is played as fast as it passes, and time in which it comes up to that from standstill [us]: about a period
of the arm on its servos, so that it hardly swings."""

NEAR = 4
"""Outputs that stand may begin anew at a point that is as near as this share of what they may move in a frame."""


def interpolate(start_us: int, start: int, end_us: int, end: int, at_us: int) -> int:
    """The pulse at ``at_us`` on the straight line from (start_us, start) to (end_us, end).

    Every product fits 32 bits: times are halved until their span fits 16 bits, and pulses have 15.  The
    fraction of the way is truncated to 1/65536, the result rounded to nearest.

    Args:
        start_us: Board time of the start [us], modulo 2^32.
        start: Pulse there [1/8 us].
        end_us: Board time of the end [us], after the start.
        end: Pulse there [1/8 us].
        at_us: Board time asked for [us], start_us <= at_us <= end_us.
    """
    span, elapsed = ahead_us(end_us, start_us), ahead_us(at_us, start_us)
    while span > 0xFFFF:
        span >>= 1
        elapsed >>= 1
    fraction = (elapsed << 16) // span
    return start + ((end - start) * fraction + 0x8000 >> 16)


def clip(value: int, bound: int) -> int:
    """``value`` within [-bound, bound]."""
    return max(-bound, min(bound, value))


class OutputMotion:
    """Pulses, speeds and owners of all joints, in 1/8 us and 1/8 us per frame.

    Args:
        config: What is compiled in.
        now_us: Board time [us].

    Attributes:
        points: The queue, in the order of its times.
        played_us: Board time up to which it is played: behind the present one where points came late, never ahead of it.
    """

    def __init__(self, config: FirmwareConfig, now_us: int):
        self.limits, self._capacity, self._frame_us = config.joints, config.queue_capacity, config.frame_us
        self._adopt_slack = -(-config.resolution_ns // 125)  # a coarse output cannot hold a limit exactly
        self._longest_us = 1000 * config.host_timeout_ms
        self.points: deque[SetPoint] = deque()
        self._anchor = SetPoint(now_us, ())  # the point passed last, where interpolation starts
        self._chained = False  # a point may follow it: the outputs were not moved otherwise since
        self._ends_at_rest = False  # the point accepted last repeats the pulses of the one before it
        self.pulses = [0] * len(self.limits)
        self.live = self.owned = self.limited = self.underruns = 0
        self.played_us = self._frame_at_us = now_us
        self._rate = FULL_RATE
        self._motion = BoardState.HOLD
        self._speed = [0] * len(self.limits)

    @property
    def state(self) -> BoardState:
        """State of the motion; IDLE while the host owns nothing."""
        return self._motion if self.owned else BoardState.IDLE

    @property
    def behind_ms(self) -> int:
        """How far behind its time the board plays [ms], at most 65535; 0 where it plays nothing, and is not on its way."""
        on_way = self.points or (self._chained and not self._ends_at_rest)
        return min(0xFFFF, ahead_us(self._frame_at_us, self.played_us) // 1000) if on_way else 0

    # -- outputs on and off --------------------------------------------------------------------------------

    def enable(self, mask: int, pulses: Sequence[int]) -> tuple[Reason, int]:
        """Switch on the joints in ``mask`` at ``pulses``; the refusal and the joint it is about otherwise."""
        if self._motion is not BoardState.HOLD:
            return Reason.BUSY, 0
        for joint in self._joints(mask):
            if self.live >> joint & 1:
                return Reason.ALREADY_LIVE, joint
            if pulses[joint] != self._bounded(joint, pulses[joint]):
                return Reason.OUT_OF_LIMITS, joint
        for joint in self._joints(mask):
            self.pulses[joint] = pulses[joint]
        self.live |= mask
        self.owned |= mask
        self._chained = False
        return Reason.NONE, 0

    def adopt(self, mask: int) -> tuple[Reason, int]:
        """Take over the live joints in ``mask`` where they are; the refusal otherwise."""
        if self._motion is not BoardState.HOLD:
            return Reason.BUSY, 0
        for joint in self._joints(mask):
            if not self.live >> joint & 1:
                return Reason.NOT_LIVE, joint
            if abs(self.pulses[joint] - self._bounded(joint, self.pulses[joint])) > self._adopt_slack:
                return Reason.OUT_OF_LIMITS, joint
        for joint in self._joints(mask):
            self.pulses[joint] = self._bounded(joint, self.pulses[joint])
        self.owned |= mask
        self._chained = False
        return Reason.NONE, 0

    def disable(self, mask: int) -> None:
        """Switch off the joints in ``mask``."""
        for joint in self._joints(mask):
            self.pulses[joint] = self._speed[joint] = 0
        self.live &= ~mask
        self.owned &= ~mask
        if not self.owned:
            self.points.clear()
            self._motion = BoardState.HOLD

    # -- motion --------------------------------------------------------------------------------------------

    def accept(self, point: SetPoint, now_us: int, max_lead_us: int) -> tuple[Reason, int]:
        """Queue a set-point; the refusal, and the joint it is about, otherwise."""
        if not self.owned:
            return Reason.NOT_ENABLED, 0
        for joint in self._joints(self.owned):
            if point.pulses[joint] != self._bounded(joint, point.pulses[joint]):
                return Reason.OUT_OF_LIMITS, joint
        lead_us = ahead_us(point.time_us, now_us)
        if lead_us > max_lead_us:
            return Reason.TOO_FAR, 0
        if lead_us < -self._longest_us:
            return Reason.PAST, 0
        if self._motion is BoardState.BRAKE:
            return Reason.BUSY, 0
        if not self.points:
            return self._begin(point)
        if ahead_us(point.time_us, self.points[-1].time_us) <= 0:
            return Reason.NOT_LATER, 0
        if not self._follows(self.points[-1], point):
            return Reason.GAP, 0
        if len(self.points) >= self._capacity:
            return Reason.QUEUE_FULL, 0
        self._append(self.points[-1], point)
        return Reason.NONE, 0

    def _begin(self, point: SetPoint) -> tuple[Reason, int]:
        """Queue the first point: it goes on from the one that was played last, or begins anew where the outputs stand."""
        if self._chained and ahead_us(point.time_us, self._anchor.time_us) <= 0:
            return Reason.PAST, 0
        follows = self._chained and self._follows(self._anchor, point)
        steps = ((joint, abs(point.pulses[joint] - self.pulses[joint])) for joint in self._joints(self.owned))
        away = next((joint for joint, step in steps if step > self.limits[joint].speed // NEAR), None)
        if not follows or (self._ends_at_rest and away is None):
            if away is not None:
                return Reason.GAP, away
            late_us = max(0, self._frame_us - ahead_us(point.time_us, self._frame_at_us))  # one that comes late begins late
            self.played_us = (self._frame_at_us - late_us) % TIME_MODULUS
            self._anchor, self._chained, self._rate = SetPoint(self.played_us, tuple(self.pulses)), True, FULL_RATE
        self._motion = BoardState.MOVE
        self._append(self._anchor, point)
        return Reason.NONE, 0

    def _append(self, before: SetPoint, point: SetPoint) -> None:
        self._ends_at_rest = self._stands(before, point)
        self.points.append(point)

    def _follows(self, before: SetPoint, point: SetPoint) -> bool:
        """Whether no set-point is missing between two in which the outputs move."""
        return ahead_us(point.time_us, before.time_us) <= self._longest_us or self._stands(before, point)

    def brake(self) -> None:
        """Flush the queue and decelerate from the next frame on."""
        self.points.clear()
        self._chained = False
        if self._motion is BoardState.MOVE:
            self._motion = BoardState.BRAKE

    def frame(self, at_us: int) -> None:
        """Run one servo frame, at board time ``at_us`` (its start + half a frame)."""
        self.limited, self._frame_at_us = 0, at_us
        if self._motion is BoardState.MOVE:
            self._follow(at_us)
        elif self._motion is BoardState.BRAKE:
            self._slow_down()
        elif ahead_us(at_us, self._anchor.time_us) > self._longest_us:
            self._chained = False  # what comes now follows nothing

    def _follow(self, at_us: int) -> None:
        self._play(at_us)
        for joint in self._joints(self.owned):
            target = self._target(joint)
            self._speed[joint] = clip(target - self.pulses[joint], self.limits[joint].speed)
            self.pulses[joint] += self._speed[joint]
            if self.pulses[joint] != target:
                self.limited |= 1 << joint
        if not self.points and not self.limited:
            self.underruns += not self._ends_at_rest
            self._rate = FULL_RATE if self._ends_at_rest else 0
            self._speed = [0] * len(self.limits)
            self._motion = BoardState.HOLD

    def _play(self, at_us: int) -> None:
        """Go on in the queue by a frame: no faster than time passes, slower where little is left, at once where nothing moves."""
        left = ahead_us(self.points[-1].time_us, self.played_us) if self.points else 0
        most = FULL_RATE if self._ends_at_rest else FULL_RATE * left // SLOW_US
        self._rate = min(most, self._rate + FULL_RATE * self._frame_us // RAMP_US, FULL_RATE)
        step = left if left <= NEARLY_US else min(self._frame_us * self._rate // FULL_RATE, left)
        self._play_until(self.played_us + step)
        while self.points and self._stands(self._anchor, self.points[0]) and ahead_us(at_us, self.played_us) > 0:
            end_us = self.points[0].time_us
            self._play_until(end_us if ahead_us(at_us, end_us) > 0 else at_us)

    def _play_until(self, time_us: int) -> None:
        self.played_us = time_us % TIME_MODULUS
        while self.points and ahead_us(self.points[0].time_us, self.played_us) <= 0:
            self._anchor = self.points.popleft()

    def _stands(self, before: SetPoint, after: SetPoint) -> bool:
        return all(before.pulses[joint] == after.pulses[joint] for joint in self._joints(self.owned))

    def _target(self, joint: int) -> int:
        """The pulse of ``joint`` at the time played: from anchor to next point; the anchor's where none follows."""
        start = self._anchor
        if not self.points:
            return start.pulses[joint]
        end = self.points[0]
        return interpolate(start.time_us, start.pulses[joint], end.time_us, end.pulses[joint], self.played_us)

    def _slow_down(self) -> None:
        """Decelerate by a frame."""
        for joint in self._joints(self.owned):
            limits = self.limits[joint]
            speed = self._speed[joint] - clip(self._speed[joint], limits.brake)
            wanted = self.pulses[joint] + speed
            self.pulses[joint] = self._bounded(joint, wanted)
            self._speed[joint] = speed if self.pulses[joint] == wanted else 0
        if not any(self._speed[joint] for joint in self._joints(self.owned)):
            self._motion = BoardState.HOLD

    def _joints(self, mask: int) -> Iterator[int]:
        return (joint for joint in range(len(self.limits)) if mask >> joint & 1)

    def _bounded(self, joint: int, pulse: int) -> int:
        return max(self.limits[joint].lowest, min(self.limits[joint].highest, pulse))
