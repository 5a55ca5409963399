"""A motion that was accepted, as a script sees it."""

from __future__ import annotations

from collections.abc import Callable

from picker_dynamics.errors import GoalRefusedError, LinkError

from .body import Goal


class Move:
    """A motion that was accepted; what ``Arm.move(..., wait=False)`` returns.

    Attributes:
        duration: of the motion [s].
    """

    def __init__(self, goal: Goal, step: Callable[[], None]):
        self._goal, self._step, self.duration = goal, step, goal.duration_s

    @property
    def progress(self) -> float:
        """Share of the motion that is over, 0 to 1."""
        return self._goal.progress()

    def done(self) -> bool:
        """Whether the motion has come to its end; a little time passes.

        Raises:
            GoalAbortedError: it ended in another way, and the arm holds.
        """
        if not self._goal.ended():
            self._step()
        return self._goal.ended()

    def over(self) -> bool:
        """Whether the motion has come to an end, whichever; a little time passes."""
        try:
            return self.done()
        except GoalRefusedError:  # or aborted
            return True

    def wait(self, meanwhile: Callable[[], None] = lambda: None) -> float:
        """Wait for the end; returns the duration [s].  Ctrl-C cancels it: the arm decelerates and holds, nothing is latched.

        ``meanwhile`` is called again and again.
        """
        try:
            while not self.done():
                meanwhile()
        except (KeyboardInterrupt, RuntimeError):
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
            self._goal.cancel()
