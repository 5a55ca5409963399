"""Mass properties from scale, edge and stopwatch, against bodies whose properties are known."""

import math

import numpy as np
from arm_fixtures import picker
from pytest import approx, mark, raises
from scipy.special import ellipk

from picker_dynamics.errors import InputError
from picker_dynamics.estimation.calibration.mass_properties import (
    AMPLITUDE,
    REACH_SLACK,
    SLOWDOWN,
    LinkReadings,
    link_properties,
    reach,
    weighings,
)
from picker_dynamics.robot.model import GRAVITY

ROD_M, ROD_KG = 0.2, 0.15
ROD_INERTIA = ROD_KG * ROD_M**2 / 12.0
SWINGS_S = 20 * 2.0 * math.pi * math.sqrt((ROD_INERTIA + ROD_KG * ROD_M**2 / 4.0) / (ROD_KG * GRAVITY * ROD_M / 2.0)) * SLOWDOWN


def test_a_rod_is_found_from_exact_readings():
    found = link_properties("rod", LinkReadings([ROD_KG], [ROD_M / 2], [SWINGS_S]), length_m=ROD_M)
    assert (found.mass.value, found.distance.value, found.inertia.value) == approx((ROD_KG, ROD_M / 2, ROD_INERTIA))
    exact = 2.0 / math.pi * ellipk(math.sin(AMPLITUDE / 2.0) ** 2)
    assert approx(exact, abs=1e-5) == SLOWDOWN, "of a wide swing, by the elliptic integral"
    assert link_properties("scissor", LinkReadings([0.05])).inertia is None, "what balances on its axis has no pendulum"


def test_intervals_contain_the_truth_as_often_as_they_say():
    rng, inside, rounds = np.random.default_rng(3), np.zeros(3), 400
    for _ in range(rounds):
        draws = [tuple(rng.normal(true, sd, 3)) for true, sd in ((ROD_KG, 1e-3), (ROD_M / 2, 5e-4), (SWINGS_S, 5e-2))]
        found = link_properties("rod", LinkReadings(*draws))
        inside += [found.mass.contains(ROD_KG), found.distance.contains(ROD_M / 2), found.inertia.contains(ROD_INERTIA)]
    share = inside / rounds
    assert (share > 0.90).all() and (share < 1.0).all(), share


@mark.parametrize(
    "swings, message",
    [(30, r"20 swings in .* was another number of swings counted\?"), (5, "radius of gyration of .*, the link reaches 200.0 mm")],
)
def test_another_number_of_swings_is_refused(swings, message):
    with raises(InputError, match=message):
        link_properties("rod", LinkReadings([ROD_KG], [ROD_M / 2], [SWINGS_S * 20 / swings]), length_m=ROD_M)


def test_light_links_are_weighed_more_often_and_links_reach_as_far_as_they_are_drawn():
    assert [weighings(mass) for mass in (0.3, 0.15, 0.08, 0.05, 0.0)] == [1, 1, 4, 9, 10]
    assert reach(picker(), "upper_arm") == approx(REACH_SLACK * math.hypot(0.20, 0.012), rel=0.05)
