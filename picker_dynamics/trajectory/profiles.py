"""Velocity profiles (time laws along a path), and the shortest motions within limits that use them.

A profile is a function s(t) from 0 to 1 with derivatives, given as piecewise polynomials over unit time:

    constant      s = t                     velocity 1, jumps at both ends
    trapezoidal   ramp, cruise, ramp        velocity 1 / (1 - r), acceleration 1 / (r (1 - r)), r = RAMP
    cubic         3 t² - 2 t³               velocity 3/2, acceleration 6
    quintic       10 t³ - 15 t⁴ + 6 t⁵      velocity 15/8, acceleration 10 / sqrt(3); smooth at both ends
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError
from picker_dynamics.robot.model import Array, HasJacobian, as_states, checked_number, per_joint, tip_speeds

from .splines import DEGREE
from .trajectory import Trajectory

NAMES = ("constant", "trapezoidal", "cubic", "quintic")

POLYNOMIALS = {"constant": [0.0, 1.0], "cubic": [0.0, 0.0, 3.0, -2.0], "quintic": [0.0, 0.0, 0.0, 10.0, -15.0, 6.0]}
"""Coefficients of s(t), from t^0 on."""

RAMP = 0.25
"""Share of time that a trapezoidal profile accelerates."""

MIN_DURATION_S = 0.02
"""Shortest motion: one servo frame [s]."""


@dataclass(frozen=True, eq=False)
class Profile:
    """A velocity profile s(t) over unit time: breaks (m + 1,), coefficients (m, 6) of the time since each break."""

    name: str
    breaks: Array
    coefficients: Array

    @cached_property
    def _trajectory(self) -> Trajectory:
        return Trajectory(("s",), self.breaks, self.coefficients[..., None])

    def sample(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Profile's s, ds/dt, d²s/dt² at ``t`` (...) in 0 ... 1; constant outside."""
        s, sd, sdd = self._trajectory.sample(t)
        return s[..., 0], sd[..., 0], sdd[..., 0]

    @property
    def peaks(self) -> tuple[float, float]:
        """Largest velocity and acceleration of s over unit time."""
        _, _, v, a = self._trajectory.grid(1e-3)
        return float(np.abs(v).max()), float(np.abs(a).max())


def profile(name: str) -> Profile:
    """The profile of that name.

    Raises:
        InputError: another name.
    """
    if name in POLYNOMIALS:
        return _profile(name, [0.0, 1.0], [POLYNOMIALS[name]])
    if name != "trapezoidal":
        raise InputError(f"profile is {name!r}, must be one of {', '.join(NAMES)}", "profile", name)
    speed = 1.0 / (1.0 - RAMP)
    rise, fall = [0.0, 0.0, 0.5 * speed / RAMP], [1.0 - 0.5 * speed * RAMP, speed, -0.5 * speed / RAMP]
    return _profile(name, [0.0, RAMP, 1.0 - RAMP, 1.0], [rise, [0.5 * speed * RAMP, speed], fall])


def _profile(name: str, breaks: list[float], rows: list[list[float]]) -> Profile:
    coefficients = np.zeros((len(rows), DEGREE + 1))
    for k, row in enumerate(rows):
        coefficients[k, : len(row)] = row
    return Profile(name, np.array(breaks), coefficients)


def along(law: Profile, q0: ArrayLike, q1: ArrayLike, duration_s: float, joint_names: Sequence[str]) -> Trajectory:
    """Trajectory q(t) = q0 + s(t / T) (q1 - q0): the joints move together, (n,) [rad], in ``duration_s`` [s]."""
    n = len(joint_names)
    q0, q1 = as_states("q0", q0, n), as_states("q1", q1, n)
    coefficients = law.coefficients[..., None] * (q1 - q0)
    coefficients[:, 0] += q0
    return Trajectory(tuple(joint_names), law.breaks, coefficients).stretched(duration_s)


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
    law = profile("quintic")
    distance = np.abs(as_states("q1", q1, n) - as_states("q0", q0, n))
    top_speed = per_joint("velocity limit", velocity_limits, joint_names, positive=True)
    top_acceleration = per_joint("acceleration limit", acceleration_limits, joint_names, positive=True)
    speed, acceleration = law.peaks
    by_speed = (distance * speed / top_speed).max()
    by_acceleration = np.sqrt((distance * acceleration / top_acceleration).max())
    return along(law, q0, q1, max(float(by_speed), float(by_acceleration), MIN_DURATION_S), joint_names)


def tip_speed(trajectory: Trajectory, kinematics: HasJacobian) -> tuple[float, float]:
    """Largest speed |J(q) v| of the tip along the motion [m/s], and when [s]."""
    times, q, v, _ = trajectory.grid(0.01)
    speed = tip_speeds(kinematics, q, v)
    worst = int(speed.argmax())
    return float(speed[worst]), float(times[worst])


def limit_tip_speed(trajectory: Trajectory, kinematics: HasJacobian, v_max: float) -> Trajectory:
    """The motion, slowed as a whole until its tip moves at ``v_max`` [m/s] at most; unchanged if it does.

    Raises:
        InputError: ``v_max`` is not positive.
    """
    checked_number("v_max", v_max, "m/s", above=0.0, subject="tip")
    fastest, _ = tip_speed(trajectory, kinematics)
    return trajectory if fastest <= v_max else trajectory.stretched(fastest / v_max)
