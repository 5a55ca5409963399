"""A motion that was accepted, as a script sees it."""

from __future__ import annotations

from collections.abc import Callable

from picker_dynamics.errors import GoalRefusedError, LinkError
from picker_dynamics.session.session import Session

STEP_S = 0.01
"""How long it is waited at a time [s]."""


class Move:
    """A motion that was accepted; what ``Arm.move(..., wait=False)`` returns.

    Args:
        session: gives the arm's session, as long as the arm is open.
        goal: name of the goal.

    Attributes:
        duration: of the motion [s].
    """

    def __init__(self, session: Callable[[], Session], goal: str, duration: float):
        self._session, self._goal, self.duration = session, goal, duration
        self._begin_s, self._done = session().now_s, False
        self._error: GoalRefusedError | None = None

    @property
    def progress(self) -> float:
        """Share of the motion that is over, 0 to 1."""
        return 1.0 if self._done else min((self._session().now_s - self._begin_s) / max(self.duration, 1e-9), 0.99)

    def done(self) -> bool:
        """Whether the motion has come to its end; a little time passes.

        Raises:
            GoalAbortedError: it ended in another way, and the arm holds.
        """
        if self._error is not None:  # a session forgets old goals
            raise self._error
        if self._done:
            return True
        session = self._session()
        try:
            if not session.ended(self._goal):
                session.spin(STEP_S)
            self._done = session.ended(self._goal)
        except GoalRefusedError as error:
            self._error = error
            raise
        return self._done

    def over(self) -> bool:
        """Whether the motion has come to an end, whichever; a little time passes."""
        try:
            return self.done()
        except GoalRefusedError:  # or aborted
            return True

    def wait(self, meanwhile: Callable[[], None] = lambda: None) -> float:
        """Wait for the end; returns the duration [s].  Ctrl-C cancels it: the arm decelerates and holds, nothing is latched.

        ``meanwhile`` is called again and again; what it raises cancels the motion, too.
        """
        try:
            while not self.done():
                meanwhile()
        except (GoalRefusedError, LinkError):
            raise
        except BaseException:
            self.cancel()
            raise
        return self.duration

    def cancel(self) -> None:
        """Let the arm decelerate, and wait until it holds; nothing, where this motion has ended: another one may be under way."""
        try:
            over = self.over()
        except LinkError:  # nothing is heard: it may hear all the same
            over = False
        if not over:
            session = self._session()
            session.cancel()
            session.wait(self.over, "the cancelled motion does not end")
