"""Physically consistent inertial parameters: from the data where they are informative, from the URDF elsewhere.

    min over theta, d    |R pi(theta, d) - z|²  +  Σ_bodies D(J_i || J_i0) / (2 PRIOR²)  +  Σ ((d - d0) / d_usual)²

R, z are the whitened equations of all recordings brought to triangular form, pi(theta) the log-Cholesky form of each body
(``inertia``), D the entropic divergence from what the URDF says, d the drives' parameters; friction and rotors are at
least 0.  (Regularising by such a divergence: T. Lee, P. M. Wensing and F. C. Park, Geometric robot dynamic identification: a
convex programming approach, IEEE Transactions on Robotics 36(2), 2020.)  Everything is a sum of squares, so Gauss-Newton with
bounds solves it; its normal matrix JᵀJ gives the uncertainties, those of what only the URDF says included.

A payload at the tool is one body more, added to the one that bears the tool, with a wider prior (``inertia``).  Whether rotors
or a payload are needed, the evidence decides: the likelihood of the data with all parameters integrated out, by Laplace,

    2 log Z = -cost - log det JᵀJ + log det J0ᵀJ0 + what all models of the same data share

J0 the prior's part at theta = 0.  It weighs a better fit against parameters that were needed for it, and a body that has to be
far from its URDF against one more cause (D. J. C. MacKay, Bayesian interpolation, Neural Computation 4(3), 1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import refuse_if

from .. import least_squares
from . import inertia
from .base import FRICTION_DRIFT, BaseFit, joined
from .columns import DRIVES, Columns
from .filtering import Equations
from .inertia import COUNT

PRIOR = 0.3
"""How far a URDF is believed to be off, as standard deviation of each log-Cholesky parameter."""

LOAD_PRIOR = 1.0
"""The same for a payload: within a factor of seven in mass, either way."""

LEAVES = 3.0
"""A body further than this many standard deviations of its prior from the URDF is told of."""

SIGNED = ("offset",)
"""Drive parameters that may be negative."""


@dataclass(frozen=True, eq=False)
class ConsistentFit:
    """Arm that an identification found.

    Attributes:
        columns: which parameters.
        pi: (p,) all of them, a payload as part of the body that bears it.  covariance: (p, p), the prior's part included.
        prior_covariance: (p, p) what the prior alone says.
        strain: (n,) how far each body had to go from the URDF's, in standard deviations of its prior.
        load: payload at the tool, pi (10,) in the frame of the body that bears it, with covariance (10, 10); None: not sought.
        carrier: index of that body.
        evidence: log Z, to compare models of the same equations, weights and noise.
    """

    columns: Columns
    pi: np.ndarray
    covariance: np.ndarray
    prior_covariance: np.ndarray
    strain: np.ndarray
    load: tuple[np.ndarray, np.ndarray] | None
    carrier: int | None
    evidence: float

    @property
    def bodies(self) -> np.ndarray:
        """Standard parameters of the bodies, (n, 10)."""
        return self.pi[: self.columns.bodies].reshape(-1, COUNT)

    @property
    def sd(self) -> np.ndarray:
        """Standard deviations of the parameters, (p,)."""
        return np.sqrt(np.diag(self.covariance))

    def figures(self, body: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mass, centre of mass and inertia about it of one body, (10,), their standard deviations, and those before.

        The inertia is in the order of the standard parameters, in the link's axes.
        """
        own = slice(COUNT * body, COUNT * (body + 1))
        before, prior = self.columns.believed()[own], self.prior_covariance[own, own]
        values, sds = _figures(self.pi[own], self.covariance[own, own])
        return values, sds, _figures(before if before[0] > 0.0 else self.pi[own], prior)[1]

    def load_figures(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Figures of the payload and their standard deviations, in the frame of the body that bears it."""
        return None if self.load is None else _figures(*self.load)


def _figures(pi: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    slope = inertia.figures_slope(pi)
    return inertia.figures(pi), np.sqrt(np.maximum(np.diag(slope @ covariance @ slope.T), 0.0))


def fit(columns: Columns, equations: Sequence[Equations], base_fit: BaseFit, *, load: bool = False) -> ConsistentFit:
    """Estimate all parameters.

    Args:
        equations: with these columns.
        base_fit: of the same samples; it gives weights and noise.
        load: look for a payload at the tool too.

    Raises:
        InputError: no solution is found, or a payload is looked for that no joint would carry.
    """
    R, z, misfit = _triangular(equations, base_fit)
    carrier = inertia.carrier(columns.description) if load else None
    refuse_if(load and carrier is None, f"{columns.description.tool} is fixed to the base: no joint carries a payload", "payload")
    problem = _Problem(columns, R, z, _usual_drives(columns, equations), carrier)
    found = least_squares.solve(
        problem.residuals,
        problem.start,
        problem.jacobian,
        bounds=(problem.lower, np.inf),
        x_scale=problem.sizes,
        max_nfev=1000,
        xtol=1e-9,
        ftol=1e-9,
        gtol=1e-9,
    )
    refuse_if(not found.converged, "no physical parameters were found that explain the data")
    x, start, pi = found.x, problem.start, problem.parameters(found.x)
    normal, prior = (J.T @ J for J in (found.slopes, problem.prior_jacobian(start)))
    covariance, before = (
        slope @ np.linalg.solve(matrix, slope.T) for slope, matrix in ((problem.slope(x), normal), (problem.slope(start), prior))
    )
    covariance += np.diag((FRICTION_DRIFT * columns.friction * pi) ** 2)
    evidence = 0.5 * (np.linalg.slogdet(prior)[1] - np.linalg.slogdet(normal)[1] - 2.0 * found.cost - misfit)
    load = problem.load(x, found.covariance)
    return ConsistentFit(columns, pi, covariance, before, problem.strain(x), load, carrier, float(evidence))


def _triangular(equations, base_fit: BaseFit) -> tuple[np.ndarray, np.ndarray, float]:
    """R (<= p, p), z with |A x - y|² = |R x - z|² + misfit; the variances include what correlation in time adds."""
    tau, Y = joined(equations)
    root = np.sqrt(base_fit.weights / (base_fit.sigma**2 * base_fit.inflation))
    A, y = (root[..., None] * Y).reshape(-1, Y.shape[-1]), (root * tau).ravel()
    Q, R = np.linalg.qr(A)
    z = Q.T @ y
    return R, z, float(y @ y - z @ z)


def _usual_drives(columns: Columns, equations) -> np.ndarray:
    """(drives n,) sizes that nobody would wonder at: all of the effort spent on it, at usual speeds or accelerations."""
    effort, v, a = (
        np.sqrt(np.mean(np.concatenate([getattr(one, name) for one in equations]) ** 2, axis=0)) for name in ("tau", "v", "a")
    )
    v, a = np.maximum(v, 1e-3), np.maximum(a, 1e-3)
    sizes = dict(zip(DRIVES, (effort / v, effort, effort / a, effort)))
    return np.concatenate([np.zeros(0), *(sizes[kind] for kind in columns.drives)])


class _Problem:
    """Residuals and their derivatives; x holds ten theta per body, then those of a payload, then the drives.

    ``start`` is what is believed, ``sizes`` by how much entries of x usually differ from it, ``lower`` their bounds, ``carrier``
    the body that a payload is a part of.
    """

    def __init__(self, columns: Columns, R: np.ndarray, z: np.ndarray, usual: np.ndarray, carrier: int | None):
        self.columns, self.R, self.z, self.usual, self.carrier = columns, R, z, usual, carrier
        pi = columns.believed()
        self.drives0 = pi[columns.bodies :]
        bodies = list(pi[: columns.bodies].reshape(-1, COUNT))
        priors = [PRIOR] * len(bodies)
        if carrier is not None:
            bodies.append(inertia.believed_load(columns.description, carrier))
            priors.append(LOAD_PRIOR)
        self.forms = [inertia.LogCholesky(one) for one in bodies]
        self.thetas = COUNT * len(bodies)
        self.prior = np.repeat(priors, COUNT)
        nothing = np.zeros(self.thetas)
        self.start = np.concatenate([nothing, np.maximum(self.drives0, 1e-6 * usual)])
        self.sizes = np.concatenate([self.prior, usual])
        signs = (np.full(columns.n, -np.inf if kind in SIGNED else 0.0) for kind in columns.drives)
        self.lower = np.concatenate([nothing - np.inf, *signs])

    def _split(self, x):
        return x[: self.thetas].reshape(-1, COUNT), x[self.thetas :]

    def _places(self) -> list[slice]:
        """Where in pi each form's body stands."""
        bodies = [*range(self.columns.n), *(() if self.carrier is None else (self.carrier,))]
        return [slice(COUNT * i, COUNT * (i + 1)) for i in bodies]

    def parameters(self, x) -> np.ndarray:
        thetas, drives = self._split(x)
        made = np.concatenate([np.zeros(self.columns.bodies), drives])
        for form, theta, place in zip(self.forms, thetas, self._places()):
            made[place] += form.standard(theta)
        return made

    def slope(self, x) -> np.ndarray:
        """d(pi)/dx, (p, number of x)."""
        made = np.zeros((self.columns.count, len(x)))
        for i, (form, theta, place) in enumerate(zip(self.forms, self._split(x)[0], self._places())):
            made[place, COUNT * i : COUNT * (i + 1)] = form.jacobian(theta)
        made[self.columns.bodies :, self.thetas :] = np.eye(len(self.usual))
        return made

    def load(self, x, covariance) -> tuple[np.ndarray, np.ndarray] | None:
        """The payload, pi (10,) and its covariance."""
        if self.carrier is None:
            return None
        own = slice(self.thetas - COUNT, self.thetas)
        slope = self.forms[-1].jacobian(x[own])
        return self.forms[-1].standard(x[own]), slope @ covariance[own, own] @ slope.T

    def strain(self, x) -> np.ndarray:
        """(n,) the prior's largest residual of each body."""
        of_bodies = self._prior(x)[0][: self.columns.bodies].reshape(-1, COUNT)
        return np.abs(of_bodies).max(axis=1)

    def _prior(self, x) -> tuple[np.ndarray, np.ndarray]:
        thetas, drives = self._split(x)
        pairs = [inertia.divergence_roots(theta) for theta in thetas]
        weight = 1.0 / (np.sqrt(2.0) * self.prior)
        values = [weight * np.concatenate([r for r, _ in pairs]), (drives - self.drives0) / self.usual]
        slopes = [weight * np.concatenate([slope for _, slope in pairs]), 1.0 / self.usual]
        return np.concatenate(values), np.concatenate(slopes)

    def prior_jacobian(self, x) -> np.ndarray:
        return np.diag(self._prior(x)[1])

    def residuals(self, x) -> np.ndarray:
        return np.concatenate([self.R @ self.parameters(x) - self.z, self._prior(x)[0]])

    def jacobian(self, x) -> np.ndarray:
        return np.vstack([self.R @ self.slope(x), self.prior_jacobian(x)])
