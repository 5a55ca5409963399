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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.robot.kinematic_tree import sample_poses

from .columns import Columns
from .filtering import Equations

STATES = 400
"""Random states that a rank is judged from."""

RANK = 1e-5
"""Share of the largest pivot, of columns of length 1, below which a column tells nothing new: URDFs round their angles."""

NEGLIGIBLE = 1e-6
"""Entries of X this small are the rounding of numbers in the URDF."""


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
    def count(self) -> int:
        """Number r of base parameters."""
        return len(self.independent)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the combinations: ``Iyy(link2) + 0.16 m(link3)``."""
        names = self.columns.names
        return tuple(_combination(row, int(own), names) for row, own in zip(self.X, self.independent))

    @property
    def short_names(self) -> tuple[str, ...]:
        """Short names: the parameter that stands first in each; a dagger where others come with it."""
        names = self.columns.names
        return tuple(names[own] + ("" if np.count_nonzero(row) == 1 else "†") for row, own in zip(self.X, self.independent))


def find(columns: Columns, seed: int = 0) -> Base:
    """The base parameters, from ``STATES`` random states within the limits."""
    rng = np.random.default_rng(seed)
    q = sample_poses(columns.description, STATES, seed)
    v, a = rng.uniform(-1.0, 1.0, q.shape), rng.uniform(-5.0, 5.0, q.shape)
    W = columns.regressor(q, v, a).reshape(-1, columns.count)
    length = np.linalg.norm(W, axis=0)
    moved = np.flatnonzero(length > RANK * length.max())
    _, R, order = qr(W[:, moved] / length[moved], mode="economic", pivoting=True)
    pivots = np.abs(np.diag(R))
    rank = int(np.count_nonzero(pivots > RANK * pivots[0]))
    dependent = solve_triangular(R[:rank, :rank], R[:rank, rank:])
    independent = moved[order[:rank]]
    X = np.zeros((rank, columns.count))
    X[np.arange(rank), independent] = 1.0
    X[:, moved[order[rank:]]] = dependent * length[moved[order[rank:]]] / length[independent][:, None]
    X[np.abs(X) < NEGLIGIBLE] = 0.0
    by_place = np.argsort(independent)
    return Base(columns, independent[by_place], X[by_place])


def _combination(row: np.ndarray, own: int, names: tuple[str, ...]) -> str:
    text = names[own]
    for other in np.flatnonzero(row):
        if other != own:
            share = row[other]
            size = "" if abs(abs(share) - 1.0) < NEGLIGIBLE else f"{abs(share):.4g} "
            text += f" {'-' if share < 0.0 else '+'} {size}{names[other]}"
    return text


HUBER = 2.5
ROUNDS = 30
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
    def open(self) -> tuple[str, ...]:
        """The base parameters that the data leave open."""
        return tuple(name for name, effect in zip(self.base.names, self.effect) if effect > OPEN_SHARE)

    @property
    def outliers(self) -> int:
        """Equations that count less than half."""
        return int(np.count_nonzero((self.weights > 0.0) & (self.weights < 0.5)))


def usable(columns: Columns, sliding: np.ndarray) -> np.ndarray:
    """Whether a joint's samples count, (k, n), in fits and predictions alike: where friction is sought, while it slides."""
    return sliding if "coulomb" in columns.drives else np.ones(sliding.shape, dtype=bool)


def joined(equations: Sequence[Equations]) -> tuple[np.ndarray, np.ndarray]:
    """Efforts tau (k, n) and regressor Y (k, n, p) of all recordings."""
    return np.concatenate([one.tau for one in equations]), np.concatenate([one.Y for one in equations])


