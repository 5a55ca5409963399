"""Limits of an excitation: the check of goals that will look at the motion before it starts, and states as they are usual."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import refuse_if
from picker_dynamics.execution.torque_limits import TorqueLimits
from picker_dynamics.execution.validator import TIP_SPEED, MotionValidator
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

USUAL_STATES = 300


def usual_states(
    description: ArmDescription, model: DynamicsModel, tip_speed: float = math.inf
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q, v, a (k, n) within the limits and, by moving slower, ``tip_speed`` [m/s]."""
    q = sample_poses(description, USUAL_STATES)
    velocity = np.where(np.isfinite(description.velocity), description.velocity, 1.0)
    v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (2, *q.shape)) * velocity
    slower = np.minimum(1.0, tip_speed / np.maximum(tip_speeds(model, q, v), 1e-9))[:, None]
    return q, slower * v, slower * a / RISE_S


def of_arm(name: str, description: ArmDescription, tip_speed: float | None = None) -> MotionValidator:
    """A running controller's check of a goal, but for floor and scene.

    Args:
        name: of an arm; '': a URDF whose joints take efforts.
        tip_speed: of the tool [m/s]; None: the arm's.

    Raises:
        InputError: a joint that takes efforts without a velocity or effort limit.
    """
    named = arms.load(name) if name else Arm(description.name, description, "torque", **TORQUE_ARM)
    if named.control == "servo":
        found = servo_map.load(resource("config/servos.yaml"), description.joint_names)
        torques, model, usual = TorqueLimits.of_servos(found), RigidBody(description, found.armature), TIP_SPEED
    else:
        for joint, *limits in zip(description.joint_names, description.velocity.tolist(), description.effort.tolist()):
            none = f"joint {joint} has no velocity or effort limit above 0 in {description.source}: no motion can be chosen"
            refuse_if(not all(0.0 < limit < math.inf for limit in limits), none, joint, limits)
        torques, model, usual = (
            TorqueLimits.of_arm(replace(named, description=description)),
            RigidBody(description),
            named.tip_speed,
        )
    return MotionValidator(model, torques, description, tip_speed or usual, scales_time=False)
