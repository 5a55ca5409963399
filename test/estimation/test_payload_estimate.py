"""What the scissor holds: by droop against MuJoCo's arm with hidden numbers."""

from dataclasses import replace
from functools import partial

import numpy as np
from arm_fixtures import picker, servos
from pytest import approx, fixture, mark, raises

from picker_dynamics.commands import cli
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import ConfigurationError, InputError
from picker_dynamics.estimation import payload as droop
from picker_dynamics.estimation import rehearsal
from picker_dynamics.estimation.calibration.instruments import Inclinometer
from picker_dynamics.estimation.payload import plan, poses, visits
from picker_dynamics.estimation.rehearsal import WeighingBench, mounted
from picker_dynamics.execution.validator import torque_validator
from picker_dynamics.robot import kinematic_tree

ARM = picker()
SERVOS = servos(ideal=True)
SCALE, VALIDATOR = droop.DroopScale(ARM, SERVOS), torque_validator(RigidBody(ARM, SERVOS.armature), SERVOS)
FOREARM = Inclinometer("forearm")


@fixture(scope="module")
def where():
    return poses(SCALE, VALIDATOR, FOREARM, SERVOS.home, 6, droop.USUAL_KG)


def exact(made, mass: float, scale=SCALE) -> list[droop.Measurement]:
    """Readings of an arm whose balance is found with Pinocchio's gravity."""
    looks = []
    for visit in made:
        model = RigidBody(scale.description).with_payload(mass * visit.loaded)
        servo, told = scale.servos.model, scale.servos.to_angle(visit.pulses_us)
        q = told
        for _ in range(40):
            q = told - servo.sag(servo.motor_for(model.gravity(q), visit.side))
        value = float(visit.sensor.of(kinematic_tree.link_poses(scale.description, q)))
        looks.append(replace(visit, value=value))
    return looks


def test_exact_readings_give_the_mass_and_zero_and_scale_errors_cancel(where):
    """The same pulses without and with: a servo that stands 2° askew weighs as well."""
    for link in ("forearm", "upper_arm"):
        made = visits(where, Inclinometer(link))
        for mass in (0.0, 0.08):
            assert SCALE.weigh(exact(made, mass)).mass.value == approx(mass, abs=3e-4)
    typical = droop.DroopScale(ARM, replace(servos(), supply_ohm=0.0))  # friction holds back 40 % of what the motors give
    assert typical.weigh(exact(visits(where, FOREARM), 0.025, typical)).mass.value == approx(0.025, abs=3e-4)
    askew = replace(SCALE, servos=replace(SERVOS, servos=tuple(mounted(one, 0.02, 0.01) for one in SERVOS.servos)))
    assert SCALE.weigh(exact(visits(where, FOREARM), 0.025, askew)).mass.value == approx(0.025, abs=1e-3)


def test_the_interval_is_that_of_readings_with_the_stated_noise(where):
    """Each pose is some tenths of a degree off besides, without and with the payload alike."""
    looks, rng = exact(visits(where, FOREARM), 0.03), np.random.default_rng(1)
    sd = SCALE.linearised(looks, 0.03)[2]

    def found():
        off = rng.normal(0.0, sd) + np.tile(rng.normal(0.0, np.radians(0.3), len(where)), 2)
        return SCALE.estimate([replace(one, value=one.value + x) for one, x in zip(looks, off)], 0.03)[0]

    drawn = [found() for _ in range(60)]
    assert np.std([one.value for one in drawn]) == approx(drawn[0].sd, rel=0.2)
    assert np.mean([one.contains(0.03) for one in drawn]) > 0.85


def test_a_mass_is_no_better_known_than_the_springs_it_hangs_on(where):
    """The servo map says how well a calibration knows them; where it does not, they count as usual."""
    made = visits(where[:4], FOREARM)

    def known(share, stiffer=(1.0,) * ARM.n):
        stated = tuple(replace(one, stiffness_sd=share and share * one.stiffness) for one in SERVOS.servos)
        true = tuple(replace(one, stiffness=times * one.stiffness) for one, times in zip(SERVOS.servos, stiffer))
        looks = exact(made, 0.08, droop.DroopScale(ARM, replace(SERVOS, servos=true)))
        return droop.DroopScale(ARM, replace(SERVOS, servos=stated)).weigh(looks).mass

    plain, fine, rough = known(None), known(0.01), known(0.3)
    assert fine.sd == approx(plain.sd) and rough.sd > 1.5 * plain.sd
    rng = np.random.default_rng(0)
    found = [known(0.3, np.exp(0.3 * rng.normal(size=ARM.n))) for _ in range(12)]
    off = np.array([(one.value - 0.08) / one.sd for one in found])
    assert np.sqrt(np.mean(off**2)) < 1.3
    with raises(InputError, match="stiffness of shoulder is known to 60% only, at most 50% is of use"):
        known(0.6)


