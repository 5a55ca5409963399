"""Planning: from a goal, where it joins the active plan, and limits to a motion: checked, immutable, made by the worker."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from picker_dynamics.robot.friction_side import FrictionSide
from picker_dynamics.trajectory.trajectory import Trajectory, merge_joints

from .active_plan import ActivePlan, UnderWay
from .goal import ParsedGoal
from .lease import MAIN_TRACK
from .motion import Motion
from .settle_downward import settle_downward
from .slowing import Slowing
from .validator import MotionValidator


@dataclass(frozen=True, eq=False)
class Plan:
    """Plan of a goal: it may begin while the active plan and the limits are the same objects.

    Attributes:
        active: the active plan that the goal joins.
        validator: of the limits.
        begins_s: when the plan begins, or, at rest, at the earliest [s].
        work: its motion, made by the worker.
    """

    active: ActivePlan
    validator: MotionValidator
    begins_s: float
    work: Future[Motion]


def staying(active: ActivePlan, track: str, joints: tuple[int, ...]) -> tuple[UnderWay, ...]:
    """Motions under way whose place a goal of this track and these joints does not take."""
    return tuple(one for one in active.under_way if one.motion.track != track and set(joints).isdisjoint(one.motion.joints))


def planned(
    goal: ParsedGoal,
    active: ActivePlan,
    start_s: float,
    validator: MotionValidator,
    slowing: Slowing,
    side: FrictionSide,
    approaches: bool,
) -> Motion:
    """The motion of a goal, slowed as far as it has to be, with an approach at its end where friction wants one.

    A goal takes the place of those of its track or with one of its joints; joints that nobody moves any more come to rest.

    Args:
        active, start_s: the active plan that it joins, and when [s].
        side: of the joints' friction there.
        approaches: whether motions may end with one.

    Raises:
        PickerError: why the motion may not be made.
    """
    own = goal.joints.tolist()
    q, v, a = active.own_state(start_s)
    others = active.rest(start_s)
    busy = [*own, *(j for one in staying(active, goal.track, tuple(own)) for j in one.motion.joints)]
    loose = np.isin(np.arange(len(q)), busy, invert=True)
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
        may, from_s = approaches and not goal.stands, float(times_s[-2])
        ending = duration_s, from_s, goal.joints, side
        validated, approach = settle_downward(validated, *ending, validator, slowing.description, may)
        duration_s += 0.0 if approach is None else approach.duration_s
    begins_s = start_s if goal.start_s is None else max(goal.start_s, start_s)
    return Motion(begins_s, validated, goal.track, tuple(own), duration_s, approach)