def fit(base: Base, equations: Sequence[Equations], usual: np.ndarray, *, allow_open: bool = False) -> BaseFit:
    """Estimate the base parameters.

    Args:
        equations: of one or more recordings.
        usual: (s, n, p) regressors of usual states, by which it is judged what stays open.
        allow_open: solve also what has no single solution, by the smallest one; covariances of what is open are huge.

    Raises:
        InputError: the motion does not tell the base parameters apart; it names them.
    """
    tau, Y = joined(equations)
    A = Y[..., base.independent]
    r = A.shape[-1]
    counted = usable(base.columns, np.concatenate([one.sliding for one in equations])).astype(float)
    refuse_if(
        counted.sum() <= 2 * r,
        f"{int(counted.sum())} independent samples of moving joints are too few for {r} base parameters: record "
        "a longer motion (picker identify excite)",
        "samples",
        float(counted.sum()),
        2 * r,
    )
    scale = np.sqrt(np.mean(counted[..., None] * A**2, axis=(0, 1)))
    if not allow_open:
        _require_all_moved(base, scale)
    scale = np.maximum(scale, 1e-9 * scale.max())
    weights, sigma = counted, np.maximum(tau.std(axis=0), 1e-9)
    for _ in range(ROUNDS):
        beta, s, V = _solved(A, tau, scale, weights / sigma**2)
        if s[-1] < SINGULAR * s[0] and not allow_open:
            raise _unexcited(base, s, V)
        residuals = tau - A @ beta
        before, noise = sigma, np.sqrt(np.sum(weights * residuals**2, axis=0) / _freedom(weights, r))
        sigma = np.maximum(noise, 1e-12 * np.abs(tau).max(axis=0))
        usual_size = np.minimum(sigma, 1.4826 * _middle(np.abs(residuals), counted))
        weights = counted * np.minimum(1.0, HUBER * usual_size / np.maximum(np.abs(residuals), 1e-300)) ** 2
        if np.allclose(before, sigma, rtol=1e-4):
            break
    inflation, systematic = _correlation(np.sqrt(weights) * residuals)
    root = np.sqrt(weights / sigma**2)[..., None] * A / scale
    root_inflated = (root * np.sqrt(inflation)[:, None]).reshape(-1, r)
    # (AᵀA)^-1 (Aᵀ F A) (AᵀA)^-1 with F the inflation of each joint's equations.
    bread = (V.T / np.maximum(s, 1e-12 * s[0]) ** 2) @ V
    factor = root_inflated @ bread / scale
    covariance = factor.T @ factor
    usual = usual[..., base.independent]
    typical = np.sqrt(np.mean((usual @ beta) ** 2, axis=0))
    effect = np.sqrt(np.mean(usual**2, axis=0) * np.diag(covariance))
    drift = FRICTION_DRIFT * np.abs(beta) * base.columns.friction[base.independent]
    return BaseFit(
        base,
        beta,
        covariance + np.diag(drift**2),
        sigma,
        inflation,
        systematic,
        weights,
        residuals,
        float(s[0] / max(s[-1], 1e-300)),
        (effect / typical[:, None]).max(axis=0),
    )


def _middle(sizes: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """(n,) median of each joint's sizes (k, n), of those that count."""
    return np.array([np.median(column[one > 0.0]) if one.any() else np.inf for column, one in zip(sizes.T, counted.T)])


def _freedom(weights: np.ndarray, r: int) -> np.ndarray:
    """(n,) equations of each joint less its share of the r parameters."""
    counted = weights.sum(axis=0)
    return np.maximum(counted * (1.0 - r / counted.sum()), 1.0)


def _solved(A, tau, scale, weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Least squares of the whitened, scaled equations: beta, singular values s, right singular vectors V (rows).

    From the eigenvectors of their Gram matrix, which is small: ``SINGULAR`` squared is still well above rounding.
    """
    W = (np.sqrt(weights)[..., None] * A / scale).reshape(-1, A.shape[-1])
    squares, vectors = np.linalg.eigh(W.T @ W)
    s, V = np.sqrt(np.maximum(squares[::-1], 0.0)), vectors.T[::-1]
    kept = s > SINGULAR * s[0]
    right = W.T @ (np.sqrt(weights) * tau).ravel()
    return (V[kept].T @ ((V[kept] @ right) / s[kept] ** 2)) / scale, s, V


def _require_all_moved(base: Base, scale: np.ndarray) -> None:
    still = np.flatnonzero(scale < 1e-9 * scale.max())
    if still.size:
        raise InputError(_advice([base.names[i] for i in still]), subject=base.short_names[still[0]])


def _unexcited(base: Base, s: np.ndarray, V: np.ndarray) -> InputError:
    """The combinations that the data say nothing of, by the parameters with the largest part in them."""
    part = np.abs(V[s < SINGULAR * s[0]]).max(axis=0)
    names = [base.names[i] for i in np.argsort(-part, kind="stable") if part[i] > 0.1]
    return InputError(_advice(names), subject=names[0] if names else None)


def _advice(names: list[str]) -> str:
    shown = "; ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    return f"this motion leaves open: {shown}. Record one that excites them (picker identify excite)"


def require_told(found: BaseFit, tip_speed: float) -> None:
    """Refuse a fit that leaves something open of the torques at ``tip_speed`` [m/s].

    Raises:
        InputError: naming what.
    """
    refuse_if(
        found.open,
        f"{_advice(list(found.open))}. Open is what leaves more than {100.0 * OPEN_SHARE:.0f} % of the torques at up to "
        f"{tip_speed:.3g} m/s of the tool uncertain: --tip-speed M_S if the arm is moved slower, or --allow-open: the URDF's "
        "numbers stand in",
        "samples",
        float(found.effect.max()),
        OPEN_SHARE,
    )


def _correlation(residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 + 2 Σ rho_lag of each joint's residuals (k, n), by the initial positive sequence, and rho_1, at least 0."""
    power = np.maximum(np.sum(residuals**2, axis=0), 1e-300)
    total, positive, first = np.ones(residuals.shape[1]), np.ones(residuals.shape[1], dtype=bool), np.zeros(residuals.shape[1])
    for lag in range(1, int(LAGS_SHARE * len(residuals)) + 1):
        rho = np.sum(residuals[lag:] * residuals[:-lag], axis=0) / power
        if lag == 1:
            first = np.maximum(rho, 0.0)
        positive &= rho > 0.0
        if not positive.any():
            break
        total += 2.0 * np.where(positive, rho, 0.0)
    return total, first
