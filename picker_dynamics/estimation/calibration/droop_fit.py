"""Droop fit: zero, scale, spring, gap and friction of each servo from how far an arm sags, without an encoder.

Least squares on inclinometer readings (``droop_model``), with what is known beforehand (a servo's usual figures) as further
readings.  So a figure about which the readings say nothing keeps its prior and its prior's uncertainty; the uncertainty of the
masses is added to the stiffness's.  The readings of one visit share its friction, and what skids: their covariance is

    R = sd² 1 + Σ_j s_j s_jᵀ

with s_j how much a standard deviation of friction j, or of a skid, moves the readings of the visit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import least_squares

from picker_dynamics.errors import refuse_if

from .droop_model import BODY, FIGURES, DroopModel, Reading, wrapped
from .readings import Measured

ROUNDS, TOLERANCE = 8, 1e-4
"""The skids are those of the figures of the round before, until the sum of squares changes by less than a share."""

BOUNDS = {"compliance": (0.005, np.inf), "gap": (0.0, np.inf), "load_friction": (0.0, 0.85), "coulomb": (0.0, np.inf)}
"""Compliance stays above that of K = 200 N·m/rad; gears of more than x = 0.85 let nothing drive them back."""

LIGHTEST = -0.9
"""Bound of mu: bodies weigh something."""

MOSTLY = 3.0
"""Residuals beyond so many standard deviations pull no more than those there (Huber's loss)."""

STIFFEST = 1.0 / 16.0
"""Of the compliance that is assumed: the bound of servos so strong that theirs may be below the one above."""

TOLD = 0.8
"""A figure whose standard deviation is above this share of what it was before is mostly assumed."""

FEWEST_OF_A_JOINT = 4
"""Readings for each joint, at least, that are worth a fit: what they leave open stays as it was assumed."""

FEWEST_OF_A_SIDE = 0.25
"""Share of the visits that come from either side, at least: friction shows in their difference."""

MISREAD, NORMAL_MEDIAN = 5.0, 0.6745
"""A reading further than so many standard deviations from the fit is shown as an outlier; were all of them larger than stated,
the median of their sizes, 0.67 for a normal distribution, says so."""


@dataclass(frozen=True, eq=False)
class DroopFit:
    """Fit of the droop model to readings: what they say of the servos.

    Attributes:
        model: that was fitted.
        readings: it was fitted to.
        unknowns: (u,) the estimate, in the order of ``model.names``.
        covariance: (u, u); of the readings' spread where that is larger than the instruments explain.
        residuals: (r,) reading minus fit, in standard deviations.
        misfit: root mean square of the residuals' part that the fit did not use up; about 1 where the model fits.
        outliers: indices of readings further than ``MISREAD`` from the fit.
    """

    model: DroopModel
    readings: tuple[Reading, ...]
    unknowns: np.ndarray
    covariance: np.ndarray
    residuals: np.ndarray
    misfit: float
    outliers: tuple[int, ...]

    def figure(self, joint: str, name: str) -> Measured:
        """Figure of a joint, one of ``FIGURES``, as fitted."""
        i = self.model.names.index(f"{joint}.{name}")
        return Measured(float(self.unknowns[i]), float(np.sqrt(self.covariance[i, i])))

    def told(self, joint: str, name: str) -> bool:
        """Whether the readings say much about a figure, or it is mostly what was assumed."""
        before = self.model.prior[1][self.model.names.index(f"{joint}.{name}")]
        return bool(self.figure(joint, name).sd < TOLD * before)

    def stiffness(self, joint: str) -> Measured:
        """Stiffness K = 1/c [N·m/rad]; sd to first order."""
        c = self.figure(joint, "compliance")
        return Measured(1.0 / c.value, c.sd / c.value**2)


def fit(model: DroopModel, readings: Sequence[Reading], masses_sd: float = 0.0) -> DroopFit:
    """Estimate all figures from the readings.

    Args:
        masses_sd: how well the loads are known, as a share: stiffness and friction are in proportion to them.

    Raises:
        InputError: too few readings, or from one side only.
    """
    fewest = FEWEST_OF_A_JOINT * len(model.joints)
    refuse_if(len(readings) < fewest, f"{len(readings)} readings: take {fewest} at least", "readings", len(readings), fewest)
    sides = list({one.visit: one.side for one in readings}.values())
    for side, name in ((1.0, "below"), (-1.0, "above")):
        why = f"{sides.count(side)} of {len(sides)} visits came from {name}: only both sides tell friction"
        refuse_if(sides.count(side) < FEWEST_OF_A_SIDE * len(sides), why, "side", sides.count(side))
    (mean, prior_sd), value = model.prior, np.array([one.value for one in readings])
    linearised = lru_cache(2)(lambda x: model.linearised(np.frombuffer(x), readings))
    unknowns, cost = mean, np.inf
    for _ in range(ROUNDS):
        whiten = whitening(linearised(unknowns.tobytes())[2], readings)
        solved = least_squares(
            lambda x, whiten=whiten: np.append(whiten @ wrapped(value - linearised(x.tobytes())[0]), (mean - x) / prior_sd),
            unknowns,
            lambda x, whiten=whiten: np.vstack([-whiten @ linearised(x.tobytes())[1], -np.diag(1.0 / prior_sd)]),
            bounds=tuple(bounds_of(model)),
            x_scale=prior_sd,
            loss="huber",
            f_scale=MOSTLY,
            ftol=TOLERANCE,
        )
        before, unknowns, cost = cost, solved.x, solved.cost
        if abs(cost - before) < TOLERANCE * cost:
            break
    expected, jacobian, chance = linearised(unknowns.tobytes())
    off, jacobian = wrapped(value - expected), whiten @ jacobian
    covariance = np.linalg.inv(jacobian.T @ jacobian + np.diag(prior_sd**-2))
    residuals = off / np.sqrt(_sds(readings) ** 2 + (chance**2).sum(axis=1))
    used = float(np.trace(jacobian @ covariance @ jacobian.T))
    misfit = float(np.linalg.norm(whiten @ off) / np.sqrt(max(1.0, len(readings) - used)))
    usual = float(np.median(np.abs(residuals))) / NORMAL_MEDIAN
    worst = tuple(int(i) for i in np.flatnonzero(np.abs(residuals) > MISREAD * max(1.0, usual)))
    covariance *= max(1.0, misfit) ** 2
    for figure in ("compliance", "coulomb"):
        places = model.places(figure)
        covariance[places, places] += np.diag((masses_sd * unknowns[places]) ** 2)
    return DroopFit(model, tuple(readings), unknowns, covariance, residuals, misfit, worst)


def bounds_of(model: DroopModel) -> np.ndarray:
    """Bounds between which the unknowns are sought, (2, u)."""
    mean, _ = model.prior
    bounds = np.full((2, len(mean)), [[-np.inf], [np.inf]])
    for figure, ends in BOUNDS.items():
        bounds[:, model.places(figure)] = np.reshape(ends, (2, 1))
    count = len(model.joints) * len(FIGURES)
    bounds[0, count : count + len(BODY) * len(model.bodies) : len(BODY)] = LIGHTEST
    compliances = model.places("compliance")
    bounds[0, compliances] = np.minimum(bounds[0, compliances], STIFFEST * mean[compliances])
    return bounds


def whitening(chance: np.ndarray, readings: Sequence[Reading]) -> np.ndarray:
    """(r, r) matrix that makes the readings' errors independent and of size 1: R's inverse Cholesky factor.

    Args:
        chance: (r, c) how much a standard deviation of each friction and skid moves each reading.
    """
    visits = np.array([one.visit for one in readings])
    return np.linalg.inv(np.linalg.cholesky(chance @ chance.T * (visits[:, None] == visits) + np.diag(_sds(readings) ** 2)))


def _sds(readings: Sequence[Reading]) -> np.ndarray:
    """(r,) standard deviations of the readings by their instruments [rad]."""
    return np.array([one.sensor.sd for one in readings])
