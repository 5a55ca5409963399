"""Planning: what becomes of a goal that joins a course, checked, and how it ends; free of the course's own state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.friction_side import FrictionSide

from .approach import Approach, Ending
from .goal import MAIN_TRACK
from .joining import Joining
from .validator import MotionValidator, Validated


class Planned(NamedTuple):
    """Plan of a goal: the motion that may be made, how long it is its own [s], and how it ends."""

    validated: Validated
    duration_s: float
    approach: Approach | None


def planned(
    joining: Joining, side: FrictionSide, validator: MotionValidator, description: ArmDescription, approaches: bool
) -> Planned:
    """Check the motion of a goal, slowed as far as it has to be, with an approach at its end where friction wants one.

    Args:
        joining: the goal, where it joins.
        side: of the joints' friction there; it is taken along.
        approaches: whether motions may end with one; those of a goal that stands in its last pose do not.

    Raises:
        PickerError: why the motion may not be made.
    """
    goal, validated = joining.goal, validator.scale_time(joining.build)
    times_s = np.array([0.0, *goal.times_s]) * validated.factor
    end_s = validated.trajectory.duration if joining.whole else float(times_s[-1])
    if goal.track != MAIN_TRACK:
        return Planned(validated, end_s, None)
    ending, may = Ending(validated, end_s, float(times_s[-2]), goal.joints), approaches and not goal.stands
    ended, approach = ending.planned(side, validator, description, may)
    return Planned(ended, end_s + (approach.duration_s if approach is not None else 0.0), approach)
