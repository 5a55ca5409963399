"""Physically consistent inertial parameters: from the data where they are informative, from the URDF elsewhere.

    min over theta, d    |R pi(theta, d) - z|²  +  Σ_bodies D(J_i || J_i0) / (2 PRIOR²)  +  Σ ((d - d0) / d_usual)²

R, z are the whitened equations of all recordings brought to triangular form, pi(theta) the log-Cholesky form of each body
(``pseudo_inertia``), D the entropic divergence from what the URDF says, d the drives' parameters; friction and rotors are at
least 0.  (Regularising by such a divergence: T. Lee, P. M. Wensing and F. C. Park, Geometric robot dynamic identification: a
convex programming approach, IEEE Transactions on Robotics 36(2), 2020.)  Everything is a sum of squares, so Gauss-Newton with
bounds solves it; its normal matrix gives the uncertainties, those of what only the URDF says included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from picker_dynamics.errors import InputError

from . import parameters
from .columns import DRIVES, Columns
from .filtering import Equations
from .least_squares import BaseFit, joined
from .pseudo_inertia import LogCholesky, divergence_roots

PRIOR = 0.3
"""How far a URDF is believed to be off, as standard deviation of each log-Cholesky parameter."""

SIGNED = ("offset",)
"""Drive parameters that may be negative."""


@dataclass(frozen=True, eq=False)
class ConsistentFit:
    """The arm that was found.

    Attributes:
        columns: which parameters.
        pi: (p,) all of them.  covariance: (p, p), the prior's part included.
        prior_covariance: (p, p) what the prior alone says.
        cost: |R pi - z|² per equation: 1 where the model explains all but the noise.
    """

    columns: Columns
    pi: np.ndarray
    covariance: np.ndarray
    prior_covariance: np.ndarray
    cost: float

    @property
    def bodies(self) -> np.ndarray:
        """(n, 10) standard parameters."""
        return self.pi[: self.columns.bodies].reshape(-1, parameters.COUNT)

    @property
    def sd(self) -> np.ndarray:
        """(p,) standard deviations."""
        return np.sqrt(np.diag(self.covariance))

    def figures(self, body: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mass, centre of mass and inertia about it of one body, (10,), their standard deviations, and those before.

        The inertia is in the order of the standard parameters, in the link's axes.
        """
        own = slice(parameters.COUNT * body, parameters.COUNT * (body + 1))
        before = self.columns.believed()[own]
        values, sds = [], []
        for pi, covariance in ((self.pi[own], self.covariance), (before, self.prior_covariance)):
            values.append(parameters.figures(pi))
            slope = parameters.figures_slope(pi if pi[0] > 0.0 else self.pi[own])
            sds.append(np.sqrt(np.maximum(np.diag(slope @ covariance[own, own] @ slope.T), 0.0)))
        return values[0], sds[0], sds[1]


def fit(columns: Columns, equations: Sequence[Equations], base_fit: BaseFit) -> ConsistentFit:
    """Estimate all parameters.

    Args:
        base_fit: of the same equations; it gives weights and noise.

    Raises:
        InputError: no solution is found.
    """
    R, z, count, misfit = _triangular(equations, base_fit)
    problem = _Problem(columns, R, z, _usual_drives(columns, equations))
    found = least_squares(
        problem.residuals,
        problem.start,
        problem.jacobian,
        bounds=(problem.lower, np.inf),
        method="trf",
        x_scale=problem.sizes,
        max_nfev=1000,
        xtol=1e-9,
        ftol=1e-9,
        gtol=1e-9,
    )
    if not found.success:
        raise InputError(f"no physical parameters were found that explain the data: {found.message}")
    pi = problem.parameters(found.x)
    covariance, prior = (
        slope @ np.linalg.solve(J.T @ J, slope.T)
        for slope, J in (
            (problem.slope(found.x), problem.jacobian(found.x)),
            (problem.slope(problem.start), problem.prior_jacobian(problem.start)),
        )
    )
    cost = (np.sum((R @ pi - z) ** 2) + misfit) / max(count - base_fit.base.count, 1.0)
    return ConsistentFit(columns, pi, covariance, prior, float(cost))


