"""Excitation trajectories as finite Fourier series, which begin and end at rest.

    q(t) = q0 + Σ_k a_k / (w k) sin(w k t) - b_k / (w k) cos(w k t),    w = 2 pi / period, k = 1 … harmonics

(J. Swevers, C. Ganseman, D. B. Tükel, J. De Schutter and H. Van Brussel, Optimal robot excitation and identification, IEEE
Transactions on Robotics and Automation 13(5), 1997).  Band-limited, so a low-pass takes noise and no motion; periodic, so it can
be repeated.  At t = 0 and after each period v = Σ a_k = 0 and a = w Σ k b_k = 0, which the last harmonic of each sees to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from picker_dynamics.trajectory import trajectory
from picker_dynamics.trajectory.trajectory import Trajectory

HARMONICS = 5

KNOT_S = 0.05
"""Spacing of the points in which a motion is sent: quintic segments through them are the same curve to 1e-5 rad."""


@dataclass(frozen=True, eq=False)
class Fourier:
    """Periodic motion of n joints, a Fourier series.

    Args:
        centre: (n,) q0 [rad or m].
        free: (2, harmonics - 1, n) a_k and b_k [rad/s or m/s] of all harmonics but the last.
        period: [s].
        periods: how often it is repeated.
    """

    centre: np.ndarray
    free: np.ndarray
    period: float
    periods: int = 1

    @property
    def duration(self) -> float:
        """Duration of the motion, all its periods [s]."""
        return self.period * self.periods

    @property
    def highest_hz(self) -> float:
        """Highest frequency of its harmonics [Hz]."""
        return (self.free.shape[1] + 1) / self.period

    def coefficients(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients a_k and b_k, (harmonics, n) each."""
        a, b = self.free
        k = np.arange(1, len(a) + 1)[:, None]
        return np.vstack([a, -a.sum(axis=0)]), np.vstack([b, -(k * b).sum(axis=0) / (len(b) + 1)])

    def sample(self, t) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, velocities and accelerations q, v, a at times t (k,) [s], (k, n) each."""
        a, b = self.coefficients()
        w = 2.0 * math.pi / self.period * np.arange(1, len(a) + 1)
        angle = np.outer(np.asarray(t, dtype=float), w)
        sine, cosine = np.sin(angle), np.cos(angle)
        return (self.centre + (sine / w) @ a - (cosine / w) @ b, cosine @ a + sine @ b, (cosine * w) @ b - (sine * w) @ a)

    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Points t (k,), q, v, a (k, n) every ``KNOT_S``, both ends included."""
        t = np.linspace(0.0, self.duration, math.ceil(self.duration / KNOT_S) + 1)
        q, v, a = self.sample(t)
        v[[0, -1]] = a[[0, -1]] = 0.0  # what is left there is rounding
        return t, q, v, a

    def trajectory(self, joint_names) -> Trajectory:
        """The motion through its points."""
        return trajectory.from_points(*self.points(), joint_names=joint_names)
