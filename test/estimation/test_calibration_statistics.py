"""How sure a calibration says it is, and what it says of poses, servos and readings that tell it nothing."""

from dataclasses import replace

import numpy as np
from calibration_truth import ARM, BELIEVED, COLUMNS, JOINTS, SENSORS, SIMULATED, VALIDATOR, bench, hidden, weighed
from pytest import approx, fixture, mark, raises

from benchmarks.calibration_benches import MovingBench, calibrate, cross_validation, tip_off
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError
from picker_dynamics.estimation.calibration import droop_model, evaluate, mass_properties
from picker_dynamics.estimation.calibration.droop_fit import FRICTION_SD, fit, friction_round, moved_shares, update
from picker_dynamics.estimation.calibration.poses import SIDES, WEIGHTS, Station, Weight, sensors


@fixture(scope="module")
def found():
    """A calibrated arm and its bench."""
    arm = bench(1)
    return arm, calibrate(ARM, BELIEVED, arm, WEIGHTS, seed=1)


def test_the_intervals_contain_the_truth_as_often_as_they_say(found):
    """One design, ten arms: of 180 intervals 95 % are to contain the truth, ± 4 standard deviations of that count; errors in
    units of their standard deviation are of size 1."""
    model, stations = found[1].fit.model, stations_of(found[1].fit)
    off = []
    for seed in range(100, 110):
        arm = bench(seed)
        one = fit(droop_model.DroopModel(ARM, BELIEVED, JOINTS, weighed(arm, model.links)), looked(arm, stations))
        off += [
            (one.figure(joint, figure).value - truth) / one.figure(joint, figure).sd
            for joint in JOINTS
            for figure, truth in zip(droop_model.SOUGHT, hidden(arm.plant, joint))
        ]
    share, count = np.mean(np.abs(off) < 1.96), len(off)
    assert count == 180 and abs(share - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / count), share
    assert 0.75 < np.sqrt(np.mean(np.square(off))) < 1.25


@mark.long
def test_stiff_servos_in_coarse_steps_are_within_their_intervals():
    """Springs at the map's upper bound, 24 N·m/rad: a step of the pulses is 0.2 N·m, and carries light joints through the gap."""
    arm = MovingBench.with_errors(ARM, BELIEVED, seed=4)
    some = calibrate(ARM, BELIEVED, arm, WEIGHTS, seed=4).fit
    off = [
        (some.figure(joint, figure).value - truth) / some.figure(joint, figure).sd
        for joint in JOINTS
        for figure, truth in zip(droop_model.SOUGHT, hidden(arm.plant, joint))
    ]
    assert np.max(np.abs(off)) < 3.0 and np.sqrt(np.mean(np.square(off))) < 1.3, off
    assert all(some.told(joint, "compliance") for joint in JOINTS)


def stations_of(some):
    """Where readings were taken, each once."""
    return list(
        {
            one.pose[:-4] + (one.weight, one.weight_point): Station(one.pulses_us, Weight(one.weight, one.weight_point), SENSORS)
            for one in some.readings
        }.values()
    )


def looked(bench, stations, seen=None):
    """Readings at the stations, from both sides."""
    readings = []
    for station in stations:
        station = replace(station, sensors=seen or station.sensors)
        for side in SIDES:
            readings += station.readings(ARM.tool, bench.read_station(VALIDATOR, station, side, COLUMNS), len(readings), side)
    return readings


def test_the_size_of_the_friction_is_found_from_the_readings():
    """Two joints, of which one is held back four times as much as the other, read with a small error."""
    rng, truth, visits = np.random.default_rng(0), np.array([0.018, 0.0045]), np.repeat(np.arange(60), 2)
    by_friction = np.tile(0.1 * np.eye(2), (60, 1))
    held = by_friction * np.repeat(rng.normal(0.0, truth, (60, 2)), 2, axis=0)
    off = held.sum(axis=1) + rng.normal(0.0, 1e-4, 120)
    friction = np.full(2, FRICTION_SD)
    for _ in range(100):
        one = update(off, np.ones((120, 1)), by_friction * friction, np.zeros(1), np.ones(1), visits, np.full(120, 1e-4))
        friction = friction_round(friction, by_friction, one, visits)
    np.testing.assert_allclose(friction, truth, rtol=0.25)


