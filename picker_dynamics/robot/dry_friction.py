"""Dry friction of an arm's joints over one step of time, exact at rest: what sticks does not creep, whatever the step.

    v' = v0 + R f,   |f_j| <= F_j,   v'_j = 0 where |f_j| < F_j,   f_j v'_j <= 0 elsewhere

v0 are the joints' velocities at the end of the step without friction, R (n, n) how velocities answer to torques that act during
it (the step times the inverse of what inertia there is), F the largest friction.  With a symmetric positive definite R there is
one solution; projected Gauss-Seidel converges to it (J. Moreau, Unilateral contact and dry friction in finite freedom dynamics,
1988).  On a chain of many joints it is slow, but it soon knows which joints stick, and those are then solved for at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SWEEPS = 1000
LOOKS = tuple(2**k for k in range(1, 10))
"""After which sweeps it is looked whether the joints that stick are known."""

TOLERANCE = 1e-13
"""Change of velocity [rad/s] from which on a sweep finds nothing new."""


def dry_friction(
    free: Sequence[float], response: Sequence[Sequence[float]], bound: Sequence[float], guess: Sequence[float]
) -> list[float]:
    """Friction torques f, (n,) [N·m].

    Args:
        free: v0, (n,) [rad/s].
        response: R, (n, n) [rad/s per N·m], rows.
        bound: F, (n,) [N·m], >= 0.
        guess: where to begin, (n,) [N·m]: the friction of the step before.
    """
    force = [min(max(f, -most), most) for f, most in zip(guess, bound)]
    for sweep in range(1, SWEEPS + 1):
        change = 0.0
        for j, (v, row, most) in enumerate(zip(free, response, bound)):
            for entry, f in zip(row, force):
                v += entry * f
            new = min(max(force[j] - v / row[j], -most), most)
            change = max(change, abs(new - force[j]) * row[j])
            force[j] = new
        if change < TOLERANCE:
            break
        if sweep in LOOKS:
            solved = _if_these_stick(free, response, bound, force)
            if solved is not None:
                return solved
    return force


def _if_these_stick(
    free: Sequence[float], response: Sequence[Sequence[float]], bound: Sequence[float], force: Sequence[float]
) -> list[float] | None:
    """The solution, if the joints whose ``force`` is within its bound stick and the others slip as it says; else None."""
    R, most, f = np.array(response), np.array(bound), np.array(force)
    sticks = np.abs(f) < most
    slips = ~sticks
    f[sticks] = np.linalg.solve(R[np.ix_(sticks, sticks)], -(np.asarray(free)[sticks] + R[np.ix_(sticks, slips)] @ f[slips]))
    v = np.asarray(free) + R @ f
    if (np.abs(f) <= most).all() and (f[slips] * v[slips] <= 0.0).all():
        return [float(one) for one in f]
    return None


def dry_friction_apart(
    free: NDArray[np.float64], response: NDArray[np.float64], bound: NDArray[np.float64]
) -> NDArray[np.float64]:
    """f (n,) [N·m] of joints that do not act on each other, R's diagonal given as (n,): each stops, or is at its bound."""
    force: NDArray[np.float64] = np.minimum(np.maximum(-free / response, -bound), bound)
    return force
