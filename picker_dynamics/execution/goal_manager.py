"""Goal manager: takes goals, lets the newest of each track be executed, and answers every one exactly once.

Free of ROS.  Two times: ``now_s`` is the time of the arm (stamps), ``time_s`` the time for which the next reference will be sent,
a lead ahead.

A goal is planned and checked over its whole length before it starts, in one worker: from rest, or from the reference ``AHEAD_S``
ahead of a motion under way.  The plan holds if the active plan and the limits are those that it was made for, and its start still
lies ahead.  Else the goal is planned once more, then refused.  A newer goal overtakes one of its track that is not planned yet.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from picker_dynamics.errors import PickerError, TrajectoryError
from picker_dynamics.robot.description import ArmDescription

from .events import EventKind
from .goal import MAX_GOAL_S, ParsedGoal, parse
from .goal_tracking import ArmState, Code, Error, Outcome, SentReferences, Verdict
from .lease import HeldError, Kind, Lease
from .motion import Motion, Phase, Reference
from .pending_goals import GoalRequest, Pending, PendingGoals, Tracker
from .reference_generator import ReferenceGenerator
from .streaming import Stream

HELD_S = 0.2
"""A goal waits this long for somebody else's lease to lapse, once: a stream that has ended has it for a moment yet [s]."""

AHEAD_S = 0.3
"""How far ahead the reference is from which a goal is planned that takes over from a motion under way [s]."""

SLOWER = 2.0
"""Where the plan came too late, the next one begins so many times later as the first took to make, beyond ``AHEAD_S``."""

Beside = Callable[[Callable[[], Any]], "Future[Any]"]
"""Has work done in the worker, as ``Executor.submit`` does."""


def at_once(work: Callable[[], Any]) -> Future[Any]:
    """Future of work done here and now: for who has no tick to lose."""
    done: Future[Any] = Future()
    try:
        done.set_result(work())
    except Exception as error:
        done.set_exception(error)
    return done


def _parsed(request: GoalRequest, arm: ArmDescription) -> ParsedGoal:
    """The goal in the arm's order."""
    return parse(request.make(), arm.joint_names, arm.position_units).within(arm.lower, arm.upper)


@dataclass
class _Executing:
    request: GoalRequest
    motion: Motion
    tracker: Tracker | None


_KINDS = {Outcome.SUCCEEDED: EventKind.DONE, Outcome.ABORTED: EventKind.ABORTED, Outcome.CANCELED: EventKind.CANCELLED}


