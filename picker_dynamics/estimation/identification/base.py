"""Base parameters: the identifiable combinations of standard inertial parameters, all that torques ever tell.

With the regressors of many states above one another, W (k n, p), and a QR factorisation with column pivoting

    W P = Q [[R1, R2], [0, 0]]       R1 (r, r), r the rank

the r columns that were taken first are independent, and W pi = W_b beta with

    beta = X pi,   X = [1, R1^-1 R2] Pᵀ

(M. Gautier, Numerical calculation of the base inertial parameters of robots, Journal of Robotic Systems 8(4), 1991; the notion:
M. Gautier and W. Khalil, Direct calculation of minimum set of inertial parameters of serial robots, IEEE Transactions on Robotics
and Automation 6(3), 1990).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from picker_dynamics.robot.kinematic_tree import sample_poses

from .columns import Columns

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
