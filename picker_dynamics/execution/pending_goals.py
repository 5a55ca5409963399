"""Goals as they are asked for, and those that wait to be looked at: the newest of each track, the others are overtaken."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from .goal import MAIN_TRACK, Goal, ParsedGoal
from .goal_tracking import Error, Verdict
from .lease import Holder, Kind
from .motion import Motion, Reference
from .reference_generator import Basis

REST = 1.0
"""After a check as long a rest as it took, times this: checks take no more than half of the time."""


class Tracker(Protocol):
    """Judges a goal that is being executed, as ``GoalTracker`` does."""

    cancelling: bool

    @property
    def watches_path(self) -> bool: ...

    def ended(self, reference: Reference) -> None: ...

    def look(self, now_s: float, error: Error | None) -> Verdict | None: ...


@dataclass(eq=False)
class GoalRequest:
    """A goal, and whoever wants to know what becomes of it.

    Attributes:
        make: the goal; called once, when it is looked at.  May raise a PickerError.
        long: that takes longer than a reference can wait: it is called beside the ticks.
        track: goals of one track take each other's place.
        identifier: what the one who sent it calls it.
        driver: who sent it, where that is one who has the lease on the arm; empty: anybody.
        tracker: made when the motion is known; None: nobody judges it, it is done when the reference is.
        answer: called once, with the verdict.
        if_free: it takes the arm from no other goal.
        feedback: called now and then while it goes on, with the error, how far it is [s], and whether that is in its approach.
    """

    make: Callable[[], Goal]
    track: str = MAIN_TRACK
    identifier: str = ""
    tracker: Callable[[Motion], Tracker | None] = lambda _motion: None
    answer: Callable[[Verdict], None] = lambda _verdict: None
    feedback: Callable[[Error, float, bool], None] | None = None
    driver: str = ""
    long: bool = False
    if_free: bool = False

    @property
    def holder(self) -> Holder:
        """Holder who asks for the arm."""
        return Holder(Kind.GOAL, self.driver, self.track, self.identifier, self.if_free)


@dataclass
class Pending:
    """A request that waits to be looked at: parsed, where that was done; not before ``due_s``.

    ``work`` is done for it beside the ticks: it is parsed, then checked for an arm that stands or moves as it did (``basis``).
    ``held``: somebody else had the arm when it was looked at; ``slow``: though it is light, its check takes long.
    """

    request: GoalRequest
    goal: ParsedGoal | None = None
    due_s: float = 0.0
    work: Future[Any] | None = None
    basis: Basis | None = None
    checks: int = 0
    held: bool = False
    slow: bool = False

    def drop(self) -> GoalRequest:
        """Give up a goal that nobody wants any more."""
        if self.work is not None:
            self.work.cancel()
        return self.request


class PendingGoals:
    """Goals that wait to be looked at, one for each track; times are seconds on any one clock."""

    def __init__(self) -> None:
        self._waiting: dict[str, Pending] = {}
        self._rested_s = 0.0
        self.overtaken = 0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, request: GoalRequest) -> GoalRequest | None:
        """Take a request; returns the one that it overtakes, which has to be answered."""
        before = self._waiting.pop(request.track, None)
        self._waiting[request.track] = Pending(request)
        self.overtaken += before is not None
        return before.drop() if before else None

    def remove(self, wanted: Callable[[GoalRequest], bool]) -> list[GoalRequest]:
        """Withdraw requests; returns them."""
        gone = {track: pending for track, pending in self._waiting.items() if wanted(pending.request)}
        for track in gone:
            del self._waiting[track]
        return [pending.drop() for pending in gone.values()]

    def next(self, now_s: float) -> Pending | None:
        """Goal to look at now, which leaves; the first that came goes first.  One that is checked beside needs no rest."""
        for track, pending in self._waiting.items():
            if now_s >= pending.due_s and (now_s >= self._rested_s or pending.work is not None):
                return self._waiting.pop(track)
        return None

    def joining(self, after_s: float, time_s: float) -> Pending | None:
        """Goal that is checked and joins the motion under way after ``after_s``, at ``time_s`` at the latest; it leaves."""
        for track, pending in self._waiting.items():
            joins_s = None if pending.basis is None else pending.basis.joins_s
            if joins_s is not None and after_s < joins_s <= time_s and pending.work is not None and pending.work.done():
                return self._waiting.pop(track)
        return None

    def put_back(self, pending: Pending, due_s: float) -> None:
        """Let a goal wait that cannot be looked at before ``due_s``; a newer one that came meanwhile keeps its place."""
        pending.due_s = due_s
        self._waiting.setdefault(pending.request.track, pending)

    def looked(self, begin_s: float, end_s: float) -> None:
        """Note that a check took from ``begin_s`` to ``end_s``."""
        self._rested_s = end_s + REST * (end_s - begin_s)
