"""Goal manager: takes goals, lets the newest of each track be executed, and answers every one exactly once.

Free of ROS.  Two times: ``now_s`` is the time of the arm (stamps), ``time_s`` the time for which the next reference will be sent,
a lead ahead.

A goal is planned and checked over its whole length before it starts, in one worker: from rest, or from the reference ``AHEAD_S``
ahead of a motion under way.  The plan holds if the active plan and the limits are those that it was made for, and its start still
lies ahead.  Else the goal is planned once more, then refused.  A newer goal overtakes one of its track that the worker does not
have.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from picker_dynamics.errors import PickerError, TrajectoryError

from .events import EventKind
from .goal import MAX_GOAL_S, Goal, ParsedGoal, parse
from .goal_tracking import ArmState, Code, Error, Outcome, SentReferences, Verdict
from .lease import MAIN_TRACK, HeldError, Holder, Kind, Lease
from .motion import Motion, Phase, Reference
from .reference_generator import ReferenceGenerator
from .streaming import Stream

HELD_S = 0.2
"""A goal waits this long for somebody else's lease to lapse, once: a stream that has ended has it for a moment yet [s]."""

AHEAD_S = 0.3
"""How far ahead the reference is from which a goal is planned that takes over from a motion under way [s]."""

SLOWER = 2.0
"""Where the plan came too late, the next one begins so many times later as the first took to make, beyond ``AHEAD_S``."""


def at_once(work: Callable[[], Any]) -> Future[Any]:
    """Future of work done here and now: a worker for who has no tick to lose."""
    done: Future[Any] = Future()
    try:
        done.set_result(work())
    except Exception as error:
        done.set_exception(error)
    return done


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


@dataclass(eq=False)
class _Waiting:
    """A goal that waits: its way to a motion, advanced at each look; ``work``: that the worker has of it."""

    request: GoalRequest
    way: Generator[None, None, Motion] | None = None
    work: Future[Any] | None = None


@dataclass
class _Executing:
    request: GoalRequest
    motion: Motion
    tracker: Tracker | None
    cancelling: bool = False


_KINDS = {Outcome.SUCCEEDED: EventKind.DONE, Outcome.ABORTED: EventKind.ABORTED, Outcome.CANCELED: EventKind.CANCELLED}


