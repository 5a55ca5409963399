"""Velocity profiles (time laws along a path), and the shortest motions within limits that use them.

A profile is a function s(t) from 0 to 1 with derivatives, given as piecewise polynomials over unit time:

    constant      s = t                     velocity 1, jumps at both ends
    trapezoidal   ramp, cruise, ramp        velocity 1 / (1 - r), acceleration 1 / (r (1 - r)), r = RAMP
    cubic         3 t² - 2 t³               velocity 3/2, acceleration 6
    quintic       10 t³ - 15 t⁴ + 6 t⁵      velocity 15/8, acceleration 10 / sqrt(3); smooth at both ends
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError
from picker_dynamics.robot.model import HasJacobian, as_states, per_joint, tip_speeds

from .splines import DEGREE
from .trajectory import Trajectory

NAMES = ("constant", "trapezoidal", "cubic", "quintic")

POLYNOMIALS = {"constant": [0.0, 1.0], "cubic": [0.0, 0.0, 3.0, -2.0], "quintic": [0.0, 0.0, 0.0, 10.0, -15.0, 6.0]}
"""Coefficients of s(t), from t^0 on."""

RAMP = 0.25
"""Share of time that a trapezoidal profile accelerates."""

PEAK_SPEED, PEAK_ACCELERATION = 15.0 / 8.0, 10.0 / 3.0**0.5
"""Of the quintic over unit time."""

MIN_DURATION_S = 0.02
"""Shortest motion: one servo frame [s]."""


def profile(name: str) -> Trajectory:
    """The profile of that name, as a trajectory of one joint ``s``; constant before 0 and after 1.

    Raises:
        InputError: another name.
    """
    if name in POLYNOMIALS:
        return _profile([0.0, 1.0], POLYNOMIALS[name])
    if name != "trapezoidal":
        raise InputError(f"profile is {name!r}, must be one of {', '.join(NAMES)}", "profile", name)
    speed = 1.0 / (1.0 - RAMP)
    rise, fall = [0.0, 0.0, 0.5 * speed / RAMP], [1.0 - 0.5 * speed * RAMP, speed, -0.5 * speed / RAMP]
    return _profile([0.0, RAMP, 1.0 - RAMP, 1.0], rise, [0.5 * speed * RAMP, speed], fall)


def _profile(breaks: list[float], *rows: list[float]) -> Trajectory:
    return Trajectory(("s",), breaks, [np.pad(row, (0, DEGREE + 1 - len(row)))[:, None] for row in rows])


def along(law: Trajectory, q0: ArrayLike, q1: ArrayLike, duration_s: float, joint_names: Sequence[str]) -> Trajectory:
    """Trajectory q(t) = q0 + s(t / T) (q1 - q0): the joints move together, (n,) [rad], in ``duration_s`` [s]."""
    n = len(joint_names)
    q0, q1 = as_states("q0", q0, n), as_states("q1", q1, n)
    coefficients = law.coefficients * (q1 - q0)
    coefficients[:, 0] += q0
    return Trajectory(joint_names, law.breaks, coefficients).stretched(duration_s)


def joint_move(
    q0: ArrayLike, q1: ArrayLike, velocity_limits: ArrayLike, acceleration_limits: ArrayLike, *, joint_names: Sequence[str]
) -> Trajectory:
    """The shortest motion from ``q0`` to ``q1`` (n,) [rad] with the quintic profile, all joints together.

    Args:
        velocity_limits: (n,) or a number [rad/s], > 0.
        acceleration_limits: (n,) or a number [rad/s²], > 0.

    Raises:
        InputError: a limit that is not positive, positions of the wrong size.
    """
    n = len(joint_names)
    distance = np.abs(as_states("q1", q1, n) - as_states("q0", q0, n))
    top_speed = per_joint("velocity limit", velocity_limits, joint_names, positive=True)
    top_acceleration = per_joint("acceleration limit", acceleration_limits, joint_names, positive=True)
    by_speed = (distance * PEAK_SPEED / top_speed).max()
    by_acceleration = np.sqrt((distance * PEAK_ACCELERATION / top_acceleration).max())
    duration_s = max(float(by_speed), float(by_acceleration), MIN_DURATION_S)
    return along(profile("quintic"), q0, q1, duration_s, joint_names)


def limit_tip_speed(trajectory: Trajectory, kinematics: HasJacobian, v_max: float) -> Trajectory:
    """The motion, slowed as a whole until its tip moves at ``v_max`` [m/s] at most; unchanged if it does."""
    _, q, v, _ = trajectory.grid(0.01)
    fastest = float(tip_speeds(kinematics, q, v).max())
    return trajectory if fastest <= v_max else trajectory.stretched(fastest / v_max)