def test_left_out_stations_are_foretold_as_if_fitted_without_them(found):
    whole = found[1].fit
    report = cross_validation(whole)
    assert len(report) == 8 and 0.0 < np.median(report) < 1e-3 and np.median(report) < report.max() < 3e-3
    poses = list(dict.fromkeys((*one.pulses_us.tolist(), one.weight, one.weight_point) for one in whole.readings))
    for number in (0, 4, 7):
        out = [(*one.pulses_us.tolist(), one.weight, one.weight_point) == poses[number] for one in whole.readings]
        without = fit(whole.model, [one for one, gone in zip(whole.readings, out) if not gone])
        gone = [one for one, is_out in zip(whole.readings, out) if is_out]
        square = []
        for visit in {one.visit for one in gone}:
            looks = [one for one in gone if one.visit == visit]
            off = np.array([one.value for one in looks]) - whole.model.predict(without.unknowns, looks)
            square.append(tip_off(whole.model, without.unknowns, looks, off) ** 2)
        assert report[number] == approx(np.sqrt(np.mean(square)), rel=0.1)


def test_a_displaced_tip_is_that_of_the_readings():
    """Elevations of an arm that rests elsewhere by known angles."""
    model = droop_model.DroopModel(ARM, BELIEVED, JOINTS, {})
    station = Station(BELIEVED.to_pulse_us([0.3, 1.3, -0.9, -0.4, 1.2]), Weight(), SENSORS)
    looks, turned = station.readings(ARM.tool), np.array([0.0, 1e-4, -2e-4, 3e-4, 0.0])
    q = model.resting(model.prior()[0], looks[:1])[0]
    body = RigidBody(ARM)
    apart = np.linalg.norm(body.forward_kinematics(q + turned) - body.forward_kinematics(q))
    off = np.array([turned[1], turned[1] + turned[2], turned[1:4].sum()])
    assert tip_off(model, model.prior()[0], looks, off) == approx(apart, rel=0.02)


def test_poses_that_tell_nothing_are_named(found):
    bench, whole = found
    folded = [
        Station(BELIEVED.quantise_us(BELIEVED.to_pulse_us([0.0, 1.45 + 0.02 * i, -1.6 - 0.02 * i, 0.1, 1.2])), Weight(), SENSORS)
        for i in range(4)
    ]
    wanted = evaluate.open_figures(fit(whole.fit.model, looked(bench, folded)))
    assert {("wrist", "gap"), ("wrist", "load_friction")} <= set(wanted)
    assert not evaluate.open_figures(whole.fit)


def test_a_joint_that_never_moves_is_named(found):
    bench, whole = found
    told = {one.visit: whole.known_servos.to_angle(one.pulses_us) for one in whole.fit.readings}
    chain = {one.link: column for column, one in enumerate(SENSORS, start=1)}
    shares = moved_shares(whole.fit.model, whole.fit.model.prior()[0], whole.fit.readings)
    assert all(share == approx(1.0, abs=0.15) for share in shares.values()) and set(shares) == set(JOINTS)
    for dead, joint in enumerate(JOINTS, start=1):  # it stays where it was at the first visit
        readings = [
            replace(one, value=one.value - (told[one.visit][dead] - told[0][dead]) * (chain[one.sensor.link] >= dead))
            for one in whole.fit.readings
        ]
        with raises(InputError, match=rf"{joint} moved -?\d+ % of what it was told"):
            fit(whole.fit.model, readings)


