"""Static equilibrium of an arm on sprung servos: where it rests at given set-points, by Newton's method.

    q + c L(q) + delta tanh(L(q) / u_s) = u        resting_position: compliance c = 1/K, half deadband delta (``servo``)
    |tau_m(q_cmd - q) - g(q)| <= tau_c + x |tau_m|     settled: with stall torque, friction, and any angle of the gap (``servo``)

u is where the joints would rest without load, L(q) what the servos pull there [N·m].  The first is what readings are fitted
with, batches of it; the second follows the arm's fall from where it starts, to a pose at rest that is stable.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .servo import SIGN_TORQUE, ServoModel, dead_zone

Sloped = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Of q: a torque, and its derivatives by q."""

Unbalanced = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray, "float | np.ndarray"]]

STEPS, SMOOTH_STEPS, TOLERANCE = 40, 8, 1e-9
"""Newton's method takes about four steps to so few radians; where a joint tips over within its deadband, slower ones without that
slope follow from the ninth on."""

MAX_STEP = 0.1
"""Of Newton's method [rad]."""

SETTLE_STEP_S, SETTLE_STEPS, SETTLE_RESIDUAL = 0.1, 5000, 1e-10
"""Pseudo-time step of ``settled`` [s], how many, and the unbalanced torque that counts as rest [N·m]."""

HURRIED, HURRY, LONGEST_S = 100, 1.02, 1e3
"""After so many steps each is longer than the last by that factor, up to so long [s]: a joint in its gap may fall slowly."""


def newton(unbalanced: Unbalanced, q: np.ndarray, tolerance: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions q (..., n) at which nothing is unbalanced, and what is left unbalanced there (..., n), by Newton's method.

    Args:
        unbalanced: of q and the number of the step: the residual (..., n), minus its derivatives by q (..., n, n), and the
            longest step [rad], a number or (..., n).
        q: (..., n) where to begin [rad].
        tolerance: largest residual that counts as none.
    """
    for step in range(steps):
        left, slope, longest = unbalanced(q, step)
        if np.abs(left).max(initial=0.0) < tolerance:
            break
        q = q + np.clip(np.linalg.solve(slope, left[..., None])[..., 0], -longest, longest)
    return q, left


def sag(pull: np.ndarray, compliance: np.ndarray, deadband: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far a servo that pulls with ``pull`` [N·m] is behind its set-point [rad], and the slope of that [rad/(N·m)]."""
    sign = np.tanh(np.divide(pull, SIGN_TORQUE))
    return compliance * pull + deadband * sign, compliance + deadband / SIGN_TORQUE * (1.0 - sign**2)


def resting_position(unloaded: ArrayLike, pull: Sloped, compliance: np.ndarray, deadband: np.ndarray) -> np.ndarray:
    """Rest positions of joints, (..., n) [rad].

    Args:
        unloaded: u, (..., n) [rad].
        pull: of the servos at q (..., n): L (..., n) [N·m] and its derivatives by q (..., n, n).
        compliance, deadband: c [rad/(N·m)] and delta [rad], (n,).
    """
    start = np.asarray(unloaded, dtype=float)

    def unbalanced(q: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray, float]:
        load, by_q = pull(q)
        behind, slope = sag(load, compliance, deadband)
        slope = slope if step < SMOOTH_STEPS else np.broadcast_to(compliance, slope.shape)
        return start - behind - q, np.eye(q.shape[-1]) + slope[..., None] * by_q, MAX_STEP

    return newton(unbalanced, start, TOLERANCE, STEPS)[0]


def settled(
    servo: ServoModel, load: Callable[[np.ndarray], np.ndarray], setpoint: np.ndarray, start: np.ndarray, source: ArrayLike = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Pose where an arm comes to rest (n,) [rad], and what torque is not borne there (n,) [N·m]: none, unless it falls for ever.

    The over-damped motion D dq/dt = spring(q_cmd - q) - g(q), less what friction holds, is followed until it stands, so that of
    several poses at rest (any angle of the gap, and all that friction holds) it finds a stable one near ``start``.

    Args:
        load: g(q) of (n,) [N·m].
        setpoint, start: (n,) [rad].
        source: share of its nominal voltage that the supply gives without load.
    """
    reach = servo.motor_stall / servo.stiffness

    def unbalanced(q: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        dt = min(SETTLE_STEP_S * HURRY ** max(step - HURRIED, 0), LONGEST_S)
        distance = np.abs(setpoint - q)
        loose = distance < servo.gap
        pulling = ~loose & (distance < servo.gap + reach)
        slope = servo.damping / dt + np.where(pulling, servo.stiffness, 0.0)
        motor = servo.spring_torque(setpoint, q, servo.supply_at(setpoint, q, source))
        return dead_zone(motor - load(q), servo.friction(motor)), np.diag(slope), np.where(loose, servo.gap, reach)

    q, left = newton(unbalanced, np.asarray(start), SETTLE_RESIDUAL, SETTLE_STEPS)
    return q, np.where(np.abs(left) < SETTLE_RESIDUAL, 0.0, left)
