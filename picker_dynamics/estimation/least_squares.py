"""Least squares with priors: what is known beforehand counts as further readings.

    x = argmin |r(x)|² + |P (mean - x)|²,     covariance = (JᵀJ)^-1

with r the readings less what they should be, whitened, P the inverse root of the prior's covariance, J the slopes of both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Solution:
    """Estimate x (u,), slopes (r + u, u) of residuals and prior there, half the sum of squares, whether it converged."""

    x: np.ndarray
    slopes: np.ndarray
    cost: float
    converged: bool

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of the estimate, (u, u)."""
        return np.linalg.inv(self.slopes.T @ self.slopes)

    @property
    def sd(self) -> np.ndarray:
        """Standard deviations of the estimate, (u,)."""
        return np.sqrt(np.diag(self.covariance))


def solve(
    residuals: Callable[[np.ndarray], np.ndarray],
    start,
    slopes: Callable[[np.ndarray], np.ndarray] | str = "2-point",
    *,
    prior: tuple[np.ndarray, np.ndarray] | None = None,
    **search,
) -> Solution:
    """Find the most likely unknowns.

    Args:
        residuals: whitened, (r,), of unknowns (u,).
        slopes: their derivatives (r, u), or how scipy finds them.
        prior: mean (u,) and inverse root of the covariance, (u, u).
        search: what else ``scipy.optimize.least_squares`` takes.
    """
    from scipy.optimize import least_squares

    def stacked(x):
        return residuals(x) if prior is None else np.concatenate([residuals(x), prior[1] @ (prior[0] - x)])

    def stacked_slopes(x):
        return slopes(x) if prior is None else np.vstack([slopes(x), -prior[1]])

    found = least_squares(stacked, start, stacked_slopes if callable(slopes) else slopes, **search)
    return Solution(found.x, found.jac, float(found.cost), bool(found.success))
