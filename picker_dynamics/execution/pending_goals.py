"""Goals as they are asked for, and those that wait to be planned: the newest of each track, the others are overtaken."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from .goal import Goal, ParsedGoal
from .goal_tracking import Error, Verdict
from .lease import MAIN_TRACK, Holder, Kind
from .motion import Motion, Reference
from .planning import Basis


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
        make: the goal; called once, in the worker.  May raise a PickerError.
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
    if_free: bool = False

    @property
    def holder(self) -> Holder:
        """Holder who asks for the arm."""
        return Holder(Kind.GOAL, self.driver, self.track, self.identifier, self.if_free)


@dataclass
class Pending:
    """A request on its way: parsed in the worker, then planned there on a basis that has to hold when the motion begins.

    Attributes:
        goal: what was parsed; None: not yet.
        work: of the worker, for it.
        basis: that it is planned on; None: it is not being planned.
        asked_s, took_s: when planning began, and how long that took of what did not hold any more [s].
        again: it is planned for the second time.
        due_s: it is not looked at before [s].
        held: somebody else had the arm when it was looked at.
    """

    request: GoalRequest
    goal: ParsedGoal | None = None
    work: Future[Any] | None = None
    basis: Basis | None = None
    asked_s: float = 0.0
    took_s: float = 0.0
    again: bool = False
    due_s: float = -math.inf
    held: bool = False


class PendingGoals:
    """Goals that wait: of each track one that the worker has, and the newest behind it; the others are overtaken."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Pending]] = {}
        self.overtaken = 0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __iter__(self) -> Iterator[Pending]:
        """The first of each track."""
        return iter([waiting[0] for waiting in self._waiting.values()])

    def put(self, request: GoalRequest) -> GoalRequest | None:
        """Take a request; returns the one that it overtakes, which has to be answered."""
        waiting = self._waiting.setdefault(request.track, [])
        before = waiting.pop() if waiting and waiting[-1].work is None else None
        waiting.append(Pending(request))
        self.overtaken += before is not None
        return None if before is None else before.request

    def end(self, pending: Pending) -> None:
        """Let a goal go that is answered, or executed."""
        self.remove(lambda request: request is pending.request)

    def remove(self, wanted: Callable[[GoalRequest], bool]) -> list[GoalRequest]:
        """Withdraw requests; returns them."""
        gone = [pending for waiting in self._waiting.values() for pending in waiting if wanted(pending.request)]
        for pending in gone:
            if pending.work is not None:
                pending.work.cancel()
            self._waiting[pending.request.track].remove(pending)
        self._waiting = {track: waiting for track, waiting in self._waiting.items() if waiting}
        return [pending.request for pending in gone]
