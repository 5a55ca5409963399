"""The rocking bar's period: golden cases, integration of its equation of motion, limits, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
from golden import agrees, load_cases
from pytest import approx, mark, raises
from scipy.integrate import solve_ivp

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import InputError

CASES = load_cases()["rocking_bar"]
PARAMETERS = CASES[0]["params"]
BAR = lagrangian.make("rocking_bar", **PARAMETERS)


def integrated_period(bar, theta0: float) -> float:
    """Four times the time from rest at ``theta0`` to theta = 0."""

    def rate(t, y):
        return [y[1], bar.forward_dynamics(y[:1], y[1:], [0.0])[0]]

    def upright(t, y):
        return y[0]

    upright.terminal = True
    motion = solve_ivp(rate, (0.0, 100.0), [theta0, 0.0], method="DOP853", rtol=1e-12, atol=1e-14, events=upright)
    return 4.0 * float(motion.t_events[0][0])


@mark.parametrize("case", CASES, ids=range(4))
def test_golden_release(case):
    release = lagrangian.make("rocking_bar", **case["params"]).release(case["release"]["theta0"])
    agrees(release.period_s, case["release"]["period_exact"])
    agrees(release.frequency_hz, case["release"]["f_exact_hz"])
    agrees(release.small_angle_frequency_hz, case["release"]["f_small_angle_hz"])


@mark.parametrize("theta0", (0.01, 0.7, -1.2, 1.5))
def test_period_is_that_of_the_motion(theta0):
    assert BAR.release(theta0).period_s == approx(integrated_period(BAR, theta0), rel=1e-10)


def test_the_notes_bar_swings_at_0_762_hz_from_ten_degrees():
    """0.767 Hz is the limit of small angles; the note gives it for 10 degrees."""
    release = BAR.release(np.radians([0.001, 10.0, 45.0]))
    assert release.small_angle_frequency_hz == approx(0.767, abs=5e-4)
    assert release.frequency_hz[0] == approx(release.small_angle_frequency_hz, rel=1e-9)
    assert release.frequency_hz[1] == approx(0.762, abs=5e-4)
    assert release.frequency_hz[2] == approx(1.0 / integrated_period(BAR, math.pi / 4), rel=1e-10)
    assert BAR.release(0.0).frequency_hz == approx(release.small_angle_frequency_hz, rel=1e-14)


def test_period_grows_without_bound_towards_a_right_angle():
    angles = 0.5 * math.pi - np.logspace(-1, -6, 6)
    periods = BAR.release(angles).period_s
    steps = np.diff(periods)
    assert np.all(steps > 0.0)
    assert steps[-1] == approx(steps[-2], rel=1e-2)  # logarithmic: as much for each factor of ten
    assert BAR.release(np.full((2, 3), 0.4)).period_s.shape == (2, 3)


@mark.parametrize(
    "theta0, message",
    [
        (0.5 * math.pi, r"theta0 is 1.57079\d* rad, must be within \(-pi/2, pi/2\)"),
        ([0.1, -2.0], "theta0 is -2.0 rad"),
        (math.nan, "theta0 is nan rad"),
        ("ten", "theta0 is 'ten', not a number"),
        (math.nextafter(0.5 * math.pi, 0.0), "too close to pi/2"),
    ],
)
def test_angles_refused(theta0, message):
    with raises(InputError, match=message) as caught:
        BAR.release(theta0)
    assert caught.value.subject == "theta0"
