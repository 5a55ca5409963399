"""Where goals come in and are answered: every one exactly once, whatever happens to it.

Free of ROS.  Two clocks: ``now_s`` is the time of the arm (stamps), ``time_s`` the time for which the next reference will be
sent, a lead ahead; the third, ``clock``, only measures how long things take.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from picker_dynamics.errors import PickerError

from .goal import MAIN_TRACK, Goal
from .goal_tracking import ArmState, Code, Error, Outcome, SentReferences, Verdict
from .pending_goals import Inbox
from .reference_generator import Motion, Phase, Reference, ReferenceGenerator
from .streaming import Stream

OVERTAKEN = "overtaken by a newer goal before it was looked at"
PREEMPTED = "preempted by a newer goal"
STANDS_S = 0.02
"""How often a goal that has to wait until the arm stands is looked at again."""


class Tracker(Protocol):
    """Judges a goal that is being executed, as ``GoalTracker`` does."""

    cancelling: bool

    @property
    def watches_path(self) -> bool: ...

    def ended(self, reference: Reference) -> None: ...

    def look(self, now_s: float, error: Error | None) -> Verdict | None: ...


@dataclass(eq=False)
class Request:
    """A goal, and whoever wants to know what becomes of it.

    Attributes:
        make: the goal; called when it is looked at.  May raise a PickerError.
        track: goals of one track take each other's place.
        identifier: what the one who sent it calls it.
        tracker: made when the motion is known; None: nobody judges it, it is done when the reference is.
        answer: called once, with the verdict.
        feedback: called now and then while it goes on, with the error and how far it is [s].
    """

    make: Callable[[], Goal]
    track: str = MAIN_TRACK
    identifier: str = ""
    tracker: Callable[[Motion], Tracker | None] = lambda _motion: None
    answer: Callable[[Verdict], None] = lambda _verdict: None
    feedback: Callable[[Error, float], None] | None = None


@dataclass(frozen=True)
class Event:
    """What the desk says: ``outcome`` is accepted, refused, done, cancelled, aborted, or empty (a remark)."""

    text: str
    outcome: str = ""
    identifier: str = ""
    motion: Motion | None = None
    error: PickerError | None = None


@dataclass
class _Executing:
    request: Request
    motion: Motion
    tracker: Tracker | None


_OUTCOMES = {Outcome.SUCCEEDED: "done", Outcome.ABORTED: "aborted", Outcome.CANCELED: "cancelled"}


class GoalDesk:
    """Takes goals for a generator.

    Args:
        generator: executes them.
        stream: is forgotten when a goal takes over.
        tell: called with every event.
        sent: the references that were sent.
        clock: for the time that checks take [s].
    """

    def __init__(
        self,
        generator: ReferenceGenerator,
        stream: Stream,
        tell: Callable[[Event], None],
        sent: SentReferences,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.generator, self.stream, self.tell, self.sent, self.clock = generator, stream, tell, sent, clock
        self.inbox: Inbox[Request] = Inbox()
        self.accepted = self.refused = 0
        self.barred = ""
        self._executing: dict[str, _Executing] = {}
        self._numbers = itertools.count(1)
        self._announced: Request | None = None

    # -- coming in -----------------------------------------------------------------------------------------

    def receive(self, request: Request) -> None:
        """Take a goal; it is looked at soon (``consider``), unless a newer one comes first."""
        overtaken = self.inbox.put(request.track, request)
        if overtaken is not None:
            self._refuse(overtaken, PickerError(OVERTAKEN))

    def consider(self, time_s: float) -> None:
        """Look at the next goal, if there is one and it is time."""
        begin_s = self.clock()
        waiting = self.inbox.next(begin_s)
        if waiting is None:
            return
        track, request = waiting
        try:
            goal = replace(request.make(), identifier=str(next(self._numbers)), track=track)
            if self.barred:
                raise PickerError(self.barred)
            later_s = self._not_yet(request, goal, time_s)
            if later_s is not None:
                self.inbox.put_back(track, request, begin_s + later_s)
                return
            motion = self.generator.submit(goal, time_s)
        except PickerError as error:
            self._refuse(request, error)
        else:
            self._accept(request, motion)
        finally:
            self.inbox.looked(begin_s, self.clock())

    def _not_yet(self, request: Request, goal: Goal, time_s: float) -> float | None:
        """How long a goal that cannot be taken now has to wait [s]; raises what is wrong with it anyway."""
        generator = self.generator
        generator.require_sound(goal, time_s)
        generator.require_free(goal)
        if generator.must_wait(goal, time_s):
            if request is not self._announced:
                self._announced = request
                self.tell(Event(f"a goal waits for its start in {goal.start_s - time_s:.2f} s", identifier=request.identifier))
            return max(goal.start_s - time_s, 0.0)
        if goal.heavy and generator.phase() not in (Phase.INACTIVE, Phase.HOLDING):
            for entry in list(self._executing.values()):
                self._close(entry, Verdict.aborted(f"{PREEMPTED}, too long to be checked while the arm moves"))
            self.stream.reset()
            generator.cancel(time_s)
            return STANDS_S
        return None

    def _accept(self, request: Request, motion: Motion) -> None:
        self.accepted += 1
        self.stream.reset()
        for displaced in self.generator.displaced:
            entry = self._executing.get(displaced.identifier)
            if entry is not None:
                cancelled = displaced.cancelled or (entry.tracker is not None and entry.tracker.cancelling)
                self._close(entry, Verdict.canceled(f"cancelled, then {PREEMPTED}") if cancelled else Verdict.aborted(PREEMPTED))
        for entry in list(self._executing.values()):  # arrived, but not yet within their tolerances
            if entry.request.track == request.track or set(entry.motion.joints) & set(motion.joints):
                self._close(entry, Verdict.aborted(PREEMPTED))
        self._executing[motion.identifier] = _Executing(request, motion, request.tracker(motion))
        slowed = f", slowed {motion.fitted.factor:.2f} times to fit" if motion.fitted.factor > 1.0 else ""
        speed = f", at {100.0 * self.generator.speed:.0f} % speed" if self.generator.speed < 1.0 else ""
        self.tell(Event(f"executing, {motion.ends:.2f} s{slowed}{speed}", "accepted", request.identifier, motion))

    def _refuse(self, request: Request, error: PickerError) -> None:
        self.refused += 1
        self.tell(Event(f"refused: {error}", "refused", request.identifier, error=error))
        request.answer(Verdict.of(error))

    # -- going on ------------------------------------------------------------------------------------------

    @property
    def watched(self) -> bool:
        """Whether anybody judges a goal that is being executed."""
        return any(entry.tracker is not None for entry in self._executing.values())

    @property
    def watches_path(self) -> bool:
        """Whether every state of the arm counts."""
        return any(entry.tracker is not None and entry.tracker.watches_path for entry in self._executing.values())

    def finished(self, motion: Motion, reference: Reference) -> None:
        """A motion came to its end with this reference."""
        entry = self._executing.get(motion.identifier)
        if entry is None:
            if motion.cancelled:
                self.tell(Event("stopped: holding"))
            return
        if entry.tracker is not None:
            entry.tracker.ended(reference)
        elif motion.cancelled:
            self._close(entry, Verdict.canceled("cancelled: holding"))
        else:
            self._close(entry, Verdict(Outcome.SUCCEEDED, Code.SUCCESSFUL, "done: holding"))

    def monitor(self, now_s: float, time_s: float, state: ArmState | None, feedback: bool) -> Error | None:
        """Compare the arm's state with what was sent, judge the goals, and give feedback; returns the error."""
        error = self.error(state)
        for entry in list(self._executing.values()):
            if entry.tracker is None:
                continue
            verdict = entry.tracker.look(now_s, error)
            if verdict is not None:
                if verdict.stop:
                    self.generator.cancel(time_s, entry.motion.identifier)
                self._close(entry, verdict)
            elif feedback and error is not None and entry.request.feedback is not None:
                entry.request.feedback(error, entry.motion.ends - self.generator.left(entry.motion, now_s))
        return error

    def error(self, state: ArmState | None) -> Error | None:
        """Of a state of the arm, against the reference that held then."""
        desired = None if state is None else self.sent.at(state.time_s)
        return None if desired is None else Error(desired, state)

    def cancel(self, request: Request, time_s: float) -> None:
        """Let the arm decelerate if it moves for this goal; the answer follows when it stands."""
        if self.inbox.remove(lambda one: one is request):
            self.tell(Event("cancelled before it was looked at", "cancelled", request.identifier))
            request.answer(Verdict.canceled("cancelled before it was looked at"))
            return
        for entry in self._executing.values():
            if entry.request is request:
                if entry.tracker is not None:
                    entry.tracker.cancelling = True
                self.generator.cancel(time_s, entry.motion.identifier)

    def cancel_all(self, time_s: float) -> bool:
        """Cancel every goal, and a stream; returns whether anything moved."""
        for request in self.inbox.remove(lambda _one: True):
            self.tell(Event("cancelled before it was looked at", "cancelled", request.identifier))
            request.answer(Verdict.canceled("cancelled before it was looked at"))
        for entry in self._executing.values():
            if entry.tracker is not None:
                entry.tracker.cancelling = True
        self.stream.reset()
        return self.generator.active and self.generator.cancel(time_s) is not None

    def abort_all(self, text: str) -> bool:
        """The arm cannot go on; returns whether anybody was told."""
        entries = list(self._executing.values())
        for entry in entries:
            self._close(entry, Verdict.aborted(text))
        return bool(entries)

    def bar(self, why: str, time_s: float) -> None:
        """Stop, and take no goal until this is called with an empty text."""
        if why and not self.barred and self.generator.active:
            self.abort_all(f"aborted: {why}")
            self.stream.reset()
            self.generator.cancel(time_s)
        self.barred = why

    def _close(self, entry: _Executing, verdict: Verdict) -> None:
        """The one answer to a goal that was accepted."""
        self._executing.pop(entry.motion.identifier, None)
        text = verdict.text or "done: holding"
        self.tell(Event(text, _OUTCOMES[verdict.outcome], entry.request.identifier, entry.motion))
        entry.request.answer(verdict)