def _triangular(equations, base_fit: BaseFit) -> tuple[np.ndarray, np.ndarray, float, float]:
    """R (<= p, p), z with |A x - y|² = |R x - z|² + misfit; the variances include what correlation in time adds."""
    tau, Y = joined(equations)
    root = np.sqrt(base_fit.weights / (base_fit.sigma**2 * base_fit.inflation))
    A, y = (root[..., None] * Y).reshape(-1, Y.shape[-1]), (root * tau).ravel()
    Q, R = np.linalg.qr(A)
    z = Q.T @ y
    return R, z, float(base_fit.weights.sum()), float(y @ y - z @ z)


def _usual_drives(columns: Columns, equations) -> np.ndarray:
    """(drives n,) sizes that nobody would wonder at: all of the effort spent on it, at usual speeds or accelerations."""
    effort, v, a = (
        np.sqrt(np.mean(np.concatenate([getattr(one, name) for one in equations]) ** 2, axis=0)) for name in ("tau", "v", "a")
    )
    v, a = np.maximum(v, 1e-3), np.maximum(a, 1e-3)
    sizes = dict(zip(DRIVES, (effort / v, effort, effort / a, effort)))
    return np.concatenate([np.zeros(0), *(sizes[kind] for kind in columns.drives)])


class _Problem:
    """Residuals and their derivatives; x holds ten theta per body, then the drives.

    ``start`` is what is believed, ``sizes`` by how much entries of x usually differ from it, ``lower`` their bounds.
    """

    def __init__(self, columns: Columns, R: np.ndarray, z: np.ndarray, usual: np.ndarray):
        self.columns, self.R, self.z, self.usual = columns, R, z, usual
        bodies, self.drives0 = self._split(columns.believed())
        self.forms = [LogCholesky(pi) for pi in bodies]
        nothing = np.zeros(columns.bodies)
        self.start = np.concatenate([nothing, np.maximum(self.drives0, 1e-6 * usual)])
        self.sizes = np.concatenate([nothing + PRIOR, usual])
        signs = (np.full(columns.n, -np.inf if kind in SIGNED else 0.0) for kind in columns.drives)
        self.lower = np.concatenate([nothing - np.inf, *signs])

    def _split(self, x):
        return x[: self.columns.bodies].reshape(-1, parameters.COUNT), x[self.columns.bodies :]

    def parameters(self, x) -> np.ndarray:
        thetas, drives = self._split(x)
        return np.concatenate([*(form.standard(theta) for form, theta in zip(self.forms, thetas)), drives])

    def slope(self, x) -> np.ndarray:
        """d(pi)/dx, (p, p)."""
        made = np.eye(self.columns.count)
        for i, (form, theta) in enumerate(zip(self.forms, self._split(x)[0])):
            own = slice(parameters.COUNT * i, parameters.COUNT * (i + 1))
            made[own, own] = form.jacobian(theta)
        return made

    def _prior(self, x) -> tuple[np.ndarray, np.ndarray]:
        thetas, drives = self._split(x)
        pairs = [divergence_roots(theta) for theta in thetas]
        weight = 1.0 / (np.sqrt(2.0) * PRIOR)
        values = [weight * np.concatenate([r for r, _ in pairs]), (drives - self.drives0) / self.usual]
        slopes = [weight * np.concatenate([slope for _, slope in pairs]), 1.0 / self.usual]
        return np.concatenate(values), np.concatenate(slopes)

    def prior_jacobian(self, x) -> np.ndarray:
        return np.diag(self._prior(x)[1])

    def residuals(self, x) -> np.ndarray:
        return np.concatenate([self.R @ self.parameters(x) - self.z, self._prior(x)[0]])

    def jacobian(self, x) -> np.ndarray:
        return np.vstack([self.R @ self.slope(x), self.prior_jacobian(x)])