def test_a_servo_that_bears_more_than_it_can_is_named(found):
    whole = found[1].fit
    assert not evaluate.saturated(whole.model, whole.unknowns, whole.readings)
    heavy = Station(BELIEVED.to_pulse_us([0.0, 0.2, 0.0, 0.0, 1.2]), Weight(0.4), SENSORS)
    named = evaluate.saturated(whole.model, whole.unknowns, heavy.readings(ARM.tool, visit=7))
    torque, limit = named[7, "shoulder"]
    rest = whole.model.resting(whole.unknowns, heavy.readings(ARM.tool))[0]
    load = RigidBody(found[1].description).with_payload(0.4).gravity(rest)
    assert torque == approx(load[1], rel=2e-3) and torque > limit == approx(0.9 * 1.08, rel=0.01)


def test_ruler_and_inclinometer_agree(found):
    bench, whole = found
    for instrument in ("ruler", "both"):
        one = fit(whole.fit.model, looked(bench, stations_of(whole.fit), sensors(ARM, JOINTS, instrument)))
        for joint in JOINTS:
            zero, _, compliance, *_ = hidden(bench.plant, joint)
            for name, truth in (("zero", zero), ("compliance", compliance)):
                assert abs(one.figure(joint, name).value - truth) < 4.0 * one.figure(joint, name).sd
            assert one.figure(joint, "zero").sd < np.radians(0.6)
        assert 0.7 < one.misfit < 1.3


def test_exact_beliefs_are_those_of_the_plant(found):
    plant = found[0].plant
    arm, servos = evaluate.exact(plant, BELIEVED)
    q, v = np.random.default_rng(0).uniform(-1.0, 1.0, (2, ARM.n))
    body = RigidBody(arm, servos.armature * plant.error.armature)
    np.testing.assert_allclose(body.inverse_dynamics(q, 0.0 * v, 0.0 * v), plant.bias(q, 0.0 * v), atol=1e-6)
    np.testing.assert_allclose(servos.model.stiffness, plant.servo.stiffness)
    for name in ("gap", "load_friction", "coulomb"):
        np.testing.assert_allclose(getattr(servos.model, name), getattr(plant.whole_servo, name))
    pulses = BELIEVED.to_pulse_us(BELIEVED.home)
    np.testing.assert_allclose(servos.to_angle(pulses), plant.servo_map.to_angle(pulses))


@mark.parametrize(
    "before_mm, after_mm, stated_mm, reached",
    [
        (6.6, 2.1, 0.0, True),
        (6.6, 2.3, 2.5, False),
        (6.6, 0.9, 0.0, True),
        (12.7, 2.3, 0.8, False),
        (12.7, 2.3, 2.5, True),
        (12.7, 3.8, 2.5, False),
    ],
)
def test_what_a_calibration_is_to_reach(before_mm, after_mm, stated_mm, reached):
    """A third of what it was; within a millimetre of a floor of 1.2 mm, or as near as it says itself."""
    errors = (evaluate.Errors(1e-3 * np.array([0.5, value, 14.0]), np.zeros(3)) for value in (before_mm, after_mm, 1.2))
    assert evaluate.TipErrorReport(*errors).reached(1e-3 * stated_mm) is reached


def test_the_tip_is_within_what_is_stated(found):
    """Where the true arm rests for the set-points of the calibrated one, without friction or pulse steps; what is assumed
    of the base, its stiffness and friction too, is in what is stated."""
    bench, one = found
    poses = np.array([path.end for path in evaluate.usual_paths(ARM, SIMULATED, 6)])
    plant, off = bench.plant, []
    for side in SIDES:
        for pose, pulses in zip(poses, evaluate.pulses_at(one, poses, side)):
            rest = bench.resting(Station(pulses, Weight(), ()), range(ARM.n), side)
            off.append(np.linalg.norm(plant.tip_at(rest) - plant.tip_at(pose)))
    stated = evaluate.tip_uncertainty(one, poses)
    assert 2e-4 < stated < 2.2e-3 and np.median(off) < stated and max(off) < 2.0 * stated


def test_light_links_are_weighed_more_often():
    assert [mass_properties.weighings(mass) for mass in (0.3, 0.15, 0.08, 0.05, 0.0)] == [1, 1, 4, 9, 10]
