"""Planning: from a goal, where it joins the active plan, and limits to a plan: checked, immutable, made by the worker."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.robot.friction_side import FrictionSide
from picker_dynamics.trajectory.trajectory import Trajectory, merge_joints

from .active_plan import ActivePlan, State
from .approach import Approach, Ending
from .goal import ParsedGoal
from .lease import MAIN_TRACK
from .motion import Motion, Phase
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
        moves: indices of the joints that it moves: the goal's, and those of motions that it displaces, which come to rest.
        duration_s: until the goal's joints are at their end [s].
        end_s: until all that it moves is [s].
        approach: how it ends; None: friction does not matter.
    """

    basis: Basis
    goal: ParsedGoal
    validated: Validated
    moves: tuple[int, ...]
    duration_s: float
    end_s: float
    approach: Approach | None

    def motion(self, start_s: float, own_s: float, identifier: str) -> Motion:
        """The motion that it becomes where it begins at ``start_s``, ``own_s`` in the active plan's own time."""
        return Motion(
            start_s,
            self.validated.trajectory,
            identifier,
            Phase.EXECUTING,
            self.goal.track,
            tuple(self.goal.joints.tolist()),
            self.duration_s,
            validated=self.validated,
            approach=self.approach,
            moves=self.moves,
            end_s=self.end_s,
            own_s=own_s,
        )


def displaces(goal: ParsedGoal, motion: Motion) -> bool:
    """Whether a goal takes the place of a motion: it has its track, or one of its goal's joints."""
    return motion.track == goal.track or not set(motion.joints).isdisjoint(goal.joints.tolist())


def plan(goal: ParsedGoal, basis: Basis, slowing: Slowing) -> Plan:
    """Plan a goal: its motion, slowed as far as it has to be, with an approach at its end where friction wants one.

    Raises:
        PickerError: why the motion may not be made.
    """
    active, start_s, validator = basis.active, basis.begins_s, basis.validator
    staying = tuple(motion for motion in active.motions if not displaces(goal, motion))
    own = goal.joints.tolist()
    loose = {j for motion in active.motions if motion not in staying for j in motion.moves}.difference(own)
    q, v, a = _joined(active, start_s)
    others = active.rest(start_s, [replace(m, moves=tuple(j for j in m.moves if j not in own)) for m in staying])
    rest_s = 0.0
    if any(v[j] or a[j] for j in loose):
        free = np.isin(np.arange(len(q)), list(loose))
        stop = slowing.stop((q, np.where(free, v, 0.0), np.where(free, a, 0.0)))
        others, rest_s = merge_joints(stop, others, sorted(loose)), stop.duration
    begin, whole = (q[own], v[own], a[own]), len(own) == len(q)

    def build(factor: float) -> Trajectory:
        path = goal.trajectory(begin, factor)
        return path if whole else merge_joints(path, others, own)

    validated, approach = validator.scale_time(build), None
    times_s = np.array([0.0, *goal.times_s]) * validated.factor
    duration_s = validated.trajectory.duration if whole else float(times_s[-1])
    if goal.track == MAIN_TRACK:
        ending = Ending(validated, duration_s, float(times_s[-2]), goal.joints)
        may = basis.approaches and not goal.stands
        validated, approach = ending.planned(basis.side, validator, slowing.description, may)
        duration_s += 0.0 if approach is None else approach.duration_s
    moves = tuple(sorted(loose.union(own)))
    return Plan(basis, goal, validated, moves, duration_s, max(duration_s, rest_s), approach)


def _joined(active: ActivePlan, time_s: float) -> State:
    """State that a goal begins with, in the own time of motions that are slowed, unless they are paused."""
    q, v, a = active.state_at(time_s)
    return active.state_at(time_s, own=True) if v.any() or a.any() else (q, v, a)
