"""Limits of an excitation: the arm's own, and the goal check that will look at the motion before it starts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import refuse_if
from picker_dynamics.execution.torque_limits import TorqueLimits
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.resources import resource
from picker_dynamics.robot import arms, servo_map
from picker_dynamics.robot.arms import Arm
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.robot.model import DynamicsModel, tip_speeds

RISE_S = 0.5
"""The velocity limit is reached in this time at least [s]."""

TORQUE_ARM = {"peak_share": 0.8, "hold_share": 0.6, "tip_speed": 0.5}
"""Of an arm that stands in no file; as the defaults of config/arms.yaml."""

SERVO_TIP_SPEED, USUAL_STATES = 0.25, 300

REACH = {"prismatic": 1.0, "revolute": math.pi, "continuous": math.pi}
"""How far a joint without position limits goes to either side [m or rad]."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits that a motion must obey, (n,) each unless said otherwise.

    Attributes:
        lower, upper: [rad or m].
        velocity, acceleration: [rad/s …], [rad/s² …].
        validator: a running controller's check of a goal, but for floor and scene; it knows peak and hold efforts [N·m or N].
        tip_speed: of the tool [m/s], one number.
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    validator: MotionValidator
    tip_speed: float

    @property
    def middle(self) -> np.ndarray:
        """Middle of the range of positions, (n,)."""
        return 0.5 * (self.lower + self.upper)


def usual_states(
    description: ArmDescription, model: DynamicsModel, tip_speed: float = math.inf
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q, v, a (k, n) within the limits and, by moving slower, ``tip_speed`` [m/s]."""
    q = sample_poses(description, USUAL_STATES)
    velocity = np.where(np.isfinite(description.velocity), description.velocity, 1.0)
    v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (2, *q.shape)) * velocity
    slower = np.minimum(1.0, tip_speed / np.maximum(tip_speeds(model, q, v), 1e-9))[:, None]
    return q, slower * v, slower * a / RISE_S


def of_arm(name: str, description: ArmDescription, tip_speed: float | None = None, servos: str = "") -> Limits:
    """Limits of a named arm, or else of a URDF whose joints take efforts, or with ``servos``, of a servo arm.

    Raises:
        InputError: a joint that takes efforts without a velocity or effort limit.
    """
    named = arms.load(name) if name else Arm(description.name, description, "servo" if servos else "torque", **TORQUE_ARM)
    if named.control == "servo":
        found = servo_map.load(servos or resource("config/servos.yaml"), description.joint_names)
        torques, model, usual = TorqueLimits.of_servos(found), RigidBody(description, found.armature), SERVO_TIP_SPEED
    else:
        for quantity in ("velocity", "effort"):
            for joint, value in zip(description.joint_names, getattr(description, quantity).tolist()):
                refuse_if(
                    not 0.0 < value < math.inf,
                    f"joint {joint} has no {quantity} limit above 0 in {description.source}: without it no motion can be chosen",
                    joint,
                    value,
                )
        torques = TorqueLimits.of_arm(replace(named, description=description))
        model, usual = RigidBody(description), named.tip_speed
    span = np.array([REACH[joint.type] for joint in description.movable])
    velocity, tip_speed = description.velocity, tip_speed or usual
    return Limits(
        np.maximum(description.lower, -span),
        np.minimum(description.upper, span),
        velocity,
        velocity / RISE_S,
        MotionValidator(model, torques, description, tip_speed, scales_time=False),
        tip_speed,
    )
