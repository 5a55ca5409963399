"""Standing of what pages asked for: what was asked before a cancel, a release or another page's turn is not carried out after it.

A motion is planned before it begins, a jog may have to wait for the arm, and each request comes on a thread of its own.
"""

from __future__ import annotations

import threading

from picker_dynamics.errors import PickerError


class LapsedError(PickerError):
    """A thing asked for that ended before it began."""


class Standing:
    """Requests that stand until something ends them all.

    Attributes:
        lock: to be held by who looks at ``require`` and acts on it, where what ends requests acts on another thread.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._ended = 0

    def lapse(self) -> None:
        """Let lapse what was asked for by now: it is carried out no more; what comes behind this is."""
        with self.lock:
            self._ended += 1

    @property
    def ended(self) -> int:
        """Number of times that something has ended what was asked for."""
        return self._ended

    def require(self, ended: int) -> None:
        """Raise a LapsedError for what was asked for when they had been ended so often, and stands no more."""
        if self._ended != ended:
            raise LapsedError("ended before it began", subject="page")
