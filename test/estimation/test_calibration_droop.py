"""Servo figures from droop, against MuJoCo's arm at rest: hidden masses, stiffness, deadband, zeros and scales."""

from dataclasses import replace
from itertools import product

import numpy as np
from arm_fixtures import servos
from calibration_truth import ARM, BELIEVED, COLUMNS, JOINTS, SENSORS, SIMULATED, VALIDATOR, bench, hidden, weighed
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx, fixture, mark, raises

from benchmarks.calibration_benches import MovingBench, RestingBench, calibrate
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InfeasibleError, InputError
from picker_dynamics.estimation.calibration import droop_fit, droop_model, instruments, procedure, servo_figures, write_back
from picker_dynamics.estimation.calibration.poses import (
    INSTRUMENTS,
    SIDES,
    WEIGHTS,
    Station,
    Weight,
    candidates,
    choose,
    sensors,
    way,
)
from picker_dynamics.estimation.calibration.statics import PointMass, elevation, links_of, loads
from picker_dynamics.resources import resource
from picker_dynamics.robot import description as descriptions
from picker_dynamics.robot.kinematic_tree import link_poses


class ExactBench(RestingBench):
    """No noise in what is read of the droop, and every hop as usual."""

    def read_station(self, _validator, station, side, columns):
        poses = link_poses(ARM, self.resting(station, columns, side, -side * self.hops(station)))
        return [float(sensor.of(poses)) for sensor in station.sensors]


class CoarseBench(RestingBench):
    """An inclinometer that shows whole degrees."""

    def sensed(self, sensors, q):
        return np.radians(np.round(np.degrees(super().sensed(sensors, q)))).tolist()


@mark.parametrize("name", ["picker", "rrp", "three_link", "cylindrical"])
def test_gravity_torques_are_those_of_pinocchio(name):
    arm = descriptions.load(resource(f"urdf/{name}.urdf"))
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (40, arm.n))
    assert_allclose(loads(arm, q, links_of(arm)).torque, RigidBody(arm).gravity(q), atol=1e-12 * 1e3)


def test_a_weight_bears_as_a_payload_does():
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (20, ARM.n))
    point = np.array([-0.03, 0.01, 0.02])
    ours = loads(ARM, q, [*links_of(ARM), PointMass("tool0", 0.3, point)]).torque
    assert_allclose(ours, RigidBody(ARM).with_payload(0.3, tuple(point)).gravity(q), atol=1e-12)


def test_which_joints_a_droop_tells_of():
    assert procedure.gravity_joints(ARM, BELIEVED) == JOINTS
    assert procedure.measured_links(ARM, JOINTS) == ("upper_arm", "forearm", "hand", "scissor")


def test_elevation_goes_on_beyond_the_vertical():
    for angle in (-0.3, 1.0, 2.5):
        q = np.array([0.4, angle, 0.0, 0.0, 0.0])
        assert elevation(link_poses(ARM, q)["upper_arm"]) == approx(angle)


@mark.parametrize("name", ["picker", "rrp"])
def test_derivatives_of_the_loads_are_those_of_differences(name):
    arm = descriptions.load(resource(f"urdf/{name}.urdf"))
    q, masses, h = np.random.default_rng(2).uniform(-1.0, 1.0, (7, arm.n)), links_of(arm), 1e-6
    found = loads(arm, q, masses)
    for joint in range(arm.n):
        step = h * np.eye(arm.n)[joint]
        by_q = (loads(arm, q + step, masses).torque - loads(arm, q - step, masses).torque) / (2.0 * h)
        assert_allclose(found.by_q[..., joint], by_q, atol=1e-7)
    for k, one in enumerate(masses):
        ahead = [replace(other, point=other.point + np.array([h, 0.0, 0.0])) if other is one else other for other in masses]
        heavier = [replace(other, mass=other.mass + h) if other is one else other for other in masses]
        for changed, derivative in ((ahead, found.by_distance), (heavier, found.by_mass)):
            assert_allclose(derivative[..., k], (loads(arm, q, changed).torque - found.torque) / h, atol=1e-6)


def test_the_sensors_of_each_instrument():
    inclinometer, ruler, both = (sensors(ARM, JOINTS, one) for one in INSTRUMENTS)
    assert [one.link for one in inclinometer] == ["upper_arm", "forearm", "hand"]
    assert [(one.kind, one.link) for one in ruler] == [("height", link) for link in ("forearm", "hand", "tool0")]
    assert both == inclinometer + ruler
    with raises(InputError, match="instrument is 'laser', must be inclinometer, ruler, both"):
        sensors(ARM, JOINTS, "laser")


