"""Tip uncertainty: how far the tool may be from where position servos are believed to hold it, when none of them tells.

    dq_j = delta_j + step_j / 2 + |g_j(q)| e_j,     dp = sum_j |J_j(q)| dq_j

Half the deadband, within which a servo does nothing; half a step of its pulses; and what the compensation of its droop g / K may
be wrong by: SHARE of it (masses, stiffness), or down to SOFTEST where the stiffness was not measured.  All at once, to one side.
What holds an arm back, or turns a slack gear, is not in it: nobody sees that without feedback.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.robot.model import Array, DynamicsModel
from picker_dynamics.robot.servo_map import ServoMap

SHARE = 0.15
"""By which masses and a measured stiffness may be wrong."""

SOFTEST = 10.0
"""Of a servo whose stiffness is not measured [N·m/rad]."""


def joint_uncertainty(servos: ServoMap) -> Array:
    """(n,) of joints that bear nothing [rad]: half the deadband, and half a step of the pulses."""
    steps = [np.ptp(servo.to_angle([servo.pulses_us[0], servo.pulses_us[0] + servos.quantum_us])) for servo in servos.servos]
    uncertainty: Array = servos.model.deadband + 0.5 * np.array(steps)
    return uncertainty


def tip_uncertainty(model: DynamicsModel, servos: ServoMap, q: ArrayLike) -> float:
    """Of the tool at rest at ``q`` (n,) [rad], in [m]."""
    stiffness = servos.model.stiffness
    unmeasured = np.array([any(key.startswith("stiffness") for key in servo.unmeasured) for servo in servos.servos])
    softness = np.where(unmeasured, np.maximum(1.0 / SOFTEST - 1.0 / stiffness, SHARE / stiffness), SHARE / stiffness)
    angles = joint_uncertainty(servos) + np.abs(model.gravity(q)) * softness
    return float(np.linalg.norm(model.jacobian(q), axis=0) @ angles)
