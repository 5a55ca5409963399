"""Planning: what becomes of a goal that joins a course, checked, and how it ends; free of the course's own state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.friction_side import FrictionSide

from .approach import Approach, Ending
from .course import Course
from .goal import MAIN_TRACK
from .joining import Joining
from .validator import MotionValidator, Validated


@dataclass(frozen=True, eq=False)
class Basis:
    """Basis of a plan: it holds while these are the same objects.

    Attributes:
        course: that the goal joins.
        validator: of the limits.
        begins_s: when the plan begins, or, of an arm at rest, at the earliest [s].
    """

    course: Course
    validator: MotionValidator
    begins_s: float


@dataclass(frozen=True, eq=False)
class Plan:
    """Plan of a goal: the motion that may be made.

    Attributes:
        basis: that it was made on.
        joining: the goal, where it joins.
        validated: the motion.
        duration_s: how long it is the goal's own [s].
        approach: how it ends; None: friction does not matter.
    """

    basis: Basis
    joining: Joining
    validated: Validated
    duration_s: float
    approach: Approach | None


def plan(basis: Basis, joining: Joining, side: FrictionSide, description: ArmDescription, approaches: bool) -> Plan:
    """Plan a goal: its motion, slowed as far as it has to be, with an approach at its end where friction wants one.

    Args:
        joining: the goal, where it joins.
        side: of the joints' friction there; it is taken along.
        approaches: whether motions may end with one; those of a goal that stands in its last pose do not.

    Raises:
        PickerError: why the motion may not be made.
    """
    goal, validator = joining.goal, basis.validator
    validated = validator.scale_time(joining.build)
    times_s = np.array([0.0, *goal.times_s]) * validated.factor
    end_s = validated.trajectory.duration if joining.whole else float(times_s[-1])
    if goal.track != MAIN_TRACK:
        return Plan(basis, joining, validated, end_s, None)
    ending, may = Ending(validated, end_s, float(times_s[-2]), goal.joints), approaches and not goal.stands
    ended, approach = ending.planned(side, validator, description, may)
    return Plan(basis, joining, ended, end_s + (approach.duration_s if approach is not None else 0.0), approach)
