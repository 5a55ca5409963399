"""How sure a calibration says it is, and what it says of poses, servos and readings that tell it nothing."""

import numpy as np
from calibration_truth import ARM, BELIEVED, JOINTS, SENSORS, SIMULATED, bench, hidden, looked

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.estimation.calibration import droop_model, evaluate
from picker_dynamics.estimation.calibration.droop_fit import fit
from picker_dynamics.estimation.calibration.poses import SIDES, Station, Weight


def test_the_intervals_contain_the_truth_as_often_as_they_say(calibrated):
    """One design, six arms: of 108 intervals 95 % are to contain the truth, ± 4 standard deviations of that count; errors in
    units of their standard deviation are of size 1."""
    stations, off = stations_of(calibrated[1].fit), []
    for seed in range(100, 106):
        arm = bench(seed)
        model = droop_model.DroopModel(evaluate.exact(arm.plant, BELIEVED)[0], BELIEVED, JOINTS)
        one = fit(model, looked(arm, stations))
        off += [
            (one.figure(joint, figure).value - truth) / one.figure(joint, figure).sd
            for joint in JOINTS
            for figure, truth in zip(droop_model.FIGURES[:-1], hidden(arm.plant, joint))
        ]
    share, count = np.mean(np.abs(off) < 1.96), len(off)
    assert count == 108 and abs(share - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / count), share
    assert 0.75 < np.sqrt(np.mean(np.square(off))) < 1.25


def stations_of(some):
    """Where readings were taken, each once."""
    return list({(*one.pulses_us, one.weight): Station(one.pulses_us, one.weight, SENSORS) for one in some.readings}.values())


def test_exact_beliefs_are_those_of_the_plant(calibrated):
    plant = calibrated[0].plant
    arm, servos = evaluate.exact(plant, BELIEVED)
    q, v = np.random.default_rng(0).uniform(-1.0, 1.0, (2, ARM.n))
    body = RigidBody(arm, servos.armature * plant.error.armature)
    np.testing.assert_allclose(body.inverse_dynamics(q, 0.0 * v, 0.0 * v), plant.bias(q, 0.0 * v), atol=1e-6)
    np.testing.assert_allclose(servos.model.stiffness, plant.servo.stiffness)
    for name in ("gap", "load_friction", "coulomb"):
        np.testing.assert_allclose(getattr(servos.model, name), getattr(plant.whole_servo, name))
    pulses = BELIEVED.to_pulse_us(BELIEVED.home)
    np.testing.assert_allclose(servos.to_angle(pulses), plant.servo_map.to_angle(pulses))


def test_the_tip_is_within_what_is_stated(calibrated):
    """Where the true arm rests for the set-points of the calibrated one, without friction or pulse steps; what is assumed
    of the base, its stiffness and friction too, is in what is stated."""
    bench, one = calibrated
    poses = np.array([path.end for path in evaluate.usual_paths(ARM, SIMULATED, 6)])
    plant, off = bench.plant, []
    for side in SIDES:
        for pose, pulses in zip(poses, evaluate.pulses_at(one, poses, side)):
            rest = bench.resting(Station(pulses, Weight(), ()), range(ARM.n), side)
            off.append(np.linalg.norm(plant.tip_at(rest) - plant.tip_at(pose)))
    stated = evaluate.tip_uncertainty(one, poses)
    assert 2e-4 < stated < 2.2e-3 and np.median(off) < stated and max(off) < 2.0 * stated
