"""Optimal excitation: the Fourier series whose base regressor is best conditioned, within all limits.

What is made small is the condition number of W_b, its rows divided by each joint's noise (whitened) and its columns brought to
the same length on usual states, so that units do not count:

    cond(diag(1/sigma) W_b diag(1/scale)),   and with a small weight  -log det,  so that it is large where it can be

Random series are drawn and brought within the limits by shrinking each joint's swing, then all of them, about the centre; the
best are bettered by random steps that become smaller.  The number of trials is fixed, so the same seed gives the same motion.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from picker_dynamics.errors import InfeasibleError, LimitError, refuse_if
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.model import tip_speeds

from .base import Base
from .fourier import HARMONICS, Fourier
from .usual import RISE_S, usual_states

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
        usual = self.columns.regressor(*usual_states(self.arm, self.model, validator.tip_speed))
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
