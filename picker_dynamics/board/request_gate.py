"""Request gate: what was asked before a stop, reset or enable neither undoes it nor moves the arm later; free of wall clocks.

    asked in epoch 7 --travel--> waits ----------------------> epoch 9: refused
                            stop: epoch 8    reset: epoch 9

A stop overtakes what was asked before it: other requests wait longer, are still on their way, or their process stands still.  A
reset, an enable and a motion that come out of that queue afterwards would be by somebody who never saw it.  So each stop, reset
and enable begins an epoch, requests name the newest that their sender has heard of, and one with an older epoch is refused.

Services of ROS name none.  Of those that could undo a stop all are refused for ``SETTLE_S``, and until none waits; then the stop
is answered, and who asks after that answer always passes.  No clocks of two machines are compared.
"""

from __future__ import annotations

import math
import secrets

from picker_dynamics.errors import BoardFaultError, GoalRefusedError

OUTDATED = "stopped, reset or enabled after this was asked: look at the arm, then ask again"

SETTLE_S = 0.25
"""How long a stop waits for its answer [s]: longer than a request takes on one machine, a busy one too, or a sound network; it is
no longer than a person takes to see that the arm was stopped and to act: who asks sooner had not seen it."""


class RequestGate:
    """Gate that each request passes which could undo a stop, or move the arm.

    Attributes:
        epoch: counts stops, resets and enables, from a random number on: none of another process is one of this.
        since_s: when the newest epoch began [s].
    """

    def __init__(self) -> None:
        self.epoch, self.since_s = secrets.randbelow(1 << 40), -math.inf
        self._due_s: float | None = None
        self._quiet = False

    def begin(self, now_s: float) -> None:
        """Begin an epoch: what was asked before is refused."""
        self.epoch, self.since_s = self.epoch + 1, now_s

    def require(self, epoch: int | None) -> None:
        """Raise a GoalRefusedError for a request of an older epoch; for one without an epoch as ``require_open``."""
        if epoch is None:
            self.require_open()
        elif epoch != self.epoch:
            raise GoalRefusedError(OUTDATED, "epoch")

    def require_since(self, asked_s: float) -> None:
        """Raise a GoalRefusedError for a request that was asked before the newest epoch began."""
        if asked_s < self.since_s:
            raise GoalRefusedError(OUTDATED, "epoch")

    @property
    def settling(self) -> bool:
        """Whether a stop was carried out that is not answered yet."""
        return self._due_s is not None

    def close(self, now_s: float, for_s: float = SETTLE_S) -> None:
        """Begin an epoch; refuse what names none, for ``for_s`` [s] and until nothing more waits."""
        self.begin(now_s)
        self._due_s, self._quiet = max(now_s + for_s, self._due_s or now_s), False

    def require_open(self) -> None:
        """Raise a BoardFaultError for a request that may have been made before a stop that is not answered yet."""
        if self._due_s is not None:
            self._quiet = False
            raise BoardFaultError("stopped after this was asked: look at the arm, then ask again")

    def settle(self, now_s: float) -> bool:
        """Open the gate where it is time; returns whether it is open.

        Whoever serves requests calls this again and again, between two looks at all that wait: a whole look has to pass in which
        nothing was refused.
        """
        if self._due_s is None:
            return True
        if now_s < self._due_s:
            return False
        if self._quiet:
            self._due_s = None
        self._quiet = True
        return self._due_s is None