class GoalManager:
    """Takes goals for a reference generator.

    Args:
        generator: executes them; its worker parses and plans them.
        stream: is forgotten when a goal takes over.
        sent: the references that were sent.
        lease: on the arm, which a goal has until it is answered.
        tell: called with what happened: kind, text, and keywords of ``Event``.
    """

    def __init__(
        self, generator: ReferenceGenerator, stream: Stream, sent: SentReferences, lease: Lease, tell: Callable[..., None]
    ):
        self.generator, self.stream, self.sent, self.lease, self.tell = generator, stream, sent, lease, tell
        self.counts = {"accepted": 0, "refused": 0, "overtaken": 0}
        self._waiting: dict[str, list[_Waiting]] = {}  # of each track the one that is looked at, and the newest
        self._executing: dict[str, _Executing] = {}
        self._numbers = itertools.count(1)
        self._now_s = self._time_s = 0.0

    # -- coming in -----------------------------------------------------------------------------------------

    def submit(self, request: GoalRequest) -> None:
        """Take a goal; it is looked at soon (``look``), unless a newer one comes first."""
        if request.if_free and any(self._waiting.values()):
            why = "another goal is looked at: this one is refused, as it asks for an arm that is free"
            self._refuse(request, HeldError(why, subject="goal", left_s=0.0))
            return
        waiting = self._waiting.setdefault(request.track, [])
        if waiting and waiting[-1].work is None:
            self.counts["overtaken"] += 1
            error = PickerError("overtaken by a newer goal before it was looked at")
            self._refuse(waiting.pop().request, error, EventKind.OVERTAKEN)
        waiting.append(_Waiting(request))

    def look(self, now_s: float, time_s: float) -> None:
        """Look at the goals that wait: parse, plan, and begin those whose time has come; a motion may begin at ``time_s``."""
        self._now_s, self._time_s = now_s, time_s
        for waiting in [waiting for waiting in self._waiting.values() if waiting]:
            one = waiting[0]
            one.way = one.way or self._begun(one)
            try:
                next(one.way)
                continue
            except StopIteration as begun:
                became = begun.value
            except PickerError as error:
                became = error
            waiting.remove(one)
            if isinstance(became, PickerError):
                self._refuse(one.request, became)
            else:
                self._accept(one.request, became)

    def _begun(self, one: _Waiting) -> Generator[None, None, Motion]:
        """Parse, plan and begin a goal; yields while it waits."""
        request, generator, worker = one.request, self.generator, self.generator.worker
        arm, took_s = generator.description, 0.0
        one.work = worker(lambda: parse(request.make(), arm.joint_names, arm.position_units).within(arm.lower, arm.upper))
        while not one.work.done():
            yield
        goal, one.work = one.work.result(), None
        yield from self._lease(request, goal)
        yield from self._start(request, goal)
        for _ in range(2):
            while (basis := generator.basis(self._time_s, 0.0 if worker is at_once else AHEAD_S + SLOWER * took_s)) is None:
                if generator.phase is Phase.STREAMING:  # of the goal's own driver
                    self.stream.reset()
                    generator.cancel(self._time_s)
                yield
                yield from self._lease(request, goal)
            asked_s, one.work = self._time_s, worker(generator.planning(goal, basis, self._time_s))
            while not one.work.done():
                yield
            while generator.holds(basis):
                plan = one.work.result()
                self.lease.require(request.holder, goal.joints.tolist(), self._now_s)
                if basis.begins_s <= self._time_s:
                    return generator.begin(plan, self._time_s, str(next(self._numbers)))
                yield
            took_s = self._time_s - asked_s
        raise PickerError("the motion under way or the limits changed both times that the goal was planned")

    def _lease(self, request: GoalRequest, goal: ParsedGoal) -> Generator[None, None, None]:
        """Require the lease; somebody else's that is about to lapse is waited for."""
        joints = goal.joints.tolist()
        try:
            self.lease.require(request.holder, joints, self._now_s)
        except HeldError as error:
            if error.left_s > HELD_S:
                raise
            until_s = self._now_s + error.left_s
            while 0.0 < until_s - self._now_s <= HELD_S:
                yield
            self.lease.require(request.holder, joints, self._now_s)

    def _start(self, request: GoalRequest, goal: ParsedGoal) -> Generator[None, None, None]:
        """Wait while a goal for later would cut short a motion under way; raises where it is for too late."""
        wait_s = 0.0 if goal.start_s is None else goal.start_s - self._time_s
        if wait_s > MAX_GOAL_S:
            text = f"the goal starts {wait_s:.0f} s from now (allowed {MAX_GOAL_S:.0f} s)"
            raise TrajectoryError(text, None, wait_s, MAX_GOAL_S)
        if self.generator.must_wait(goal, self._time_s):
            self.tell(EventKind.REMARK, f"a goal waits for its start in {wait_s:.2f} s", identifier=request.identifier)
        while self.generator.must_wait(goal, self._time_s):
            yield
            yield from self._lease(request, goal)

    def _accept(self, request: GoalRequest, motion: Motion) -> None:
        self.counts["accepted"] += 1
        self.stream.reset()
        for entry in list(self._executing.values()):
            if entry.request.track == request.track or set(entry.motion.joints) & set(motion.joints):
                text = "preempted by a newer goal"
                if entry.cancelling:
                    self._close(entry, Verdict.canceled(f"cancelled, then {text}"))
                else:
                    self._close(entry, Verdict.aborted(text), EventKind.PREEMPTED)
        self._executing[motion.identifier] = _Executing(request, motion, request.tracker(motion))
        self.lease.end_kind(Kind.STREAM)
        self.lease.grant(request.holder, motion.joints, motion.start_s + motion.duration_s)
        factor, share, approach = motion.validated.factor, self.generator.speed, motion.approach
        parts = [
            f"executing, {motion.duration_s:.2f} s",
            f"slowed {factor:.2f} times to fit" if factor > 1.0 else "",
            f"at {100.0 * share:.0f} % speed" if share < 1.0 else "",
            "" if approach is None else approach.text(self.generator.description.joint_names),
        ]
        self.tell(EventKind.ACCEPTED, ", ".join(filter(None, parts)), identifier=request.identifier, motion=motion)

    def _refuse(self, request: GoalRequest, error: PickerError, kind: EventKind = EventKind.REFUSED) -> None:
        self.counts["refused"] += 1
        self.tell(kind, f"refused: {error}", identifier=request.identifier, error=error)
        request.answer(Verdict.of(error))

    # -- going on ------------------------------------------------------------------------------------------

    @property
    def trackers(self) -> list[Tracker]:
        """Judges of the goals that are being executed."""
        return [entry.tracker for entry in self._executing.values() if entry.tracker is not None]

    def finished(self, motion: Motion, cancelled: bool, reference: Reference) -> None:
        """A motion came to its end with this reference."""
        entry = self._executing.get(motion.identifier)
        if entry is None:
            if cancelled:
                self.tell(EventKind.REMARK, "stopped: holding")
        elif entry.tracker is not None:
            entry.tracker.ended(reference)
        elif cancelled:
            self._close(entry, Verdict.canceled("cancelled: holding"))
        else:
            self._close(entry, Verdict(Outcome.SUCCEEDED, Code.SUCCESSFUL, "done: holding"))

    def monitor(self, now_s: float, time_s: float, state: ArmState | None, feedback: bool) -> Error | None:
        """Compare the arm's state with what was sent, judge the goals, and give feedback; returns the error."""
        desired = None if state is None else self.sent.at(state.time_s)
        error = None if desired is None or state is None else Error(desired, state)
        for entry in list(self._executing.values()):
            if entry.tracker is None:
                continue
            verdict = entry.tracker.look(now_s, error)
            if verdict is not None:
                if verdict.stop:
                    self.generator.cancel(time_s, entry.motion.identifier)
                self._close(entry, verdict)
            elif feedback and error is not None and entry.request.feedback is not None:
                left_s, approach = self.generator.left(entry.motion.identifier, now_s), entry.motion.approach
                approaches = approach is not None and 0.0 < left_s <= approach.duration_s
                entry.request.feedback(error, entry.motion.duration_s - left_s, approaches)
        return error

    def cancel(self, time_s: float, request: GoalRequest | None = None) -> bool:
        """Withdraw goals and decelerate where the arm moves for them, one goal or all; returns whether anything moved.

        The answers of those that are being executed follow when the arm stands.
        """
        for withdrawn in self._withdraw(request):
            self.tell(EventKind.CANCELLED, "cancelled before it was looked at", identifier=withdrawn.identifier)
            withdrawn.answer(Verdict.canceled("cancelled before it was looked at"))
        chosen = [entry for entry in self._executing.values() if request in (None, entry.request)]
        for entry in chosen:
            entry.cancelling = True
            if entry.tracker is not None:
                entry.tracker.cancelling = True
            self.lease.end(entry.request.holder)
        if request is None:
            return self.generator.cancel(time_s)
        return any([self.generator.cancel(time_s, entry.motion.identifier) for entry in chosen])

    def _withdraw(self, wanted: GoalRequest | None) -> list[GoalRequest]:
        """Withdraw one goal that waits, or all; returns them."""
        gone = [one for waiting in self._waiting.values() for one in waiting if wanted in (None, one.request)]
        for one in gone:
            if one.work is not None:
                one.work.cancel()
            self._waiting[one.request.track].remove(one)
        return [one.request for one in gone]

    def close(self) -> None:
        """Answer those too that were not looked at yet: nothing is any more."""
        for request in self._withdraw(None):
            self._refuse(request, PickerError("the controller ends"))

    def abort_all(self, text: str) -> bool:
        """The arm cannot go on; returns whether anybody was told."""
        entries = list(self._executing.values())
        for entry in entries:
            self._close(entry, Verdict.aborted(text))
        return bool(entries)

    def _close(self, entry: _Executing, verdict: Verdict, kind: EventKind | None = None) -> None:
        """The one answer to a goal that was accepted."""
        self._executing.pop(entry.motion.identifier, None)
        self.lease.end(entry.request.holder)
        text = verdict.text or "done: holding"
        if verdict.outcome is Outcome.SUCCEEDED and entry.tracker is not None:
            text = "; ".join(filter(None, ("done: holding", verdict.text)))
        kind = kind or _KINDS[verdict.outcome]
        self.tell(kind, text, identifier=entry.request.identifier, motion=entry.motion)
        entry.request.answer(verdict)
