"""Request gate: what was asked before a stop was answered cannot undo that stop; free of ROS and of wall clocks.

    asked --travel--> waits --> carried out                   reset, enable, adopt
            stop: carried out at once -- SETTLE_S --> what waits is refused --> answered

A stop overtakes what was asked before it: another service's requests wait longer, or are still on their way.  A reset and an
enable that come out of that queue after the stop would undo it, by somebody who never saw it.  So the stop itself is carried out
at once, but its answer waits: until then all that could undo it is refused, what waits at that moment too.  Who asks after he was
answered always passes; what was sent before the stop does not, unless it travels for longer than ``SETTLE_S``.  No clocks of
two machines are compared.
"""

from __future__ import annotations

from collections.abc import Callable

from picker_dynamics.errors import BoardFaultError

SETTLE_S = 0.25
"""How long a stop waits for its answer [s]: longer than a request takes on one machine, a busy one too, or a sound network; it is
no longer than a person takes to see that the arm was stopped and to act: who asks sooner had not seen it."""


class RequestGate:
    """Gate that each request passes which could undo a stop.

    Args:
        serve_waiting: has all requests that wait now carried out; those that could undo a stop come to ``require_open``.
    """

    def __init__(self, serve_waiting: Callable[[], None]):
        self._serve_waiting = serve_waiting
        self._answers: list[tuple[float, Callable[[], object]]] = []
        self._refusing = False

    @property
    def settling(self) -> bool:
        """Whether a stop was carried out that is not answered yet."""
        return bool(self._answers)

    def hold(self, answer: Callable[[], object], now_s: float) -> None:
        """A stop was carried out: ``answer`` it when ``settle`` finds it ``SETTLE_S`` old."""
        self._answers.append((now_s + SETTLE_S, answer))

    def settle(self, now_s: float) -> None:
        """Answer stops that are due, after all that waits was refused."""
        if all(due_s > now_s for due_s, _ in self._answers):
            return
        self.refuse_waiting()
        due = [answer for due_s, answer in self._answers if due_s <= now_s]
        self._answers = [one for one in self._answers if one[0] > now_s]
        for answer in due:
            answer()

    def refuse_waiting(self) -> None:
        """Refuse what waits and could undo what has just happened, before anybody is told of it."""
        before, self._refusing = self._refusing, True
        try:
            self._serve_waiting()
        finally:
            self._refusing = before

    def require_open(self) -> None:
        """Raise a BoardFaultError for a request that may have been asked before a stop that is not answered yet."""
        if self._refusing or self._answers:
            raise BoardFaultError("stopped after this was asked: look at the arm, then ask again")
