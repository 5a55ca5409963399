"""Request gate: a request that was made before a stop was answered cannot undo that stop; free of wall clocks.

    asked --travel--> waits --> carried out                   reset, enable, adopt
            stop: carried out at once -- SETTLE_S, and until nothing waits --> answered

A stop overtakes what was asked before it: other requests wait longer, or are still on their way.  A reset and an enable that
come out of that queue after the stop would undo it, by somebody who never saw it.  So the stop itself is carried out at once,
but its answer waits: until then all that could undo it is refused.  Who asks after that answer always passes.  No clocks of two
machines are compared.
"""

from __future__ import annotations

from picker_dynamics.errors import BoardFaultError

SETTLE_S = 0.25
"""How long a stop waits for its answer [s]: longer than a request takes on one machine, a busy one too, or a sound network; it is
no longer than a person takes to see that the arm was stopped and to act: who asks sooner had not seen it."""


class RequestGate:
    """Gate that each request passes which could undo a stop."""

    def __init__(self) -> None:
        self._due_s: float | None = None
        self._quiet = False

    @property
    def settling(self) -> bool:
        """Whether a stop was carried out that is not answered yet."""
        return self._due_s is not None

    def close(self, now_s: float, for_s: float = SETTLE_S) -> None:
        """Refuse, for ``for_s`` [s] and until nothing more waits, what could undo what has just happened."""
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
