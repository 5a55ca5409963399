"""Straight-line Cartesian path of the tool, and the joint motion that follows it.

p(t) = p0 + s(t / T) (p1 - p0)          q(s) = inverse kinematics of p, one spline over 0 ... 1
v = q'(s) ds/dt                         a = q''(s) (ds/dt)² + q'(s) d²s/dt²
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from picker_dynamics.dynamics.lagrangian.analytic import AnalyticModel
from picker_dynamics.dynamics.lagrangian.systems.rrp import inverse_kinematics
from picker_dynamics.trajectory.profiles import profile
from picker_dynamics.trajectory.trajectory import Trajectory

KNOTS, DEGREE = 201, 7
"""Of the spline: between its knots it leaves the line by less than a nanometre."""


@dataclass(frozen=True, eq=False)
class ToolPath:
    """A straight line of the tool within ``duration_s``, then a hold.

    Attributes:
        begin, end: (3,) [m], base frame.
        duration_s: of the motion, without the hold [s].
        law: how s goes from 0 to 1.
        joints: pose (n,) at s.
    """

    begin: np.ndarray
    end: np.ndarray
    duration_s: float
    law: Trajectory
    joints: BSpline

    @property
    def length(self) -> float:
        """Length of the path [m]."""
        return float(np.linalg.norm(self.end - self.begin))

    @property
    def corners(self) -> list[float]:
        """Times at which velocity or acceleration may jump [s]; the last is the end of the motion."""
        return (self.duration_s * self.law.breaks[1:]).tolist()

    def tool(self, t) -> np.ndarray:
        """Position at which the tool should be at ``t`` (...) [s], (..., 3) [m]."""
        s, _, _ = self.law.sample(np.asarray(t, dtype=float) / self.duration_s)
        return self.begin + s * (self.end - self.begin)

    def sample(self, t) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Joint positions, velocities and accelerations at ``t`` (...) [s], (..., n) each."""
        s, ds, dds = self.law.sample(np.asarray(t, dtype=float) / self.duration_s)
        ds, dds = ds / self.duration_s, dds / self.duration_s**2
        q, q1, q2 = (self.joints(s[..., 0], nu) for nu in range(3))
        return q, q1 * ds, q2 * ds**2 + q1 * dds


def straight(arm: AnalyticModel, q_begin, q_end, duration_s: float, profile_name: str = "quintic") -> ToolPath:
    """The straight line from the tool's position at ``q_begin`` to that at ``q_end``, (3,) each.

    Raises:
        InputError: an unknown profile.
        UnreachableError: a point of the line that the arm cannot reach.
    """
    begin, end = arm.forward_kinematics(np.array([q_begin, q_end]))
    s = np.linspace(0.0, 1.0, KNOTS)
    joints = make_interp_spline(s, inverse_kinematics(arm.constants, begin + s[:, None] * (end - begin)), k=DEGREE)
    return ToolPath(begin, end, duration_s, profile(profile_name), joints)
