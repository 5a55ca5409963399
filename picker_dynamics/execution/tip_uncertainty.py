"""Tip uncertainty: how far the tool may be from where position servos are believed to hold it, when none of them tells.

    dq_j = delta_j + b_j / 2 + step_j / 2 + |g_j(q)| (e_j + (f_j + w_j) / K_j),     dp = sum_j |J_j(q)| dq_j

Half of deadband and play, within which a servo does nothing; half a step of its pulses; and what the compensation of its
droop g / K may be wrong by: SHARE of it (masses, stiffness), or down to SOFTEST where the stiffness was not measured, and f of
it by the friction of the gears, whose side is known and its size not well, and w of it by a supply that the board does not
measure.  All at once, to one side.
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


GUESSED, KNOWN = 0.2, 0.05
"""By which the friction of the gears may be wrong, as a share of the motor's torque: not measured, measured."""

UNSEEN = 0.05
"""By which a supply may be low that nobody measures, while the arm draws current: what recordings show."""


def joint_uncertainty(servos: ServoMap) -> Array:
    """(n,) of joints that bear nothing [rad]: half of deadband and play, and half a step of the pulses."""
    steps = [np.ptp(servo.to_angle([servo.pulses_us[0], servo.pulses_us[0] + servos.quantum_us])) for servo in servos.servos]
    uncertainty: Array = servos.model.gap + 0.5 * np.array(steps)
    return uncertainty


def tip_uncertainty(model: DynamicsModel, servos: ServoMap, q: ArrayLike) -> float:
    """Of the tool at rest at ``q`` (n,) [rad], in [m]."""
    stiffness = servos.model.stiffness
    unmeasured = np.array([any(key.startswith("stiffness") for key in servo.unmeasured) for servo in servos.servos])
    softness = np.where(unmeasured, np.maximum(1.0 / SOFTEST - 1.0 / stiffness, SHARE / stiffness), SHARE / stiffness)
    x = servos.model.load_friction
    guessed = np.array(["load_friction" in servo.unmeasured for servo in servos.servos])
    held_back = np.where(guessed, GUESSED, np.where(x > 0.0, KNOWN, 0.0)) / (1.0 - x**2) / stiffness
    low_supply = (0.0 if servos.measures_supply else UNSEEN) / (1.0 - x) / stiffness
    angles = joint_uncertainty(servos) + np.abs(model.gravity(q)) * (softness + held_back + low_supply)
    return float(np.linalg.norm(model.jacobian(q), axis=0) @ angles)
