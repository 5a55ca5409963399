"""Fastest progress along a path: against closed forms, and against a linear programme that SciPy solves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from picker_dynamics.errors import ImpassableError
from picker_dynamics.trajectory.progress import PathLimits, Progress, fastest


def limits_of(s, rows, z_max):
    """Rows (a, b, c, d), numbers or (g,) each."""
    a, b, c, d = (np.stack([np.broadcast_to(row[i], s.shape) for row in rows], axis=1).astype(float) for i in range(4))
    return PathLimits(s, a, b, c, d, np.broadcast_to(z_max, s.shape).astype(float))


def random_limits(seed, with_speed=False):
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
    rate = np.zeros((g - 1, g))  # u_i = (z_(i+1) - z_i) / step
    rate[np.arange(g - 1), np.arange(g - 1)], rate[np.arange(g - 1), np.arange(1, g)] = -1.0 / step, 1.0 / step
    rows = range(limits.a.shape[1])  # each at both ends of each step
    matrix = [
        limits.a[ends, k, None] * rate + np.diag(limits.b[:, k])[ends] for k in rows for ends in (slice(-1), slice(1, None))
    ]
    right = [limits.d[ends, k] for k in rows for ends in (slice(-1), slice(1, None))]
    bounds = [(0.0, 0.0), *((0.0, top) for top in limits.z_max[1:-1]), (0.0, 0.0)]
    solved = linprog(-np.ones(g), A_ub=np.concatenate(matrix), b_ub=np.concatenate(right), bounds=bounds, method="highs")
    assert solved.status == 0
    np.testing.assert_allclose(fastest(limits).speed ** 2, solved.x, atol=1e-6)


def test_smoothed_progress_is_a_motion_of_continuous_acceleration_that_lasts_longer_by_the_window():
    limits, window = random_limits(3), 0.2
    raw = fastest(limits)
    smooth = Progress(raw.times, raw.s, raw.speed, window)
    assert smooth.duration == pytest.approx(raw.duration + window)
    t = np.linspace(0.0, smooth.duration, 4001)
    s, speed, rate = smooth.at(t)
    assert (s[0], s[-1]) == pytest.approx((0.0, 1.0)) and abs(speed[[0, -1]]).max() < 1e-9 and abs(rate[[0, -1]]).max() < 1e-2
    np.testing.assert_allclose(np.gradient(s, t)[2:-2], speed[2:-2], atol=2e-4)
    np.testing.assert_allclose(np.gradient(speed, t)[2:-2], rate[2:-2], atol=2e-2)
    _, fast, hard = raw.at(np.linspace(0.0, raw.duration, 4001))
    assert np.abs(np.diff(rate)).max() < 0.01 * np.abs(np.diff(hard)).max() + 0.05
    assert speed.max() <= fast.max() + 1e-9 and np.abs(rate).max() <= np.abs(hard).max() + 1e-9


def test_a_place_that_cannot_be_passed_is_named():
    s = np.linspace(0.0, 0.5, 51)
    load = np.where(np.abs(s - 0.3) < 0.02, 2.0, 0.0)
    rows = [(1.0, 0.0, 0.0, 1.0 - load), (-1.0, 0.0, 0.0, 1.0 - load)]
    with pytest.raises(ImpassableError, match="cannot be passed at 0.2[789]") as caught:
        fastest(limits_of(s, rows, 1.0))
    assert caught.value.place == pytest.approx(0.28, abs=0.015)
