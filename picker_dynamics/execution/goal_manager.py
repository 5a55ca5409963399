"""Goal manager: takes goals, lets the newest of each track be executed, and answers every one exactly once.

Free of ROS.  Two times: ``now_s`` is the time of the arm (stamps), ``time_s`` the time for which the next reference will be sent,
a lead ahead.

A goal is planned and checked over its whole length before it starts, in one worker: from rest, or from the reference ``AHEAD_S``
ahead of a motion under way.  The plan holds if the active plan and the limits are those that it was made for, and its start still
lies ahead.  Else the goal is planned once more, then refused.  A newer goal overtakes one of its track that the worker does not
have.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from picker_dynamics.errors import PickerError, TrajectoryError

from .events import EventKind
from .goal import MAX_GOAL_S, PAST_TOLERANCE_S, Goal, ParsedGoal, parse
from .goal_tracking import ArmState, Error, Outcome, SentReferences, Tracker, Verdict
from .lateness import Lateness
from .lease import MAIN_TRACK, HeldError, Holder, Kind, Lease
from .motion import Motion, Phase, Reference, UnderWay
from .planning import at_once
from .reference_generator import ReferenceGenerator
from .streaming import Stream

HELD_S = 0.2
"""A goal waits this long for somebody else's lease to lapse, once: a stream that has ended has it for a moment yet [s]."""

AHEAD_S = 0.3
"""How far ahead the reference is from which a goal is planned that takes over from a motion under way [s]."""

SLOWER = 2.0
"""Where the plan came too late, the next one begins so many times later as the first took to make, beyond ``AHEAD_S``."""


@dataclass(eq=False)
class GoalRequest:
    """A goal, and whoever wants to know what becomes of it.

    Attributes:
        make: the goal; called once, in the worker.  May raise a PickerError.
        track: goals of one track take each other's place.
        identifier: what the one who sent it calls it.
        driver: who sent it, where that is one who has the lease on the arm; empty: anybody.
        tracker: makes its judge, when the motion is known; by default it is done when the reference is.
        answer: called once, with the verdict.
        if_free: it takes the arm from no other goal.
        feedback: called now and then while it goes on, with the error, how far it is [s], and whether that is in its approach.
    """

    make: Callable[[], Goal]
    track: str = MAIN_TRACK
    identifier: str = ""
    tracker: Callable[[Motion], Tracker] = lambda _motion: Tracker()
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


@dataclass(eq=False)
class _Executing:
    request: GoalRequest
    motion: Motion
    tracker: Tracker


_KINDS = {Outcome.SUCCEEDED: EventKind.DONE, Outcome.ABORTED: EventKind.ABORTED, Outcome.CANCELED: EventKind.CANCELLED}


