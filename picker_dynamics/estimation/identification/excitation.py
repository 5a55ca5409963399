"""Optimal excitation: the Fourier series whose base regressor is best conditioned, within all limits.

What is made small is the condition number of W_b, its rows divided by each joint's noise (whitened) and its columns brought to
the same length on usual states, so that units do not count:

    cond(diag(1/sigma) W_b diag(1/scale)),   and with a small weight  -log det,  so that it is large where it can be

Random series are drawn and brought within the limits by shrinking each joint's swing, then all of them, about the centre; the
best are bettered by random steps that become smaller.  The number of trials is fixed, so the same seed gives the same motion.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from picker_dynamics.errors import InfeasibleError, LimitError, refuse_if
from picker_dynamics.robot.model import tip_speeds

from .base import Base
from .fourier import HARMONICS, Fourier
from .limits import Limits, usual_states

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
        limits: to keep.
        period: [s] of the series.
    """

    def __init__(self, base: Base, limits: Limits, period: float):
        refuse_if(not 0.5 <= period <= 600.0, f"period is {period} s, must be 0.5 to 600", "period", period, 600.0)
        self.base, self.limits, self.period = base, limits, period
        self.columns, self.model = base.columns, base.columns.model
        usual = self.columns.regressor(*usual_states(self.columns.description, self.model, limits.tip_speed))
        noise = np.sqrt(np.mean((usual @ self.columns.believed()) ** 2, axis=0))  # in proportion to the usual efforts
        whiten = 1.0 / np.maximum(noise, 1e-9)[:, None]
        self._weights = whiten / np.sqrt(np.mean((usual[..., base.independent] * whiten) ** 2, axis=(0, 1)))

    def times(self, count: int) -> np.ndarray:
        """Sample times of one period, (count,) [s]."""
        return np.arange(count) * self.period / count

    def bounded(self, motion: Fourier) -> Fourier | None:
        """The motion with its swing shrunk until it keeps the limits; None: not even standing at its centre does."""
        limits, t = self.limits, self.times(SAMPLES)
        q, v, a = motion.sample(t)
        room = np.minimum(limits.upper - motion.centre, motion.centre - limits.lower)
        used = np.abs([q - motion.centre, v, a]).max(axis=1)
        share = MARGIN * np.array([room, limits.velocity, limits.acceleration]) / np.maximum(used, 1e-300)
        motion = _shrunk(motion, np.minimum(1.0, share.min(axis=0)))
        speed = tip_speeds(self.model, *motion.sample(t)[:2]).max()  # nearly proportional to the swing: the loop does the rest
        motion = _shrunk(motion, min(1.0, MARGIN * limits.tip_speed / max(speed, 1e-300)))
        for _ in range(SHRUNK):
            if self.allowed(motion, t):
                return motion
            motion = _shrunk(motion, SHRINK)
        return None

    def allowed(self, motion: Fourier, t: np.ndarray) -> bool:
        """Efforts and the tip's speed; as in the goal check the arm must be able to stop and stand anywhere."""
        limits, (q, v, a), most = self.limits, motion.sample(t), self.limits.validator.limits
        gravity, tau = self.model.gravity(q), self.model.required_torque(q, v, a)
        pairs = (gravity, most.peak), (gravity[0], most.hold), (tau, most.peak)
        borne = all((np.abs(effort) <= MARGIN * limit).all() for effort, limit in pairs)
        return borne and bool(tip_speeds(self.model, q, v).max() <= limits.tip_speed)

    def singular_values(self, motion: Fourier, count: int = SAMPLES) -> np.ndarray:
        """Singular values of the whitened, scaled base regressor along one period, smallest first; by its small Gram matrix."""
        Y = self.columns.regressor(*motion.sample(self.times(count)))[..., self.base.independent]
        W = (Y * self._weights).reshape(-1, Y.shape[-1])
        return np.sqrt(np.maximum(np.linalg.eigvalsh(W.T @ W), 1e-24 * count) / count)

    def cost(self, motion: Fourier) -> float:
        """Cost of a motion, which the search makes small."""
        s = self.singular_values(motion)
        return float(np.log(s[-1] / s[0]) - INFORMATION * np.log(s).sum())

    def drawn(self, rng: np.random.Generator, centre: np.ndarray) -> Fourier:
        """A random motion about a random centre near the given one."""
        limits, n = self.limits, self.columns.n
        half = 0.5 * (limits.upper - limits.lower)
        centre = np.clip(centre + rng.normal(0.0, 0.3, n) * half, limits.lower + 0.1 * half, limits.upper - 0.1 * half)
        return Fourier(centre, rng.normal(size=(2, HARMONICS - 1, n)) * limits.velocity, self.period)

    def run(
        self, centre: np.ndarray, seed: int, drawn: int | None = None, bettered: int | None = None, periods: int = 1
    ) -> Excitation:
        """Find the best motion; see the module.  Trials: ``DRAWN`` and ``BETTERED`` unless said otherwise.

        Raises:
            InfeasibleError: no motion near ``centre`` is allowed.
        """
        drawn, bettered = DRAWN if drawn is None else drawn, BETTERED if bettered is None else bettered
        rng = np.random.default_rng(seed)
        found = [one for one in (self.bounded(self.drawn(rng, centre)) for _ in range(drawn)) if one is not None]
        if not found:
            raise InfeasibleError("no motion about the home pose keeps effort, position and tip-speed limits", time_s=0.0)
        costs = [self.cost(one) for one in found]
        best, least = found[int(np.argmin(costs))], min(costs)
        lower, upper, least_swing = self.limits.lower, self.limits.upper, 0.02 * self.limits.velocity
        for size in np.geomspace(*STEPS, bettered):
            step = rng.normal(size=best.free.shape) * np.maximum(np.abs(best.free).mean(axis=(0, 1)), least_swing)
            aside = 0.15 * size * rng.normal(size=self.columns.n) * (upper - lower)
            free = 1.1 * best.free + size * (rng.random(best.free.shape) < 0.3) * step
            tried = self.bounded(replace(best, centre=np.clip(best.centre + aside, lower, upper), free=free))
            if tried is not None and (cost := self.cost(tried)) < least:
                best, least = tried, cost
        motion, names = replace(best, periods=periods), self.columns.description.joint_names
        for left in range(SHRUNK, -1, -1):
            try:
                self.limits.validator.validate(motion.trajectory(names))  # the controller's own check of the whole motion
                break
            except (LimitError, InfeasibleError):
                if not left:
                    raise
                motion = _shrunk(motion, LAST_SHRINK)
        s = self.singular_values(motion, 4 * SAMPLES)
        return Excitation(motion, float(s[-1] / s[0]))


def _shrunk(motion: Fourier, share) -> Fourier:
    return replace(motion, free=motion.free * share)
