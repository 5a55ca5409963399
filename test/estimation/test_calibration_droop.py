"""Servo figures from droop, against MuJoCo's arm at rest: hidden masses, stiffness, deadband, zeros and scales."""

from dataclasses import replace

import numpy as np
from calibration_truth import ARM, BELIEVED, JOINTS, SENSORS, VALIDATOR, hidden
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx, raises

from picker_dynamics.errors import InfeasibleError, InputError
from picker_dynamics.estimation.calibration import droop_model
from picker_dynamics.estimation.calibration.droop_fit import fit
from picker_dynamics.estimation.calibration.poses import way


def test_derivatives_of_the_readings_are_those_of_differences():
    model = droop_model.DroopModel(ARM, BELIEVED, JOINTS)
    (mean, sd), rng = model.prior, np.random.default_rng(3)
    poses = [[0.0, *rng.uniform([1.0, -1.5, -1.0], [2.0, -0.5, 1.0]), 1.2] for _ in range(4)]
    readings = [
        droop_model.Reading(BELIEVED.to_pulse_us(q), sensor, 0.0, 0, droop_model.Weight(weight, (0.05, 0.0, 0.0)), side, supply)
        for q, weight, side, supply in zip(poses, (0.0, 0.2, 0.1, 0.3), (1.0, -1.0, 0.0, 1.0), np.linspace(0.9, 1.1, 4))
        for sensor in SENSORS
    ]
    unknowns = mean + 0.2 * sd * rng.normal(size=len(mean))
    _, by_unknowns, _ = model.linearised(unknowns, readings)
    for i, step in enumerate(1e-5 * sd):
        shifted = [model.linearised(unknowns + sign * step * np.eye(len(mean))[i], readings)[0] for sign in (1.0, -1.0)]
        assert_allclose(by_unknowns[:, i], (shifted[0] - shifted[1]) / (2.0 * step), rtol=1e-4, atol=1e-6)


def test_zero_scale_spring_gap_and_friction_are_found(calibrated):
    arm, found = calibrated
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
    pulses = BELIEVED.to_pulse_us(BELIEVED.home)
    true, ours, before = (servos.to_angle(pulses) for servos in (arm.plant.servo_map, found.known_servos, BELIEVED))
    assert np.abs(ours - true).max() < np.radians(0.4) < np.abs(before - true).max()


def test_stiffness_is_that_at_the_nominal_voltage_where_the_supply_is_measured(calibrated):
    """The same readings, said to be taken at 95 % of it: the springs are stiffer by as much."""
    fitted = calibrated[1].fit
    low = fit(fitted.model, [replace(one, supply=0.95) for one in fitted.readings])
    for joint in ("shoulder", "elbow"):
        assert low.stiffness(joint).value == approx(fitted.stiffness(joint).value / 0.95, rel=0.01)


def test_a_misread_inclinometer_is_shown_as_an_outlier(calibrated):
    fitted = calibrated[1].fit
    readings = list(fitted.readings)
    readings[7] = replace(readings[7], value=readings[7].value + np.radians(4.0))
    found = fit(fitted.model, readings)
    assert 7 in found.outliers and len(found.outliers) <= 2 and np.abs(found.residuals).argmax() == 7


def test_too_few_readings_and_those_from_one_side_are_refused(calibrated):
    fitted = calibrated[1].fit
    with raises(InputError, match="5 readings: take 12 at least"):
        fit(fitted.model, fitted.readings[:5])
    with raises(InputError, match="0 of 8 visits came from below: only both sides tell friction"):
        fit(fitted.model, [one for one in fitted.readings if one.side < 0.0])
    with raises(InputError, match=r"a weight of 200 kg was hung on, .* are these grams\?"):
        replace(fitted.readings[0], weight=droop_model.Weight(200.0))


def test_a_way_that_cannot_be_borne_goes_by_home_or_is_refused():
    home = np.array(BELIEVED.home)
    lean_back = np.array([0.0, 1.75, -0.3, 0.0, 1.2])
    assert_array_equal(way(VALIDATOR, home, lean_back)[-1], lean_back)
    with raises(InfeasibleError, match="shoulder"):
        way(VALIDATOR, home, np.array([0.0, 0.0, 0.0, 0.0, 1.2]))
    with raises(InfeasibleError, match="shoulder"):  # home could be borne, and from there the end, but not the way to home
        way(VALIDATOR, np.array([0.0, 0.0, 0.0, 0.0, 1.2]), lean_back)
