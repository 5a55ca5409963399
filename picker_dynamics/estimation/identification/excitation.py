"""Optimal excitation: the Fourier series whose base regressor is best conditioned, within all limits.

What is made small is the condition number of W_b, its rows divided by each joint's noise (whitened) and its columns brought to
the same length on usual states, so that units do not count:

    cond(diag(1/sigma) W_b diag(1/scale)),   and with a small weight  -log det,  so that it is large where it can be

Random series are drawn and brought within the limits by shrinking each joint's swing, then all of them, about the centre; the
best are bettered by random steps that become smaller.  The number of trials is fixed, so the same seed gives the same motion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.errors import InfeasibleError, LimitError, refuse_if
from picker_dynamics.robot.model import tip_speeds

from .base import Base
from .fourier import HARMONICS, Fourier
from .limits import MARGIN, Limits, usual_states

SAMPLES = 60
"""States of one period at which regressor and limits are looked at in the search; four times as many in the end."""

DRAWN, BETTERED = 200, 1200
"""Trials."""

STEPS = (0.5, 0.05)
"""First and last size of the random steps, as a share of the swing."""

INFORMATION = 0.05
"""Weight of log det beside log cond."""

SHRINK = 0.9
"""Factor on the swing each time that the limits are not yet kept."""


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion and what it is worth.

    Attributes:
        motion: the series.
        condition: of the base regressor along it, whitened and scaled.
        condition_drawn: of the best of the random ones that the search began with.
    """

    motion: Fourier
    condition: float
    condition_drawn: float


