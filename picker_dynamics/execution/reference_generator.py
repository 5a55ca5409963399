"""Reference generator: q, v, a of the arm at every time: hold, follow what was let pass, decelerate when told.

Free of ROS and of clocks: times are seconds on any one clock and come in as arguments.  Whoever samples asks for
``now + lead``; everything here is expressed in the time at which a reference *holds*, so that a new goal can start exactly from
the last point that was sent.

What the reference will be stands in the ``ActivePlan``; here is what makes another one of it: a plan, a stream, a cancel, another
speed, other limits.  A goal's trajectory has a time of its own: at less than full speed it is gone through slowly, on the same
path.  A new goal joins in that time, so it is checked for full speed.  Stops and streams are not scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import PickerError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.trajectory.time_scaling import TimeScaling
from picker_dynamics.trajectory.trajectory import Trajectory

from .active_plan import ActivePlan, State
from .approach import ApproachPlanner
from .goal import PAST_TOLERANCE_S, ParsedGoal
from .motion import Motion, Phase, Reference
from .new_limits import NewLimits
from .planning import Basis, Plan, displaces, plan
from .slowing import HARDER, NO_EXCESS, LimitExcess, Slowing, excess_of_way
from .validator import MAX_STRETCH, MotionValidator


@dataclass(frozen=True)
class Held:
    """What became of motions under way that do not pass limits that changed.

    Attributes:
        why: they do not.
        factor: by which their rest is slowed, with which they go on; 0: they stop on their path, and it is being planned; None:
            the arm comes to rest for good, or is held where it cannot stay.
    """

    why: PickerError
    factor: float | None


@dataclass(frozen=True, eq=False)
class _Replanning:
    """The rest of motions that stop on their path is planned again; the stop ends at ``ends_s``."""

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

    Attributes:
        validator: of motions with the present payload; None: that is not known yet.
        speed: share of full speed with which goals are gone through.
        approaches: whether motions may end with one.
        sides: of the joints' friction, along what was sent.
        displaced: the motions whose place the newest goal took.
    """

    def __init__(self, description: ArmDescription, max_deceleration: float):
        self.description, self.joint_names = description, description.joint_names
        self.lower, self.upper = description.lower, description.upper
        self.validator: MotionValidator | None = None
        self.speed, self.approaches = 1.0, False
        self.sides = ApproachPlanner(description.n)
        self.displaced: tuple[Motion, ...] = ()
        self._all = tuple(range(description.n))
        self._slowing = Slowing(description, np.asarray(max_deceleration, dtype=float))
        self._plan: ActivePlan | None = None  # None: not active
        self._sent_s = -np.inf
        self._excess, self._excess_until_s = NO_EXCESS, -np.inf
        self._limits = NewLimits()
        self._replanning: _Replanning | None = None

    @property
    def active(self) -> bool:
        """Whether there is a reference."""
        return self._plan is not None

    @property
    def sent_s(self) -> float:
        """Time of the newest reference [s]; -inf: there is none."""
        return self._sent_s

    @property
    def trajectory(self) -> Trajectory | None:
        """Trajectory of the newest motion under way; None: the arm holds."""
        return self._plan.motions[-1].trajectory if self.moves and self._plan is not None else None

    @property
    def moves(self) -> bool:
        """Whether the reference has more to come than a hold."""
        return self._plan is not None and bool(self._plan.motions)

    def phase(self) -> Phase:
        """Phase of the reference as things are."""
        return Phase.INACTIVE if self._plan is None else self._plan.phase

    def start(self, q: ArrayLike) -> None:
        """Become active, holding the pose ``q`` (n,) [rad]."""
        self._plan, self._replanning = ActivePlan(self.joint_names, np.array(q, dtype=float)), None

    def deactivate(self) -> None:
        """Stop producing a reference."""
        self._plan = self._replanning = None
        self._sent_s = -np.inf  # what was sent before binds nobody who starts anew

    def _active(self) -> ActivePlan:
        if self._plan is None:
            raise PickerError("the arm is not active: there is no reference to sample")
        return self._plan

    # -- the reference -------------------------------------------------------------------------------------

    def state_at(self, time_s: float) -> State:
        """Reference state at ``time_s`` as things are, without advancing."""
        return self._active().state_at(time_s)

    def progress_at(self, time_s: float) -> float:
        """Progress of the newest motion at ``time_s``, in its trajectory's time [s]; negative: it waits."""
        return self._plan.progress(self._plan.motions[-1], time_s) if self.moves and self._plan is not None else 0.0

    def left(self, motion: Motion, time_s: float) -> float:
        """Rest of a motion that lies ahead at ``time_s``, in its goal's time [s]; 0: over, or displaced."""
        return 0.0 if self._plan is None else self._plan.left(motion.identifier, time_s)

    def speed_at(self, time_s: float) -> float:
        """Share of full speed with which goals are gone through; what is wanted where there is none."""
        if self._plan is None or self._plan.phase is not Phase.EXECUTING:
            return self.speed
        return 1.0 if self._plan.scaling is None else self._plan.scaling.at(time_s).speed

    def limit_excess(self, since_s: float) -> LimitExcess:
        """Excess of ways to rest, or to another speed, over the limits from ``since_s`` on, when a reference was sent last."""
        return self._excess if since_s < self._excess_until_s else NO_EXCESS

    def sample(self, time_s: float) -> tuple[Reference, tuple[Motion, ...]]:
        """The reference to send for ``time_s``, and the motions that ended with it."""
        reference = Reference(time_s, *self.state_at(time_s))
        self._sent_s = max(self._sent_s, time_s)
        self._plan, finished = self._active().after(time_s)
        return reference, finished

    # -- goals ---------------------------------------------------------------------------------------------

    def must_wait(self, goal: ParsedGoal, time_s: float) -> bool:
        """Whether a goal that starts later has to wait because another motion is under way: begun now, it would end that one."""
        earliest_s = max(time_s, self._sent_s)
        if goal.start_s is None or goal.start_s <= earliest_s or self._plan is None:
            return False
        return not self._plan.is_over(earliest_s)

    def basis(self, goal: ParsedGoal, time_s: float, ahead_s: float) -> Basis | None:
        """Basis to plan a goal on ``ahead_s`` from ``time_s``, at rest at once; None: wait, it is about to rest or to go on.

        Raises:
            PickerError: not active, or no check possible yet.
        """
        if self._plan is None:
            raise PickerError("the arm is not active: enable it first")
        if self.validator is None:
            raise PickerError("the payload is not known yet (is the dynamics node running?): no goal is accepted")
        active, begins_s = self._plan, max(time_s, self._sent_s)
        if active.motions and ahead_s:
            begins_s += ahead_s
            if active.phase is Phase.STREAMING or active.is_over(begins_s):
                return None
        stopping = any(m.phase is Phase.STOPPING and displaces(goal, m) for m in active.motions)
        if self._replanning is not None or (stopping and active.scaling is not None and active.executing(begins_s)):
            return None
        from_s = self._sent_s if active.motions else begins_s
        side = self.sides.foreseen(lambda at_s: active.state_at(at_s)[0], from_s, begins_s)
        return Basis(active, self.validator, begins_s, side, self.approaches)

    def holds(self, basis: Basis) -> bool:
        """Whether what was planned on this basis may begin."""
        same = basis.active is self._plan and basis.validator is self.validator
        return same and (not basis.active.motions or basis.begins_s >= self._sent_s)

    def in_time(self, goal: ParsedGoal, time_s: float) -> ParsedGoal:
        """Part of the goal that lies ahead."""
        late_s = 0.0 if goal.start_s is None else max(time_s, self._sent_s) - goal.start_s
        return goal.after(late_s) if late_s > PAST_TOLERANCE_S else goal

    def planning(self, goal: ParsedGoal, basis: Basis) -> Callable[[], Plan]:
        """The planning of a goal: work for the worker, which touches nothing here and raises why the motion may not be made."""
        return partial(plan, goal, basis, self._slowing)

    def begin(self, plan: Plan, time_s: float, identifier: str = "") -> Motion:
        """Begin a plan whose basis holds; a motion under way is blended into it.

        Args:
            time_s: at rest, the time at which the motion begins, unless its goal says a later one.
            identifier: of the motion that it becomes.
        """
        active, goal = plan.basis.active, plan.goal
        start_s = plan.basis.begins_s if active.motions else max(time_s, self._sent_s)
        start_s = start_s if goal.start_s is None else max(goal.start_s, start_s)
        self.displaced = tuple(motion for motion in active.motions if displaces(goal, motion))
        if not active.executing(start_s):  # nothing is bound to the own time: it begins anew
            active = active.on_the_clock(start_s)
        scaling = self._scaling_from(active, start_s, plan.validated.trajectory)
        motion = plan.motion(start_s, active.own_s(start_s), identifier)
        self._limits.passed(plan.basis.validator)
        self.sides.begins(plan.approach)
        self._plan = active.taken_over(motion, scaling)
        return motion

    # -- streams and stops -----------------------------------------------------------------------------------

    def follow(self, trajectory: Trajectory, start_s: float) -> None:
        """Execute what became of a stream: it was built on :meth:`state_at` ``start_s``, and is within the limits."""
        lasts_s = trajectory.duration
        motion = Motion(start_s, trajectory, "", Phase.STREAMING, duration_s=lasts_s, moves=self._all, end_s=lasts_s)
        self._plan = self._active().taken_over(motion, None)

    def postpone(self, time_s: float) -> None:
        """Postpone to ``time_s`` what was to begin before: nothing was sent of it."""
        self._plan = self._active().postponed(time_s)

    def cancel(self, time_s: float, identifier: str | None = None) -> bool:
        """Decelerate to rest from the last point that was sent; returns whether anything was still to move.

        Args:
            identifier: of the only motion that is meant; None: all.
        """
        motions = () if self._plan is None else self._plan.motions
        chosen = [
            m for m in motions if not m.cancelled and (identifier is None or (identifier == m.identifier and not m.finished))
        ]
        if chosen:
            self._to_rest(chosen, max(time_s, self._sent_s))
        return bool(chosen)

    def brake(self, last: Reference | None) -> None:
        """Brake to rest from the reference that was sent last, whatever was to follow it; None was: nothing changes."""
        if last is None:
            return
        self.start(last.q)
        if last.v.any() or last.a.any():
            ways = self._slowing.straight((last.q, last.v, last.a), HARDER)
            stop, excess = self._slowing.gentlest(ways, self.validator)
            motion = Motion(last.time_s, stop, moves=self._all).stopped(last.time_s, stop)
            self._excess_to(last.time_s + stop.duration, excess, (last.q, last.v, last.a))
            self._plan = self._active().taken_over(motion, None)

    def _to_rest(self, chosen: Sequence[Motion], start_s: float, to_hold: bool = False) -> None:
        """Bring motions to rest: their joints alone where others go on, else by the gentlest of all ways."""
        active = self._active()
        others = [m for m in active.motions if m.phase is Phase.EXECUTING and m not in chosen]
        if others:
            q, v, a = active.state_at(start_s)
            free = np.isin(np.arange(len(q)), [joint for motion in chosen for joint in motion.moves])
            stop = self._slowing.stop((q, np.where(free, v, 0.0), np.where(free, a, 0.0)))
        else:
            stop, excess = self._slowing.gentlest(self._slowing.ways_to_rest(active, start_s), self.validator, to_hold)
            self._excess_to(start_s + stop.duration, excess)
            self._replanning = None
        for motion in chosen:
            active = active.taken_over(motion.stopped(start_s, stop), active.scaling)
        self._plan = active

    # -- another speed ---------------------------------------------------------------------------------------

    def set_speed(self, speed: float, time_s: float) -> None:
        """Go through goals at ``speed``, 0 (pause) to 1 (as fast as they were checked), from ``time_s`` on, smoothly."""
        self.speed = float(speed)
        if self._replanning is None:
            self._change_speed(max(time_s, self._sent_s))

    def _change_speed(self, time_s: float) -> None:
        active = self._plan
        if active is None or active.phase is not Phase.EXECUTING:
            return
        if not active.executing(time_s):
            active = active.on_the_clock(time_s)
            time_s = min(m.own_s for m in active.motions if m.phase is Phase.EXECUTING)
        self._plan = replace(active, scaling=self._scaling_from(active, time_s, active.rest(time_s)))

    def _scaling_from(self, active: ActivePlan, time_s: float, rest: Trajectory) -> TimeScaling | None:
        """Scaling of the own time from ``time_s`` on, with ``rest`` ahead: to the speed that is wanted, by a ramp if it moves."""
        if active.scaling is None and self.speed == 1.0:
            return None
        if not active.executing(time_s) and not active.state_at(time_s)[1].any():
            return TimeScaling(time_s, self.speed, time_s)
        before = active.scaling or TimeScaling(time_s, progress=time_s)
        made, excess = self._slowing.ramp(lambda rate: before.ramp(time_s, self.speed, rate), rest, time_s, self.validator)
        self._excess_to(made.settled_s, excess)
        return made

    # -- other limits ----------------------------------------------------------------------------------------

    def hold_to_limits(self, time_s: float, in_worker: Callable[[Callable[[], float]], Future[float]]) -> Held | None:
        """Hold what is left of motions under way to limits that changed, a piece at a time.

        What does not pass stops on its path, and its rest is planned again, slowed as far as it has to be; where that cannot be,
        the arm comes to rest where it can stay.

        Returns:
            What became of them; None: nothing new.
        """
        active, validator, again = self._plan, self.validator, self._replanning
        if active is None:
            return None
        if again is not None and again.validator is validator:
            return self._go_on(again, time_s)
        if not self._limits.are_due(validator):
            return None
        if active.phase is Phase.STOPPING and validator is not None:
            left = active.rest(time_s)
            self._excess_to(time_s + left.duration, self._slowing.gentlest([left], validator)[1])
        why = again.why if again is not None and validator is not None else self._limits.excess(active, validator, time_s)
        if why is None:
            return None
        if active.phase is Phase.EXECUTING and validator is not None and self._stopped_on_path(why, validator, time_s, in_worker):
            return Held(why, 0.0) if again is None else None
        if active.phase in (Phase.EXECUTING, Phase.STREAMING):
            self._to_rest(active.motions, time_s, to_hold=True)
        return Held(why, None)

    def _stopped_on_path(
        self,
        why: PickerError,
        validator: MotionValidator,
        time_s: float,
        in_worker: Callable[[Callable[[], float]], Future[float]],
    ) -> bool:
        """Stop the own time, unless another way to rest is gentler, and have what is left of it planned again."""
        active = self._active()
        along = list(self._slowing.ways_along(active, time_s))
        scaling = TimeScaling(time_s, 0.0, active.own_s(time_s))
        if along:
            tried = [(excess_of_way(way, validator), way, ramp) for way, ramp in along]
            gentlest = min(tried, key=lambda one: one[0].torque)
            excess, stop, scaling = next((one for one in tried if one[0].torque <= 1.0), gentlest)
            straight = self._slowing.straight(active.state_at(time_s)) if excess.torque > 1.0 else ()
            if any(excess_of_way(way, validator).torque < excess.torque for way in straight):
                return False
            if any(check.worst(validator.sampled(stop)).broken for check in validator.further):
                return False
            slowed = replace(active, scaling=scaling)
            ends = any(slowed.progress(one, scaling.settled_s) >= one.duration_s for one in active.executing(time_s))
            if ends and not validator.can_hold(stop.end):
                return False
            self._excess_to(scaling.settled_s, excess)
        self._plan = active = replace(active, scaling=scaling)
        rest = active.rest(scaling.settled_s)
        work = in_worker(partial(_slowed_rest, rest, validator))
        self._replanning = _Replanning(why, validator, scaling.settled_s, work)
        self._limits.passed(validator)
        return True

    def _go_on(self, again: _Replanning, time_s: float) -> Held | None:
        """Go on with a rest that was planned again, once the stop is over."""
        active = self._active()
        if not again.work.done():
            return None
        error = again.work.exception()
        if isinstance(error, PickerError):
            self._to_rest(active.motions, time_s, to_hold=True)
            return Held(again.why, None)
        factor = again.work.result()
        if time_s < again.ends_s:
            return None
        self._replanning, self._plan = None, active.slowed(factor, time_s)
        self._change_speed(time_s)
        return Held(again.why, factor)

    # -- how -----------------------------------------------------------------------------------------------

    def _excess_to(self, end_s: float, excess: LimitExcess, last: State | None = None) -> None:
        """Of a way that is about to be taken; what was sent last counts too, as the next reference is compared with it."""
        if self.validator is not None and np.isfinite(self._sent_s):
            now = LimitExcess.of(self.validator, *(np.array([part]) for part in last or self.state_at(self._sent_s)))
            excess = replace(excess, torque=max(excess.torque, now.torque), tip=max(excess.tip, now.tip))
        self._excess, self._excess_until_s = excess, end_s
