"""Following: whether references become commands and the arm tells where it is, or who is missing, in words.

A reference that is sent moves nothing by itself, nor does a command that the hardware does not hear, which it says.  Whoever
makes a command of a reference gives it that one's stamp (servos), or answers each joint state (torque-controlled joints); so
the controller knows whether it is followed by listening to all three.
Time is counted in its own ticks: a controller that stood still itself misses nobody.
"""

from __future__ import annotations

import math
from collections import deque
from enum import Enum

KEPT_S = 1.0
"""How long a reference is remembered [s]."""

LOST_S = 0.2
"""So long nothing comes of references, or no state comes, before somebody is missing [s]."""

HEARD_S = 1.0
"""So long a hardware that began to hold may have heard no commands, before they are said not to reach it [s]."""

FIRST_S = 2.0
"""At the start, until the nodes have found each other [s]."""

SLOW_STATES = 2.5
"""Periods of slow joint states after which they are missed; fast ones are after ``LOST_S``."""


class Missing(Enum):
    """What is missing between a reference and an arm that moves; the value says so in words."""

    COMMANDS = "references become no joint_commands: does the dynamics node run?"
    DELIVERY = "joint_commands do not reach the hardware node: have the two found each other?"
    CONFIRMATION = "the board does not say what becomes of set-points: is its cable in?"
    STATES = "no joint_states come: does the hardware node run?"


class Following:
    """Watch of one controller's references.

    Args:
        period_s: between two references [s].
        echoes: commands bear the stamps of their references; else any command counts.

    Attributes:
        followed_s: the time up to which references became commands [s].
    """

    def __init__(self, period_s: float, echoes: bool = True):
        self._period_s, self._echoes = period_s, echoes
        self._sent: deque[tuple[float, float]] = deque(maxlen=math.ceil(KEPT_S / period_s))  # stamps, and their times
        self._ticks_s = self._command_s = 0.0
        self._state_s: float | None = None
        self._unheard_s: float | None = None
        self._confirmed = True
        self._ear_patience_s = FIRST_S
        self._command_patience_s = self._state_patience_s = FIRST_S
        self.followed_s = self._begun_s = -math.inf

    def begins(self, time_s: float) -> None:
        """Begin an epoch: its references are for ``time_s`` and later."""
        self._begun_s = time_s

    def sent(self, stamp_s: float, time_s: float) -> None:
        """A reference for ``time_s`` was sent, with this stamp."""
        self._sent.append((stamp_s, time_s))
        self._ticks_s += self._period_s

    def known(self, stamp_s: float) -> bool:
        """Whether one of the references of late has this stamp."""
        return any(stamp == stamp_s for stamp, _ in self._sent)

    def commanded(self, stamp_s: float) -> bool:
        """A command came, with this stamp; whether it was made of a reference of late."""
        for stamp, time_s in reversed(self._sent):
            if stamp == stamp_s or not self._echoes:
                self._command_s, self._command_patience_s = self._ticks_s, LOST_S
                self.followed_s = max(self.followed_s, time_s)
                return True
        return False

    def heard(self, commanded: bool | None, confirmed: bool = True) -> None:
        """Take what the hardware says of commands.

        Args:
            commanded: whether it has heard any since it began to hold; None: it takes none.
            confirmed: whether it hears of its board what becomes of them.
        """
        self._confirmed = confirmed
        if commanded:
            self._ear_patience_s = HEARD_S
        if commanded is not False:
            self._unheard_s = None
        elif self._unheard_s is None:
            self._unheard_s = self._ticks_s

    def stated(self) -> None:
        """A joint state came that is newer than those before."""
        if self._state_s is not None:
            self._state_patience_s = max(LOST_S, SLOW_STATES * (self._ticks_s - self._state_s))
        self._state_s = self._ticks_s

    @property
    def unfollowed(self) -> bool:
        """Whether commands are missing, and none of this epoch's references ever became one."""
        return self.missing is Missing.COMMANDS and self.followed_s < self._begun_s

    @property
    def missing(self) -> Missing | None:
        """Link that is missing between a reference and an arm that moves; None: nothing is."""
        if self._ticks_s - self._command_s > self._command_patience_s:
            return Missing.COMMANDS
        if self._unheard_s is not None and self._ticks_s - self._unheard_s > self._ear_patience_s:
            return Missing.DELIVERY
        if not self._confirmed:
            return Missing.CONFIRMATION
        return Missing.STATES if self._ticks_s - (self._state_s or 0.0) > self._state_patience_s else None
