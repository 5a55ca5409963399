"""Rejoining: when everyone restarts from the held pose, as commands were refused or missing, or the board said nothing."""

from __future__ import annotations

import math

REJOIN_S = 0.2
"""After commands have been refused for this long, everyone restarts from the held pose [s]."""

PAUSE_S = 0.25
"""After so long without a command everyone restarts from the held pose [s]."""

REMARK_S = 2.0
"""Why an epoch began is said for so long, and then no more where commands are followed [s]."""

STALL_S = 0.05
"""More than this between two ticks is no silence of who commands, or of the board: this process stood still [s]."""


class Rejoining:
    """Watch over an epoch: what was missing since it began, and for how long.

    Attributes:
        silence_s: longest that the board may say nothing [s].
        unconfirmed: it said nothing for longer, in this epoch.
    """

    def __init__(self) -> None:
        self.silence_s = math.inf
        self._heard: object = None
        self._unheard_s = 0.0
        self.begin()

    def begin(self) -> None:
        """Begin a new epoch: nothing is missing."""
        self.unconfirmed = False
        self._why, self._refused_since_s = "", math.inf
        self._silent_s = self._epoch_s = 0.0

    def advance(self, telemetry: object, dt: float) -> None:
        """Look at the newest telemetry, ``dt`` [s] after the last look: silence counts as far as this process could hear."""
        heard, self._heard = telemetry is not self._heard, telemetry
        silent_s = min(dt, STALL_S)
        self._unheard_s = 0.0 if heard else self._unheard_s + silent_s
        self._silent_s += silent_s
        self._epoch_s += dt

    def followed(self) -> None:
        """Note that a command was followed."""
        self._refused_since_s, self._silent_s = math.inf, 0.0

    def refused(self, why: str, now_s: float) -> None:
        """Note that a command was not followed; of several in a row the first one's reason is said."""
        if self._refused_since_s == math.inf:
            self._refused_since_s, self._why = now_s, why

    @property
    def confirmed(self) -> bool:
        """Whether the board says what becomes of set-points: silent for no longer than it allows its host."""
        return self._unheard_s <= self.silence_s

    @property
    def old(self) -> bool:
        """Whether the reason for which the epoch began was said for long enough."""
        return self._epoch_s > REMARK_S

    def due(self, commanded: bool, moved: bool, figures: str, now_s: float) -> str:
        """Reason why everyone restarts now; '' where nobody has to.

        Args:
            commanded: commands of this epoch have come.
            moved: the outputs have, in this epoch.
            figures: of the last one that was refused.
        """
        if self.unconfirmed:
            return f"the board said nothing for {self.silence_s:g} s: restarting from where the arm is held"
        if self._refused_since_s < math.inf:
            why = f"commands {self._why}: restarting from where the arm is held ({figures})"
            return why if now_s - self._refused_since_s > REJOIN_S else ""
        if not commanded:  # who heard of the held pose early, and who did late, would not begin at the same one
            return "the outputs moved on before commands came: restarting from where the arm is held" if moved else ""
        return f"no commands for {PAUSE_S} s: holding" if self._silent_s > PAUSE_S else ""
