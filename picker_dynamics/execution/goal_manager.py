"""Goal manager: takes goals, lets the newest of each track be executed, and answers every one exactly once.

Free of ROS.  Three times: ``now_s`` is the time of the arm (stamps), ``time_s`` the time for which the next reference will be
sent, a lead ahead; the third, ``clock``, only measures how long things take.

A goal is validated over its whole length before it starts, which takes a millisecond or, for a long one, half a second.  Whoever
sends goals faster than that must not keep the reference waiting: a goal that a newer one overtakes is answered unchecked, and
checks take no more than a share of the time.  What takes longer than a reference can wait is parsed and checked beside the ticks,
for an arm that stands, or for the moment ahead in which it joins the motion under way: the result counts if nothing has changed
meanwhile.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from picker_dynamics.errors import PickerError, TrajectoryError

from .events import EventKind
from .goal import MAX_GOAL_S, ParsedGoal, parse
from .goal_tracking import ArmState, Code, Error, Outcome, SentReferences, Verdict
from .lease import HeldError, Kind, Lease
from .motion import Motion, Phase, Reference
from .pending_goals import GoalRequest, Pending, PendingGoals, Tracker
from .reference_generator import ReferenceGenerator
from .streaming import Stream
from .validator import TakesLong

STANDS_S = 0.02
"""How often a goal that has to wait until the arm stands is looked at again."""

HELD_S = 0.2
"""A goal waits this long for somebody else's lease to lapse, once: a stream that has ended has it for a moment yet [s]."""

AHEAD_S = 0.3
"""How far ahead a goal that is checked beside the ticks joins the motion under way [s]; each further check has as much more."""

MOST_CHECKS = 5
"""How often a goal is checked anew where something changed meanwhile: then it is refused."""

Beside = Callable[[Callable[[], Any]], "Future[Any]"]
"""Has work done beside the ticks, as ``Executor.submit`` does."""


