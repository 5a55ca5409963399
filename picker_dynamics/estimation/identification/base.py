"""Base parameters, the identifiable combinations of standard inertial parameters, and their weighted least squares.

With the regressors of many states above one another, W (k n, p), and a QR factorisation with column pivoting

    W P = Q [[R1, R2], [0, 0]]       R1 (r, r), r the rank

the r columns that were taken first are independent, and W pi = W_b beta with

    beta = X pi,   X = [1, R1^-1 R2] Pᵀ

(M. Gautier, Numerical calculation of the base inertial parameters of robots, Journal of Robotic Systems 8(4), 1991; the notion:
M. Gautier and W. Khalil, Direct calculation of minimum set of inertial parameters of serial robots, IEEE Transactions on Robotics
and Automation 6(3), 1990).

Each joint is weighted by its own noise, outliers by little:

    beta = argmin Σ_j Σ_k w_jk (tau_jk - Y_b,jk beta)² / sigma_j²

sigma_j from the residuals of joint j, w_jk = min(1, HUBER s_j / |r_jk|)² with s_j from their median, in turns until nothing
changes (iteratively reweighted least squares; J. Swevers et al., 1997, for the weighting by each joint's noise).

What a residual has in common with its neighbours in time is what the model lacks (friction that is no straight line, elastic
joints), and another motion would not repeat it: covariances grow by each joint's

    1 + 2 Σ rho_lag     up to the first lag at which rho is not positive (C. J. Geyer, Practical Markov chain Monte Carlo,
                        Statistical Science 7(4), 1992: the initial positive sequence)

Later, negative lags would cancel part of it, but only at frequencies that motion and regressor do not have.  Friction, moreover,
is another one on another day (``FRICTION_DRIFT``), of which one recording knows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.kinematic_tree import sample_poses

from .columns import Columns
from .filtering import Equations

STATES = 400
"""Random states that a rank is judged from."""

RANK = 1e-5
"""Share of the largest pivot, of columns of length 1, below which a column tells nothing new: URDFs round their angles."""

NEGLIGIBLE = 1e-6
"""Entries of X this small are the rounding of numbers in the URDF."""

HUBER, ROUNDS = 2.5, 30

LAGS_SHARE = 0.25
"""Of the samples: lags beyond are not looked at."""

FRICTION_DRIFT = 0.05
"""Standard deviation of friction from one recording to another, as a share of it: temperature, load, grease.  Assumed; 1 to 15 %
at the joints of a UR10e over two weeks (docs/validation.md)."""

SINGULAR = 1e-6
"""Smallest singular value of the scaled equations, as a share of the largest, that can be solved with."""

OPEN_SHARE = 0.1
"""A base parameter whose uncertainty changes a torque by this share of the arm's usual torques is open."""


