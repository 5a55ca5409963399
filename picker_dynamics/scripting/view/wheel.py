"""Wheel of a view: of all pages that look at an arm one drives; the others watch, and may take over, which they have to say.

Within the graph the arm's lease is the server's as long as somebody has the wheel: ``picker move`` and other drivers are refused,
too.
"""

from __future__ import annotations

from picker_dynamics.errors import PickerError

GONE_S, IDLE_S = 2.0, 300.0
"""A page of which nothing is seen for so long has let go; so has one that asked for nothing so long [s]."""


class Wheel:
    """Wheel of the arm: who drives; times are seconds on any one clock.

    Attributes:
        driver: the page that does; empty: nobody.
    """

    def __init__(self) -> None:
        self.driver, self._seen_s, self._asked_s = "", 0.0, 0.0

    def take(self, page: str, now_s: float, *, over: bool = False) -> bool:
        """Have a page drive; returns whether it did not before.

        Args:
            over: take it from whoever has it.

        Raises:
            PickerError: another one drives.
        """
        if self.driver not in ("", page) and not over:
            raise PickerError("another page drives the arm: this one watches until it takes over", "page")
        new, self.driver = self.driver != page, page
        self._seen_s = self._asked_s = now_s
        return new

    def is_idle(self, there: set[str], now_s: float, busy: bool = False) -> bool:
        """Whether the page that drives is gone, or asks for nothing any more.

        Args:
            there: streams that are open: a page's name is its stream's, or begins with that and a dot.
            busy: what it asked for is still under way.
        """
        if busy:
            self._asked_s = now_s
        if self.driver.partition(".")[0] in there:
            self._seen_s = now_s
        return bool(self.driver) and (now_s - self._seen_s > GONE_S or now_s - self._asked_s > IDLE_S)
