"""The board's outputs from servo frame to servo frame: follow the queued set-points, brake, hold, within the limits.

Set-points are interpolated linearly, in integers of at most 32 bits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from picker_dynamics.board.protocol import BoardState, JointLimits, Reason, ahead_us

STILL = 8
"""A joint that moves by no more than this per frame [1/8 us] stands; 1 us is below any deadband."""


class Point(NamedTuple):
    """Set-point: where the pulses shall be, and when."""

    time_us: int
    pulses: tuple[int, ...]


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
        limits: What each joint may do.
        capacity: Set-points that fit the queue.
        adopt_slack: How far outside its limits a pulse found at boot may lie to be adopted [1/8 us]: a coarse
            output cannot hold a limit exactly.

    Attributes:
        points: The queue, in the order of its times.
    """

    def __init__(self, limits: Sequence[JointLimits], capacity: int, adopt_slack: int):
        self.limits, self._capacity, self._adopt_slack = tuple(limits), capacity, adopt_slack
        self.points: deque[Point] = deque()
        self._anchor = Point(0, ())  # the point passed last, where interpolation starts
        self._ends_at_rest = False  # it repeats the pulses of the one before it
        self.pulses = [0] * len(self.limits)
        self.live = self.owned = self.limited = self.underruns = self.played_us = 0
        self._motion = BoardState.HOLD
        self._speed = [0] * len(self.limits)

    @property
    def state(self) -> BoardState:
        """State of the motion; IDLE while the host owns nothing."""
        return self._motion if self.owned else BoardState.IDLE

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

    def accept(self, point: Point, now_us: int, max_lead_us: int) -> tuple[Reason, int]:
        """Queue a set-point; the refusal, and the joint it is about, otherwise."""
        if not self.owned:
            return Reason.NOT_ENABLED, 0
        for joint in self._joints(self.owned):
            if point.pulses[joint] != self._bounded(joint, point.pulses[joint]):
                return Reason.OUT_OF_LIMITS, joint
        if ahead_us(point.time_us, now_us) > max_lead_us:
            return Reason.TOO_FAR, 0
        if ahead_us(point.time_us, self.played_us) <= 0:
            return Reason.PAST, 0
        if self.points and ahead_us(point.time_us, self.points[-1].time_us) <= 0:
            return Reason.NOT_LATER, 0
        if len(self.points) >= self._capacity:
            return Reason.QUEUE_FULL, 0
        if not self.points:  # the line starts where the arm is, or, if it lags, where it shall be
            start = self._anchor.pulses if self._motion is BoardState.MOVE else tuple(self.pulses)
            self._anchor = Point(self.played_us, start)
            self._motion = BoardState.MOVE
        self.points.append(point)
        return Reason.NONE, 0

    def brake(self) -> None:
        """Flush the queue and decelerate from the next frame on."""
        self.points.clear()
        if self._motion is BoardState.MOVE:
            self._motion = BoardState.BRAKE

    def frame(self, at_us: int) -> None:
        """Run one servo frame, whose queue is evaluated at board time ``at_us`` (its start + half a frame)."""
        self.limited, self.played_us = 0, at_us
        if self._motion is BoardState.MOVE:
            self._follow(at_us)
        elif self._motion is BoardState.BRAKE:
            self._slow_down(tuple(self.pulses))  # no way to go: plain braking

    def _follow(self, at_us: int) -> None:
        while self.points and ahead_us(self.points[0].time_us, at_us) <= 0:
            before, self._anchor = self._anchor, self.points.popleft()
            self._ends_at_rest = all(self._anchor.pulses[joint] == before.pulses[joint] for joint in self._joints(self.owned))
        if not self.points and not self._ends_at_rest and self._moves():
            self.underruns += 1
            self._motion = BoardState.BRAKE
            self._slow_down(self._anchor.pulses)  # the last accepted point is at least reached
            return
        for joint in self._joints(self.owned):
            target = self._target(at_us, joint)
            self._speed[joint] = clip(target - self.pulses[joint], self.limits[joint].speed)
            self.pulses[joint] += self._speed[joint]
            if self.pulses[joint] != target:
                self.limited |= 1 << joint
        if not self.points and not self.limited:
            self._speed = [0] * len(self.limits)
            self._motion = BoardState.HOLD

    def _target(self, at_us: int, joint: int) -> int:
        """The pulse of ``joint`` at ``at_us``: from anchor to next point; the anchor's where none follows."""
        start_us, start = self._anchor
        if not self.points:
            return start[joint]
        end_us, end = self.points[0]
        return interpolate(start_us, start[joint], end_us, end[joint], at_us)

    def _slow_down(self, end: Sequence[int]) -> None:
        """Decelerate by a frame; the joints reach the pulses of ``end``, where these lie ahead, in this one."""
        for joint in self._joints(self.owned):
            limits = self.limits[joint]
            speed = self._speed[joint] - clip(self._speed[joint], limits.brake)
            rest = end[joint] - self.pulses[joint]
            step = rest if rest * speed >= 0 and abs(rest) > abs(speed) else speed
            wanted = self.pulses[joint] + clip(step, limits.speed)
            self.pulses[joint] = self._bounded(joint, wanted)
            self._speed[joint] = speed if self.pulses[joint] == wanted else 0
        if not any(self._speed[joint] for joint in self._joints(self.owned)):
            self._motion = BoardState.HOLD

    def _moves(self) -> bool:
        return any(abs(self._speed[joint]) > STILL for joint in self._joints(self.owned))

    def _joints(self, mask: int) -> Iterator[int]:
        return (joint for joint in range(len(self.limits)) if mask >> joint & 1)

    def _bounded(self, joint: int, pulse: int) -> int:
        return max(self.limits[joint].lowest, min(self.limits[joint].highest, pulse))
