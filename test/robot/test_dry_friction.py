"""Dry friction of one step against a quadratic programme that SciPy solves, and its own complementarity."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from picker_dynamics.robot.dry_friction import dry_friction


def drawn(seed: int, n: int):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n)) + 2.0 * np.eye(n)
    return rng, root @ root.T, rng.normal(size=n), rng.uniform(0.0, 1.0, n)


@pytest.mark.parametrize("n", [1, 2, 5, 7])
@pytest.mark.parametrize("seed", range(10))
def test_it_is_the_least_of_what_is_left_of_the_energy(seed, n):
    """min ½ f R f + v0 f within +-F, as bounded least squares over R's root: Moreau's principle."""
    _, response, free, bound = drawn(seed, n)
    root = np.linalg.cholesky(response).T
    best = lsq_linear(root, -np.linalg.solve(root.T, free), (-bound - 1e-12, bound + 1e-12), tol=1e-14).x
    found = np.array(dry_friction(free.tolist(), response.tolist(), bound.tolist(), [0.0] * n))
    np.testing.assert_allclose(found, best, atol=1e-6)
