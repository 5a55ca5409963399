"""Queue of time-stamped set-points, and linear interpolation between them in integers of at most 32 bits."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from picker_dynamics.board.protocol import TIME_MODULUS, Reason, ahead_us


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


class SetPointQueue:
    """Points in the order of their times, and the anchor: the point passed last, where interpolation starts.

    Args:
        capacity: Points that fit.
    """

    def __init__(self, capacity: int):
        self.capacity = capacity
        self.anchor = Point(0, ())
        self.ends_at_rest = False
        self._points: deque[Point] = deque()

    def __len__(self) -> int:
        return len(self._points)

    def clear(self) -> None:
        """Forget all points."""
        self._points.clear()

    def refusal(self, time_us: int, now_us: int, played_us: int, max_lead_us: int) -> Reason:
        """Reason why a point at ``time_us`` cannot be taken; NONE where it can."""
        if ahead_us(time_us, now_us) > max_lead_us:
            return Reason.TOO_FAR
        if ahead_us(time_us, played_us) <= 0:
            return Reason.PAST
        if self._points and ahead_us(time_us, self._points[-1].time_us) <= 0:
            return Reason.NOT_LATER
        if len(self._points) >= self.capacity:
            return Reason.QUEUE_FULL
        return Reason.NONE

    def push(self, point: Point) -> None:
        """Append a point for which :meth:`refusal` had nothing to say."""
        self._points.append(Point(point.time_us % TIME_MODULUS, point.pulses))

    def pass_until(self, at_us: int, joints: Iterable[int]) -> None:
        """Take out the points that lie at or before ``at_us``; the last of them becomes the anchor.

        ``ends_at_rest`` says whether it repeats the pulses of the point before it, as far as ``joints`` go.
        """
        joints = tuple(joints)
        while self._points and ahead_us(self._points[0].time_us, at_us) <= 0:
            passed = self._points.popleft()
            self.ends_at_rest = all(passed.pulses[joint] == self.anchor.pulses[joint] for joint in joints)
            self.anchor = passed

    def at(self, at_us: int, joint: int) -> int:
        """The pulse of ``joint`` at ``at_us``: from anchor to next point; the anchor's where none follows."""
        if not self._points:
            return self.anchor.pulses[joint]
        coming = self._points[0]
        start = self.anchor.pulses[joint]
        return interpolate(self.anchor.time_us, start, coming.time_us, coming.pulses[joint], at_us)
