"""Optimal excitation: the Fourier series whose base regressor is best conditioned, within all limits.

What is made small is the condition number of W_b, its rows divided by each joint's noise (whitened) and its columns brought to
the same length on usual states, so that units do not count:

    cond(diag(1/sigma) W_b diag(1/scale)),   and with a small weight  -log det,  so that it is large where it can be

Random series are drawn and brought within the limits by shrinking each joint's swing, then all of them, about the centre; the
best are bettered by random steps that become smaller.  The number of trials is fixed, so the same seed gives the same motion.

Excitation trajectories as finite Fourier series, which begin and end at rest; and as files.

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

from picker_dynamics.errors import InfeasibleError, InputError, LimitError, refuse_if
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.files.formats import read_json
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import tip_speeds
from picker_dynamics.trajectory import trajectory
from picker_dynamics.trajectory.trajectory import Trajectory

from .base import Base
from .columns import RISE_S

SAMPLES = 60
"""States of one period at which regressor and limits are looked at in the search; four times as many in the end."""

DRAWN, BETTERED = 200, 1200
"""Trials."""

STEPS = (0.5, 0.05)
"""First and last size of the random steps, as a share of the swing."""

INFORMATION = 0.05
"""Weight of log det beside log cond."""

MARGIN = 0.95
"""Share of every limit that is used: the goal is checked between the samples too."""

SHRINK, LAST_SHRINK, SHRUNK = 0.9, 0.97, 60
"""Factors on the swing each time that the limits, or in the end the controller's check, are not yet kept; how often."""


class Excitation(NamedTuple):
    """A motion, and the condition of the base regressor along it, whitened and scaled."""

    motion: Fourier
    condition: float