class GoalManager:
    """Takes goals for a reference generator.

    Args:
        generator: executes them; its worker parses and plans them.
        stream: is forgotten when a goal takes over.
        sent: the references that were sent.
        lease: on the arm, which a goal has until it is answered.
        tell: called with what happened: kind, text, and keywords of ``Event``.
        lateness: of the loop; an aborted goal's answer says it.
    """

    def __init__(
        self,
        generator: ReferenceGenerator,
        stream: Stream,
        sent: SentReferences,
        lease: Lease,
        tell: Callable[..., None],
        lateness: Lateness,
    ):
        self.generator, self.stream, self.sent, self.lease, self.tell = generator, stream, sent, lease, tell
        self._lateness = lateness
        self._waiting: dict[str, list[_Waiting]] = {}  # of each track the one that is looked at, and the newest
        self._executing: list[_Executing] = []
        self._now_s = self._time_s = 0.0

    # -- coming in -----------------------------------------------------------------------------------------

    def submit(self, request: GoalRequest) -> None:
        """Take a goal; it is looked at soon (``look``), unless a newer one comes first."""
        if request.if_free and any(self._waiting.values()):
            why = "another goal is being planned, and this one needs a free arm"
            self.refuse(request, HeldError(why, subject="goal", left_s=0.0))
            return
        waiting = self._waiting.setdefault(request.track, [])
        if waiting and waiting[-1].work is None:
            error = PickerError("replaced by a newer goal before it was planned")
            self.refuse(waiting.pop().request, error, EventKind.OVERTAKEN)
        waiting.append(_Waiting(request))

    def look(self, now_s: float, time_s: float) -> None:
        """Look at the goals that wait: parse, plan, and begin those whose time has come; a motion may begin at ``time_s``."""
        self._now_s, self._time_s = now_s, time_s
        for waiting in [waiting for waiting in self._waiting.values() if waiting]:
            one = waiting[0]
            one.way = one.way or self._begun(one)
            try:
                next(one.way)
            except StopIteration as begun:
                waiting.remove(one)
                self._accept(one.request, begun.value)
            except PickerError as error:
                waiting.remove(one)
                self.refuse(one.request, error)

    def _begun(self, one: _Waiting) -> Generator[None, None, Motion]:
        """Parse, plan and begin a goal; yields while it waits."""
        request, generator, worker = one.request, self.generator, self.generator.worker
        arm, took_s = generator.description, 0.0
        one.work = worker(lambda: parse(request.make(), arm.joint_names, arm.position_units).within(arm.lower, arm.upper))
        while not one.work.done():
            yield
        goal, one.work = one.work.result(), None
        yield from self._lease(request, goal)
        wait_s = self.require_timely(goal, self._time_s)
        if generator.must_wait(goal, self._time_s):
            self.tell(EventKind.REMARK, f"a goal waits for its start in {wait_s:.2f} s", identifier=request.identifier)
        while generator.must_wait(goal, self._time_s):
            yield
            yield from self._lease(request, goal)
        for _ in range(2):
            ahead_s = 0.0 if worker is at_once else AHEAD_S + SLOWER * took_s
            while (plan := generator.plan_goal(goal, self._time_s, ahead_s)) is None:
                if generator.phase is Phase.STREAMING:  # of the goal's own driver
                    self.stream.reset()
                    generator.cancel(self._time_s)
                yield
                yield from self._lease(request, goal)
            asked_s, one.work = self._time_s, plan.work
            while not one.work.done():
                yield
            while generator.holds(plan):
                plan.work.result()
                self.lease.require(request.holder, goal.joints.tolist(), self._now_s)
                if plan.begins_s <= self._time_s:
                    return generator.begin(plan, self._time_s)
                yield
            took_s = self._time_s - asked_s
        raise PickerError("motion or limits changed twice while the goal was planned")

    def _lease(self, request: GoalRequest, goal: ParsedGoal) -> Generator[None, None, None]:
        """Require the lease; somebody else's that is about to lapse is waited for."""
        until_s = self._now_s + HELD_S
        while not self.require_lease(request.holder, goal, self._now_s, until_s - self._now_s):
            yield

    def require_lease(self, holder: Holder, goal: ParsedGoal, now_s: float, patience_s: float = HELD_S) -> bool:
        """Return whether the arm is the holder's to move now, or False where it is about to be; raises why it is not."""
        try:
            self.lease.require(holder, goal.joints.tolist(), now_s)
            return True
        except HeldError as error:
            if not 0.0 < error.left_s <= patience_s:
                raise
            return False

    @staticmethod
    def require_timely(goal: ParsedGoal, time_s: float) -> float:
        """Return how long a goal waits for its start [s]; raises a TrajectoryError where it is over, or waits for too long."""
        wait_s = 0.0 if goal.start_s is None else goal.start_s - time_s
        if wait_s > MAX_GOAL_S:
            text = f"the goal starts {wait_s:.0f} s from now (allowed {MAX_GOAL_S:.0f} s)"
            raise TrajectoryError(text, None, wait_s, MAX_GOAL_S)
        if -wait_s > PAST_TOLERANCE_S:
            goal.after(-wait_s)
        return wait_s

    def _accept(self, request: GoalRequest, motion: Motion) -> None:
        self.stream.reset()
        for entry in list(self._executing):
            if entry.request.track == request.track or set(entry.motion.joints) & set(motion.joints):
                text = "preempted by a newer goal"
                if entry.tracker.cancelling:
                    self._close(entry, Verdict.canceled(f"cancelled, then {text}"))
                else:
                    self._close(entry, Verdict.aborted(text), EventKind.PREEMPTED)
        self._executing.append(_Executing(request, motion, request.tracker(motion)))
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

    def refuse(self, request: GoalRequest, error: PickerError, kind: EventKind = EventKind.REFUSED) -> None:
        """Tell and answer a goal that is not executed."""
        self.tell(kind, f"refused: {error}", identifier=request.identifier, error=error)
        request.answer(Verdict.of(error))

    # -- going on ------------------------------------------------------------------------------------------

    @property
    def trackers(self) -> list[Tracker]:
        """Judges of the goals that are being executed."""
        return [entry.tracker for entry in self._executing]

    def finished(self, ended: UnderWay, reference: Reference) -> None:
        """A motion came to its end, or to rest, with this reference, at the time at which that holds.

        The end is judged by the pose that was asked for, which is not the reference where an arm stood for its goal.
        """
        if not ended.cancelled:
            q = reference.q.copy()
            q[list(ended.motion.joints)] = ended.motion.target
            reference = replace(reference, q=q)
        entry = next((entry for entry in self._executing if entry.motion is ended.motion), None)
        if entry is not None and (verdict := entry.tracker.ended(reference)) is not None:
            self._close(entry, verdict)
        elif entry is None and ended.cancelled:
            self.tell(EventKind.REMARK, "stopped: holding")

    def monitor(self, now_s: float, time_s: float, state: ArmState | None, feedback: bool) -> Error | None:
        """Compare the arm's state with what was sent, judge the goals, and give feedback; returns the error."""
        desired = None if state is None else self.sent.at(state.time_s)
        error = None if desired is None or state is None else Error(desired, state)
        for entry in list(self._executing):
            verdict, motion = entry.tracker.look(now_s, error), entry.motion
            if verdict is not None:
                if verdict.stop:
                    self.generator.cancel(time_s, motion)
                self._close(entry, verdict)
            elif feedback and error is not None and entry.request.feedback is not None:
                left_s = self.generator.left(motion, now_s - self.sent.delay_s - self.sent.behind_s)
                approaches = motion.approach is not None and 0.0 < left_s <= motion.approach.duration_s
                entry.request.feedback(error, motion.duration_s - left_s, approaches)
        return error

    def cancel(self, time_s: float, request: GoalRequest | None = None) -> bool:
        """Withdraw goals and decelerate where the arm moves for them, one goal or all; returns whether anything moved.

        The answers of those that are being executed follow when the arm stands.
        """
        for withdrawn in self._withdraw(request):
            self.tell(EventKind.CANCELLED, "cancelled before it was planned", identifier=withdrawn.identifier)
            withdrawn.answer(Verdict.canceled("cancelled before it was planned"))
        chosen = [entry for entry in self._executing if request in (None, entry.request)]
        for entry in chosen:
            entry.tracker.cancelling = True
            self.lease.end(entry.request.holder)
        if request is None:
            return self.generator.cancel(time_s)
        return any([self.generator.cancel(time_s, entry.motion) for entry in chosen])

    def _withdraw(self, wanted: GoalRequest | None) -> list[GoalRequest]:
        """Withdraw one goal that waits, or all; returns them."""
        gone = [one for waiting in self._waiting.values() for one in waiting if wanted in (None, one.request)]
        for one in gone:
            if one.work is not None:
                one.work.cancel()
            self._waiting[one.request.track].remove(one)
        return [one.request for one in gone]

    def close(self) -> None:
        """Answer all goals, those too that were not looked at yet: nothing is any more."""
        self.abort_all("aborted: the controller ends")
        for request in self._withdraw(None):
            self.refuse(request, PickerError("the controller ends"))

    def abort_all(self, text: str) -> bool:
        """The arm cannot go on; returns whether anybody was told."""
        entries = list(self._executing)
        for entry in entries:
            self._close(entry, Verdict.aborted(text))
        return bool(entries)

    def _close(self, entry: _Executing, verdict: Verdict, kind: EventKind | None = None) -> None:
        """The one answer to a goal that was accepted."""
        self._executing.remove(entry)
        self.lease.end(entry.request.holder)
        if verdict.outcome is Outcome.ABORTED and kind is None and (late := self._lateness.text):
            verdict = replace(verdict, text=f"{verdict.text} ({late})")
        text = verdict.text
        if verdict.outcome is Outcome.SUCCEEDED:
            text = "; ".join(filter(None, ("done: holding", verdict.text)))
        self.tell(kind or _KINDS[verdict.outcome], text, identifier=entry.request.identifier, motion=entry.motion)
        entry.request.answer(verdict)