def test_derivatives_of_the_readings_are_those_of_differences():
    model = droop_model.DroopModel(ARM, BELIEVED, JOINTS, weighed(bench(0), ("upper_arm", "hand")))
    mean, sd = model.prior()
    rng = np.random.default_rng(3)
    poses = [[0.0, *rng.uniform([1.0, -1.5, -1.0], [2.0, -0.5, 1.0]), 1.2] for _ in range(4)]
    readings = [
        droop_model.Reading(BELIEVED.to_pulse_us(q), sensor, 0.0, 0, weight, "tool0", (0.05, 0.0, 0.0), side)
        for q, weight, side in zip(poses, (0.0, 0.2, 0.1, 0.3), (1.0, -1.0, 0.0, 1.0))
        for sensor in sensors(ARM, JOINTS, "both")
    ]
    readings = [replace(one, supply=supply) for one, supply in zip(readings, np.linspace(0.9, 1.1, len(readings)))]
    unknowns = mean + 0.2 * sd * rng.normal(size=len(mean))
    expected, by_unknowns, _ = model.linearised(unknowns, readings)
    assert_allclose(expected, model.predict(unknowns, readings), atol=1e-12)
    for i, step in enumerate(1e-5 * sd):
        shifted = [model.predict(unknowns + sign * step * np.eye(len(mean))[i], readings) for sign in (1.0, -1.0)]
        assert_allclose(by_unknowns[:, i], (shifted[0] - shifted[1]) / (2.0 * step), rtol=1e-4, atol=1e-6)


@fixture(scope="module")
def calibrated():
    """Calibrations of arms at rest, by seed: each with its bench."""
    arms = bench(0), bench(1)
    return [(arm, calibrate(ARM, BELIEVED, arm, WEIGHTS, seed=seed, when="today")) for seed, arm in enumerate(arms)]


def test_zero_scale_spring_gap_and_friction_are_found(calibrated):
    for arm, found in calibrated:
        for joint in JOINTS:
            zero, scale, compliance, gap, load_friction, coulomb = hidden(arm.plant, joint)
            assert found.fit.stiffness(joint).value * compliance == approx(1.0, abs=0.13)
            for figure, truth, off in (
                ("zero", zero, np.radians(0.3)),
                ("scale", scale, 0.006),
                ("gap", gap, 0.0025),
                ("load_friction", load_friction, 0.1),
                ("coulomb", coulomb, 0.015),
            ):
                assert found.fit.figure(joint, figure).value == approx(truth, abs=off), figure
        assert 0.6 < found.fit.misfit < 1.3 and not found.fit.outliers


def test_there_are_at_most_sixty_questions_and_weights_of_one_kind_come_one_after_the_other(calibrated):
    for _, found in calibrated:
        hung = [(one.weight, one.weight_point) for one in found.fit.readings]
        groups = [one for one, before in zip(hung, [None, *hung]) if one != before and one[0]]
        assert len(groups) == len(set(groups)) and len(found.fit.readings) + 3 * len(WEIGHTS[1:]) <= 60


def test_exact_readings_give_exact_figures():
    """What is left is what the prior pulls towards itself, and masses that are known to a gram."""
    arm = bench(5, ExactBench)
    found = calibrate(ARM, BELIEVED, arm, WEIGHTS, seed=5)
    for joint in JOINTS:
        _, _, compliance, gap, load_friction, _ = hidden(arm.plant, joint)
        assert found.fit.stiffness(joint).value * compliance == approx(1.0, abs=0.06)
        assert found.fit.figure(joint, "gap").value == approx(gap, rel=0.15)
        assert found.fit.figure(joint, "load_friction").value == approx(load_friction, abs=0.06)
    assert found.fit.misfit < 0.3 and (found.fit.friction < droop_fit.FRICTION_SD).all()


