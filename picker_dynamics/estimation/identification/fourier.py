"""Excitation trajectories as finite Fourier series, which begin and end at rest; and as files.

    q(t) = q0 + Σ_k a_k / (w k) sin(w k t) - b_k / (w k) cos(w k t),    w = 2 pi / period, k = 1 … harmonics

(J. Swevers, C. Ganseman, D. B. Tükel, J. De Schutter and H. Van Brussel, Optimal robot excitation and identification, IEEE
Transactions on Robotics and Automation 13(5), 1997).  Band-limited, so a low-pass takes noise and no motion; periodic, so it can
be repeated.  At t = 0 and after each period v = Σ a_k = 0 and a = w Σ k b_k = 0, which the last harmonic of each sees to.

A file (JSON) has the series, by which it is read again, and for other controllers the ``points`` of a
trajectory_msgs/JointTrajectory: time_from_start [s], positions, velocities, accelerations in the order of ``joint_names``, rad
and m.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError
from picker_dynamics.files.formats import read_json
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.trajectory import trajectory
from picker_dynamics.trajectory.trajectory import Trajectory

HARMONICS = 5

KNOT_S = 0.05
"""Spacing of the points in which a motion is sent: quintic segments through them are the same curve to 1e-5 rad."""

KEYS = ("time_from_start", "positions", "velocities", "accelerations")


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

    def times(self, count: int) -> np.ndarray:
        """Sample times of one period, (count,) [s]."""
        return np.arange(count) * self.period / count

    def times_swing(self, share: float | np.ndarray) -> Fourier:
        """The motion with ``share`` of its swing about the centre, a number or (n,)."""
        return replace(self, free=self.free * share)

    def coefficients(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients a_k and b_k, (harmonics, n) each."""
        a, b = self.free
        k = np.arange(1, len(a) + 1)[:, None]
        return np.vstack([a, -a.sum(axis=0)]), np.vstack([b, -(k * b).sum(axis=0) / (len(b) + 1)])

    def sample(self, t: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, velocities and accelerations q, v, a at times t (k,) [s], (k, n) each."""
        a, b = self.coefficients()
        w = 2.0 * math.pi / self.period * np.arange(1, len(a) + 1)
        angle = np.outer(np.asarray(t, dtype=float), w)
        sine, cosine = np.sin(angle), np.cos(angle)
        return self.centre + (sine / w) @ a - (cosine / w) @ b, cosine @ a + sine @ b, (cosine * w) @ b - (sine * w) @ a

    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Points t (k,), q, v, a (k, n) every ``KNOT_S``, both ends included."""
        t = np.linspace(0.0, self.duration, math.ceil(self.duration / KNOT_S) + 1)
        q, v, a = self.sample(t)
        v[[0, -1]] = a[[0, -1]] = 0.0  # what is left there is rounding
        return t, q, v, a

    def trajectory(self, joint_names: Sequence[str]) -> Trajectory:
        """The motion through its points."""
        return trajectory.from_points(*self.points(), joint_names=joint_names)


class MotionFile(NamedTuple):
    """Motion of a file: name of the arm it was made for, or empty, units of its joints, the motion."""

    arm: str
    units: tuple[str, ...]
    trajectory: Trajectory


def text(motion: Fourier, condition: float, name: str, arm: ArmDescription, **more: object) -> str:
    """Write the file's text.

    Args:
        condition: of the regressor along the motion.
        name: the arm's in config/arms.yaml, or empty.
        more: is noted in it.
    """
    a, b = (one.tolist() for one in motion.coefficients())
    content = {
        "arm": name,
        "joint_names": arm.joint_names,
        "units": arm.position_units,
        "condition": round(condition, 2),
        **more,
        "fourier": {"centre": motion.centre.tolist(), "a": a, "b": b, "period_s": motion.period, "periods": motion.periods},
        "points": [dict(zip(KEYS, (x.round(9).tolist() for x in point))) for point in zip(*motion.points())],
    }
    return json.dumps(content, indent=1) + "\n"


def read(path: str | Path) -> MotionFile:
    """Read a file of a motion.

    Raises:
        InputError: it is none.
    """
    try:
        content = read_json(path, "motion")
        series, names = content["fourier"], tuple(content["joint_names"])
        free = np.array([series["a"], series["b"]], dtype=float)[:, :-1]
        motion = Fourier(np.array(series["centre"], dtype=float), free, float(series["period_s"]), int(series["periods"]))
        return MotionFile(str(content.get("arm", "")), tuple(content["units"]), motion.trajectory(names))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, ZeroDivisionError) as error:
        what = f"{path} is no motion of `picker identify excite`: {type(error).__name__}: {error}"
        raise InputError(what, value=str(path)) from error
