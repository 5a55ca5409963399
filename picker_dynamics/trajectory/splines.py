"""Polynomial segments: coefficients from end conditions, shifting.

A segment of length h is  p(x) = c_0 + c_1 x + ... + c_5 x^5,  0 <= x <= h, one column of coefficients per
joint: arrays are (6, n), or (m, 6, n) for m segments.  End conditions are positions p, velocities v and
accelerations a, each (n,), at x = 0 and x = h; of m segments (m, n) and h (m, 1).
"""

from __future__ import annotations

from math import comb

import numpy as np

from picker_dynamics.robot.model import Array

DEGREE = 5


def linear(h: float | Array, p0: Array, p1: Array) -> Array:
    """The line from ``p0`` to ``p1``."""
    return _stack(p0, (p1 - p0) / h)


def cubic(h: float | Array, p0: Array, v0: Array, p1: Array, v1: Array) -> Array:
    """The cubic with given positions and velocities at both ends."""
    d = p1 - p0
    return _stack(p0, v0, 3 * d / h**2 - (2 * v0 + v1) / h, -2 * d / h**3 + (v0 + v1) / h**2)


def quintic(h: float | Array, p0: Array, v0: Array, a0: Array, p1: Array, v1: Array, a1: Array) -> Array:
    """The quintic with given positions, velocities and accelerations at both ends."""
    d = p1 - p0
    return _stack(
        p0,
        v0,
        a0 / 2,
        10 * d / h**3 - (6 * v0 + 4 * v1) / h**2 - (3 * a0 - a1) / (2 * h),
        -15 * d / h**4 + (8 * v0 + 7 * v1) / h**3 + (3 * a0 - 2 * a1) / (2 * h**2),
        6 * d / h**5 - 3 * (v0 + v1) / h**4 - (a0 - a1) / (2 * h**3),
    )


def _stack(*rows: Array) -> Array:
    return np.stack([*rows, *[np.zeros_like(rows[0])] * (DEGREE + 1 - len(rows))], axis=-2)


def shifted(coefficients: Array, x0: float | Array) -> Array:
    """Coefficients (..., 6, n) of p(x0 + x): the same polynomials seen from ``x0`` (...) on (Taylor shift)."""
    result, offset = np.zeros_like(coefficients), np.asarray(x0)[..., None]
    for k in range(DEGREE + 1):
        for j in range(k, DEGREE + 1):
            result[..., k, :] += comb(j, k) * offset ** (j - k) * coefficients[..., j, :]
    return result


def smooth(x: Array, p: Array) -> Array:
    """The cubics (m, 6, n) through ``p`` (m + 1, n) at ``x`` (m + 1,) of which velocity and acceleration are continuous, m >= 3.

    The first two cubics are one, and the last two ("not a knot").
    """
    from scipy.interpolate import CubicSpline  # not before it is needed: it takes memory

    coefficients = np.zeros((len(x) - 1, DEGREE + 1, p.shape[1]))
    coefficients[:, :4] = CubicSpline(x, p).c[::-1].swapaxes(0, 1)
    return coefficients
