"""Where the pulses have to be between set-points: written from the protocol's page, not from any firmware."""

from __future__ import annotations

from collections.abc import Sequence

from ..protocol import ahead_us


def on_line(t0: int, p0: int, t1: int, p1: int, t: int) -> int:
    """The pulse at ``t`` on the line from (t0, p0) to (t1, p1), to the last bit as the page has it."""
    span, elapsed = ahead_us(t1, t0), ahead_us(t, t0)
    while span > 65535:
        span, elapsed = span // 2, elapsed // 2
    fraction = elapsed * 65536 // span
    return p0 + ((p1 - p0) * fraction + 32768) // 65536


class Way:
    """Points (time_us, pulses) in order; before the first and after the last the pulses stand.

    Args:
        points: at least one; times modulo 2^32.
    """

    def __init__(self, points: Sequence[tuple[int, tuple[int, ...]]]):
        self.points = tuple(points)

    def at(self, time_us: int) -> tuple[int, ...]:
        """The pulses that hold at a board time."""
        before = self.points[0]
        for point in self.points:
            if ahead_us(point[0], time_us) > 0:
                if point is before:
                    return before[1]
                return tuple(on_line(before[0], a, point[0], b, time_us) for a, b in zip(before[1], point[1]))
            before = point
        return before[1]
