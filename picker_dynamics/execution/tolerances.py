"""Path and goal tolerances: how far an arm may be from its reference while it moves, and from its goal when it has arrived.

Meanings as in control_msgs/JointTolerance and joint_trajectory_controller's ``constraints``: a tolerance of a goal that is 0
stands for the default, -1 takes the default away; a tolerance that is 0 in the end is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError, JointNamesError
from picker_dynamics.robot.arms import Arm
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.robot.units import told

from .tip_uncertainty import joint_uncertainty

SERVO_SHARE, LEAST_SERVO = 2.5, 0.01
"""Goal tolerance of servos as a multiple of what their steps and deadbands leave, and the least [rad]."""

ROUNDING = 1.2e-7
"""By which -1 may be missed: that of a 32-bit float."""


@dataclass(frozen=True)
class Tolerances:
    """Tolerances of one goal, or the defaults: largest errors of position and velocity (2, n); 0: not looked at.

    Attributes:
        path: while it moves [rad, rad/s; m for a sliding joint].
        goal: where it ends.
        goal_time: how long after its end the arm may take to get there [s]; 0: as long as it takes.
    """

    path: Array
    goal: Array
    goal_time: float = 0.0

    @classmethod
    def of(cls, path: ArrayLike, goal: ArrayLike, stopped_velocity: float = 0.0, goal_time: float = 0.0) -> Tolerances:
        """Tolerances from joint_trajectory_controller's parameters: ``constraints.*`` per joint, and two for all."""
        path, goal = np.array(path, dtype=float), np.array(goal, dtype=float)
        rows = np.stack([path, 0.0 * path]), np.stack([goal, np.full_like(goal, stopped_velocity)])
        return cls(*rows, float(goal_time))

    @classmethod
    def of_servos(cls, servos: ServoMap) -> Tolerances:
        """Tolerances of servos: a multiple of what their steps and deadbands leave at rest; on their way nothing is measured."""
        return cls.of(np.zeros(servos.n), np.maximum(SERVO_SHARE * joint_uncertainty(servos), LEAST_SERVO))

    @classmethod
    def of_arm(cls, arm: Arm) -> Tolerances:
        """Tolerances of an arm whose joints are measured: those of its entry in config/arms.yaml."""
        n = arm.description.n
        return cls.of(np.full(n, arm.path_tolerance or 0.0), np.full(n, arm.goal_tolerance or 0.0))

    def select_joints(self, joints: Iterable[int]) -> Tolerances:
        """Tolerances of some joints, given by their indices; the others are not looked at."""
        mine = np.isin(np.arange(self.path.shape[1]), list(joints))
        return replace(self, path=self.path * mine, goal=self.goal * mine)

    def wanted(self, path: Iterable[Any], goal: Iterable[Any], goal_time: float, names: Sequence[str]) -> Tolerances:
        """Tolerances of a goal, which changes these defaults by control_msgs/JointTolerance.

        Raises:
            JointNamesError: a tolerance for a joint that the arm does not have.
            InputError: one that is negative but not -1, or not finite.
        """
        return Tolerances(
            _changed(self.path, path, names, "path_tolerance"),
            _changed(self.goal, goal, names, "goal_tolerance"),
            _resolved(self.goal_time, goal_time, "goal_time_tolerance"),
        )


def exceeded(bounds: Array, names: Sequence[str], units: Sequence[str], q_error: Array, v_error: Array | None) -> str:
    """The joint that breaks its bound most, as a multiple of it, in words; '' none.  ``v_error`` may be None: not known."""
    errors = np.abs([q_error, 0.0 * q_error if v_error is None else v_error])
    share = np.divide(errors, bounds, out=np.zeros_like(errors), where=bounds > 0.0)
    what, j = divmod(int(share.argmax()), len(names))
    if not share[what, j] > 1.0:
        return ""
    value, limit, per = float(errors[what, j]), float(bounds[what, j]), "/s" if what else ""
    subject = f"the velocity of {names[j]}" if what else names[j]
    return f"{subject} is off by {told(value, units[j], limit)}{per}, allowed {told(limit, units[j], value)}{per}"


def _changed(default: Array, wanted: Iterable[Any], names: Sequence[str], what: str) -> Array:
    made: Array = default.copy()
    for one in wanted:
        if one.name not in names:
            raise JointNamesError(f"{what}: unknown joint {one.name!r}; the arm has {', '.join(names)}", one.name)
        j = list(names).index(one.name)
        for row, part in enumerate(("position", "velocity")):
            made[row, j] = _resolved(default[row, j], getattr(one, part), f"{what} of {one.name} ({part})", one.name)
        _resolved(0.0, one.acceleration, f"{what} of {one.name} (acceleration)", one.name)  # not looked at
    return made


def _resolved(default: float, wanted: float, what: str, joint: str | None = None) -> float:
    if np.isfinite(wanted) and wanted >= 0.0:
        return float(wanted) or float(default)
    if abs(wanted + 1.0) <= ROUNDING:
        return 0.0
    raise InputError(f"{what} is {wanted:g}, must be positive, 0 (the default) or -1 (none)", joint, wanted, 0.0)
