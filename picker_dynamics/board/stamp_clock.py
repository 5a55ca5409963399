"""Stamp clock: stamps of the wall clock as seconds of the steady clock, and back, whatever becomes of the wall clock.

Control counts the seconds of the steady clock, which nobody sets.  Stamps in messages are the wall clock's, which is set by hand,
by NTP, or after a machine slept: it jumps.  So each process remembers how far the two are apart, and notices a jump.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

JUMP_S = 5e-3
"""A change of the clocks' distance from one look to the next that is no slewing any more [s]."""

FOLLOW = 0.05
"""Share of a smaller change that is followed at each look: a clock that is slewed moves half a millisecond in a second."""

CALM_S, READINGS = 2e-4, 4
"""Between two readings of a clock that counts as uninterrupted [s], and how often that is tried."""


def clocks_apart_s(steady: Callable[[], float], other: Callable[[], float]) -> tuple[float, float]:
    """How far another clock is ahead of the steady one, and how wrong that may be [s].

    Whoever reads one clock and then the other may stand still in between, on a machine that is busy: a set-point would be
    stamped so much too early, before the one that was sent last.  So the other is read between two readings of the first.
    """
    least, apart = math.inf, 0.0
    for _ in range(READINGS):
        before, there, after = steady(), other(), steady()
        if after - before < least:
            least, apart = after - before, there - 0.5 * (before + after)
        if least < CALM_S:
            break
    return apart, 0.5 * least


class StampClock:
    """Steady seconds of one process, and the stamps that belong to them.

    Args:
        on_jump: called with the size of each jump of the wall clock [s], once.
        wall, steady: the clocks [s].
    """

    def __init__(
        self,
        on_jump: Callable[[float], None] = lambda _size_s: None,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ):
        self._on_jump, self._wall, self._steady = on_jump, wall, steady
        self._apart_s = clocks_apart_s(steady, wall)[0]

    def now_s(self) -> float:
        """Steady time [s]."""
        return self._steady()

    def to_stamp(self, time_s: float) -> float:
        """The stamp [s since 1970] of a steady time [s]."""
        self._look()
        return time_s + self._apart_s

    def to_steady(self, stamp_s: float) -> float:
        """The steady time [s] of a stamp [s since 1970]."""
        self._look()
        return stamp_s - self._apart_s

    def _look(self) -> None:
        """Notice what became of the wall clock."""
        apart_s, doubt_s = clocks_apart_s(self._steady, self._wall)
        change_s = apart_s - self._apart_s
        if abs(change_s) > JUMP_S + doubt_s:
            self._apart_s = apart_s
            self._on_jump(change_s)
        elif doubt_s < CALM_S:
            self._apart_s += FOLLOW * change_s
