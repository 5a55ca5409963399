"""Wheel of a view: of all pages that look at an arm one drives; the others watch, and may take over, which they have to say.

Within the graph the arm's lease is the server's as long as somebody has the wheel: ``picker move`` and other drivers are refused,
too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from picker_dynamics.errors import PickerError

GONE_S, IDLE_S = 2.0, 300.0
"""A page of which nothing is seen for so long has let go; so has one that asked for nothing so long [s]."""


class Wheel:
    """Wheel of the arm: who drives; times are seconds on any one clock.

    Args:
        on_change: called when somebody drives (True) or nobody does any more (False), before that may change again.

    Attributes:
        driver: the page that does; empty: nobody.
    """

    def __init__(self, on_change: Callable[[bool], object] = lambda _driven: None) -> None:
        self.driver = ""
        self._on_change = on_change
        self._seen_s = self._asked_s = 0.0
        self._lock = threading.Lock()

    def take(self, page: str, now_s: float, *, over: bool = False) -> bool:
        """Have a page drive; returns whether it did not before.

        Args:
            over: take it from whoever has it.

        Raises:
            PickerError: another one drives.
        """
        with self._lock:
            if self.driver not in ("", page) and not over:
                raise PickerError("another page drives the arm: this one watches until it takes over", subject="page")
            new, self.driver = self.driver != page, page
            self._seen_s = self._asked_s = now_s
            if new:
                self._on_change(True)
            return new

    def leave(self, page: str) -> None:
        """A page lets go, where it had it."""
        with self._lock:
            if self.driver == page:
                self._release()

    def give_back(self) -> None:
        """Give back what somebody took who drives no more, where nobody drives now."""
        with self._lock:
            if not self.driver:
                self._release()

    def _release(self) -> None:
        self.driver = ""
        self._on_change(False)

    def look(self, there: set[str], now_s: float, busy: bool = False) -> bool:
        """Whether somebody drives; who is gone, or asks for nothing, does not any more.

        Args:
            there: streams that are open: a page's name is its stream's, or begins with that and a dot.
            busy: what it asked for is still under way.
        """
        with self._lock:
            if busy:
                self._asked_s = now_s
            if self.driver.partition(".")[0] in there:
                self._seen_s = now_s
            if self.driver and (now_s - self._seen_s > GONE_S or now_s - self._asked_s > IDLE_S):
                self._release()
            return bool(self.driver)
