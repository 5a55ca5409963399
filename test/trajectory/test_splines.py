"""Polynomial segments against SciPy's piecewise polynomials and against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BPoly

from picker_dynamics.trajectory import splines


def value(coefficients, x, order=0):
    """d^order p / dx^order by NumPy's polynomials, (n,)."""
    derived = np.polynomial.polynomial.polyder(coefficients, order, axis=0)
    return np.polynomial.polynomial.polyval(x, derived)


@pytest.mark.parametrize("h", [0.02, 0.7, 5.0])
def test_end_conditions(h):
    rng = np.random.default_rng(0)
    p0, v0, a0, p1, v1, a1 = rng.normal(size=(6, 3))
    for coefficients, ends in (
        (splines.linear(h, p0, p1), ((p0,), (p1,))),
        (splines.cubic(h, p0, v0, p1, v1), ((p0, v0), (p1, v1))),
        (splines.quintic(h, p0, v0, a0, p1, v1, a1), ((p0, v0, a0), (p1, v1, a1))),
    ):
        reference = BPoly.from_derivatives([0.0, h], [np.array(end) for end in ends])
        x = np.linspace(0.0, h, 21)
        np.testing.assert_allclose(value(coefficients, x).T, reference(x), rtol=1e-9, atol=1e-9)


def test_shift_and_derivative():
    rng = np.random.default_rng(1)
    c = rng.normal(size=(6, 4))
    x = np.linspace(-1.0, 1.0, 9)
    np.testing.assert_allclose(value(splines.shifted(c, 0.3), x), value(c, x + 0.3), atol=1e-13)
    np.testing.assert_allclose(value(splines.derivative(c), x), value(c, x, order=1), atol=1e-13)


def test_extrema_and_hull_against_a_fine_grid():
    rng = np.random.default_rng(2)
    c = rng.normal(size=(50, 6, 3))
    h = rng.uniform(0.1, 2.0, 50)
    low, high = splines.hull(c, h)
    for k in range(50):
        grid = value(c[k], np.linspace(0.0, h[k], 4001))
        for j in range(3):
            (x_low, smallest), (x_high, largest) = splines.extremum(c[k, :, j], h[k])
            scale = np.abs(grid[j]).max()
            assert grid[j].min() - 1e-5 * scale <= smallest <= grid[j].min() + 1e-12 * scale
            assert grid[j].max() + 1e-5 * scale >= largest >= grid[j].max() - 1e-12 * scale
            assert value(c[k, :, j], x_low) == pytest.approx(smallest, abs=1e-12 * scale)
            assert value(c[k, :, j], x_high) == pytest.approx(largest, abs=1e-12 * scale)
            assert low[k, j] <= smallest + 1e-12 * scale and high[k, j] >= largest - 1e-12 * scale


def test_extremum_of_a_minimum_jerk_move_is_its_end():
    """Its slope has double roots at both ends, where root finders are least exact."""
    (_, smallest), (_, largest) = splines.extremum(np.array([0.0, 0.0, 0.0, 10.0, -15.0, 6.0]), 1.0)
    assert smallest == pytest.approx(0.0, abs=1e-15) and largest == pytest.approx(1.0, abs=1e-14)