def test_an_inclinometer_of_whole_degrees_is_believed_no_more_than_it_tells():
    """Counted as tenths of a degree its readings would be outliers, and the misfit about three."""
    arm = bench(0, CoarseBench)
    found = calibrate(ARM, BELIEVED, arm, WEIGHTS, seed=0)
    assert 0.5 < found.fit.misfit < 1.4 and not found.fit.outliers
    for joint in JOINTS:
        truths = dict(zip(("zero", "scale", "compliance", "gap", "load_friction", "coulomb"), hidden(arm.plant, joint)))
        for figure, truth in truths.items():
            one = found.fit.figure(joint, figure)
            assert abs(one.value - truth) < 3.0 * one.sd, (joint, figure)


def test_stiffness_is_that_at_the_nominal_voltage_where_the_supply_is_measured(calibrated):
    """The same readings, said to be taken at 95 % of it: the springs are stiffer by as much."""
    fitted = calibrated[0][1].fit
    low = droop_fit.fit(fitted.model, [replace(one, supply=0.95) for one in fitted.readings])
    for joint in ("shoulder", "elbow"):
        assert low.stiffness(joint).value == approx(fitted.stiffness(joint).value / 0.95, rel=0.01)


def test_a_calibrated_map_says_where_the_joints_really_go(calibrated):
    arm, found = calibrated[0]
    pulses = BELIEVED.to_pulse_us(BELIEVED.home)
    true, ours, before = (servos.to_angle(pulses) for servos in (arm.plant.servo_map, found.known_servos, BELIEVED))
    assert np.abs(ours - true).max() < np.radians(0.4) < np.abs(before - true).max()


def test_a_misread_inclinometer_is_shown_as_an_outlier(calibrated):
    fitted = calibrated[1][1].fit
    readings = list(fitted.readings)
    readings[7] = replace(readings[7], value=readings[7].value + np.radians(4.0))
    found = droop_fit.fit(fitted.model, readings)
    assert 7 in found.outliers and len(found.outliers) <= 2 and np.abs(found.residuals).argmax() == 7


def test_slips_of_sign_and_too_few_readings_are_refused(calibrated):
    fitted = calibrated[1][1].fit
    index = max(range(len(fitted.readings)), key=lambda i: abs(fitted.readings[i].value))
    readings = list(fitted.readings)
    readings[index] = replace(readings[index], value=-readings[index].value)
    with raises(InputError, match=rf"reading {index + 1}, elevation of .* sign, unit or link mixed up\?"):
        droop_fit.fit(fitted.model, readings)
    with raises(InputError, match="5 readings for 18 figures: take 12 at least"):
        droop_fit.fit(fitted.model, readings[:5])
    from_above = [one for one in fitted.readings if one.side < 0.0]
    with raises(InputError, match="0 of 8 visits came from below: .* come to the same poses from below too, and read them"):
        droop_fit.fit(fitted.model, from_above)
    with raises(InputError, match=r"a weight of 200 kg was hung on, .* are these grams\?"):
        replace(readings[0], weight=200.0)
    with raises(InputError, match="reading is of 'depth', must be elevation or height"):
        instruments.SensorModel("depth", "hand")


def test_chosen_poses_tell_more_than_the_first_ones_that_come():
    model = droop_model.DroopModel(ARM, BELIEVED, JOINTS, weighed(bench(0), procedure.measured_links(ARM, JOINTS)))
    stations = candidates(model, VALIDATOR, WEIGHTS, SENSORS, count=40, seed=2)
    chosen = choose(model, VALIDATOR, stations, 6)

    def spread(some):
        visits = [station.readings(ARM.tool, None, i, side) for i, (station, side) in enumerate(product(some, SIDES))]
        readings, (mean, sd) = sum(visits, []), model.prior()
        _, jacobian, chance = model.linearised(mean, readings)
        told = [one.visit for one in readings], [one.sensor.sd for one in readings]
        jacobian, figures = droop_fit.whitening(chance.held(droop_fit.FRICTION_SD), *told) @ jacobian, len(JOINTS) * 7
        covariance = np.linalg.inv(jacobian.T @ jacobian + np.diag(sd**-2))
        return np.linalg.slogdet(covariance[:figures, :figures])[1]

    assert spread(chosen) < spread(stations[:6]) - 1.0


def test_a_way_that_cannot_be_borne_goes_by_home_or_is_refused():
    home = np.array(BELIEVED.home)
    lean_back = np.array([0.0, 1.75, -0.3, 0.0, 1.2])
    assert_array_equal(way(VALIDATOR, home, lean_back)[-1], lean_back)
    with raises(InfeasibleError, match="shoulder"):
        way(VALIDATOR, home, np.array([0.0, 0.0, 0.0, 0.0, 1.2]))
    with raises(InfeasibleError, match="shoulder"):  # home could be borne, and from there the end, but not the way to home
        way(VALIDATOR, np.array([0.0, 0.0, 0.0, 0.0, 1.2]), lean_back)


