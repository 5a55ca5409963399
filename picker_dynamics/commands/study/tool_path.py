"""Straight-line Cartesian path of the tool, and the joint motion that follows it.

    p(t) = p0 + s(t / T) (p1 - p0)              q = inverse kinematics of p
    v = J(q)^-1 pd                              a = J(q)^-1 (pdd - dJ/dt v)

The joint motion is a quintic spline whose knots have these q, v, a; between knots it leaves the line by less than a
nanometre.  A profile that jumps (constant: velocity; trapezoidal, cubic: acceleration) has a knot with two values there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.dynamics.lagrangian.systems.rrp import Rrp
from picker_dynamics.errors import InputError
from picker_dynamics.robot.model import as_states
from picker_dynamics.trajectory import splines
from picker_dynamics.trajectory.profiles import profile
from picker_dynamics.trajectory.trajectory import Trajectory

KNOT_S = 0.02
"""Largest distance of knots [s]."""

COMPLEX_STEP = 1e-30


@dataclass(frozen=True, eq=False)
class ToolPath:
    """A straight line of the tool within ``duration_s``, then a hold.

    Attributes:
        begin, end: (3,) [m], base frame.
        duration_s: of the motion, without the hold [s].
        law: how s goes from 0 to 1.
        trajectory: the joints' motion, without the hold.
    """

    begin: np.ndarray
    end: np.ndarray
    duration_s: float
    law: Trajectory
    trajectory: Trajectory

    @property
    def length(self) -> float:
        """Length of the path [m]."""
        return float(np.linalg.norm(self.end - self.begin))

    def tool(self, t) -> np.ndarray:
        """Position at which the tool should be at ``t`` (...) [s], (..., 3) [m]."""
        s, _, _ = self.law.sample(np.asarray(t, dtype=float) / self.duration_s)
        return self.begin + s * (self.end - self.begin)


def straight(arm: Rrp, q_begin, q_end, duration_s: float, profile_name: str = "quintic") -> ToolPath:
    """The straight line from the tool's position at ``q_begin`` to that at ``q_end``, (3,) each.

    Raises:
        InputError: a duration that is not positive, an unknown profile, positions of the wrong size.
        UnreachableError, SingularityError: a point of the line that the arm cannot reach or pass.
    """
    if not (np.isfinite(duration_s) and duration_s > 0.0):
        raise InputError(f"duration is {duration_s} s, must be > 0", "duration", duration_s, 0.0)
    begin, end = (arm.forward_kinematics(as_states(name, q, arm.n)) for name, q in (("q_begin", q_begin), ("q_end", q_end)))
    law = profile(profile_name)
    times, segments = [0.0], []
    for u0, u1, coefficients in zip(law.breaks, law.breaks[1:], law.coefficients[..., 0]):
        count = int(np.ceil((u1 - u0) * duration_s / KNOT_S - 1e-9))
        u = np.linspace(0.0, u1 - u0, count + 1)
        s, sd, sdd = _polynomial(coefficients, u)
        q, v, a = _joint_motion(arm, *(x[:, None] * (end - begin) for x in (s, sd / duration_s, sdd / duration_s**2)), begin)
        h = (u1 - u0) * duration_s / count
        for i in range(count):
            segments.append(splines.quintic(h, q[i], v[i], a[i], q[i + 1], v[i + 1], a[i + 1]))
            times.append((u0 + u[i + 1]) * duration_s)
    return ToolPath(begin, end, float(duration_s), law, Trajectory(arm.joint_names, times, segments))


def _polynomial(coefficients, x) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A polynomial and its first two derivatives."""
    p = np.polynomial.Polynomial(coefficients)
    return p(x), p.deriv()(x), p.deriv(2)(x)


def _joint_motion(arm: Rrp, way, velocity, acceleration, begin):
    """q, v, a (..., 3) for a motion of the tool, ``begin`` + ``way``."""
    q = arm.inverse_kinematics(begin + way)
    J_inverse = arm.inverse_jacobian(q)
    v = np.einsum("...ij,...j->...i", J_inverse, velocity)
    a = np.einsum("...ij,...j->...i", J_inverse, acceleration - np.einsum("...ij,...j->...i", _jacobian_rate(arm, q, v), v))
    return q, v, a


def _jacobian_rate(arm: Rrp, q, v) -> np.ndarray:
    """dJ/dt along v, (..., 3, n), by a complex step: exact to rounding."""
    moved = np.moveaxis(q + 1j * COMPLEX_STEP * v, -1, 0)
    rows = arm.equations.tip_jacobian(arm.constants, moved)
    return (
        np.stack([np.stack([np.broadcast_to(np.imag(entry), q.shape[:-1]) for entry in row], axis=-1) for row in rows], axis=-2)
        / COMPLEX_STEP
    )