class Search:
    """Everything that stays the same while motions are tried.

    Args:
        base: of the arm.
        validator: a running controller's check of a goal, floor and surroundings apart.
        period: [s] of the series.

    Raises:
        InputError: a joint without a velocity or effort limit, or a period that cannot be.
    """

    def __init__(self, base: Base, validator: MotionValidator, period: float):
        refuse_if(not 0.5 <= period <= 600.0, f"period is {period} s, must be 0.5 to 600", "period", period, 600.0)
        self.base, self.validator, self.period = base, replace(validator, further=(), scales_time=False), period
        self.columns, self.arm, self.model = base.columns, base.columns.description, base.columns.model
        for joint, *limits in zip(self.arm.joint_names, self.arm.velocity.tolist(), self.arm.effort.tolist()):
            none = f"joint {joint} has no velocity or effort limit above 0 in {self.arm.source}: no motion can be chosen"
            refuse_if(not all(0.0 < limit < math.inf for limit in limits), none, joint, limits)
        self.lower, self.upper = np.maximum(self.arm.lower, -math.pi), np.minimum(self.arm.upper, math.pi)
        self.velocity, self.acceleration = self.arm.velocity, self.arm.velocity / RISE_S
        usual = self.columns.regressor(*self.columns.usual_states(validator.tip_speed))
        noise = np.sqrt(np.mean((usual @ self.columns.believed()) ** 2, axis=0))  # in proportion to the usual efforts
        whiten = 1.0 / np.maximum(noise, 1e-9)[:, None]
        self._weights = whiten / np.sqrt(np.mean((usual[..., base.independent] * whiten) ** 2, axis=(0, 1)))

    def bounded(self, motion: Fourier) -> Fourier | None:
        """The motion with its swing shrunk until it keeps the limits; None: not even standing at its centre does."""
        q, v, a = motion.sample(t := motion.times(SAMPLES))
        room = np.minimum(self.upper - motion.centre, motion.centre - self.lower)
        used = np.abs([q - motion.centre, v, a]).max(axis=1)
        share = MARGIN * np.array([room, self.velocity, self.acceleration]) / np.maximum(used, 1e-300)
        motion = motion.times_swing(np.minimum(1.0, share.min(axis=0)))
        speed = tip_speeds(self.model, *motion.sample(t)[:2]).max()  # nearly proportional to the swing: the loop does the rest
        motion = motion.times_swing(min(1.0, MARGIN * self.validator.tip_speed / max(speed, 1e-300)))
        for _ in range(SHRUNK):
            if self._borne(*motion.sample(t)):
                return motion
            motion = motion.times_swing(SHRINK)
        return None

    def _borne(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> bool:
        """Whether efforts and tip allow these states; as in the goal check the arm must be able to stop and stand anywhere."""
        gravity, tau, most = self.model.gravity(q), self.model.required_torque(q, v, a), self.validator.limits
        pairs = (gravity, most.peak), (gravity[0], most.hold), (tau, most.peak)
        borne = all((np.abs(effort) <= MARGIN * limit).all() for effort, limit in pairs)
        return borne and bool(tip_speeds(self.model, q, v).max() <= self.validator.tip_speed)

    def singular_values(self, motion: Fourier, count: int = SAMPLES) -> np.ndarray:
        """Singular values of the whitened, scaled base regressor along one period, smallest first; by its small Gram matrix."""
        Y = self.columns.regressor(*motion.sample(motion.times(count)))[..., self.base.independent]
        W = (Y * self._weights).reshape(-1, Y.shape[-1])
        return np.sqrt(np.maximum(np.linalg.eigvalsh(W.T @ W), 1e-24 * count) / count)

    def cost(self, motion: Fourier) -> float:
        """Cost of a motion, which the search makes small."""
        s = self.singular_values(motion)
        return float(np.log(s[-1] / s[0]) - INFORMATION * np.log(s).sum())

    def run(
        self, home: np.ndarray | None, seed: int, drawn: int = DRAWN, bettered: int = BETTERED, periods: int = 1
    ) -> Excitation:
        """Find the best motion; see the module.

        Args:
            home: (n,) about which it is looked for [rad or m]; None: the middle of the positions.
            drawn, bettered: trials.

        Raises:
            InfeasibleError: no motion near ``home`` is allowed.
        """
        rng, n, half, least = np.random.default_rng(seed), self.arm.n, 0.5 * (self.upper - self.lower), math.inf
        best: Fourier | None = None
        home, low, high = self.lower + half if home is None else home, self.lower + 0.1 * half, self.upper - 0.1 * half
        for _ in range(drawn):
            centre = np.clip(home + rng.normal(0.0, 0.3, n) * half, low, high)
            tried = self.bounded(Fourier(centre, rng.normal(size=(2, HARMONICS - 1, n)) * self.velocity, self.period, periods))
            if tried is not None and (cost := self.cost(tried)) < least:
                best, least = tried, cost
        if best is None:
            raise InfeasibleError("no motion about the home pose keeps effort, position and tip-speed limits", time_s=0.0)
        for size in np.geomspace(*STEPS, bettered):
            step = rng.normal(size=best.free.shape) * np.maximum(np.abs(best.free).mean(axis=(0, 1)), 0.02 * self.velocity)
            aside = 0.3 * size * rng.normal(size=n) * half
            free = 1.1 * best.free + size * (rng.random(best.free.shape) < 0.3) * step
            tried = self.bounded(replace(best, centre=np.clip(best.centre + aside, self.lower, self.upper), free=free))
            if tried is not None and (cost := self.cost(tried)) < least:
                best, least = tried, cost
        for left in range(SHRUNK, -1, -1):
            try:
                self.validator.validate(best.trajectory(self.arm.joint_names))  # the controller's own check of the whole motion
                break
            except (LimitError, InfeasibleError):
                if not left:
                    raise
                best = best.times_swing(LAST_SHRINK)
        s = self.singular_values(best, 4 * SAMPLES)
        return Excitation(best, float(s[-1] / s[0]))


# -- Fourier series, and files of them -------------------------------------------------------------------------------------

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
        what = f"{path} is not a motion of `picker identify excite`: {type(error).__name__}: {error}"
        raise InputError(what, value=str(path)) from error
