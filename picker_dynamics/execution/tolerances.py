"""Path and goal tolerances: how far an arm may be from its reference while it moves, and from its goal when it has arrived.

Meanings as in control_msgs/JointTolerance and joint_trajectory_controller's ``constraints``: a tolerance of a goal that is 0
stands for the default, -1 takes the default away; a tolerance that is 0 in the end is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.errors import InputError, JointNamesError
from picker_dynamics.robot.arms import Arm
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.robot.units import told

from .tip_uncertainty import joint_uncertainty

SERVO_SHARE, LEAST_SERVO = 2.5, 0.01
"""Goal tolerance of servos as a multiple of what their steps and deadbands leave, and the least [rad]."""

ERASED = -1.0
ROUNDING = 1.2e-7
"""By which -1 may be missed: that of a 32-bit float."""


@dataclass(frozen=True)
class JointTolerance:
    """Tolerance of one joint [rad, rad/s, rad/s²; m for a sliding one].  Accelerations are not measured: not looked at."""

    name: str
    position: float = 0.0
    velocity: float = 0.0
    acceleration: float = 0.0


@dataclass(frozen=True)
class Excess:
    """A tolerance that is broken."""

    joint: str
    what: str
    value: float
    limit: float
    unit: str

    def __str__(self) -> str:
        off, allowed = told(self.value, self.unit, self.limit), told(self.limit, self.unit, self.value)
        if self.what == "velocity":
            return f"the velocity of {self.joint} is off by {off}/s, allowed {allowed}/s"
        return f"{self.joint} is off by {off}, allowed {allowed}"


@dataclass(frozen=True)
class Bound:
    """Largest errors of position and velocity, (n,) each; 0: not looked at."""

    position: Array
    velocity: Array

    @property
    def any(self) -> bool:
        return bool(self.position.any() or self.velocity.any())

    def exceeded(self, names: Sequence[str], units: Sequence[str], q_error: Array, v_error: Array | None) -> Excess | None:
        """The joint that breaks its tolerance most, as a multiple of it; ``v_error`` may be None: not known."""
        worst, found = 1.0, None
        for what, errors, limits in (("position", q_error, self.position), ("velocity", v_error, self.velocity)):
            if errors is None or not limits.any():
                continue
            share = np.where(limits > 0.0, np.abs(errors) / np.where(limits > 0.0, limits, 1.0), 0.0)
            j = int(share.argmax())
            if share[j] > worst:
                worst, found = share[j], Excess(names[j], what, float(abs(errors[j])), float(limits[j]), units[j])
        return found


@dataclass(frozen=True)
class Tolerances:
    """Tolerances of one goal, or the defaults.

    Attributes:
        path: while it moves.
        goal: where it ends.
        goal_time: how long after its end the arm may take to get there [s]; 0: as long as it takes.
    """

    path: Bound
    goal: Bound
    goal_time: float = 0.0

    @classmethod
    def of(cls, path: Sequence[float], goal: Sequence[float], stopped_velocity: float, goal_time: float) -> Tolerances:
        """Tolerances from joint_trajectory_controller's parameters: ``constraints.*`` per joint, and two for all."""
        n = len(path)
        return cls(
            Bound(np.array(path, dtype=float), np.zeros(n)),
            Bound(np.array(goal, dtype=float), np.full(n, float(stopped_velocity))),
            float(goal_time),
        )

    @classmethod
    def of_servos(cls, servos: ServoMap) -> Tolerances:
        """Tolerances of servos: a multiple of what their steps and deadbands leave at rest; on their way nothing is measured."""
        return cls.of([0.0] * servos.n, np.maximum(SERVO_SHARE * joint_uncertainty(servos), LEAST_SERVO).tolist(), 0.0, 0.0)

    @classmethod
    def of_arm(cls, arm: Arm) -> Tolerances:
        """Tolerances of an arm whose joints are measured: those of its entry in config/arms.yaml."""
        path, goal = ([float(value or 0.0)] * arm.description.n for value in (arm.path_tolerance, arm.goal_tolerance))
        return cls.of(path, goal, 0.0, 0.0)

    def select_joints(self, joints: Iterable[int]) -> Tolerances:
        """Tolerances of some joints, given by their indices; the others are not looked at."""
        mine = np.zeros(len(self.path.position), dtype=bool)
        mine[list(joints)] = True
        path, goal = (
            Bound(np.where(mine, bound.position, 0.0), np.where(mine, bound.velocity, 0.0)) for bound in (self.path, self.goal)
        )
        return replace(self, path=path, goal=goal)

    def wanted(
        self, path: Iterable[JointTolerance], goal: Iterable[JointTolerance], goal_time: float, names: Sequence[str]
    ) -> Tolerances:
        """Tolerances of a goal, which changes these defaults.

        Raises:
            JointNamesError: a tolerance for a joint that the arm does not have.
            InputError: one that is negative but not -1, or not finite.
        """
        return Tolerances(
            _changed(self.path, path, names, "path_tolerance"),
            _changed(self.goal, goal, names, "goal_tolerance"),
            _resolved(self.goal_time, goal_time, "goal_time_tolerance", "s", None),
        )


def _changed(default: Bound, wanted: Iterable[JointTolerance], names: Sequence[str], what: str) -> Bound:
    position, velocity = default.position.copy(), default.velocity.copy()
    for one in wanted:
        if one.name not in names:
            raise JointNamesError(f"{what}: unknown joint {one.name!r}; the arm has {', '.join(names)}", one.name)
        j = list(names).index(one.name)
        position[j] = _resolved(default.position[j], one.position, f"{what} of {one.name}", "position", one.name)
        velocity[j] = _resolved(default.velocity[j], one.velocity, f"{what} of {one.name}", "velocity", one.name)
        _resolved(0.0, one.acceleration, f"{what} of {one.name}", "acceleration", one.name)
    return Bound(position, velocity)


def _resolved(default: float, wanted: float, what: str, part: str, joint: str | None) -> float:
    if np.isfinite(wanted) and wanted >= 0.0:
        return float(wanted) or float(default)
    if abs(wanted - ERASED) <= ROUNDING:
        return 0.0
    raise InputError(f"{what} ({part}) is {wanted:g}, must be positive, 0 (the default) or -1 (none)", joint, wanted, 0.0)
