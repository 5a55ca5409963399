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
