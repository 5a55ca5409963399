"""Limits of an excitation: the arm's own, and the goal check that will look at the motion before it starts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import refuse_if
from picker_dynamics.execution.torque_limits import TorqueLimits
from picker_dynamics.execution.validator import MotionValidator, motion_validator
from picker_dynamics.resources import resource
from picker_dynamics.robot import arms, servo_map
from picker_dynamics.robot.arms import Arm
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.robot.model import DynamicsModel, tip_speeds

MARGIN = 0.95
"""Share of every limit that is used: the goal is checked between the samples too."""

RISE_S = 0.5
"""Acceleration limits where nobody gave one: the velocity limit reached in this time [s]."""

TORQUE_SHARES = {"bandwidth": 25.0, "peak_share": 0.8, "hold_share": 0.6}
"""Of an arm that stands in no file; as the defaults of config/arms.yaml."""

HALF_TURN = math.pi
"""How far a joint without position limits goes to either side [rad]; a sliding one 1 m."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits that a motion must obey, (n,) each unless said otherwise.

    Attributes:
        lower, upper: [rad or m].
        velocity, acceleration: [rad/s …], [rad/s² …].
        validator: a running controller's check of a goal, but for floor and scene; it knows peak and hold efforts [N·m or N].
        drag: servos spend this on their own speed [N·m·s/rad], and have ``stall`` for all; 0 and infinite for other joints.
        tip_speed: of the tool [m/s], one number.
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    validator: MotionValidator
    drag: np.ndarray | float
    stall: np.ndarray | float
    tip_speed: float

    @property
    def middle(self) -> np.ndarray:
        """Middle of the range of positions, (n,)."""
        return 0.5 * (self.lower + self.upper)


def usual_states(
    description: ArmDescription, model: DynamicsModel, tip_speed: float = math.inf, count: int = 300, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q, v, a (count, n) within the limits and, by moving slower, ``tip_speed`` [m/s]."""
    q = sample_poses(description, count, seed)
    rng = np.random.default_rng(seed)
    velocity = np.where(np.isfinite(description.velocity), description.velocity, 1.0)
    v, a = rng.uniform(-1.0, 1.0, (2, *q.shape)) * velocity
    slower = np.minimum(1.0, tip_speed / np.maximum(tip_speeds(model, q, v), 1e-9))[:, None]
    return q, slower * v, slower * a / RISE_S


def of_torque_arm(arm: Arm, acceleration=None) -> Limits:
    """Limits of an arm of config/arms.yaml whose joints take efforts.

    Args:
        acceleration: (n,) [rad/s²]; default the velocity limit within ``RISE_S``.

    Raises:
        InputError: a joint without a velocity or effort limit.
    """
    description = arm.description
    for quantity in ("velocity", "effort"):
        for joint, value in zip(description.joint_names, getattr(description, quantity)):
            refuse_if(
                not 0.0 < value < math.inf,
                f"joint {joint} has no {quantity} limit above 0 in {description.source}: without it no motion can be chosen",
                joint,
                float(value),
            )
    limits = TorqueLimits.of_arm(arm)
    return _limits(description, RigidBody(description), limits, acceleration, arm.tip_speed, 0.0, math.inf)


def of_servo_arm(description: ArmDescription, servos, tip_speed: float, acceleration=None) -> Limits:
    """Limits of an arm of hobby servos (with potentiometers or current sensors to measure): what the servo map allows."""
    limits, model = TorqueLimits.of_servos(servos), RigidBody(description, servos.armature)
    return _limits(description, model, limits, acceleration, tip_speed, servos.model.damping, servos.stall_torque)


def _limits(description, model, limits, acceleration, tip_speed, drag, stall) -> Limits:
    span = np.where([joint.type == "prismatic" for joint in description.movable], 1.0, HALF_TURN)
    acceleration = description.velocity / RISE_S if acceleration is None else np.broadcast_to(acceleration, (description.n,))
    lower, upper = np.maximum(description.lower, -span), np.minimum(description.upper, span)
    check = motion_validator(description, limits, model, tip_speed=tip_speed, scales_time=False)
    return Limits(lower, upper, description.velocity, acceleration, check, drag, stall, tip_speed)


def of_options(arm_name: str, description: ArmDescription, tip_speed: float | None, servos: str = "") -> Limits:
    """Limits of a named arm, or else of a URDF whose joints take efforts, or with ``servos``, of a servo arm."""
    refuse_if(
        tip_speed is not None and not 0.0 < tip_speed < math.inf,
        f"tip speed is {tip_speed} m/s, must be above 0",
        "tip_speed",
        tip_speed,
        0.0,
    )
    control = arms.load(arm_name).control if arm_name else "servo" if servos else "torque"
    if control == "servo":
        servo_file = servo_map.load(servos or resource("config/servos.yaml"), description.joint_names)
        return of_servo_arm(description, servo_file, tip_speed or 0.25)
    if arm_name:
        arm = arms.load(arm_name)
        return of_torque_arm(replace(arm, description=description, tip_speed=tip_speed or arm.tip_speed))
    middle = 0.5 * (np.clip(description.lower, -HALF_TURN, None) + np.clip(description.upper, None, HALF_TURN))
    return of_torque_arm(Arm(description.name, description, "torque", middle, **TORQUE_SHARES, tip_speed=tip_speed or 0.5))