def test_the_arm_comes_to_stations_from_both_sides_and_is_read_at_rest():
    """The bench that moves: real pulses, real time steps, friction; what it reads is the balance of StaticBench."""
    moving = MovingBench.with_errors(ARM, SIMULATED, seed=2)
    still = bench(2, ExactBench)
    pulses = BELIEVED.quantise_us(BELIEVED.to_pulse_us(np.array([0.0, 1.7, -1.2, -0.6, 1.2])))
    station = Station(pulses, Weight(0.2), SENSORS)
    for side in SIDES:
        expected = still.read_station(VALIDATOR, station, side, COLUMNS)
        assert_allclose(
            moving.read_station(VALIDATOR, station, side, COLUMNS), expected, atol=np.radians(1.2)
        )  # the source is off by up to 5 %
    assert moving.plant.payload == 0.0


def test_files_are_written_beside_what_was_there_and_read_back(calibrated, tmp_path):
    _, found = calibrated[1]
    overlay, urdf = tmp_path / "servos.yaml", tmp_path / "arm.urdf"
    assert write_back.write(overlay, "old") is None
    assert (
        write_back.write(overlay, write_back.overlay_text(found.known_servos, found.figures, "today"))
        == tmp_path / "servos.yaml.1"
    )
    assert (tmp_path / "servos.yaml.1").read_text() == "old"
    again = servos(overlay=overlay)
    pulses = BELIEVED.to_pulse_us(BELIEVED.home)
    assert_allclose(again.model.stiffness, found.known_servos.model.stiffness, rtol=1e-4)
    sd = [servo.stiffness_sd for servo in again.servos]
    assert_allclose([sd[j] for j in COLUMNS], [found.figures[ARM.joint_names[j]].stiffness.sd for j in COLUMNS], rtol=1e-2)
    assert 0.2 < sd[0] / again.servos[0].stiffness < 0.3, "no droop tells of the base's: as the others, 20 % more or less"
    for name in ("gap", "load_friction", "coulomb"):
        assert_allclose(getattr(again.model, name), getattr(found.known_servos.model, name), rtol=1e-2)
    assert_allclose(again.to_angle(pulses), found.known_servos.to_angle(pulses), atol=1e-5)
    assert {"base.stiffness_nm_rad", "scissor.stiffness_nm_rad"} <= set(again.unmeasured)
    measured = {"stiffness_nm_rad", "load_friction", "coulomb_nm", "play_deg"}
    told = measured - {"coulomb_nm"}  # of which droop tells little: on some arms it counts as assumed
    assert not {f"shoulder.{key}" for key in told} & set(again.unmeasured)
    assert {f"base.{key}" for key in measured} <= set(again.unmeasured)
    assert overlay.read_text().count("load_friction: {value: 0.4000, measured: false}  # assumed") == 2

    write_back.write(urdf, write_back.urdf_text(ARM, found.links, "today"))
    arm, text, measured = descriptions.load(urdf), urdf.read_text(), found.links["upper_arm"]
    assert arm.links["upper_arm"].mass == approx(measured.mass.value, abs=1e-6)
    assert arm.links["upper_arm"].inertia[1, 1] == approx(measured.inertia.value, rel=1e-5)
    assert arm.links["turret"].mass == ARM.links["turret"].mass
    assert text.count("measured today") == 4 and "Safety" not in text
    assert "Frames.  base_link lies in the mounting plane" in text


def test_joints_that_bear_nothing_get_zero_and_scale_only(calibrated):
    arm, found = calibrated[1]
    for joint in ("base", "scissor"):
        zero, scale, *_ = hidden(arm.plant, joint)
        one = found.figures[joint]
        assert abs(one.zero.value - zero) < 4.0 * one.zero.sd and abs(one.scale.value - scale) < 4.0 * one.scale.sd
        assert one.stiffness is None
    assert servo_figures.figures_from(found.fit, {})["wrist"].how.startswith("droop at 16 visits")
    assert servo_figures.calibrated_servos(BELIEVED, {}) == BELIEVED
