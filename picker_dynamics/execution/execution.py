"""Execution: goals, streams and stops in; the reference that is sent, and what became of each goal, out.

One object, free of ROS and of clocks; times come in.  Its owner asks for the pose that is held
(``start``), hands in what is asked of the arm, and calls :meth:`Execution.tick` at the rate of the reference; the order in which
all of it happens is in there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import PickerError, refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.joint_order import ordered
from picker_dynamics.robot.model import Array, DynamicsModel

from .checks import Check, TorqueLimits
from .events import Event, EventKind
from .goal import ParsedGoal
from .goal_manager import GoalManager, GoalRequest
from .goal_tracking import ArmState, Error, SentReferences
from .guard import ReferenceGuard
from .lateness import Lateness
from .lease import Holder, Kind, Lease
from .motion import Phase, Reference
from .planning import Submit, at_once
from .reference_generator import NOT_ACTIVE, ReferenceGenerator
from .settle_downward import started, take_load
from .streaming import SILENCE_S, Complaints, Stream
from .validator import TIP_SPEED, MotionValidator

SAME_SOURCE = 0.01
"""Shares of the supply's voltage that are planned with as one."""

REACH_BACK_S = 0.75
"""Beyond the lead: how old a state may be that is compared with what was sent [s]."""


@dataclass(frozen=True)
class Timing:
    """Timing of the reference: rate, lead, and how often goals are judged.

    Attributes:
        rate_hz: of :meth:`Execution.tick`.
        lead_s: how long before it holds a reference is sent.
        monitor_every: ticks between two looks at goal tolerances, with feedback.
    """

    rate_hz: float = 100.0
    lead_s: float = 0.06
    monitor_every: int = 5


@dataclass(frozen=True)
class Limits:
    """Limits of motions, with the model that they hold for; replaced as a whole (``Execution.change``).

    Attributes:
        torque: of the joints.
        model: the arm with its present payload.
        tip_speed: largest speed of the tool [m/s].
        scales_time: slow a goal that is too fast instead of refusing it.
        speed: share of full speed with which goals are executed; 0 pauses.
        further: checks beside those of the arm's own limits.
        approach: end a motion by lowering where the friction's side would be uncertain else.

    Raises:
        InputError: a speed that is not 0 to 1.
    """

    torque: TorqueLimits
    model: DynamicsModel
    tip_speed: float = TIP_SPEED
    scales_time: bool = True
    speed: float = 1.0
    further: tuple[Check, ...] = ()
    approach: bool = False

    def __post_init__(self) -> None:
        said = f"speed_scaling is {self.speed}, must be 0 to 1"
        refuse_if(not 0.0 <= self.speed <= 1.0, said, "speed_scaling", self.speed, 1.0)

    def validator(self, description: ArmDescription) -> MotionValidator:
        """Validator of motions by these limits."""
        return MotionValidator(self.model, self.torque, description, self.tip_speed, self.further, self.scales_time)


@dataclass(frozen=True, eq=False)
class Tick:
    """Outcome of one tick of the execution.

    Attributes:
        reference: that was sent; None: the arm is not active, or the guard let none pass.
        events: what happened since the tick before, in order.
        error: of the arm's state against what was sent, at the rate of the monitor, where somebody watches; None: not now.
        progress_s, speed: how far the trajectory is that is followed, in its own time, and the share of its speed.
        hits: what each way to rest that was tried hits: the outputs have to stop by themselves; None: nothing.
    """

    reference: Reference | None
    events: tuple[Event, ...]
    error: Error | None = None
    progress_s: float = 0.0
    speed: float = 1.0
    hits: PickerError | None = None