@dataclass(frozen=True, eq=False)
class Base:
    """The base parameters of an arm.

    Attributes:
        columns: the parameters they are made of.
        independent: (r,) indices of the columns that stand for them.
        X: (r, p) beta = X pi.
    """

    columns: Columns
    independent: np.ndarray
    X: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the combinations: ``Iyy(link2) + 0.16 m(link3)``."""
        names, made = self.columns.names, []
        for row, own in zip(self.X, self.independent):
            text = names[own]
            for other in np.flatnonzero(row):
                if other != own:
                    size = "" if abs(abs(row[other]) - 1.0) < NEGLIGIBLE else f"{abs(row[other]):.4g} "
                    text += f" {'-' if row[other] < 0.0 else '+'} {size}{names[other]}"
            made.append(text)
        return tuple(made)


def find(columns: Columns) -> Base:
    """Find the base parameters, from ``STATES`` random states within the limits."""
    rng, q = np.random.default_rng(0), sample_poses(columns.description, STATES)
    v, a = rng.uniform(-1.0, 1.0, q.shape), rng.uniform(-5.0, 5.0, q.shape)
    W = columns.regressor(q, v, a).reshape(-1, columns.count)
    length = np.linalg.norm(W, axis=0)
    moved = np.flatnonzero(length > RANK * length.max())
    _, R, order = qr(W[:, moved] / length[moved], mode="economic", pivoting=True)
    pivots = np.abs(np.diag(R))
    rank = int(np.count_nonzero(pivots > RANK * pivots[0]))
    independent, others = moved[order[:rank]], moved[order[rank:]]
    X = np.zeros((rank, columns.count))
    X[np.arange(rank), independent] = 1.0
    X[:, others] = solve_triangular(R[:rank, :rank], R[:rank, rank:]) * length[others] / length[independent][:, None]
    X[np.abs(X) < NEGLIGIBLE] = 0.0
    by_place = np.argsort(independent)
    return Base(columns, independent[by_place], X[by_place])


@dataclass(frozen=True, eq=False)
class BaseFit:
    """Fit of the base parameters by least squares.

    Attributes:
        base: which parameters.
        beta: (r,) their values.  covariance: (r, r).
        sigma: (n,) noise of the filtered efforts [N·m or N].
        inflation: (n,) of the variances, by correlation in time.
        systematic: (n,) share of the residuals' variance that they have in common with the next sample: noise has none of that,
            it is what the model lacks.
        weights: (k, n) w_jk.
        residuals: (k, n) [N·m or N].
        condition: of the whitened equations, columns scaled.
        effect: (r,) what the uncertainty of each does to usual torques, as a share of them (worst joint).
    """

    base: Base
    beta: np.ndarray
    covariance: np.ndarray
    sigma: np.ndarray
    inflation: np.ndarray
    systematic: np.ndarray
    weights: np.ndarray
    residuals: np.ndarray
    condition: float
    effect: np.ndarray

    @property
    def sd(self) -> np.ndarray:
        """Standard deviations of beta, (r,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def open(self) -> list[str]:
        """The base parameters that the data leave open."""
        return [name for name, effect in zip(self.base.names, self.effect) if effect > OPEN_SHARE]


def fit(base: Base, equations: Equations, usual: np.ndarray) -> BaseFit:
    """Estimate the base parameters; what has no single solution by the smallest one, with huge covariances.

    Args:
        usual: (s, n, p) regressors of usual states, by which it is judged what stays open.

    Raises:
        InputError: too few samples of moving joints.
    """
    tau, A, r = equations.tau, equations.Y[..., base.independent], len(base.independent)
    counted = equations.sliding  # dry friction is anything up to its bound elsewhere
    few = f"{counted.sum()} independent samples of moving joints are too few for {r} base parameters: record a longer motion"
    refuse_if(counted.sum() <= 2 * r, f"{few} (picker identify excite)", "samples", int(counted.sum()), 2 * r)
    scale = np.sqrt(np.mean(counted[..., None] * A**2, axis=(0, 1)))
    A = A / np.maximum(scale, 1e-9 * scale.max())
    weights, sigma = counted.astype(float), np.maximum(tau.std(axis=0), 1e-9)
    for _ in range(ROUNDS):
        root = np.sqrt(weights) / sigma
        W = (root[..., None] * A).reshape(-1, r)
        # By the Gram matrix, which is small: ``SINGULAR`` squared is still well above rounding.
        squares, V = np.linalg.eigh(W.T @ W)
        kept = squares > SINGULAR**2 * squares[-1]
        x = V[:, kept] @ (V[:, kept].T @ (W.T @ (root * tau).ravel()) / squares[kept])
        residuals = tau - A @ x
        freedom = np.maximum(weights.sum(axis=0) * (1.0 - r / weights.sum()), 1.0)
        before, noise = sigma, np.sqrt(np.sum(weights * residuals**2, axis=0) / freedom)
        sigma = np.maximum(noise, 1e-12 * np.abs(tau).max(axis=0))
        sizes = np.abs(residuals)
        middle = [np.median(size[which]) if which.any() else np.inf for size, which in zip(sizes.T, counted.T)]
        usual_size = np.minimum(sigma, 1.4826 * np.array(middle))
        weights = counted * np.minimum(1.0, HUBER * usual_size / np.maximum(sizes, 1e-300)) ** 2
        if np.allclose(before, sigma, rtol=1e-4):
            break
    inflation, systematic = correlation(np.sqrt(weights) * residuals)
    # (AᵀA)^-1 (Aᵀ F A) (AᵀA)^-1 with F the inflation of each joint's equations.
    bread = V / np.maximum(squares, 1e-24 * squares[-1]) @ V.T
    spread = ((np.sqrt(weights * inflation) / sigma)[..., None] * A).reshape(-1, r) @ bread
    beta, spread = (one / np.maximum(scale, 1e-9 * scale.max()) for one in (x, spread))
    covariance, usual = spread.T @ spread, usual[..., base.independent]
    typical = np.sqrt(np.mean((usual @ beta) ** 2, axis=0))
    effect = np.sqrt(np.mean(usual**2, axis=0) * np.diag(covariance)) / typical[:, None]
    drift = FRICTION_DRIFT * beta * base.columns.friction[base.independent]
    condition = float(np.sqrt(squares[-1] / max(squares[0], 1e-300)))
    return BaseFit(
        *(base, beta, covariance + np.diag(drift**2), sigma, inflation, systematic, weights, residuals, condition),
        effect.max(axis=0),
    )


def correlation(residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 + 2 Σ rho_lag of each joint's residuals (k, n), by the initial positive sequence, and rho_1, at least 0."""
    power, lags = np.maximum(np.sum(residuals**2, axis=0), 1e-300), range(1, int(LAGS_SHARE * len(residuals)) + 1)
    rho = np.array([np.sum(residuals[lag:] * residuals[:-lag], axis=0) for lag in lags]).reshape(-1, residuals.shape[1]) / power
    positive = np.logical_and.accumulate(rho > 0.0)
    return 1.0 + 2.0 * np.sum(rho * positive, axis=0), np.sum(rho[:1] * positive[:1], axis=0)
