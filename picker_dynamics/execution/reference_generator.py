"""Reference generator: q, v, a of the arm at every time: hold, follow what was let pass, decelerate when told.

Free of ROS and of clocks: times are seconds on any one clock and come in as arguments.  Whoever samples asks for
``now + lead``; everything here is expressed in the time at which a reference *holds*, so that a new goal can start exactly from
the last point that was sent.

What the reference will be stands in the ``ActivePlan``; here is what makes another one of it: a plan, a stream, a cancel, another
speed, other limits.  A goal joins in the plan's own time, so it is checked for full speed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import PickerError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.trajectory.time_scaling import TimeScaling
from picker_dynamics.trajectory.trajectory import SHORTEST_S, Trajectory, merge_joints, part

from .checks import SampledMotion
from .goal import PAST_TOLERANCE_S, ParsedGoal
from .motion import ActivePlan, Motion, Phase, Reference, State, UnderWay
from .planning import NO_EXCESS, LimitExcess, Plan, Slowing, Submit, best_way, planned, staying
from .settle_downward import foreseen, started
from .validator import PERIOD_S, MotionValidator

AHEAD_S = 5.0
"""How much of a motion under way is held to limits that changed in one go [s]."""

NOT_ACTIVE = "the arm is not active: enable it first"

SLOWEST = 0.3
"""Share of full speed down to which joints that leave a slowed plan stop as fast as at full speed."""


_Replanning = tuple[PickerError, MotionValidator, Trajectory, "Future[float]"]
"""Why a motion stops on its path, the limits, the motion, and by how much its rest is slowed, which the worker finds."""


class ReferenceGenerator:
    """Produces the reference of an arm; inactive until told where the arm is.

    Args:
        description: the arm; within its position limits a cancelled motion comes to rest.
        max_deceleration: [rad/s²] with which it does, and which a change of speed may add.
        worker: plans.
        ahead: how many references are sent before the first of them holds.

    Attributes:
        validator: of motions with the present payload.
        speed: share of full speed with which goals are executed.
        approaches: whether motions may end with one.
        side: of the joints' friction, along what was sent.
        sent_s: time of the newest reference [s]; -inf: there is none.
        hits: what the way that was chosen hits, as each that was tried did; None: nothing.
    """

    def __init__(
        self, description: ArmDescription, validator: MotionValidator, max_deceleration: float, worker: Submit, ahead: int = 0
    ):
        self.description, self.worker = description, worker
        self.validator = validator
        self.speed, self.approaches = 1.0, False
        self.side = started(np.zeros(description.n))
        self.sent_s = -np.inf
        self.hits: PickerError | None = None
        self._slowing = Slowing(description, max_deceleration)
        self._plan: ActivePlan | None = None  # None: not active
        self._sent: deque[State] = deque(maxlen=ahead)
        self._excess, self._excess_until_s = NO_EXCESS, -np.inf
        self._passed: MotionValidator | None = None  # the limits that the whole plan obeys
        self._looked: tuple[MotionValidator | None, Trajectory | None, float] = None, None, 0.0  # until when this obeys them
        self._again: _Replanning | None = None
        self._further = validator.further  # what stood about the arm at the last look

    @property
    def active(self) -> bool:
        """Whether there is a reference."""
        return self._plan is not None

    @property
    def phase(self) -> Phase:
        return Phase.INACTIVE if self._plan is None else self._plan.phase

    @property
    def plan(self) -> ActivePlan:
        """Active plan.

        Raises:
            PickerError: the arm is not active.
        """
        if self._plan is None:
            raise PickerError("the arm is not active: there is no reference to sample")
        return self._plan

    def start(self, q: ArrayLike) -> None:
        """Become active, holding the pose ``q`` (n,) [rad]."""
        self._plan, self._again = ActivePlan.hold(self.description.joint_names, q), None

    def deactivate(self) -> None:
        """Stop producing a reference."""
        self._plan = self._again = None
        self._sent.clear()
        self.sent_s = -np.inf  # what was sent before binds nobody who starts anew

    # -- the reference -------------------------------------------------------------------------------------

    def state_at(self, time_s: float) -> State:
        """Reference state at ``time_s`` as things are."""
        return self.plan.state_at(time_s)

    def progress(self, time_s: float) -> tuple[float, float]:
        """Progress of what is executed at ``time_s`` [s], and the share of full speed; else 0 and the share that is wanted."""
        if self._plan is None or self._plan.phase is not Phase.EXECUTING:
            return 0.0, self.speed
        instant = self._plan.scaling.at(time_s)
        return max(instant.progress, 0.0), instant.speed

    def left(self, motion: Motion, time_s: float) -> float:
        """Rest of a motion that lies ahead at ``time_s``, in its goal's time [s]; 0: over, or displaced."""
        for one in self._plan.under_way if self._plan else ():
            if one.motion is motion:
                return max(one.end_s - max(self.plan.progress(time_s), 0.0), 0.0) / one.slowed
        return 0.0

    def limit_excess(self, since_s: float) -> LimitExcess:
        """Excess of ways to rest, or to another speed, over the limits from ``since_s`` on, when a reference was sent last."""
        return self._excess if since_s < self._excess_until_s else NO_EXCESS

    def sample(self, time_s: float) -> tuple[Reference, tuple[UnderWay, ...]]:
        """The reference to send for ``time_s``, and the motions that ended with it."""
        reference = Reference(time_s, *self.state_at(time_s))
        self.sent_s = max(self.sent_s, time_s)
        self._sent.append((reference.q, reference.v, reference.a))
        self._plan, finished = self.plan.after(time_s, reference.q, reference.v)
        return reference, finished

    # -- goals ---------------------------------------------------------------------------------------------

    def must_wait(self, goal: ParsedGoal, time_s: float) -> bool:
        """Whether a goal that starts later has to wait because another motion is under way: begun now, it would end that one."""
        later = goal.start_s is not None and goal.start_s > max(time_s, self.sent_s)
        return later and self._plan is not None and self._plan.moves

    def plan_goal(self, goal: ParsedGoal, time_s: float, ahead_s: float) -> Plan | None:
        """Have a goal, or what lies ahead of it, planned for ``ahead_s`` from ``time_s``, at rest for at once.

        Returns:
            None: wait, the arm is about to rest, or to go on.

        Raises:
            PickerError: not active.
        """
        if self._plan is None:
            raise PickerError(NOT_ACTIVE)
        active, now_s = self._plan, max(time_s, self.sent_s)
        begins_s = now_s + (ahead_s if active.moves else 0.0)
        streams = active.phase is Phase.STREAMING and ahead_s > 0.0
        if streams or self._again or (active.moves and active.is_over(begins_s)):
            return None
        late_s = 0.0 if goal.start_s is None else now_s - goal.start_s
        goal = goal.after(late_s) if late_s > PAST_TOLERANCE_S else goal
        side = foreseen(self.side, lambda at_s: active.state_at(at_s)[0], self.sent_s if active.moves else begins_s, begins_s)
        how = active, begins_s, self.validator, self._slowing, side, self.approaches
        return Plan(active, self.validator, begins_s, self.worker(lambda: planned(goal, *how)))

    def holds(self, plan: Plan) -> bool:
        """Whether what was planned may begin."""
        same = plan.active is self._plan and plan.validator is self.validator
        return same and (not plan.active.moves or plan.begins_s >= self.sent_s)

    def begin(self, plan: Plan, time_s: float) -> Motion:
        """Begin a plan that holds, at rest not before ``time_s``; a motion under way is blended into it."""
        active, motion = plan.active, plan.work.result()
        if not active.moves:
            motion = replace(motion, start_s=max(motion.start_s, time_s, self.sent_s))
        others = active.later(motion.start_s, staying(active, motion.track, motion.joints))
        self._passed = plan.validator
        self._take(motion.trajectory, motion.start_s, (*others, UnderWay(motion, motion.duration_s)))
        if motion.approach is not None:
            self.side.width = motion.approach.width
        return motion

    def _take(self, trajectory: Trajectory, time_s: float, under_way: tuple[UnderWay, ...]) -> None:
        """Go on with another trajectory from ``time_s`` on, as fast as now and then as is wanted."""
        before, made = self.plan, ActivePlan(trajectory, TimeScaling(time_s, self.speed), Phase.EXECUTING, under_way)
        if before.moves and time_s >= before.scaling.begin_s:
            speed, made = 0.0 if self._again else self.speed, replace(made, scaling=before.scaling)
            self._go(self._slowing.ramps(made, speed, time_s, restarted=True), time_s)
        else:
            self._plan = made

    # -- streams and stops -----------------------------------------------------------------------------------

    def follow(self, trajectory: Trajectory, start_s: float) -> None:
        """Execute what became of a stream: it was built on :meth:`state_at` ``start_s``, and is within the limits."""
        self._plan = ActivePlan(trajectory, TimeScaling(start_s), Phase.STREAMING)

    def postpone(self, time_s: float) -> None:
        """Postpone to ``time_s`` what was to begin before: nothing was sent of it."""
        if self.plan.moves and self.plan.scaling.begin_s < time_s:
            self._plan = replace(self.plan, scaling=TimeScaling(time_s, self.plan.scaling.target))

    def cancel(self, time_s: float, motion: Motion | None = None) -> bool:
        """Decelerate one motion, or all, to rest from the last point that was sent; returns whether anything was to move."""
        active, time_s = self._plan, max(time_s, self.sent_s)
        if active is None or active.phase in (Phase.HOLDING, Phase.STOPPING):
            return False
        chosen = [one for one in active.under_way if one.motion is motion and not one.cancelled]
        if motion is not None and not chosen:
            return False
        others = [one for one in active.under_way if one not in chosen]
        if motion is None or all(one.cancelled for one in others):
            self._to_rest(time_s)
            return True
        q, v, a = active.own_state(time_s)
        free = np.isin(np.arange(len(q)), motion.joints)
        share = max(active.scaling.at(time_s).speed, SLOWEST) ** -2
        stop = self._slowing.stop((q, np.where(free, v, 0.0), np.where(free, a, 0.0)), share)
        under_way = (UnderWay(motion, stop.duration, cancelled=True), *active.later(time_s, others))
        self._passed = None  # the joints that go on do so beside others than were checked
        self._take(merge_joints(stop, active.rest(time_s), np.flatnonzero(free)), time_s, under_way)
        return True

    def brake(self, last: Reference | None) -> None:
        """Brake to rest from the reference that was sent last, whatever was to follow it; None was: nothing changes."""
        if last is None:
            return
        state = last.q, last.v, last.a
        self.start(last.q)
        if self._sent:
            self._sent.pop()  # that one was not sent
        if last.v.any() or last.a.any():
            self._go(self._slowing.stops(state, last.time_s), last.time_s, state)

    def _to_rest(self, time_s: float) -> None:
        """Bring the arm to rest: as a stop, or a stream's filter, foresaw, or sooner on the same path; goals on theirs."""
        before = self.plan
        under_way = tuple(replace(one, cancelled=True) for one in before.under_way)
        stopping = replace(before, phase=Phase.STOPPING, under_way=under_way)
        foreseen = () if before.phase is Phase.EXECUTING else (stopping,)
        self._go(chain(foreseen, self._slowing.ramps(stopping, 0.0, time_s)), time_s)
        self._again = None

    def _go(self, ways: Iterable[ActivePlan], time_s: float, last: State | None = None) -> None:
        """Go on from ``time_s`` by the best of these ways; its excess is allowed, and that of what was sent ``last``."""
        validator = self.validator
        # these limits let the whole path pass, of a stream each sample with the way of a stop beyond it: no way leaves that
        clear = self._passed is validator and not self._again and last is None
        way, motion, hits = best_way(ways, time_s, replace(validator, further=()) if clear else validator, self._sent)
        excess = LimitExcess.of(validator, motion)
        if np.isfinite(self.sent_s):
            now = LimitExcess.of(validator, SampledMotion.at(validator.model, *(last or self.state_at(self.sent_s))))
            excess = replace(excess, torque=max(excess.torque, now.torque), tip=max(excess.tip, now.tip))
        self._plan, self._excess, self._excess_until_s = way, excess, time_s + motion.rest_s
        self.hits = hits or self.hits

    # -- another speed ---------------------------------------------------------------------------------------

    def set_speed(self, speed: float, time_s: float) -> None:
        """Execute goals at ``speed``, 0 (pause) to 1 (as fast as they were checked), from ``time_s`` on, smoothly."""
        self.speed = float(speed)
        active, time_s = self._plan, max(time_s, self.sent_s)
        if active is None or active.phase is not Phase.EXECUTING or self._again:
            return
        if time_s < active.scaling.begin_s:
            self._plan = replace(active, scaling=TimeScaling(active.scaling.begin_s, self.speed))
        else:
            self._go(self._slowing.ramps(active, self.speed, time_s), time_s)

    # -- other limits ----------------------------------------------------------------------------------------

    def hold_to_limits(self, time_s: float) -> tuple[PickerError, float | None] | None:
        """Hold what is left of motions under way to limits that changed, a piece at a time.

        A goal that does not pass stops on its path, and its rest is planned again from there.

        Returns:
            None: nothing new.  Else why motions do not pass, or the arm may not stand where it does, and the factor by which
            their rest is slowed, with which they go on; 0: they stop, and it is being planned; None: they end.
        """
        active, validator, again, time_s = self._plan, self.validator, self._again, max(time_s, self.sent_s)
        known, self._further = self._further, validator.further
        if active is None or (again is None and validator is self._passed):
            return None
        goes = active.phase is Phase.EXECUTING
        moving = goes or active.phase is Phase.STREAMING
        try:
            if active.moves and known != validator.further:
                self._require_untouched(replace(validator, further=known), validator, time_s)
            if again and goes:
                if again[1:3] == (validator, active.trajectory):
                    return self._go_on(again, active, time_s)
                why, again = again[0], None
                raise why
            if moving:
                self._require_next_piece(active, validator, time_s)
            else:
                if active.moves:
                    self._to_rest(time_s)
                self._passed, self._again = validator, None
                validator.require_holdable(self.plan.state_at(self.plan.ends_s)[0])
        except PickerError as error:
            if moving:
                self._to_rest(time_s)
            self._passed = validator
            if goes and again is None and not self.hits and validator.can_hold(self.state_at(self.plan.ends_s)[0]):
                self._plan = replace(self.plan, phase=Phase.EXECUTING, under_way=active.under_way)
                self._plan_rest(error)
                return error, 0.0
            return error, None
        return None

    def _require_untouched(self, before: MotionValidator, now: MotionValidator, time_s: float) -> None:
        """Raise, and have the outputs stop, where what is new touches the arm where it is: any way may lead through that."""
        q = self._sent[0][0] if self._sent else self.state_at(time_s)[0]
        still = SampledMotion.at(now.model, q, np.zeros_like(q), np.zeros_like(q))
        hits = now.touched(still)
        if hits and not before.touched(still):
            self.hits = hits
            raise hits

    def _plan_rest(self, why: PickerError) -> None:
        """Have what is left of a plan that stops on its path planned again."""
        plan, validator = self.plan, self.validator
        rest, self._passed = plan.rest(plan.scaling.settled_s), validator
        self._again = why, validator, plan.trajectory, self.worker(lambda: validator.scale_time(rest.stretched).factor)

    def _go_on(self, again: _Replanning, active: ActivePlan, time_s: float) -> tuple[PickerError, float] | None:
        """Go on with what was planned again, once the stop is over; raises why it may not be made."""
        why, _, _, work = again
        if not work.done() or time_s < active.scaling.settled_s:
            return None
        factor, self._again = work.result(), None
        later = active.later(time_s, active.under_way)
        slower = tuple(replace(one, end_s=factor * one.end_s, slowed=factor * one.slowed) for one in later)
        made = ActivePlan(active.rest(time_s).stretched(factor), TimeScaling(time_s, 0.0), Phase.EXECUTING, slower)
        self._go(self._slowing.ramps(made, self.speed, time_s), time_s)
        return why, factor

    def _require_next_piece(self, active: ActivePlan, validator: MotionValidator, time_s: float) -> None:
        """Require the next ``AHEAD_S`` of a motion under way to obey the limits."""
        looked_for, looked_at, looked_s = self._looked
        rest, now_s = active.rest(time_s), active.progress(time_s)
        begin_s = max(looked_s, now_s) if (looked_for, looked_at) == (validator, active.trajectory) else now_s
        begin_s = min(begin_s, active.trajectory.duration - SHORTEST_S)
        piece = part(active.trajectory, begin_s, begin_s + AHEAD_S)
        motion = SampledMotion.along(piece, validator.model, PERIOD_S, begin_s).after(self._sent if begin_s <= now_s else ())
        motion.rest, motion.rest_s = rest.end, now_s + rest.duration
        validator.require(motion)
        self._looked = validator, active.trajectory, begin_s + AHEAD_S
        if begin_s + AHEAD_S >= now_s + rest.duration:
            self._passed = validator
