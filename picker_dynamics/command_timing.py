"""How regularly commands come, and how long before they have to hold: what a board's queue lives on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Timing:
    """Of the commands since the last look; all in ms.

    Args:
        commands: how many came.
        period: median between two arrivals.  period_longest: the longest.
        jitter_p99: of |period - median|.
        ahead_least, ahead: how long before it holds a command came, at worst and in the median.
        missed: how many periods were longer than one and a half.
        late: how many came after the moment at which they should have held.
    """

    commands: int
    period: float
    period_longest: float
    jitter_p99: float
    ahead_least: float
    ahead: float
    missed: int
    late: int


class CommandTiming:
    """Notes arrivals at next to no cost; the arithmetic is done once for many."""

    def __init__(self):
        self._rows: list[tuple[float, float]] = []

    def note(self, arrived_s: float, holds_s: float) -> None:
        """A command came at ``arrived_s`` that holds at ``holds_s``, on one clock."""
        self._rows.append((arrived_s, holds_s))

    def take(self) -> Timing | None:
        """What came since the last call; None of fewer than three commands."""
        rows, self._rows = self._rows, self._rows[-1:]
        if len(rows) < 3:
            return None
        arrived, holds = 1e3 * np.array(rows).T
        periods, ahead = np.diff(arrived), (holds - arrived)[1:]
        median = float(np.median(periods))
        return Timing(len(periods), median, float(periods.max()), float(np.percentile(np.abs(periods - median), 99)),
                      float(ahead.min()), float(np.median(ahead)), int((periods > 1.5 * median).sum()), int((ahead < 0.0).sum()))
