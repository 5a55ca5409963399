"""Tip uncertainty: how far the tool may be from where position servos are believed to hold it, when none of them tells.

    dq_j = delta_j + b_j / 2 + step_j / 2 + |g_j(q)| (e_j + (f_j + w_j) / K_j),     dp = sum_j |J_j(q)| dq_j

Half of deadband and play, within which a servo does nothing; half a step of its pulses; and what the compensation of its
droop g / K may be wrong by: SHARE of it (masses, stiffness), or down to SOFTEST where the stiffness was not measured, and f of
it by the friction of the gears, whose size is not known well, and w of it by a supply that the board does not measure.  All at
once, to one side.  Where bounds of the friction's side s are known, its term is

    |g_j| f_j / K_j = h_j (1 - c_j) / 2 + |g_j| f / (K_j (1 - x s_j)^2),    h = sag(+1) - sag(-1),  c = max(s_low, -s_high, 0)

with h the band within which a joint rests, c how certain its side is, and s_j positive where the joint came up: that end of the
band depends most on x.
What holds an arm back, or turns a slack gear, is not in it: nobody sees that without feedback.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.robot.model import Array, DynamicsModel
from picker_dynamics.robot.servo import ServoModel
from picker_dynamics.robot.servo_map import ServoMap

SHARE = 0.15
"""By which masses and a measured stiffness may be wrong, which is more than one standard deviation where the servo map has that;
where it is less, that counts once: zeros were found with the stiffness, and make up for a part of its error."""

SOFTEST = 10.0
"""Of a servo whose stiffness is not measured [N·m/rad]."""

GUESSED, KNOWN = 0.2, 0.05
"""By which the friction of the gears may be wrong, as a share of the motor's torque: not measured, measured."""

UNSEEN = 0.05
"""By which a supply may be low that nobody measures, while the arm draws current: what recordings show."""


def joint_uncertainty(servos: ServoMap) -> Array:
    """Uncertainty of joints that bear nothing, (n,) [rad]: half of deadband and play, and half a step of the pulses."""
    steps = [np.ptp(servo.to_angle([servo.pulses_us[0], servo.pulses_us[0] + servos.quantum_us])) for servo in servos.servos]
    uncertainty: Array = servos.model.gap + 0.5 * np.array(steps)
    return uncertainty


def band(servo: ServoModel, load: Array) -> Array:
    """Friction band h, (n,) [rad]: between the rest after coming down and after coming up, under ``load`` (n,) [N·m]."""
    width: Array = servo.sag(servo.motor_for(load, 1.0)) - servo.sag(servo.motor_for(load, -1.0))
    return width


def guessed(servos: ServoMap, else_by: float = 0.0) -> Array:
    """Share, (n,), by which the friction of the gears may be wrong: GUESSED where it was not measured."""
    share: Array = np.where(["load_friction" in servo.unmeasured for servo in servos.servos], GUESSED, else_by)
    return share


def side_uncertainty(servo: ServoModel, load: Array, bounds: Array, share: Array) -> Array:
    """Uncertainty of joints under ``load`` (n,) [N·m], the side within ``bounds`` (2, n), friction known to ``share`` [rad]."""
    low, high = bounds
    certain = np.maximum(np.maximum(low, -high), 0.0)
    came_up = np.where(load > 0.0, high, -low)
    by_size = share * np.abs(load) / (1.0 - servo.load_friction * came_up) ** 2 / servo.stiffness
    off: Array = 0.5 * band(servo, load) * (1.0 - certain) + by_size
    return off


def angle_uncertainty(model: DynamicsModel, servos: ServoMap, q: ArrayLike, bounds: Array | None = None) -> Array:
    """Uncertainty dq of joints at rest at ``q`` (..., n) [rad]; ``bounds`` (2, n) of the friction's sides, None: not known."""
    stiffness = servos.model.stiffness
    unmeasured = [servo.stiffness_sd is None and "stiffness_nm_rad" in servo.unmeasured for servo in servos.servos]
    wrong = np.maximum([(servo.stiffness_sd or 0.0) / servo.stiffness for servo in servos.servos], SHARE)
    softness = np.where(unmeasured, np.maximum(servos.per_turn**2 * stiffness / SOFTEST - 1.0, SHARE), wrong) / stiffness
    x = servos.model.load_friction
    share, load = np.where(x > 0.0, guessed(servos, KNOWN), guessed(servos)), model.gravity(q)
    if bounds is None:
        held_back = share / (1.0 - x**2) / stiffness * np.abs(load)
    else:
        held_back = side_uncertainty(servos.model, load, bounds, share)
    low_supply = (0.0 if servos.measures_supply else UNSEEN) / (1.0 - x) / stiffness
    angles: Array = joint_uncertainty(servos) + np.abs(load) * (softness + low_supply) + held_back
    return angles


def tip_uncertainty(model: DynamicsModel, servos: ServoMap, q: ArrayLike, bounds: Array | None = None) -> float:
    """Uncertainty of the tool at rest at ``q`` (n,) [rad], in [m]; ``bounds`` as for ``angle_uncertainty``."""
    return float(np.linalg.norm(model.jacobian(q), axis=0) @ angle_uncertainty(model, servos, q, bounds))
