"""Physically consistent inertial parameters: from the data where they are informative, from the URDF elsewhere.

    min over theta, d    |R pi(theta, d) - z|²  +  Σ_bodies D(J_i || J_i0) / (2 PRIOR²)  +  Σ ((d - d0) / d_usual)²

R, z are the whitened equations of all recordings brought to triangular form, pi(theta) the log-Cholesky form of each body
(``inertia``), D the entropic divergence from what the URDF says, d the drives' parameters; friction and rotors are at
least 0.  (Regularising by such a divergence: T. Lee, P. M. Wensing and F. C. Park, Geometric robot dynamic identification: a
convex programming approach, IEEE Transactions on Robotics 36(2), 2020.)  Everything is a sum of squares, so Gauss-Newton with
bounds solves it; its normal matrix JᵀJ gives the uncertainties, those of what only the URDF says included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from picker_dynamics.errors import refuse_if

from . import inertia
from .base import FRICTION_DRIFT, BaseFit
from .columns import Columns
from .filtering import Equations
from .inertia import COUNT

PRIOR = 0.3
"""How far a URDF is believed to be off, as standard deviation of each log-Cholesky parameter."""

LEAVES = 3.0
"""A body further than this many standard deviations of its prior from the URDF is told of."""


@dataclass(frozen=True, eq=False)
class ConsistentFit:
    """Arm that an identification found.

    Attributes:
        columns: which parameters.
        pi: (p,) all of them.  covariance: (p, p), the prior's part included.
        prior_covariance: (p, p) what the prior alone says.
        strain: (n,) how far each body had to go from the URDF's, in standard deviations of its prior.
    """

    columns: Columns
    pi: np.ndarray
    covariance: np.ndarray
    prior_covariance: np.ndarray
    strain: np.ndarray

    @property
    def bodies(self) -> np.ndarray:
        """Standard parameters of the bodies, (n, 10)."""
        return self.pi[: self.columns.bodies].reshape(-1, COUNT)

    @property
    def sd(self) -> np.ndarray:
        """Standard deviations of the parameters, (p,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def strained(self) -> dict[str, float]:
        """Links that are too far from what was believed of them, and by how many standard deviations."""
        joints = self.columns.description.movable
        return {joint.child: float(far) for joint, far in zip(joints, self.strain) if far > LEAVES}

    def figures(self, body: int) -> np.ndarray:
        """Figures of one body (``inertia.figures``), their standard deviations, and those before: (3, 10)."""
        own = slice(COUNT * body, COUNT * (body + 1))
        before = self.columns.believed()[own]
        points = (self.pi[own], self.covariance), (before if before[0] > 0.0 else self.pi[own], self.prior_covariance)
        slopes = [(inertia.slopes(inertia.figures, pi), covariance[own, own]) for pi, covariance in points]
        sds = [np.sqrt(np.maximum(np.diag(slope @ one @ slope.T), 0.0)) for slope, one in slopes]
        return np.array([inertia.figures(self.pi[own]), *sds])


def fit(columns: Columns, equations: Equations, base_fit: BaseFit) -> ConsistentFit:
    """Estimate all parameters.

    Args:
        equations: with these columns.
        base_fit: of the same samples; it gives weights and noise, and the variances what correlation in time adds.

    Raises:
        InputError: no solution is found.
    """
    root = np.sqrt(base_fit.weights / (base_fit.sigma**2 * base_fit.inflation))
    Q, R = np.linalg.qr((root[..., None] * equations.Y).reshape(-1, columns.count))
    z = Q.T @ (root * equations.tau).ravel()
    n, thetas, drives = columns.n, columns.bodies, columns.believed()[columns.bodies :]
    L = np.array([inertia.factor(pi) for pi in inertia.of_description(columns.description)])
    effort, v, a = (np.sqrt(np.mean(x**2, axis=0)) for x in (equations.tau, equations.v, equations.a))
    usual = np.concatenate([effort / np.maximum(v, 1e-3), effort, effort / np.maximum(a, 1e-3)])[: len(drives)]

    # x holds ten theta for each body, then the drives.
    def by_body(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
        bodies = function(x[..., :thetas].reshape(*x.shape[:-1], n, COUNT))
        return bodies.reshape(*x.shape[:-1], thetas)

    def parameters(x: np.ndarray) -> np.ndarray:
        return np.concatenate([by_body(lambda theta: inertia.from_theta(L, theta), x), x[..., thetas:]], axis=-1)

    def distances(x: np.ndarray) -> np.ndarray:
        roots = by_body(inertia.divergence_roots, x) / (np.sqrt(2.0) * PRIOR)
        return np.concatenate([roots, (x[..., thetas:] - drives) / usual], axis=-1)

    def residuals(x: np.ndarray) -> np.ndarray:
        return np.concatenate([parameters(x) @ R.T - z, distances(x)], axis=-1)

    start = np.concatenate([np.zeros(thetas), np.maximum(drives, 1e-6 * usual)])
    found = least_squares(
        residuals,
        start,
        lambda x: inertia.slopes(residuals, x),
        (np.where(np.arange(columns.count) < thetas, -np.inf, 0.0), np.inf),
        x_scale=np.concatenate([np.full(thetas, PRIOR), usual]),
        max_nfev=1000,
        xtol=1e-9,
        ftol=1e-9,
        gtol=1e-9,
    )
    refuse_if(not found.success, "no physical parameters were found that explain the data")
    x, pi = found.x, parameters(found.x)
    normal, known = (J.T @ J for J in (found.jac, inertia.slopes(distances, start)))
    covariance, before = (
        slope @ np.linalg.solve(matrix, slope.T)
        for slope, matrix in ((inertia.slopes(parameters, x), normal), (inertia.slopes(parameters, start), known))
    )
    covariance += np.diag((FRICTION_DRIFT * columns.friction * pi) ** 2)
    strain = np.abs(distances(x)[:thetas].reshape(-1, COUNT)).max(axis=1)
    return ConsistentFit(columns, pi, covariance, before, strain)
