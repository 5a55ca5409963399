"""Command timing: when commands hold on the board's clock, and how regularly they come."""

from __future__ import annotations

import numpy as np

from .protocol import TIME_MODULUS, ahead_us

SLOWEST = 0.9
"""Share of its pace at which a board's time runs on for set-points while the estimate of it is corrected backwards."""

CORRECTION_MAX_US = 100_000
"""Beyond this it is another clock, and set-points are stamped anew [us]."""


class Stamps:
    """Board times of successive set-points, each after the one before, whatever becomes of the estimate of the board's clock.

    The estimate gets better, and with a fast answer after slow ones it steps back by up to 50 ms: stamped with it, the next
    set-points would lie before those that the board has queued, and it would refuse them.  So where commands start anew, too:
    the board plays what it was sent before.  Only another clock, of a board that was reset, is followed at once.
    """

    def __init__(self) -> None:
        self._last: tuple[float, int] | None = None

    def stamp(self, time_s: float, board_us: int) -> int:
        """Board time [us], modulo 2^32, for what holds at host time ``time_s``, which is ``board_us`` as far as is known."""
        if self._last is not None and time_s > self._last[0]:
            least = self._last[1] + round(SLOWEST * (time_s - self._last[0]) * 1e6)
            if 0 < ahead_us(least, board_us) < CORRECTION_MAX_US:
                board_us = least % TIME_MODULUS
        self._last = time_s, board_us
        return board_us


class CommandTiming:
    """Statistics of arrivals: noted at next to no cost; the arithmetic is done once for many."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, float]] = []

    def note(self, arrived_s: float, holds_s: float) -> None:
        """A command came at ``arrived_s`` that holds at ``holds_s``, on one clock."""
        self._rows.append((arrived_s, holds_s))

    def take(self) -> dict[str, float] | None:
        """Figures of the commands that came since the last call [ms]; None of fewer than three.

        How many came, the median and the longest time between two, the 99th percentile of what differs from the median; how long
        before it holds a command came, in the median and at worst; how many periods were longer than one and a half, and how many
        commands came after the moment at which they should have held.
        """
        rows, self._rows = self._rows, self._rows[-1:]
        if len(rows) < 3:
            return None
        arrived, holds = 1e3 * np.array(rows).T
        periods, ahead = np.diff(arrived), (holds - arrived)[1:]
        median = float(np.median(periods))
        return {
            "commands": len(periods),
            "period_ms": median,
            "period_longest_ms": float(periods.max()),
            "jitter_p99_ms": float(np.percentile(np.abs(periods - median), 99)),
            "ahead_ms": float(np.median(ahead)),
            "ahead_least_ms": float(ahead.min()),
            "missed": int((periods > 1.5 * median).sum()),
            "late": int((ahead < 0.0).sum()),
        }
