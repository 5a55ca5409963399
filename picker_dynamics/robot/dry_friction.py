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
    solved = _if_these_stick(free, response, bound, force)  # as a rule the same joints stick as in the step before
    if solved is not None:
        return solved
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
    """The solution, if the joints whose ``force`` is within its bound stick and the others slip as it says; else None.

    Plain numbers: for a handful of joints an array costs more than its arithmetic.
    """
    sticks = [j for j, (f, most) in enumerate(zip(force, bound)) if abs(f) < most]
    slips = [j for j, (f, most) in enumerate(zip(force, bound)) if abs(f) >= most]
    found = list(force)
    if sticks:
        rest = [-free[j] - sum([response[j][k] * found[k] for k in slips]) for j in sticks]
        for j, f in zip(sticks, solved([[response[j][k] for k in sticks] for j in sticks], rest)):
            if abs(f) > bound[j]:
                return None
            found[j] = f
    for j in slips:
        if found[j] * (free[j] + sum([entry * f for entry, f in zip(response[j], found)])) > 0.0:
            return None
    return found


def solved(A: list[list[float]], b: list[float]) -> list[float]:
    """x of A x = b by elimination; ``A`` (n, n) is symmetric positive definite, so no pivot is needed; both are overwritten."""
    n = len(b)
    for k in range(n):
        top, pivot = A[k], A[k][k]
        for i in range(k + 1, n):
            row = A[i]
            factor = row[k] / pivot
            if factor:
                for j in range(k + 1, n):
                    row[j] -= factor * top[j]
                b[i] -= factor * b[k]
    for k in range(n - 1, -1, -1):
        row, x = A[k], b[k]
        for j in range(k + 1, n):
            x -= row[j] * b[j]
        b[k] = x / row[k]
    return b


def dry_friction_apart(
    free: NDArray[np.float64], response: NDArray[np.float64], bound: NDArray[np.float64]
) -> NDArray[np.float64]:
    """f (n,) [N·m] of joints that do not act on each other, R's diagonal given as (n,): each stops, or is at its bound."""
    return np.minimum(np.maximum(-free / response, -bound), bound)
