"""Resynchronisation after lost commands: restart at the held pose if commands are refused or missing, or the board is silent."""

from __future__ import annotations

import math

from .protocol import Telemetry

REJOIN_S = 0.2
"""Time of refused commands after which commands restart at the held pose [s]."""

PAUSE_S = 0.25
"""Time without a command after which commands restart at the held pose [s]."""

REMARK_S = 2.0
"""Why an epoch began is said for so long, and then no more where commands are followed [s]."""

STALL_S = 0.05
"""More than this between two ticks is no silence of who commands, or of the board: this process stood still [s]."""


class Rejoining:
    """Watch over an epoch: what was missing since it began, and for how long.

    Attributes:
        silence_s: longest that the board may say nothing, and take none of the set-points that are sent [s].
        unconfirmed: what was missing for longer, in this epoch; '' where nothing was.
    """

    def __init__(self) -> None:
        self.silence_s = math.inf
        self._heard: Telemetry | None = None
        self._sent, self._waits = 0, False
        self._unheard_s = self._untaken_s = 0.0
        self.begin()

    def begin(self) -> None:
        """Begin a new epoch: nothing is missing."""
        self.unconfirmed = ""
        self._why, self._refused_since_s = "", math.inf
        self._silent_s = self._epoch_s = self._untaken_s = 0.0

    def advance(self, telemetry: Telemetry, sent: int, dt: float) -> None:
        """Look at the newest telemetry, ``dt`` [s] after the last look: silence counts as far as this process could hear.

        Args:
            sent: how many set-points were sent so far.
        """
        heard, silent_s = telemetry is not self._heard, min(dt, STALL_S)
        taken = heard and self._heard is not None and telemetry.accepted != self._heard.accepted
        self._waits = not (taken or self.unconfirmed) and (self._waits or sent != self._sent)
        self._heard, self._sent = telemetry, sent
        self._unheard_s = 0.0 if heard else self._unheard_s + silent_s
        self._untaken_s = self._untaken_s + silent_s if self._waits else 0.0
        self._silent_s += silent_s
        self._epoch_s += dt
        self.unconfirmed = self.missing or self.unconfirmed

    def followed(self) -> None:
        """Note that a command was followed."""
        self._refused_since_s, self._silent_s = math.inf, 0.0

    def refused(self, why: str, now_s: float) -> None:
        """Note that a command was not followed; of several in a row the first one's reason is said."""
        if self._refused_since_s == math.inf:
            self._refused_since_s, self._why = now_s, why

    @property
    def missing(self) -> str:
        """What was missing for longer than it may; '' where nothing is: the board tells, and takes set-points."""
        if self._unheard_s > self.silence_s:
            return f"the board has been silent for {self.silence_s:g} s"
        return f"no set-point has reached the board for {self.silence_s:g} s" if self._untaken_s > self.silence_s else ""

    @property
    def old(self) -> bool:
        """Whether the reason for which the epoch began was said for long enough."""
        return self._epoch_s > REMARK_S

    def due(self, commanded: bool, moved: bool, figures: str, now_s: float) -> str:
        """Reason for a restart now; '' for none.

        Args:
            commanded: commands of this epoch have come.
            moved: the outputs have, in this epoch.
            figures: of the last one that was refused.
        """
        if self.unconfirmed:
            return f"{self.unconfirmed}: restarting from where the arm is held"
        if self._refused_since_s < math.inf:
            why = f"commands {self._why}: restarting from where the arm is held ({figures})"
            return why if now_s - self._refused_since_s > REJOIN_S else ""
        if not commanded:  # who heard of the held pose early, and who did late, would not begin at the same one
            return "the outputs moved on before commands came: restarting from where the arm is held" if moved else ""
        return f"no commands for {PAUSE_S} s: holding" if self._silent_s > PAUSE_S else ""
