"""Measured numbers, and mass properties from scale, edge and stopwatch, against bodies whose properties are known."""

import math

import numpy as np
from pytest import approx, importorskip, mark, raises

from picker_dynamics.errors import InputError
from picker_dynamics.estimation.calibration.mass_properties import LinkReadings, link_properties, swing_slowdown
from picker_dynamics.estimation.calibration.measured import Measured, mean, propagate
from picker_dynamics.robot.model import GRAVITY

ROD_M, ROD_KG = 0.2, 0.15
ROD_INERTIA = ROD_KG * ROD_M**2 / 12.0


def swing_time(mass, distance, inertia, swings=20, amplitude=0.15):
    """Time of N swings of a body about an axis at ``distance`` from its centre."""
    period = 2.0 * math.pi * math.sqrt((inertia + mass * distance**2) / (mass * GRAVITY * distance))
    return swings * period * swing_slowdown(amplitude)


def rod(**changes):
    readings = {
        "masses_kg": [ROD_KG] * 3,
        "balances_m": [ROD_M / 2] * 3,
        "swing_times_s": [swing_time(ROD_KG, ROD_M / 2, ROD_INERTIA)] * 3,
    }
    return LinkReadings(**(readings | changes))


def test_the_mean_is_never_better_than_its_instrument_nor_than_its_spread():
    assert mean("x", [1.0, 1.0, 1.0, 1.0], 0.1) == Measured(1.0, 0.05)
    spread = mean("x", [0.0, 2.0], 0.1)
    assert (spread.value, spread.sd) == approx((1.0, 1.0))
    low, high = Measured(5.0, 1.0).interval
    assert (high - low) / 2 == approx(1.96, abs=1e-3) and Measured(5.0, 1.0).contains(6.9)
    assert not Measured(5.0, 1.0).contains(7.0)


@mark.parametrize("readings, message", [([], "no reading"), ([1.0, math.nan], "not a finite number")])
def test_readings_that_are_none(readings, message):
    with raises(InputError, match=message):
        mean("mass", readings, 0.1)


def test_propagation_agrees_with_random_draws():
    a, b = Measured(2.0, 0.02), Measured(0.5, 0.01)
    found = propagate(lambda x, y: x * y**2, a, b)
    rng = np.random.default_rng(0)
    drawn = rng.normal(a.value, a.sd, 200_000) * rng.normal(b.value, b.sd, 200_000) ** 2
    assert found.value == approx(0.5)
    assert found.sd == approx(drawn.std(), rel=0.01)


def test_a_rod_is_found_from_exact_readings():
    found = link_properties("rod", rod(), length_m=ROD_M)
    assert found.mass.value == approx(ROD_KG)
    assert found.distance.value == approx(ROD_M / 2)
    assert found.inertia.value == approx(ROD_INERTIA, rel=1e-9)


def test_the_slowdown_of_wide_swings_is_that_of_the_elliptic_integral():
    special = importorskip("scipy.special", reason="scipy has the elliptic integral")
    for amplitude in (0.1, 0.5, 0.9):
        exact = 2.0 / math.pi * special.ellipk(math.sin(amplitude / 2.0) ** 2)
        assert swing_slowdown(amplitude) == approx(exact, rel=1e-3)


def test_intervals_contain_the_truth_as_often_as_they_say():
    rng, inside, rounds = np.random.default_rng(3), np.zeros(3), 400
    time_s = swing_time(ROD_KG, ROD_M / 2, ROD_INERTIA)
    for _ in range(rounds):
        draws = [rng.normal(true, sd, 3) for true, sd in ((ROD_KG, 1e-3), (ROD_M / 2, 5e-4), (time_s, 5e-2))]
        found = link_properties("rod", LinkReadings(*draws))
        inside += [found.mass.contains(ROD_KG), found.distance.contains(ROD_M / 2), found.inertia.contains(ROD_INERTIA)]
        assert abs(found.inertia.value / ROD_INERTIA - 1.0) < 0.15
    share = inside / rounds
    assert (share > 0.90).all() and (share < 1.0).all(), share


@mark.parametrize(
    "changes, message",
    [
        ({"masses_kg": [150.0]}, r"rod: mass is 150 kg, .* are these grams\?"),
        ({"masses_kg": [-0.1]}, r"rod: mass is -0\.1 kg, must be above 0"),
        ({"balances_m": [100.0]}, r"balance point is 100000 mm, .* millimetres given as metres"),
        ({"balances_m": [0.25]}, "balance point is 250 mm, must be above 0 and at most 200"),
        ({"swings": 0}, "0 swings, must be at least 1"),
        ({"swings": 30}, r"30 swings in .* was another number of swings counted\?"),
        ({"swings": 5}, r"radius of gyration of \d+\.\d mm, the link reaches 200\.0 mm"),
        ({"amplitude": 8.6}, r"amplitude is 492\.7 deg, must be from 0 to 57\.3 deg"),
    ],
)
def test_readings_that_cannot_be(changes, message):
    with raises(InputError, match=message):
        link_properties("rod", rod(**changes), length_m=ROD_M)


def test_what_balances_on_its_axis_has_no_pendulum():
    found = link_properties("scissor", LinkReadings([0.05, 0.051]))
    assert (found.distance.value, found.inertia) == (0.0, None)
