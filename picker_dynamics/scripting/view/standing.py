"""Standing of what pages asked for: what was asked before a cancel, a release or another page's turn is not carried out after it.

A motion is planned before it begins, a jog may have to wait for the arm, and each request comes on a thread of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from picker_dynamics.errors import PickerError


class LapsedError(PickerError):
    """What was asked for ended before it began."""


class Standing:
    """Requests that stand until something ends them all.

    Attributes:
        lock: to be held by who looks at ``require`` and acts on it, where what ends requests acts on another thread.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._ended = 0

    def lapse(self) -> None:
        """What was asked for by now is carried out no more; what comes behind this is."""
        with self.lock:
            self._ended += 1

    def asked(self) -> Callable[[], None]:
        """Something is asked for now: raises a LapsedError once it is not to be carried out any more."""
        before = self._ended

        def require() -> None:
            if self._ended != before:
                raise LapsedError("ended before it began", subject="page")

        return require