class Execution:
    """Owns goals, streams, stops and the reference of one arm; times are seconds on any one clock, that of the arm's states.

    Args:
        description: the arm.
        limits: to begin with.
        timing: when references are sent.
        max_deceleration: [rad/s²] with which a cancelled motion comes to rest, and which a change of speed may add.
        send: called with each reference at once.
        worker: parses and plans goals, as ``Executor.submit`` has work done.

    Attributes:
        sent: the references that were sent of late.
        lease: who moves the arm.
        lateness: of the loop, which notes its cycles there.
    """

    def __init__(
        self,
        description: ArmDescription,
        limits: Limits,
        timing: Timing = Timing(),
        max_deceleration: float = 4.0,
        send: Callable[[Reference], None] = lambda _reference: None,
        worker: Submit = at_once,
    ):
        self.description, self.timing, self.send = description, timing, send
        self.sent = SentReferences(math.ceil((timing.lead_s + REACH_BACK_S) * timing.rate_hz))
        self.lease = Lease()
        self._all = range(len(description.joint_names))
        self._generator = ReferenceGenerator(
            description, limits.validator(description), max_deceleration, worker, math.ceil(timing.lead_s * timing.rate_hz)
        )
        self._guard = ReferenceGuard(description)
        self._guard_says: str | None = None
        self._stream = Stream(self._generator)
        self._complaints = Complaints()
        self.lateness = Lateness(1.0 / timing.rate_hz)
        self._goals = GoalManager(self._generator, self._stream, self.sent, self.lease, self.tell, self.lateness)
        self._feeds: list[Callable[[float], None]] = []
        self._events: list[Event] = []
        self._due_s: float | None = None
        self._until_monitor = timing.monitor_every
        self.limits = limits
        self.change(limits)

    # -- what it is like -------------------------------------------------------------------------------------

    @property
    def phase(self) -> Phase:
        return self._generator.phase

    @property
    def active(self) -> bool:
        """Whether there is a reference."""
        return self._generator.active

    @property
    def guard_stopped(self) -> int:
        """References that the guard did not let pass: none, where there is no mistake in here."""
        return self._guard.stopped

    def _next_s(self, now_s: float) -> float:
        """Time for which the next reference is sent [s]: after a stall no further ahead of the one that holds now.

        Where references wait for a late tick, it is the last one's until there is another, however late.
        """
        return now_s - self.sent.delay_s + self.timing.lead_s if self._due_s is None else self._due_s

    def pose(self, now_s: float) -> Array:
        """Reference (n,) as the next one will be sent [rad]; zeros where there is none."""
        return self._generator.state_at(self._next_s(now_s))[0] if self.active else np.zeros(self.description.n)

    # -- what is asked ---------------------------------------------------------------------------------------

    def submit(self, request: GoalRequest, now_s: float | None = None) -> None:
        """Take a goal, which is answered once; it is looked at in the next tick, of an active arm with ``now_s`` at once."""
        if now_s is not None:
            self._end_lapsed(now_s)
        self._goals.submit(request)
        if now_s is not None and self.active:
            self._look(now_s)

    def require(self, goal: ParsedGoal, track: str, now_s: float) -> None:
        """Let a goal pass of which nothing speaks against its being planned.

        Raises:
            PickerError: the arm is not active, or somebody else's; the goal is over, too far ahead, or beyond a position limit.
        """
        if not self.active:
            raise PickerError(NOT_ACTIVE)
        self._goals.require_timely(goal, self._next_s(now_s))
        goal.require_within(self.description, self.pose(now_s))
        self._goals.require_lease(Holder(Kind.GOAL, track=track), goal, now_s)

    def _look(self, now_s: float) -> None:
        """Look at the next goals.  At rest a motion begins with the last reference, so the next one moves."""
        time_s = self._next_s(now_s)
        if self.phase is Phase.HOLDING and self._guard.last is not None:
            time_s = max(self._generator.sent_s, time_s - 1.0 / self.timing.rate_hz)
        self._goals.look(now_s, time_s)

    def stream(
        self,
        names: Sequence[str],
        positions: ArrayLike,
        now_s: float,
        sent_s: float | None = None,
        sender: str = "",
        number: int | None = None,
        begins: bool = False,
        since_s: float = -math.inf,
    ) -> PickerError | None:
        """Follow one sample of a stream; returns why it is refused, which is an event too, once in a while.

        Args:
            names, positions: of all joints, in any order [rad]; NaN where the sender has no command yet.
            now_s: when it came.
            sent_s: when it was sent; None where it does not say.
            sender: what it calls itself; empty where it does not say.
            number: of the sample, as its sender counts; None: not known.
            begins: whether its sender knows where the arm is held, and begins there.
            since_s: samples that were sent before are refused.
        """
        holder = Holder(Kind.STREAM, sender)
        try:
            if np.isnan(positions).any():
                return None
            self.lease.require(holder, self._all, now_s, number)
            target = ordered(names, positions, self.description.joint_names, "joint_reference")
            last = self._guard.last
            time_s = self._next_s(now_s)
            try:
                self._stream.push(target, now_s, time_s if last is None else max(time_s, last.time_s), sent_s, begins, since_s)
            except PickerError:
                self.lease.end(holder)
                raise
            if self.lease.grant(holder, self._all, now_s + SILENCE_S, number):
                self.tell(EventKind.REMARK, f"following a {holder}")
        except PickerError as error:
            if self._complaints.are_news(error.subject, now_s):
                self.tell(EventKind.PROBLEM, f"stream refused: {error}", error=error)
            return error
        return None

    def feed_by(self, feed: Callable[[float], None]) -> None:
        """Have ``feed(now_s)`` called at the beginning of each tick, to stream what comes next."""
        self._feeds.append(feed)

    def cancel(self, now_s: float, request: GoalRequest | None = None) -> bool:
        """Decelerate to rest: one goal, or whatever moves the arm; returns whether anything moved.  The answers follow."""
        if request is None:
            self._stream.reset()
            self.lease.stop(now_s)
        return self._goals.cancel(self._next_s(now_s), request)

    def change(self, limits: Limits) -> None:
        """Hold motions to other limits; one under way goes on, or stops and is planned again."""
        before, self.limits = self.limits, limits
        self._wanted_speed = limits.speed if limits.speed != self._generator.speed else None
        if before is not limits and replace(before, speed=limits.speed) == limits:
            return
        if before.model is not limits.model:
            take_load(self._generator.side, before.model, limits.model, limits.torque.servo_map)
        self._generator.approaches = limits.approach
        self._generator.validator = limits.validator(self.description)

    def change_some(self, **fields: Any) -> None:
        """``change`` for some fields of the present limits."""
        self.change(replace(self.limits, **fields))

    def follow_supply(self, source: float) -> None:
        """Plan with this share of the supply's nominal voltage, if the arm stands: no motion is judged by another on its way."""
        if self.phase in (Phase.INACTIVE, Phase.HOLDING) and abs(source - self.limits.torque.source) > SAME_SOURCE:
            self.change_some(torque=replace(self.limits.torque, source=source))

    # -- what the hardware says ------------------------------------------------------------------------------

    def start(self, pose: ArrayLike, effort: ArrayLike | None = None) -> None:
        """Become active, holding ``pose`` (n,) [rad] with motors that give ``effort`` (n,) [N·m]; goals under way are aborted."""
        self.deactivate("it is held elsewhere")
        self._generator.start(pose)
        self._generator.side = started(pose, effort, self._generator.validator)
        self._guard.begin(pose)
        self._guard_says = None
        self.tell(EventKind.REMARK, "holding")

    def deactivate(self, why: str) -> None:
        """Stop sending references: the hardware is not active any more; goals are aborted."""
        if not self.active:
            return
        self._generator.deactivate()
        self.lease.end_all()
        self.sent.clear()
        if not self._abort(why):
            self.tell(EventKind.NOTICE, f"the hardware is not active: {why}")

    def block(self, why: str, now_s: float) -> None:
        """Come to rest, and take no goal and no stream until this is called with an empty text."""
        if why == self.lease.blocked:
            return
        if why and not self.lease.blocked and self.active:
            self._abort(why)
            self.lease.end_all()
            self._generator.cancel(self._next_s(now_s))
        self.lease.blocked = why
        if why:
            self.tell(EventKind.PROBLEM, why)
        elif self.active:
            self.tell(EventKind.REMARK, "goals are accepted again")

    def close(self) -> tuple[Event, ...]:
        """Close the execution: goals under way are aborted; the events that are still to be told."""
        self._goals.close()
        return self.take_events()

    # -- time ------------------------------------------------------------------------------------------------

    def tick(
        self, now_s: float, look: Callable[[], ArmState | None] = lambda: None, watched: Callable[[], bool] = lambda: False
    ) -> Tick:
        """The next reference, and what happened.

        Args:
            now_s: present time; the reference holds a lead later.
            look: where the arm is; called where somebody has to know.
            watched: whether the owner wants to know the error too.
        """
        time_s, error, reference = now_s - self.sent.delay_s + self.timing.lead_s, None, None
        self._due_s = time_s if self.sent.waits else None
        for feed in self._feeds:
            feed(now_s)
        if self.active:
            if self._wanted_speed is not None:
                self._generator.set_speed(self._wanted_speed, time_s)
                self._wanted_speed = None
            if self._stream.advance(now_s, time_s):
                self.tell(EventKind.REMARK, "the stream ended: holding")
            self._end_lapsed(now_s)
            self._hold_to_limits(time_s)
        self._look(now_s)
        if self.active:
            reference = self._send_next(time_s)
            error = self._monitor(now_s, time_s, look, watched)
        progress = (0.0, 1.0) if error is None else self._generator.progress(now_s - self.sent.delay_s - self.sent.behind_s)
        hits, self._generator.hits = self._generator.hits, None
        return Tick(reference, self.take_events(), error, *progress, hits)

    def _end_lapsed(self, now_s: float) -> None:
        """Expire leases without heartbeat; the arm comes to rest if a driver held it."""
        for lost in self.lease.lapsed(now_s):
            if lost.kind is Kind.DRIVER:
                self._stream.reset()
                self.lease.end_all()
                self._goals.cancel(self._next_s(now_s))
                self.tell(EventKind.NOTICE, f"{lost} is silent for too long: stopped")

    def _send_next(self, time_s: float) -> Reference | None:
        """Send the reference for ``time_s``, if the guard lets it pass; else the next point of a stop from the last one."""
        if self._guard.answers(time_s):
            return self._guard.last
        if self._guard.last is None:
            self._generator.postpone(time_s)
        reference, finished = self._generator.sample(time_s)
        breach = self._breach(reference)
        if breach is not None:
            self._stop_for(breach)
            reference, finished = self._generator.sample(time_s)
            if self._breach(reference) is not None:
                return None
        elif self.phase is Phase.HOLDING:
            self._guard_says = None
        self.send(reference)
        self._guard.sent(reference)
        self.sent.append(reference)
        self._generator.side.advance(reference.q)
        for one in finished:
            if one.motion.approach is not None and not one.cancelled:
                self._generator.side.bounds = one.motion.approach.bounds
            self._goals.finished(one, replace(reference, time_s=time_s + self.sent.delay_s))
        return reference

    def _breach(self, reference: Reference) -> PickerError | None:
        """What would be broken if this were sent."""
        since_s = reference.time_s if self._guard.last is None else self._guard.last.time_s
        return self._guard.breach(reference, self._generator.validator, self._generator.limit_excess(since_s))

    def _hold_to_limits(self, time_s: float) -> None:
        """Where limits changed: what is left of motions under way obeys them, planned again, or the arm comes to rest."""
        moved = self.phase is not Phase.HOLDING
        if (found := self._generator.hold_to_limits(time_s)) is None:
            return
        why, factor = found
        if factor is None:
            text = "stopped for the present limits" if moved else "the pose that is held is beyond the present limits"
            self._abort(f"{text}: {why}", why)
        elif factor:
            self.tell(EventKind.NOTICE, f"goes on, slowed {factor:.2f} times for the present limits")
        else:
            self.tell(EventKind.NOTICE, f"stops on its path for the present limits, the rest is planned again: {why}", error=why)

    def _abort(self, text: str, why: PickerError | None = None) -> bool:
        """Abort all goals, and forget a stream; returns whether a goal was answered, else ``why`` is told."""
        self._stream.reset()
        answered = self._goals.abort_all(f"aborted: {text}")
        if why is not None and not answered and self._guard_says != why.subject:
            self.tell(EventKind.PROBLEM, text, error=why)
        return answered

    def _stop_for(self, breach: PickerError) -> None:
        """Decelerate from what was sent last; goals and a stream are aborted, once."""
        self._guard.stopped += 1
        self.lease.end_all()
        self._generator.brake(self._guard.last)
        self._abort(f"the reference was stopped: {breach}", breach)
        self._guard_says = breach.subject

    def _monitor(
        self, now_s: float, time_s: float, look: Callable[[], ArmState | None], watched: Callable[[], bool]
    ) -> Error | None:
        """Look where the arm is, for those who want to know: trackers of goals, and now and then whoever watches."""
        self._until_monitor -= 1
        due, trackers = self._until_monitor <= 0, self._goals.trackers
        if due:
            self._until_monitor = self.timing.monitor_every
        elif not any(tracker.watches_path for tracker in trackers):
            return None
        heard = due and watched()
        if not (trackers or heard):
            return None
        error = self._goals.monitor(now_s, time_s, look(), due)
        return error if heard else None

    def refuse(self, error: PickerError, identifier: str = "") -> None:
        """Tell of a message that cannot be a goal."""
        self.tell(EventKind.REFUSED, f"refused: {error}", identifier=identifier, error=error)

    def tell(self, kind: EventKind, text: str, **fields: Any) -> None:
        """Put what happened in line with all other events; ``fields`` of ``Event``."""
        self._events.append(Event(kind, text, self.phase, holders=self.lease.holders, **fields))

    def take_events(self) -> tuple[Event, ...]:
        """Events that were not handed out yet, in order."""
        events, self._events = tuple(self._events), []
        return events