class Search:
    """Everything that stays the same while motions are tried.

    Args:
        base: of the arm.
        limits: to keep.
        period: [s] of the series.
        noise: (n,) standard deviation of the measured efforts, in proportion; default the usual efforts.
    """

    def __init__(self, base: Base, limits: Limits, period: float, noise=None):
        refuse_if(not 0.5 <= period <= 600.0, f"period is {period} s, must be 0.5 to 600", "period", period, 600.0)
        self.base, self.limits, self.period = base, limits, period
        self.columns, self.model = base.columns, base.columns.model
        usual = self.columns.regressor(*usual_states(self.columns.description, self.model, limits.tip_speed))
        if noise is None:
            noise = np.sqrt(np.mean((usual @ self.columns.believed()) ** 2, axis=0))
        self._whiten = 1.0 / np.maximum(noise, 1e-9)
        self._scale = np.sqrt(np.mean((usual[..., base.independent] * self._whiten[:, None]) ** 2, axis=(0, 1)))

    def times(self, count: int) -> np.ndarray:
        """Sample times of one period, (count,) [s]."""
        return np.arange(count) * self.period / count

    # -- limits ------------------------------------------------------------------------------------------

    def bounded(self, motion: Fourier) -> Fourier | None:
        """The motion with its swing shrunk until it keeps the limits; None: not even standing at its centre does."""
        limits, t = self.limits, self.times(SAMPLES)
        q, v, a = motion.sample(t)
        swing = np.abs(q - motion.centre).max(axis=0)
        room = MARGIN * np.minimum(limits.upper - motion.centre, motion.centre - limits.lower)
        pairs = (
            (room, swing),
            (MARGIN * limits.velocity, np.abs(v).max(axis=0)),
            (MARGIN * limits.acceleration, np.abs(a).max(axis=0)),
        )
        motion = _shrunk(motion, np.minimum.reduce([_share(*pair) for pair in pairs]))
        speed = tip_speeds(self.model, *motion.sample(t)[:2]).max()
        if speed > MARGIN * limits.tip_speed:  # nearly proportional to the swing: the loop sees to the rest
            motion = replace(motion, free=motion.free * MARGIN * limits.tip_speed / speed)
        for _ in range(60):
            if self.allowed(motion, t):
                return motion
            motion = _shrunk(motion, SHRINK)
        return None

    def allowed(self, motion: Fourier, t: np.ndarray) -> bool:
        """Efforts and the tip's speed; as in the goal check the arm must be able to stop and stand anywhere."""
        limits, (q, v, a) = self.limits, motion.sample(t)
        gravity, tau, most = self.model.gravity(q), self.model.required_torque(q, v, a), limits.validator.limits
        for effort, limit in (
            (gravity, most.peak),
            (gravity[0], most.hold),
            (tau, most.peak),
            (tau + limits.drag * v, limits.stall),
        ):
            if (np.abs(effort) > MARGIN * limit).any():
                return False
        return bool(tip_speeds(self.model, q, v).max() <= limits.tip_speed)

    def passes(self, motion: Fourier) -> bool:
        """The controller's own check of the arm's limits, over the whole motion; floor and scene are looked at as it is run."""
        try:
            self.limits.validator.validate(motion.trajectory(self.columns.description.joint_names))
        except (LimitError, InfeasibleError):
            return False
        return True

    # -- worth -------------------------------------------------------------------------------------------

    def singular_values(self, motion: Fourier, count: int = SAMPLES) -> np.ndarray:
        """Singular values of the whitened, scaled base regressor along one period, largest first; by its small Gram matrix."""
        Y = self.columns.regressor(*motion.sample(self.times(count)))[..., self.base.independent]
        W = (Y * self._whiten[:, None] / self._scale).reshape(-1, self.base.count)
        return np.sqrt(np.maximum(np.linalg.eigvalsh(np.einsum("ki,kj->ij", W, W))[::-1], 0.0) / count)

    def cost(self, motion: Fourier) -> float:
        """Cost of a motion, which the search makes small."""
        s = np.maximum(self.singular_values(motion), 1e-12)
        return float(np.log(s[0] / s[-1]) - INFORMATION * np.log(s).sum())

    def condition(self, motion: Fourier) -> float:
        """Condition number of the regressor, on a finer grid."""
        s = self.singular_values(motion, 4 * SAMPLES)
        return float(s[0] / max(s[-1], 1e-300))

    # -- search ------------------------------------------------------------------------------------------

    def drawn(self, rng: np.random.Generator, centre: np.ndarray) -> Fourier:
        """A random motion about a random centre near the given one."""
        limits = self.limits
        half = 0.5 * (limits.upper - limits.lower)
        centre = centre + rng.normal(0.0, 0.3, self.columns.n) * half
        centre = np.clip(centre, limits.lower + 0.1 * half, limits.upper - 0.1 * half)
        free = rng.normal(size=(2, HARMONICS - 1, self.columns.n)) * limits.velocity
        return Fourier(centre, free, self.period)

    def run(
        self, centre: np.ndarray, seed: int, drawn: int | None = None, bettered: int | None = None, periods: int = 1
    ) -> Excitation:
        """The best motion found; see the module.  Trials: ``DRAWN`` and ``BETTERED`` unless said otherwise.

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
        first = self.condition(best)
        lower, upper, least_swing = self.limits.lower, self.limits.upper, 0.02 * self.limits.velocity
        half = 0.5 * (upper - lower)
        for size in np.geomspace(*STEPS, bettered):
            step = rng.normal(size=best.free.shape) * np.maximum(np.abs(best.free).mean(axis=(0, 1)), least_swing)
            centre = np.clip(best.centre + 0.3 * size * rng.normal(size=self.columns.n) * half, lower, upper)
            some = rng.random(best.free.shape) < 0.3
            tried = self.bounded(replace(best, centre=centre, free=1.1 * best.free + size * some * step))
            if tried is not None and (cost := self.cost(tried)) < least:
                best, least = tried, cost
        return self._finished(replace(best, periods=periods), first)

    def _finished(self, motion: Fourier, first: float) -> Excitation:
        for _ in range(60):
            if self.passes(motion):
                break
            motion = _shrunk(motion, 0.97)
        else:
            self.limits.validator.validate(motion.trajectory(self.columns.description.joint_names))
        return Excitation(motion, self.condition(motion), first)


def _shrunk(motion: Fourier, share) -> Fourier:
    return replace(motion, free=motion.free * share)


def _share(allowed: np.ndarray, used: np.ndarray) -> np.ndarray:
    return np.minimum(1.0, np.divide(allowed, used, out=np.ones_like(used), where=used > 0.0))
