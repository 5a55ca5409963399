"""How late the control loop ran of late, with the machine's load, for whoever is told that a motion ended."""

from __future__ import annotations

import os

LATE_S = 0.03
"""Of less nobody is told: set-points are sent 0.06 s before they hold [s]."""

KEPT_S = 10.0
"""For so long a late cycle is told of [s]."""


class Lateness:
    """How late cycles of a loop began, each against the one before.

    Args:
        period_s: of the loop [s].
    """

    def __init__(self, period_s: float):
        self._period_s, self._last_s, self._worst_s, self._until_s = period_s, float("inf"), 0.0, -float("inf")

    def note(self, now_s: float) -> None:
        """A cycle begins."""
        late_s, self._last_s = now_s - self._last_s - self._period_s, now_s
        if late_s > LATE_S and (late_s >= self._worst_s or now_s > self._until_s):
            self._worst_s, self._until_s = late_s, now_s + KEPT_S

    @property
    def worst_s(self) -> float:
        """The longest lateness of the last ``KEPT_S`` [s]; 0: none worth telling."""
        return self._worst_s if self._last_s <= self._until_s else 0.0

    @property
    def text(self) -> str:
        """The same in words, with the load; '' where there is none."""
        if not self.worst_s:
            return ""
        return f"the control loop ran {1e3 * self.worst_s:.0f} ms late: load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores"
