"""How sure each reading is: the instrument's error, and at each visit the friction that its readings share.

    R = sd² 1 + Σ_j f_j² h_j h_jᵀ        h_j: how much the friction at joint j moves the readings of the visit

The size f_j of a joint's friction is found together with the figures, by restricted maximum likelihood: rounds of expectation
(the friction of each visit, and what the figures leave open of it) and maximisation (its mean square over the visits).

Reference: D. A. Harville, Maximum likelihood approaches to variance component estimation, J. Am. Stat. Assoc. 72, 1977.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FRICTION_SD, FRICTION_VISITS = 0.008, 4.0
"""Standard deviation [N·m] of what dry friction holds back by chance where a servo has come to rest, 0.7 % of stall torque, and
how many visits that guess is worth."""

FURTHEST = 3.0
"""No visit counts for more than so many standard deviations: a misread instrument is no friction."""


def whitening(held, visits: Sequence[int], sd) -> np.ndarray:
    """(r, r) matrix that makes the readings' errors independent and of size 1: R's inverse Cholesky factor, visit by visit.

    Args:
        held: (r, j) how much a standard deviation of each joint's friction moves each reading.
        visits: (r,) number of the visit at which each was taken.
        sd: (r,) of the instruments.
    """
    whiten, variance = np.zeros((len(visits), len(visits))), np.square(np.asarray(sd, dtype=float))
    for rows in _blocks(visits):
        covariance = held[rows] @ np.swapaxes(held[rows], -1, -2) + variance[rows][..., None] * np.eye(rows.shape[1])
        whiten[rows[:, :, None], rows[:, None, :]] = np.linalg.inv(np.linalg.cholesky(covariance))
    return whiten


def _blocks(visits) -> list[np.ndarray]:
    """Rows of each visit, (v, k) for the visits with k readings."""
    numbers, belongs, counts = np.unique(visits, return_inverse=True, return_counts=True)
    order = np.split(np.argsort(belongs, kind="stable"), np.cumsum(counts)[:-1])
    return [np.array([rows for rows in order if len(rows) == count]) for count in np.unique(counts)]


@dataclass(frozen=True)
class Update:
    """One linear step of the estimate, all whitened: what ``whitening`` left.

    Attributes:
        whiten: (r, r).
        jacobian: (r, u) by the unknowns.
        covariance: (u, u) of the unknowns, the prior's part included.
        step: (u,) to the estimate.
        residuals: (r,) after the step.
    """

    whiten: np.ndarray
    jacobian: np.ndarray
    covariance: np.ndarray
    step: np.ndarray
    residuals: np.ndarray


def update(off, jacobian, held, from_mean, prior_sd, visits, sd) -> Update:
    """The linear estimate for friction of a given size.

    Args:
        off: (r,) readings less what they should be.
        jacobian: (r, u); held: (r, j) as for ``whitening``.
        from_mean: (u,) prior mean less estimate; prior_sd: (u,).
    """
    whiten = whitening(held, visits, sd)
    residuals, jacobian = whiten @ off, whiten @ jacobian
    covariance = np.linalg.inv(jacobian.T @ jacobian + np.diag(prior_sd**-2))
    step = covariance @ (jacobian.T @ residuals + from_mean / prior_sd**2)
    return Update(whiten, jacobian, covariance, step, residuals - jacobian @ step)


def friction_round(friction, by_friction, found: Update, visits) -> np.ndarray:
    """(j,) next sizes of the friction [N·m]: the mean square over the visits and the guess.

    Args:
        friction: (j,) with which ``found`` was found.
        by_friction: (r, j) derivatives of the readings by the friction.
    """
    held, squares = found.whiten @ by_friction, FRICTION_VISITS * FRICTION_SD**2
    count = len(np.unique(visits))
    for rows in _blocks(visits):
        shared = np.swapaxes(held[rows], -1, -2) @ found.jacobian[rows]
        told = (held[rows] ** 2).sum(axis=1) - ((shared @ found.covariance) * shared).sum(axis=-1)
        expected = friction**2 * (held[rows] * found.residuals[rows][..., None]).sum(axis=1)
        expected = np.clip(expected, -FURTHEST * friction, FURTHEST * friction)
        squares = squares + (expected**2 + friction**2 * (1.0 - friction**2 * told)).sum(axis=0)
    return np.sqrt(squares / (FRICTION_VISITS + count))
