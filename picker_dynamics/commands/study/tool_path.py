"""Straight-line Cartesian path of the tool, and the joint motion that follows it.

    p(t) = p0 + s(t / T) (p1 - p0)              q = inverse kinematics of p
    v = J(q)^-1 pd                              a = J(q)^-1 (pdd - dJ/dt v)

The joint motion is a quintic spline whose knots have these q, v, a; between knots it leaves the line by less than a
nanometre.  A profile that jumps (constant: velocity; trapezoidal, cubic: acceleration) has a knot with two values there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.dynamics.lagrangian import ClosedForm
from picker_dynamics.dynamics.lagrangian.systems import rrp
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

    @property
    def corners(self) -> list[float]:
        """Times at which the motion may jump [s]."""
        return (self.duration_s * self.law.breaks).tolist()

    def tool(self, t) -> np.ndarray:
        """Position at which the tool should be at ``t`` (...) [s], (..., 3) [m]."""
        s, _, _ = self.law.sample(np.asarray(t, dtype=float) / self.duration_s)
        return self.begin + s * (self.end - self.begin)


def straight(arm: ClosedForm, q_begin, q_end, duration_s: float, profile_name: str = "quintic") -> ToolPath:
    """The straight line from the tool's position at ``q_begin`` to that at ``q_end``, (3,) each.

    Raises:
        InputError: an unknown profile.
        UnreachableError, SingularityError: a point of the line that the arm cannot reach or pass.
    """
    begin, end = arm.forward_kinematics(np.array([q_begin, q_end]))
    law = profile(profile_name)
    times, segments = [0.0], []
    for u0, u1, coefficients in zip(law.breaks, law.breaks[1:], law.coefficients[..., 0]):
        count = int(np.ceil((u1 - u0) * duration_s / KNOT_S - 1e-9))
        u, s = np.linspace(0.0, u1 - u0, count + 1), np.polynomial.Polynomial(coefficients)
        way, velocity, acceleration = (s.deriv(k)(u)[:, None] * (end - begin) / duration_s**k for k in range(3))
        q = rrp.inverse_kinematics(arm.constants, begin + way)
        J_inverse = np.linalg.inv(arm.jacobian(q))
        v = _times(J_inverse, velocity)
        a = _times(J_inverse, acceleration - _times(_jacobian_rate(arm, q, v), v))
        h = (u1 - u0) * duration_s / count
        segments += [splines.quintic(h, q[i], v[i], a[i], q[i + 1], v[i + 1], a[i + 1]) for i in range(count)]
        times += ((u0 + u[1:]) * duration_s).tolist()
    return ToolPath(begin, end, float(duration_s), law, Trajectory(arm.joint_names, times, segments))


def _times(matrices, vectors) -> np.ndarray:
    return np.einsum("kij,kj->ki", matrices, vectors)


def _jacobian_rate(arm: ClosedForm, q, v) -> np.ndarray:
    """dJ/dt (k, 3, n) at q along v (k, n), by a complex step: exact to rounding."""
    rows = rrp.tip_jacobian(arm.constants, (q + 1j * COMPLEX_STEP * v).T)
    return (
        np.array([[np.broadcast_to(np.imag(entry), len(q)) for entry in row] for row in rows]).transpose(2, 0, 1) / COMPLEX_STEP
    )