def test_the_payload_is_found_on_an_arm_with_hidden_numbers(monkeypatch):
    """MuJoCo, quantised pulses, dry friction, figures as a calibration leaves them; statistics are in benchmarks/payload.py."""
    monkeypatch.setattr(rehearsal, "Plant", partial(rehearsal.Plant, dt=2e-3))
    made, half, _ = plan(SCALE, VALIDATOR, FOREARM, SERVOS.home, count=3)
    found = SCALE.weigh(WeighingBench(SCALE, 0.025, seed=1).read(made))
    assert half == approx(1.96 * found.mass.sd, rel=0.3)
    assert abs(found.mass.value - 0.025) < 3.0 * found.mass.sd < 0.016


def test_more_poses_tell_more_and_no_joint_of_them_hangs_in_its_deadband(where, monkeypatch):
    monkeypatch.setattr("picker_dynamics.estimation.payload.WITHIN_KG", 0.012)
    few, half, _ = plan(SCALE, VALIDATOR, FOREARM, SERVOS.home)
    more, smaller, borne_kg = plan(SCALE, VALIDATOR, FOREARM, SERVOS.home, count=8)
    assert len(few) < len(more) == 16 and smaller < half <= 0.012 and borne_kg == droop.USUAL_KG
    load = VALIDATOR.model.gravity(SERVOS.to_angle(where))
    assert np.abs(load[:, 1:3]).min() > 0.1
    for pulses in where:
        VALIDATOR.require_holdable(SERVOS.to_angle(pulses))


def test_readings_that_cannot_be_are_refused(where):
    looks = exact(visits(where, FOREARM), 0.08)

    def wrong(row: int, value: float):
        return [replace(one, value=value) if k == row else one for k, one in enumerate(looks)]

    row = max(range(len(looks)), key=lambda k: abs(looks[k].value))
    for readings, reason in (
        (
            wrong(row, np.degrees(looks[row].value)),
            rf"reading {row + 1}, elevation of forearm, is .*, expected about -?\d+\.\d deg",
        ),
        (wrong(row, np.nan), rf"reading {row + 1}, .*, expected about"),
        (wrong(3, looks[3].value + np.radians(5.0)), "pose 4 is .* read it again"),
        (looks[:6], "has to be read without and with"),
        ([replace(one, loaded=not one.loaded) for one in looks], "less than nothing"),
    ):
        with raises(InputError, match=reason):
            SCALE.weigh(readings)


def test_poses_and_arms_that_tell_nothing_are_refused():
    """The upper arm upright, and the turret's elevation read: hardly any lever at the shoulder."""
    up = SERVOS.quantise_us(SERVOS.to_pulse_us(np.array([0.0, 1.9, -2.3, -1.1, 0.0])))
    with raises(InputError, match="too uncertain: stretch the arm"):
        SCALE.weigh(exact(visits([up], Inclinometer("turret")), 0.0))
    with raises(ConfigurationError, match="stiffness of shoulder was never measured.*picker calibrate"):
        droop.DroopScale(ARM, servos(simulated=False))


@mark.parametrize(
    "words, code, named",
    [
        ("--simulated --set", 5, "rehearsal"),
        ("--simulated --payload 200", 5, "the simulated tool holds 200 g, must be 1 to 100 g (--heaviest)"),
        ("--simulated --arm rrp", 5, "its joints are not servos"),
    ],
)
def test_wrong_words_get_one_line_and_a_code(words, code, named, capsys):
    assert cli.main(["weigh", *words.split()]) == code
    said = capsys.readouterr().err
    assert said.startswith("error: ") and named in said and said.count("\n") == 1
