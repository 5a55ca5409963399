"""Fastest progress along a path: against the trapezoid that is known, and within its limits everywhere."""

import numpy as np
import pytest

from picker_dynamics.trajectory.progress import fastest

WINDOW = 1e-3
"""Of the mean where nearly nothing is to be smoothed [s]."""

S = np.linspace(0.0, 1.0, 201)


def drawn(seed: int) -> tuple[np.ndarray, ...]:
    """Limits of curves with changing slope, some of it through zero."""
    rng = np.random.default_rng(seed)
    phases = rng.uniform(0.0, 6.0, 4)
    a, b = np.cos(3.0 * S[:, None] + phases), 2.0 * np.sin(4.0 * S[:, None] + phases)
    lower, upper = (np.full_like(a, sign) * rng.uniform(1.0, 2.0, 4) for sign in (-1.0, 1.0))
    return a, b, lower, upper, np.full_like(S, rng.uniform(0.5, 4.0))


@pytest.mark.parametrize("speed, acceleration", [(0.5, 2.0), (10.0, 1.0)])
def test_one_bound_on_speed_and_one_on_acceleration_make_a_trapezoid(speed, acceleration):
    one = np.ones((201, 1))
    found = fastest(S, one, 0.0 * one, -acceleration * one, acceleration * one, np.full_like(S, speed**2), WINDOW)
    top = min(speed, acceleration**0.5)
    assert found.duration == pytest.approx(1.0 / top + top / acceleration + WINDOW, rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_every_place_is_passed_within_the_limits_and_each_step_uses_one_of_them_up(seed):
    a, b, lower, upper, z_max = drawn(seed)
    found = fastest(S, a, b, lower, upper, z_max, WINDOW)
    s, speed, _ = found.at(np.linspace(0.0, found.duration, 200_001))
    z = np.interp(S, s, speed) ** 2
    z[[0, -1]] = 0.0
    u = (np.diff(z) / (2.0 * np.diff(S)))[:, None]
    used = [(a[at] * u + b[at] * z[at, None], at) for at in (slice(-1), slice(1, None))]
    ends = [np.maximum(lower[at] - value, value - upper[at]).max(axis=1) for value, at in used]
    use = np.maximum(*ends)
    assert np.minimum(*ends).max() < 1e-4, "a step obeys the limits of the point from which it was reckoned"
    # At its other end the same acceleration meets coefficients that have changed meanwhile, here by 0.04 in a step of 1/200.
    # That halves with the step, and the validator looks at the motion that comes of it every 10 ms.
    assert use.max() < 0.05 and (z <= z_max + 1e-3).all()
    at_top = np.maximum(z[1:], z[:-1]) > np.minimum(z_max, (np.where(b < 0.0, lower, upper) / b).min(axis=1))[1:] - 1e-2
    assert ((use > -0.03) | at_top).mean() > 0.95, "nowhere could it be faster"


def test_smoothed_progress_is_a_motion_of_continuous_acceleration_that_lasts_longer_by_the_window():
    limits, window = drawn(3), 0.2
    raw, smooth = fastest(S, *limits, WINDOW), fastest(S, *limits, window)
    assert smooth.duration == pytest.approx(raw.duration + window, abs=2 * WINDOW)
    t = np.linspace(0.0, smooth.duration, 4001)
    s, speed, rate = smooth.at(t)
    assert (s[0], s[-1]) == pytest.approx((0.0, 1.0)) and abs(speed[[0, -1]]).max() < 1e-9 and abs(rate[[0, -1]]).max() < 1e-2
    np.testing.assert_allclose(np.gradient(s, t)[2:-2], speed[2:-2], atol=2e-4)
    np.testing.assert_allclose(np.gradient(speed, t)[2:-2], rate[2:-2], atol=2e-2)