def at_once(work: Callable[[], Any]) -> Future[Any]:
    """Future of work done here and now: for who has no tick to lose."""
    done: Future[Any] = Future()
    try:
        done.set_result(work())
    except Exception as error:
        done.set_exception(error)
    return done


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
        clock: for the time that checks take [s].
        beside: has the long ones done beside the ticks.
    """

    def __init__(
        self,
        generator: ReferenceGenerator,
        stream: Stream,
        sent: SentReferences,
        lease: Lease,
        tell: Callable[..., None],
        clock: Callable[[], float],
        beside: Beside = at_once,
    ):
        self.generator, self.stream, self.sent, self.lease = generator, stream, sent, lease
        self.tell, self.clock, self.beside = tell, clock, beside
        self.pending = PendingGoals()
        self.accepted = self.refused = 0
        self._executing: dict[str, _Executing] = {}
        self._numbers = itertools.count(1)

    # -- coming in -----------------------------------------------------------------------------------------

    def submit(self, request: GoalRequest) -> None:
        """Take a goal; it is looked at soon (``consider``), unless a newer one comes first."""
        if self.pending and request.if_free:
            why = "another goal is looked at: this one is refused, as it asks for an arm that is free"
            self._refuse(request, HeldError(why, subject="goal", left_s=0.0))
            return
        overtaken = self.pending.put(request)
        if overtaken is not None:
            error = PickerError("overtaken by a newer goal before it was looked at")
            self._refuse(overtaken, error, EventKind.OVERTAKEN)

    def consider(self, now_s: float, time_s: float) -> None:
        """Look at the next goal, if there is one and it is time."""
        pending = self.pending.next(self.clock())
        if pending is not None:
            self._look(pending, now_s, time_s)

    def join(self, now_s: float, time_s: float) -> None:
        """Take a goal that was checked for joining the motion under way, before the first reference that it changes is sent."""
        pending = self.pending.joining(self.generator.sent_s, time_s)
        if pending is not None and pending.basis is not None and pending.basis.joins_s is not None:
            self._look(pending, now_s, pending.basis.joins_s)

    def _look(self, pending: Pending, now_s: float, time_s: float) -> None:
        """Accept it, refuse it, or put it back."""
        request, begin_s = pending.request, self.clock()
        try:
            first_look = pending.goal is None
            goal = self._parsed(pending)
            if goal is not None:
                self.lease.require(request.holder, goal.joints.tolist(), now_s)
            later_s = 0.0 if goal is None else self._not_yet(request, goal, time_s, first_look)
            if goal is None or later_s is not None or not self._ready(pending, goal, time_s):
                self.pending.put_back(pending, begin_s + (later_s or 0.0))
                return
            checked = None if pending.work is None else pending.work.result()
            motion = self.generator.submit(pending.goal or goal, time_s, str(next(self._numbers)), checked)
        except HeldError as error:
            if pending.held or error.left_s > HELD_S:
                self._refuse(request, error)
            else:
                pending.held = True
                self.pending.put_back(pending, begin_s + error.left_s)
        except PickerError as error:
            self._refuse(request, error)
        else:
            self._accept(request, motion)
        finally:
            self.pending.looked(begin_s, self.clock())

    def _parsed(self, pending: Pending) -> ParsedGoal | None:
        """The goal in the arm's order; None: it is being parsed."""
        if pending.goal is None:
            request, arm = pending.request, self.generator.description

            def parsed() -> ParsedGoal:
                return parse(request.make(), arm.joint_names, arm.position_units).within(arm.lower, arm.upper)

            if not request.long:
                pending.goal = parsed()
            else:
                pending.work = pending.work or self.beside(parsed)
                if pending.work.done():
                    pending.goal, pending.work = pending.work.result(), None
        return pending.goal

    def _ready(self, pending: Pending, goal: ParsedGoal, time_s: float) -> bool:
        """Whether a goal may be submitted for ``time_s``: unless that is quick, its check was made beside the ticks."""
        if goal.light and not pending.slow:
            pending.work = pending.basis = None
            if self.beside is at_once:
                return True
            pending.goal = goal = self.generator.in_time(goal, time_s)
            quickly = at_once(self.generator.check_of(goal, time_s, quick=True))
            if not isinstance(quickly.exception(), TakesLong):
                pending.work = quickly
                return True
            if self.generator.basis(time_s) is None:
                return True
            pending.slow = True
        if pending.work is not None and not pending.work.done():
            return False
        ahead_s = 0.0 if self.beside is at_once else AHEAD_S * (1 + pending.checks)
        basis, checked = self.generator.basis(time_s + ahead_s), pending.basis
        if basis is None:
            pending.work = pending.basis = None
            return False
        missed = checked is not None and checked.joins_s is not None and checked.joins_s < time_s
        if pending.work is None or checked is None or basis != checked or missed:
            if pending.checks == MOST_CHECKS:
                raise PickerError(f"the arm or its limits changed each of the {MOST_CHECKS} times that the goal was checked")
            pending.goal, checked = self.generator.in_time(goal, time_s), basis
            pending.work, pending.basis = self.beside(self.generator.check_of(pending.goal, basis.joins_s or time_s)), basis
            pending.checks += 1
        return pending.work.done() and checked.joins_s in (None, time_s)

    def _not_yet(self, request: GoalRequest, goal: ParsedGoal, time_s: float, first_look: bool) -> float | None:
        """How long a goal that cannot be taken now has to wait [s]; raises what is wrong with it anyway."""
        generator, wait_s = self.generator, 0.0 if goal.start_s is None else goal.start_s - time_s
        if wait_s > MAX_GOAL_S:
            raise TrajectoryError(
                f"the goal starts {wait_s:.0f} s from now (allowed {MAX_GOAL_S:.0f} s)", value=wait_s, limit=MAX_GOAL_S
            )
        if generator.must_wait(goal, time_s):
            if first_look:
                self.tell(EventKind.REMARK, f"a goal waits for its start in {wait_s:.2f} s", identifier=request.identifier)
            return max(wait_s, 0.0)
        if goal.heavy and generator.phase() not in (Phase.INACTIVE, Phase.HOLDING):
            for entry in list(self._executing.values()):
                self._preempt(entry, ", too long to be checked while the arm moves")
            self.stream.reset()
            generator.cancel(time_s)
            return STANDS_S
        return None

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

    def _preempt(self, entry: _Executing, more: str = "", cancelled: bool = False) -> None:
        text = f"preempted by a newer goal{more}"
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
