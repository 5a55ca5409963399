"""States as they are usual for an arm, by which it is judged what matters to its torques."""

from __future__ import annotations

import math

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.robot.model import DynamicsModel, tip_speeds

RISE_S = 0.5
"""The velocity limit is reached in this time at least [s]."""

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
