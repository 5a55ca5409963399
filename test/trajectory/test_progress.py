"""Fastest progress along a path: against a linear programme that SciPy solves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from picker_dynamics.errors import ImpassableError
from picker_dynamics.trajectory.progress import PathLimits, fastest

WINDOW = 1e-3
"""Of the mean where nearly nothing is to be smoothed [s]."""


def limits_of(s, rows, z_max):
    """Rows (a, b, c, d), numbers or (g,) each."""
    a, b, c, d = (np.stack([np.broadcast_to(row[i], s.shape) for row in rows], axis=1).astype(float) for i in range(4))
    return PathLimits(s, a, b, c, d, np.broadcast_to(z_max, s.shape).astype(float))


def random_limits(seed, with_speed=0.0):
    """Curves with changing inertia, some of them through zero, two-sided, and rest feasible everywhere."""
    rng = np.random.default_rng(seed)
    s = np.linspace(0.0, 1.0, 61)
    rows = []
    for _ in range(4):
        phase, share = rng.uniform(0.0, 6.0, 2)
        a, b = np.cos(3.0 * s + phase), 2.0 * np.sin(4.0 * s + share)
        c, load, most = with_speed * rng.uniform(0.0, 0.4), 0.5 * np.sin(2.0 * s + phase), rng.uniform(1.0, 2.0)
        rows += [(a, b, c, most - load), (-a, -b, c, most + load)]
    return limits_of(s, rows, rng.uniform(0.5, 4.0))


@pytest.mark.parametrize("seed", range(3))
def test_it_is_as_fast_everywhere_as_the_linear_programme(seed):
    """The set of feasible z has a largest element, which is at once the one of the largest sum."""
    limits = random_limits(seed)
    g, step = len(limits.s), 2.0 * np.diff(limits.s)
    rate = np.diff(np.eye(g), axis=0) / step[:, None]  # u_i = (z_(i+1) - z_i) / step
    each = [(k, ends) for k in range(limits.a.shape[1]) for ends in (slice(-1), slice(1, None))]  # both ends of each step
    matrix = np.concatenate([limits.a[ends, k, None] * rate + np.diag(limits.b[:, k])[ends] for k, ends in each])
    bounds = [(0.0, 0.0), *((0.0, top) for top in limits.z_max[1:-1]), (0.0, 0.0)]
    solved = linprog(-np.ones(g), matrix, np.concatenate([limits.d[ends, k] for k, ends in each]), bounds=bounds)
    assert solved.status == 0
    speed = np.sqrt(solved.x)
    found = fastest(limits, WINDOW)
    np.testing.assert_allclose(found.at(found.when(limits.s))[1][2:-2], speed[2:-2], atol=0.01)
    assert found.duration == pytest.approx((2.0 * np.diff(limits.s) / (speed[:-1] + speed[1:])).sum() + WINDOW, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_every_place_is_passed_within_the_limits_and_each_step_uses_one_of_them_up(seed):
    limits = random_limits(seed, 1.0)
    s, t = limits.s, np.linspace(0.0, fastest(limits, WINDOW).duration, 200_001)
    z = np.interp(s, *(x for x in fastest(limits, WINDOW).at(t)[:2])) ** 2
    z[[0, -1]] = 0.0
    u = np.diff(z) / (2.0 * np.diff(s))
    use = [
        limits.a[at] * u[:, None] + limits.b[at] * z[at, None] + limits.c[at] * np.sqrt(z[at, None]) - limits.d[at]
        for at in (slice(-1), slice(1, None))
    ]
    most = np.maximum(*use).max(axis=1)
    assert most.max() < 0.01 and (z <= limits.z_max + 1e-3).all()
    at_top = np.maximum(z[1:], z[:-1]) > limits.z_max[1:] - 1e-3
    assert ((most > -0.03) | at_top).mean() > 0.95, "nowhere could it be faster"


def test_smoothed_progress_is_a_motion_of_continuous_acceleration_that_lasts_longer_by_the_window():
    limits, window = random_limits(3), 0.2
    raw, smooth = fastest(limits, WINDOW), fastest(limits, window)
    assert smooth.duration == pytest.approx(raw.duration + window, abs=2 * WINDOW)
    t = np.linspace(0.0, smooth.duration, 4001)
    s, speed, rate = smooth.at(t)
    assert (s[0], s[-1]) == pytest.approx((0.0, 1.0)) and abs(speed[[0, -1]]).max() < 1e-9 and abs(rate[[0, -1]]).max() < 1e-2
    np.testing.assert_allclose(np.gradient(s, t)[2:-2], speed[2:-2], atol=2e-4)
    np.testing.assert_allclose(np.gradient(speed, t)[2:-2], rate[2:-2], atol=2e-2)
    _, fast, hard = raw.at(np.linspace(0.0, raw.duration, 4001))
    assert speed.max() <= fast.max() + 1e-6 and np.abs(rate).max() <= np.abs(hard).max() + 1e-6
    np.testing.assert_allclose(smooth.at(smooth.when(np.array([0.2, 0.7])))[0], [0.2, 0.7], atol=1e-4)


def test_a_place_that_cannot_be_passed_is_named():
    s = np.linspace(0.0, 0.5, 51)
    load = np.where(np.abs(s - 0.3) < 0.02, 2.0, 0.0)
    rows = [(1.0, 0.0, 0.0, 1.0 - load), (-1.0, 0.0, 0.0, 1.0 - load)]
    with pytest.raises(ImpassableError, match="cannot be passed at 0.2[789]") as caught:
        fastest(limits_of(s, rows, 1.0), WINDOW)
    assert caught.value.place == pytest.approx(0.28, abs=0.015)
