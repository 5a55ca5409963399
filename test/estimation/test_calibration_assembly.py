"""Assemblies that cannot be taken apart, the reach of a link, and measured links against what is drawn."""

import math
from dataclasses import replace

import numpy as np
from arm_fixtures import picker, servos
from pytest import approx, mark, raises

from picker_dynamics.errors import InputError
from picker_dynamics.estimation.calibration.instruments import lay
from picker_dynamics.estimation.calibration.mass_properties import (
    RATIO_SD,
    REACH_SLACK,
    LinkReadings,
    link_properties,
    properties,
    reach,
    swing_slowdown,
)
from picker_dynamics.estimation.calibration.measured import Measured
from picker_dynamics.estimation.calibration.write_back import geometry_findings
from picker_dynamics.robot.model import GRAVITY
from picker_dynamics.sim import plant, plant_error

CARRIED = ("upper_arm", "forearm", "hand", "scissor")
SHOULDER = 1


class Hidden:
    """The picker with hidden masses and inertias; what a scale, an edge and a stopwatch say of its links, from MuJoCo."""

    def __init__(self, seed: int, share: float = 0.15, noise: float = 1.0):
        arm = picker()
        self.plant = plant.Plant(
            arm,
            servos(ideal=True),
            plant_error=replace(
                plant_error.draw(arm, servos(ideal=True).stall_torque, share, seed), armature=np.full(arm.n, 1e-12)
            ),
        )
        self.rng, self.noise = np.random.default_rng(seed), noise

    def truth(self, name):
        link, error = picker().links[name], self.plant.error
        along = lay(self.plant.description, name)
        return link.mass * error.mass[name], float(link.com[0]), along.inertia(link.inertia) * error.inertia[name]

    def read(self, value, sd, repeats=3):
        return tuple(self.rng.normal(value, self.noise * sd, repeats)) if self.noise else (value,) * repeats

    def link(self, name):
        mass, distance, inertia = self.truth(name)
        return self.readings(mass, distance, inertia + mass * distance**2)

    def arm_and_all(self, swing=True):
        """The upper arm with everything on it, stretched: mass matrix and gravity tell."""
        q = np.zeros(5)
        moment = float(self.plant.bias(q, np.zeros(5))[SHOULDER]) / GRAVITY
        mass = sum(self.truth(name)[0] for name in CARRIED)
        made = self.readings(mass, moment / mass, float(self.plant.mass_matrix(q)[SHOULDER, SHOULDER]), swing)
        return replace(made, holds=CARRIED[1:])

    def readings(self, mass, distance, pivot, swing=True):
        if distance < 1e-3:
            return LinkReadings(self.read(mass, 1e-3))
        period = 2.0 * math.pi * math.sqrt(pivot / (mass * GRAVITY * distance))
        return LinkReadings(
            self.read(mass, 1e-3), self.read(distance, 5e-4), self.read(20 * period * swing_slowdown(0.15), 5e-2) if swing else ()
        )


def test_an_assembly_is_split_by_the_urdfs_ratio():
    """All links 1.3 times as heavy and inert as drawn: the ratios hold, and what is found is pulled a little to the URDF's."""
    heavy = Hidden(0, share=0.0, noise=0.0)
    factors = dict.fromkeys(heavy.plant.error.mass, 1.3)
    heavy.plant = plant.Plant(picker(), servos(ideal=True), plant_error=replace(heavy.plant.error, mass=factors, inertia=factors))
    found = properties(picker(), {"upper_arm": heavy.arm_and_all()})
    assert tuple(found) == CARRIED
    for name, one in found.items():
        mass, distance, inertia = heavy.truth(name)
        assert one.mass.value == approx(mass, rel=5e-3)
        assert one.distance.value == approx(distance, abs=5e-4)
        assert one.inertia.value == approx(inertia, rel=0.05)
        assert 0.3 * RATIO_SD < one.mass.sd / mass < 1.5 * RATIO_SD  # a ratio was believed, not measured


def test_what_is_split_adds_up_to_what_was_read():
    hidden = Hidden(1)
    readings = hidden.arm_and_all()
    found = properties(picker(), {"upper_arm": readings})
    assert sum(one.mass.value for one in found.values()) == approx(np.mean(readings.masses_kg), abs=1e-4)
    for name in CARRIED:
        assert abs(found[name].mass.value - hidden.truth(name)[0]) < 3.0 * found[name].mass.sd


def test_intervals_contain_the_truth_where_the_ratios_are_within_what_is_believed():
    inside = []
    for seed in range(20):
        hidden = Hidden(seed, share=math.sqrt(3.0) * RATIO_SD)  # uniform, of that standard deviation
        for name, one in properties(picker(), {"upper_arm": hidden.arm_and_all()}).items():
            mass, distance, inertia = hidden.truth(name)
            inside += [one.mass.contains(mass), one.distance.contains(distance), one.inertia.contains(inertia)]
    assert 0.9 <= np.mean(inside) <= 1.0, np.mean(inside)


def test_without_swings_inertias_stay_with_the_urdf():
    found = properties(picker(), {"upper_arm": Hidden(5).arm_and_all(swing=False)})
    assert all(one.inertia is None for one in found.values())


@mark.parametrize(
    "first, holds, message",
    [
        ("hand", ("tool0",), "the URDF has no mass and inertia of tool0"),
        ("leg", (), "picker has no link 'leg'; it has base_link"),
    ],
)
def test_assemblies_that_are_none(first, holds, message):
    with raises(InputError, match=message):
        properties(picker(), {first: LinkReadings([0.2], [0.05], [12.0], holds=holds)})


# -- how far a link reaches ----------------------------------------------------------------------------


def test_the_reach_of_a_link_is_that_of_its_drawing():
    arm = picker()
    assert reach(arm, "upper_arm") == approx(REACH_SLACK * math.hypot(0.20, 0.012), rel=0.05)
    assert reach(arm, "upper_arm", CARRIED[1:]) > REACH_SLACK * (0.20 + 0.145 + 0.08)


def test_a_balance_point_beyond_the_drawing_is_refused():
    hidden = Hidden(7)
    far = replace(hidden.link("forearm"), balances_m=(0.19, 0.19, 0.19))
    with raises(InputError, match=r"forearm: balance point is 190 mm, .* or from the other end\?"):
        properties(picker(), {"forearm": far})


# -- what the linter says of measured links ------------------------------------------------------------


def test_measured_links_in_order_have_no_finding():
    hidden = Hidden(8)
    assert geometry_findings(picker(), {name: link_properties(name, hidden.link(name)) for name in CARRIED}) == ()


@mark.parametrize(
    "changes, what, reason",
    [
        ({"mass": Measured(2.5, 1e-3)}, "mass", "kg/m³ for the"),
        ({"mass": Measured(0.06, 1e-3)}, "mass", r"0\.4 times the 0\.15 kg of the URDF: was it weighed without its servo"),
        ({"mass": Measured(0.31, 1e-3)}, "mass", "weighed with another link"),
        ({"distance": Measured(0.26, 1e-3)}, "centre of mass", "outside of what is drawn"),
        ({"inertia": Measured(3e-3, 1e-5)}, "inertia about", "radius of gyration"),
    ],
)
def test_what_the_drawing_contradicts_is_named(changes, what, reason):
    one = replace(link_properties("upper_arm", Hidden(9).link("upper_arm")), **changes)
    found = geometry_findings(picker(), {"upper_arm": one})
    assert any(finding.what.startswith(what) and finding.link == "upper_arm" for finding in found)
    with raises(AssertionError, match=reason):
        raise AssertionError(" / ".join(map(str, found)))
