"""Planning: from a goal, where it joins the active plan, and limits to a plan: checked, immutable, made by the worker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.robot.friction_side import FrictionSide
from picker_dynamics.trajectory.trajectory import Trajectory, merge_joints

from .active_plan import ActivePlan, UnderWay
from .goal import ParsedGoal
from .lease import MAIN_TRACK
from .motion import Motion
from .settle_downward import Approach, settle_downward
from .slowing import Slowing
from .validator import MotionValidator, Validated


@dataclass(frozen=True, eq=False)
class Basis:
    """Basis of a plan: it holds while these are the same objects.

    Attributes:
        active: the active plan that the goal joins.
        validator: of the limits.
        begins_s: when the plan begins, or, at rest, at the earliest [s].
        side: of the joints' friction there.
        approaches: whether motions may end with one.
    """

    active: ActivePlan
    validator: MotionValidator
    begins_s: float
    side: FrictionSide
    approaches: bool


@dataclass(frozen=True, eq=False)
class Plan:
    """Plan of a goal: the motion that may be made.

    Attributes:
        basis, goal: what it was made of.
        validated: the motion, together with what other tracks do meanwhile.
        staying: these, as ``basis.active`` has them.
        duration_s: until the goal's joints are at their end [s].
        approach: how it ends; None: friction does not matter.
    """

    basis: Basis
    goal: ParsedGoal
    validated: Validated
    staying: tuple[UnderWay, ...]
    duration_s: float
    approach: Approach | None

    def motion(self, start_s: float, identifier: str) -> Motion:
        """The motion that it becomes where it begins at ``start_s``."""
        goal = self.goal
        return Motion(
            start_s, self.validated, identifier, goal.track, tuple(goal.joints.tolist()), self.duration_s, self.approach
        )


def plan(goal: ParsedGoal, basis: Basis, slowing: Slowing) -> Plan:
    """Plan a goal: its motion, slowed as far as it has to be, with an approach at its end where friction wants one.

    A goal takes the place of those of its track or with one of its joints; joints that nobody moves any more come to rest.

    Raises:
        PickerError: why the motion may not be made.
    """
    active, start_s, validator, own = basis.active, basis.begins_s, basis.validator, goal.joints.tolist()
    staying = tuple(one for one in active.under_way if one.motion.track != goal.track and set(own).isdisjoint(one.motion.joints))
    q, v, a = active.own_state(start_s)
    others = active.rest(start_s)
    loose = np.isin(np.arange(len(q)), [*own, *(j for one in staying for j in one.motion.joints)], invert=True)
    if v[loose].any() or a[loose].any():
        stop = slowing.stop((q, np.where(loose, v, 0.0), np.where(loose, a, 0.0)))
        others = merge_joints(stop, others, np.flatnonzero(loose))
    begin, whole = (q[own], v[own], a[own]), len(own) == len(q)

    def build(factor: float) -> Trajectory:
        path = goal.trajectory(begin, factor)
        return path if whole else merge_joints(path, others, own)

    validated, approach = validator.scale_time(build), None
    times_s = np.array([0.0, *goal.times_s]) * validated.factor
    duration_s = validated.trajectory.duration if whole else float(times_s[-1])
    if goal.track == MAIN_TRACK:
        may, from_s = basis.approaches and not goal.stands, float(times_s[-2])
        ending = duration_s, from_s, goal.joints, basis.side
        validated, approach = settle_downward(validated, *ending, validator, slowing.description, may)
        duration_s += 0.0 if approach is None else approach.duration_s
    return Plan(basis, goal, validated, staying, duration_s, approach)
