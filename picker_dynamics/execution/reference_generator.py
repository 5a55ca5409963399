"""Reference generator: q, v, a of the arm at every time: hold, follow what was let pass, decelerate when told.

Free of ROS and of clocks: times are seconds on any one clock and come in as arguments.  Whoever samples asks for
``now + lead``; everything here is expressed in the time at which a reference *holds*, so that a new goal can start exactly from
the last point that was sent.

What the reference will be stands in the ``ActivePlan``; here is what makes another one of it: a plan, a stream, a cancel, another
speed, other limits.  A goal joins in the plan's own time, so it is checked for full speed.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import PickerError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.trajectory.time_scaling import TimeScaling
from picker_dynamics.trajectory.trajectory import Trajectory, head, merge_joints, remainder

from .active_plan import ActivePlan, State, UnderWay
from .checks import SampledMotion
from .goal import PAST_TOLERANCE_S, ParsedGoal
from .motion import Motion, Phase, Reference
from .planning import Basis, Plan, plan
from .settle_downward import foreseen, started
from .slowing import HARDER, NO_EXCESS, LimitExcess, Slowing, Way, require_followable
from .validator import MAX_STRETCH, PERIOD_S, MotionValidator

AHEAD_S = 5.0
"""How much of a motion under way is held to limits that changed in one go [s]."""

SLOWEST = 0.3
"""Share of full speed down to which joints that leave a slowed plan stop as fast as at full speed."""

Worker = Callable[[Callable[[], Any]], "Future[Any]"]
"""Has work done by the worker, as ``Executor.submit`` does."""


@dataclass(frozen=True, eq=False)
class _Replanning:
    """The rest of a plan that stops on its path is planned again; the stop ends at ``ends_s``."""

    why: PickerError
    validator: MotionValidator
    ends_s: float
    work: Future[float]


def _slowed_rest(rest: Trajectory, validator: MotionValidator) -> float:
    """By how much the rest of a motion has to be slowed; raises why it may not be made at any speed."""
    try:
        return validator.scale_time(rest.stretched).factor
    except PickerError:
        return MAX_STRETCH * validator.scale_time(rest.stretched(MAX_STRETCH).stretched).factor


class ReferenceGenerator:
    """Produces the reference of an arm; inactive until told where the arm is.

    Args:
        description: the arm; within its position limits a cancelled motion comes to rest.
        max_deceleration: [rad/s²] with which it does, and which a change of speed may add.
        worker: plans.

    Attributes:
        validator: of motions with the present payload; None: that is not known yet.
        speed: share of full speed with which goals are executed.
        approaches: whether motions may end with one.
        side: of the joints' friction, along what was sent.
        sent_s: time of the newest reference [s]; -inf: there is none.
    """

    def __init__(self, description: ArmDescription, max_deceleration: float, worker: Worker):
        self.description, self.worker = description, worker
        self.validator: MotionValidator | None = None
        self.speed, self.approaches = 1.0, False
        self.side = started(description.n, np.zeros(description.n))
        self.sent_s = -np.inf
        self._slowing = Slowing(description, max_deceleration)
        self._plan: ActivePlan | None = None  # None: not active
        self._excess, self._excess_until_s = NO_EXCESS, -np.inf
        self._passed: MotionValidator | None = None  # the limits that the whole plan obeys
        self._looked: tuple[MotionValidator | None, Trajectory | None, float] = (
            None,
            None,
            0.0,
        )  # and how far this one was looked at
        self._replanning: _Replanning | None = None

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
        self._plan, self._replanning = ActivePlan.hold(self.description.joint_names, q), None

    def deactivate(self) -> None:
        """Stop producing a reference."""
        self._plan = self._replanning = None
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

    def left(self, identifier: str, time_s: float) -> float:
        """Rest of a motion that lies ahead at ``time_s``, in its goal's time [s]; 0: over, or displaced."""
        found = (one for one in self.plan.under_way if one.motion.identifier == identifier) if self._plan is not None else ()
        return next((one.left(self.plan.progress(time_s)) for one in found), 0.0)

    def limit_excess(self, since_s: float) -> LimitExcess:
        """Excess of ways to rest, or to another speed, over the limits from ``since_s`` on, when a reference was sent last."""
        return self._excess if since_s < self._excess_until_s else NO_EXCESS

    def sample(self, time_s: float) -> tuple[Reference, tuple[UnderWay, ...]]:
        """The reference to send for ``time_s``, and the motions that ended with it."""
        reference = Reference(time_s, *self.state_at(time_s))
        self.sent_s = max(self.sent_s, time_s)
        self._plan, finished = self.plan.after(time_s)
        return reference, finished

    # -- goals ---------------------------------------------------------------------------------------------

    def must_wait(self, goal: ParsedGoal, time_s: float) -> bool:
        """Whether a goal that starts later has to wait because another motion is under way: begun now, it would end that one."""
        later = goal.start_s is not None and goal.start_s > max(time_s, self.sent_s)
        return later and self._plan is not None and self._plan.moves

    def basis(self, time_s: float, ahead_s: float) -> Basis | None:
        """Basis to plan a goal on ``ahead_s`` from ``time_s``, at rest at once; None: wait, it is about to rest or to go on.

        Raises:
            PickerError: not active, or no check possible yet.
        """
        if self._plan is None:
            raise PickerError("the arm is not active: enable it first")
        if self.validator is None:
            raise PickerError("the payload is not known yet (is the dynamics node running?): no goal is accepted")
        active, begins_s = self._plan, max(time_s, self.sent_s)
        begins_s += ahead_s if active.moves else 0.0
        streams = active.phase is Phase.STREAMING and ahead_s > 0.0
        if streams or self._replanning is not None or (active.moves and active.is_over(begins_s)):
            return None
        from_s = self.sent_s if active.moves else begins_s
        side = foreseen(self.side, lambda at_s: active.state_at(at_s)[0], from_s, begins_s)
        return Basis(active, self.validator, begins_s, side, self.approaches)

    def holds(self, basis: Basis) -> bool:
        """Whether what was planned on this basis may begin."""
        same = basis.active is self._plan and basis.validator is self.validator
        return same and (not basis.active.moves or basis.begins_s >= self.sent_s)

    def planning(self, goal: ParsedGoal, basis: Basis, time_s: float) -> Callable[[], Plan]:
        """Work for the worker: plan the part of the goal that lies ahead; touches nothing here, raises why it may not be made."""
        late_s = 0.0 if goal.start_s is None else max(time_s, self.sent_s) - goal.start_s
        return partial(plan, goal.after(late_s) if late_s > PAST_TOLERANCE_S else goal, basis, self._slowing)

    def begin(self, plan: Plan, time_s: float, identifier: str) -> Motion:
        """Begin a plan whose basis holds; a motion under way is blended into it.

        Args:
            time_s: at rest, the time at which the motion begins, unless its goal says a later one.
            identifier: of the motion that it becomes.
        """
        active, goal = plan.basis.active, plan.goal
        start_s = plan.basis.begins_s if active.moves else max(time_s, self.sent_s)
        start_s = start_s if goal.start_s is None else max(goal.start_s, start_s)
        motion = plan.motion(start_s, identifier)
        under_way = (*active.later(start_s, plan.staying), UnderWay(motion, plan.duration_s))
        self._take(motion.trajectory, start_s, under_way)
        self._passed = plan.basis.validator
        if plan.approach is not None:
            self.side.width = plan.approach.width
        return motion

    def _take(self, trajectory: Trajectory, time_s: float, under_way: tuple[UnderWay, ...]) -> None:
        """Go on with another trajectory from ``time_s`` on, as fast as now and then as is wanted."""
        before, scaling = self.plan, TimeScaling(time_s, self.speed)
        if before.moves and time_s >= before.scaling.begin_s:
            speed = before.scaling.target if self._replanning is not None else self.speed
            scaling, excess = self._slowing.to_speed(before.scaling, speed, trajectory, time_s, self.validator, True)
            self._allow(excess, scaling.settled_s)
        self._plan = ActivePlan(trajectory, scaling, Phase.EXECUTING, under_way)

    # -- streams and stops -----------------------------------------------------------------------------------

    def follow(self, trajectory: Trajectory, start_s: float) -> None:
        """Execute what became of a stream: it was built on :meth:`state_at` ``start_s``, and is within the limits."""
        self._plan = ActivePlan(trajectory, TimeScaling(start_s), Phase.STREAMING)

    def postpone(self, time_s: float) -> None:
        """Postpone to ``time_s`` what was to begin before: nothing was sent of it."""
        if self.plan.moves and self.plan.scaling.begin_s < time_s:
            self._plan = replace(self.plan, scaling=TimeScaling(time_s, self.plan.scaling.target))

    def cancel(self, time_s: float, identifier: str | None = None) -> bool:
        """Decelerate to rest from the last point that was sent; returns whether anything was still to move.

        Args:
            identifier: of the only motion that is meant; None: all.
        """
        active, time_s = self._plan, max(time_s, self.sent_s)
        if active is None or active.phase in (Phase.HOLDING, Phase.STOPPING):
            return False
        if identifier is None:
            self._to_rest(time_s)
            return True
        chosen = [one for one in active.under_way if one.motion.identifier == identifier and not one.cancelled]
        if not chosen:
            return False
        others = [one for one in active.under_way if one not in chosen]
        if not any(not one.cancelled for one in others):
            self._to_rest(time_s)
            return True
        q, v, a = active.own_state(time_s)
        free = np.isin(np.arange(len(q)), chosen[0].motion.joints)
        share = max(active.scaling.at(time_s).speed, SLOWEST) ** -2
        stop = self._slowing.stop((q, np.where(free, v, 0.0), np.where(free, a, 0.0)), share)
        under_way = (replace(chosen[0], end_s=stop.duration, cancelled=True), *active.later(time_s, others))
        self._take(merge_joints(stop, active.rest(time_s), np.flatnonzero(free)), time_s, under_way)
        if self._replanning is not None:
            self._replan(self._replanning.why, self._replanning.validator)
        return True

    def brake(self, last: Reference | None) -> None:
        """Brake to rest from the reference that was sent last, whatever was to follow it; None was: nothing changes."""
        if last is None:
            return
        under_way, state = self.plan.under_way, (last.q, last.v, last.a)
        self.start(last.q)
        if last.v.any() or last.a.any():
            (stop, _), excess = self._slowing.gentlest(self._slowing.straight(state, HARDER), self.validator)
            self._stop(stop, last.time_s, excess, under_way, state)

    def _to_rest(self, start_s: float, to_hold: bool = False) -> None:
        """Bring the arm to rest by the gentlest of all ways."""
        (stop, _), excess = self._slowing.gentlest(self._slowing.ways_to_rest(self.plan, start_s), self.validator, to_hold)
        self._stop(stop, start_s, excess, self.plan.under_way)

    def _stop(
        self, stop: Trajectory, start_s: float, excess: LimitExcess, under_way: tuple[UnderWay, ...], last: State | None = None
    ) -> None:
        self._allow(excess, start_s + stop.duration, last)
        self._replanning = None
        stopping = tuple(replace(one, end_s=stop.duration, cancelled=True) for one in under_way)
        self._plan = ActivePlan(stop, TimeScaling(start_s), Phase.STOPPING, stopping)

    # -- another speed ---------------------------------------------------------------------------------------

    def set_speed(self, speed: float, time_s: float) -> None:
        """Execute goals at ``speed``, 0 (pause) to 1 (as fast as they were checked), from ``time_s`` on, smoothly."""
        self.speed = float(speed)
        if self._replanning is None:
            self._change_speed(max(time_s, self.sent_s))

    def _change_speed(self, time_s: float) -> None:
        active = self._plan
        if active is None or active.phase is not Phase.EXECUTING:
            return
        scaling = TimeScaling(active.scaling.begin_s, self.speed)
        if time_s >= active.scaling.begin_s:
            rest = active.rest(time_s)
            scaling, excess = self._slowing.to_speed(active.scaling, self.speed, rest, time_s, self.validator, False)
            self._allow(excess, scaling.settled_s)
        self._plan = replace(active, scaling=scaling)

    # -- other limits ----------------------------------------------------------------------------------------

    def hold_to_limits(self, time_s: float) -> tuple[PickerError, float | None] | None:
        """Hold what is left of motions under way to limits that changed, a piece at a time.

        What does not pass stops on its path, and its rest is planned again, slowed as far as it has to be; where that cannot be,
        the arm comes to rest where it can stay.

        Returns:
            None: nothing new.  Else why motions do not pass, and the factor by which their rest is slowed, with which they go
            on; 0: they stop on their path, and it is being planned; None: the arm comes to rest for good, or is held where it
            cannot stay.
        """
        active, validator, again = self._plan, self.validator, self._replanning
        if active is None:
            return None
        if again is not None and again.validator is validator:
            return self._go_on(again, time_s)
        if validator is self._passed:
            return None
        if active.phase is Phase.STOPPING and validator is not None:
            left = active.rest(time_s)
            self._allow(self._slowing.gentlest([Way(left)], validator)[1], time_s + left.duration)
        why = again.why if again is not None and validator is not None else self._broken(active, validator, time_s)
        if why is None:
            return None
        if active.phase is Phase.EXECUTING and validator is not None and self._stopped_on_path(why, validator, time_s):
            return (why, 0.0) if again is None else None
        if active.phase in (Phase.EXECUTING, Phase.STREAMING):
            self._to_rest(time_s, to_hold=True)
        return why, None

    def _broken(self, active: ActivePlan, validator: MotionValidator | None, time_s: float) -> PickerError | None:
        """Why the active plan does not pass from ``time_s`` on, in its next piece; None: it may go on so far."""
        if active.phase is Phase.EXECUTING and validator is not None:
            return self._piece_broken(active, validator, time_s)
        self._passed = validator
        if validator is None:
            moving = active.phase in (Phase.EXECUTING, Phase.STREAMING)
            return PickerError("the payload is not known any more", "payload") if moving else None
        try:
            if active.phase is Phase.STREAMING:
                require_followable(validator, *active.state_at(time_s))
            else:
                validator.require_holdable(active.trajectory.end)
        except PickerError as error:
            return error
        return None

    def _piece_broken(self, active: ActivePlan, validator: MotionValidator, time_s: float) -> PickerError | None:
        rest, now_s = active.rest(time_s), active.progress(time_s)
        looked_for, looked_at, looked_s = self._looked
        begin_s = max(looked_s, now_s) if (looked_for, looked_at) == (validator, active.trajectory) else now_s
        piece, own_s, stretch = head(remainder(rest, begin_s - now_s), AHEAD_S), 0.0, 1.0
        if active.under_way:  # times are told in those of the newest goal
            newest = active.under_way[-1]
            own_s = newest.slowed * newest.motion.duration_s - newest.end_s
            stretch = newest.slowed * newest.motion.validated.factor
        motion = SampledMotion.along(piece, validator.model, PERIOD_S, begin_s + own_s, stretch)
        motion.rest, motion.rest_s = rest.end, (now_s + own_s + rest.duration) / stretch
        broken = next((usage for usage in validator.usages(motion) if usage.broken), None)
        self._looked = validator, active.trajectory, begin_s + AHEAD_S
        if broken is not None or begin_s + AHEAD_S >= now_s + rest.duration:
            self._passed = validator
        return None if broken is None else broken.refusal()

    def _stopped_on_path(self, why: PickerError, validator: MotionValidator, time_s: float) -> bool:
        """Stop on the path, unless another way to rest is gentler, and have what is left of it planned again."""
        active, slowing = self.plan, self._slowing
        ways = [*slowing.along(active, time_s), *slowing.straight(active.state_at(time_s))]
        (stop, ramp), excess = slowing.gentlest(ways, validator)
        if ramp is None:
            return False
        end = ramp.at(ramp.settled_s).progress
        if any(end >= one.end_s for one in active.under_way) and not validator.can_hold(stop.end):
            return False
        self._allow(excess, ramp.settled_s)
        self._plan = replace(active, scaling=ramp)
        self._replan(why, validator)
        return True

    def _replan(self, why: PickerError, validator: MotionValidator) -> None:
        """Have what is left once the plan has stopped planned again."""
        ends_s = self.plan.scaling.settled_s
        work = self.worker(partial(_slowed_rest, self.plan.rest(ends_s), validator))
        self._replanning, self._passed = _Replanning(why, validator, ends_s, work), validator

    def _go_on(self, again: _Replanning, time_s: float) -> tuple[PickerError, float | None] | None:
        """Go on with a rest that was planned again, once the stop is over."""
        if not again.work.done():
            return None
        if isinstance(again.work.exception(), PickerError):
            self._to_rest(time_s, to_hold=True)
            return again.why, None
        factor = again.work.result()
        if time_s < again.ends_s:
            return None
        rest = self.plan.rest(time_s).stretched(factor)
        slower = tuple(replace(one, end_s=factor * one.end_s, slowed=factor * one.slowed) for one in self.plan.later(time_s))
        self._replanning, self._plan = None, ActivePlan(rest, TimeScaling(time_s, 0.0), Phase.EXECUTING, slower)
        self._change_speed(time_s)
        return again.why, factor

    def _allow(self, excess: LimitExcess, until_s: float, last: State | None = None) -> None:
        """Allow the excess of a way that is about to be taken, and of what was sent last, with which the next is compared."""
        if self.validator is not None and np.isfinite(self.sent_s):
            now = LimitExcess.of(self.validator, *(np.array([part]) for part in last or self.state_at(self.sent_s)))
            excess = replace(excess, torque=max(excess.torque, now.torque), tip=max(excess.tip, now.tip))
        self._excess, self._excess_until_s = excess, until_s