class GoalManager:
    """Takes goals for a reference generator.

    Args:
        generator: executes them.
        stream: is forgotten when a goal takes over.
        sent: the references that were sent.
        lease: on the arm, which a goal has until it is answered.
        tell: called with what happened: kind, text, and keywords of ``Event``.
        beside: has goals parsed and planned in the worker.
    """

    def __init__(
        self,
        generator: ReferenceGenerator,
        stream: Stream,
        sent: SentReferences,
        lease: Lease,
        tell: Callable[..., None],
        beside: Beside = at_once,
    ):
        self.generator, self.stream, self.sent, self.lease = generator, stream, sent, lease
        self.tell, self.beside = tell, beside
        self.pending = PendingGoals()
        self.accepted = self.refused = 0
        self._executing: dict[str, _Executing] = {}
        self._numbers = itertools.count(1)

    # -- coming in -----------------------------------------------------------------------------------------

    def submit(self, request: GoalRequest) -> None:
        """Take a goal; it is looked at soon (``look``), unless a newer one comes first."""
        if self.pending and request.if_free:
            why = "another goal is looked at: this one is refused, as it asks for an arm that is free"
            self._refuse(request, HeldError(why, subject="goal", left_s=0.0))
            return
        overtaken = self.pending.put(request)
        if overtaken is not None:
            error = PickerError("overtaken by a newer goal before it was looked at")
            self._refuse(overtaken, error, EventKind.OVERTAKEN)

    def look(self, now_s: float, time_s: float, planned_only: bool = False) -> None:
        """Look at the goals that wait: parse, plan, and begin those whose time has come.

        Args:
            time_s: when a motion may begin.
            planned_only: leave what is not planned yet.
        """
        for pending in self.pending:
            if 0.0 < pending.due_s - now_s <= MAX_GOAL_S or (planned_only and pending.basis is None):
                continue
            request = pending.request
            try:
                motion = self._begun(pending, now_s, time_s)
            except HeldError as error:
                if pending.held or error.left_s > HELD_S:
                    self._refuse(request, error)
                else:
                    pending.held, pending.due_s = True, now_s + error.left_s
                    continue
            except PickerError as error:
                self._refuse(request, error)
            else:
                if motion is None:
                    continue
                self._accept(request, motion)
            self.pending.end(pending)

    def _begun(self, pending: Pending, now_s: float, time_s: float) -> Motion | None:
        """What a goal becomes; None: it waits, or the worker has it."""
        request, generator, first = pending.request, self.generator, pending.goal is None
        if pending.goal is None:
            pending.work = pending.work or self.beside(partial(_parsed, request, generator.description))
            if not pending.work.done():
                return None
            pending.goal, pending.work = pending.work.result(), None
        goal = pending.goal
        self.lease.require(request.holder, goal.joints.tolist(), now_s)
        if pending.work is None or pending.basis is None:
            wait_s = self._wait_s(request, goal, time_s, first)
            if wait_s:
                pending.due_s = now_s + wait_s
                return None
            ahead_s = 0.0 if self.beside is at_once else AHEAD_S + SLOWER * pending.took_s
            pending.basis = generator.basis(goal, time_s, ahead_s)
            if pending.basis is None:
                if generator.phase() is Phase.STREAMING:  # of the goal's own driver
                    self.stream.reset()
                    generator.cancel(time_s)
                return None
            pending.asked_s = time_s
            pending.work = self.beside(generator.planning(generator.in_time(goal, time_s), pending.basis))
        if not pending.work.done():
            return None
        if not generator.holds(pending.basis):
            if pending.again:
                raise PickerError("the motion under way or the limits changed both times that the goal was planned")
            pending.again, pending.work, pending.basis = True, None, None
            pending.took_s = time_s - pending.asked_s
            return None
        plan = pending.work.result()
        return None if plan.basis.begins_s > time_s else generator.begin(plan, time_s, str(next(self._numbers)))

    def _wait_s(self, request: GoalRequest, goal: ParsedGoal, time_s: float, first: bool) -> float:
        """How long a goal for later has to wait because another motion is under way [s]; raises where it is for too late."""
        wait_s = 0.0 if goal.start_s is None else goal.start_s - time_s
        if wait_s > MAX_GOAL_S:
            raise TrajectoryError(
                f"the goal starts {wait_s:.0f} s from now (allowed {MAX_GOAL_S:.0f} s)", None, wait_s, MAX_GOAL_S
            )
        if not self.generator.must_wait(goal, time_s):
            return 0.0
        if first:
            self.tell(EventKind.REMARK, f"a goal waits for its start in {wait_s:.2f} s", identifier=request.identifier)
        return max(wait_s, 0.0)

    def _accept(self, request: GoalRequest, motion: Motion) -> None:
        self.accepted += 1
        self.stream.reset()
        for displaced in self.generator.displaced:
            entry = self._executing.get(displaced.identifier)
            if entry is not None:
                self._preempt(entry, cancelled=displaced.cancelled or (entry.tracker is not None and entry.tracker.cancelling))
        for entry in list(self._executing.values()):  # arrived, but not yet within their tolerances
            if entry.request.track == request.track or set(entry.motion.joints) & set(motion.joints):
                self._preempt(entry)
        self._executing[motion.identifier] = _Executing(request, motion, request.tracker(motion))
        self.lease.end_kind(Kind.STREAM)
        self.lease.grant(request.holder, motion.joints, motion.start_s + motion.duration_s)
        factor = 1.0 if motion.validated is None else motion.validated.factor
        share = self.generator.speed
        slowed = f", slowed {factor:.2f} times to fit" if factor > 1.0 else ""
        speed = f", at {100.0 * share:.0f} % speed" if share < 1.0 else ""
        ends = "" if motion.approach is None else motion.approach.text(self.generator.joint_names)
        text = f"executing, {motion.duration_s:.2f} s{slowed}{speed}{', ' if ends else ''}{ends}"
        self.tell(EventKind.ACCEPTED, text, identifier=request.identifier, motion=motion)

    def _refuse(self, request: GoalRequest, error: PickerError, kind: EventKind = EventKind.REFUSED) -> None:
        self.refused += 1
        self.tell(kind, f"refused: {error}", identifier=request.identifier, error=error)
        request.answer(Verdict.of(error))

    def _preempt(self, entry: _Executing, cancelled: bool = False) -> None:
        text = "preempted by a newer goal"
        if cancelled:
            self._close(entry, Verdict.canceled(f"cancelled, then {text}"))
        else:
            self._close(entry, Verdict.aborted(text), EventKind.PREEMPTED)

    # -- going on ------------------------------------------------------------------------------------------

    @property
    def watched(self) -> bool:
        """Whether anybody judges a goal that is being executed."""
        return any(entry.tracker is not None for entry in self._executing.values())

    @property
    def watches_path(self) -> bool:
        """Whether every state of the arm counts for a goal that is being executed."""
        return any(entry.tracker is not None and entry.tracker.watches_path for entry in self._executing.values())

    def finished(self, motion: Motion, reference: Reference) -> None:
        """A motion came to its end with this reference."""
        entry = self._executing.get(motion.identifier)
        if entry is None:
            if motion.cancelled:
                self.tell(EventKind.REMARK, "stopped: holding")
            return
        if entry.tracker is not None:
            entry.tracker.ended(reference)
        elif motion.cancelled:
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
                left_s, approach = self.generator.left(entry.motion, now_s), entry.motion.approach
                approaches = approach is not None and 0.0 < left_s <= approach.duration_s
                entry.request.feedback(error, entry.motion.duration_s - left_s, approaches)
        return error

    def cancel(self, time_s: float, request: GoalRequest | None = None) -> bool:
        """Withdraw goals and decelerate where the arm moves for them, one goal or all; returns whether anything moved.

        The answers of those that are being executed follow when the arm stands.
        """
        for waiting in self.pending.remove(lambda one: request in (None, one)):
            self.tell(EventKind.CANCELLED, "cancelled before it was looked at", identifier=waiting.identifier)
            waiting.answer(Verdict.canceled("cancelled before it was looked at"))
        chosen = [entry for entry in self._executing.values() if request in (None, entry.request)]
        for entry in chosen:
            if entry.tracker is not None:
                entry.tracker.cancelling = True
            self.lease.end(entry.request.holder)
        if not self.generator.active:
            return False
        if request is None:
            return self.generator.cancel(time_s)
        return any([self.generator.cancel(time_s, entry.motion.identifier) for entry in chosen])

    def close(self) -> None:
        """Answer those too that were not looked at yet: nothing is any more."""
        for waiting in self.pending.remove(lambda _one: True):
            self._refuse(waiting, PickerError("the controller ends"))

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
