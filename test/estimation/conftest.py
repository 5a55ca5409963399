"""An arm that was calibrated at rest, for all tests of the room; and rehearsals, made short."""

from dataclasses import replace
from functools import partial

import numpy as np
from calibration_truth import ARM, BELIEVED, COARSE_S, JOINTS, SENSORS, bench, looked
from pytest import fixture

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.estimation import rehearsal
from picker_dynamics.estimation.calibration import compare, evaluate, poses
from picker_dynamics.estimation.calibration.arm_estimate import ArmEstimate
from picker_dynamics.estimation.calibration.droop_fit import fit
from picker_dynamics.estimation.calibration.droop_model import DroopModel, Weight
from picker_dynamics.estimation.calibration.instruments import ANGLE_SD
from picker_dynamics.estimation.calibration.servo_figures import angle_figures, calibrated_servos, figures_from
from picker_dynamics.estimation.calibration.steps import result
from picker_dynamics.sim.plant import Plant

WEIGHTS = (Weight(0.2), Weight(0.4), Weight(0.2, (0.12, 0.0, 0.0)))


def angles(arm, name):
    """Figures of a joint that bears nothing, read at four places."""
    column = ARM.joint_names.index(name)
    servo = BELIEVED.servos[column]
    told = np.linspace(ARM.lower[column], ARM.upper[column], 6)[1:-1]
    read = arm.plant.servo_map.servos[column].to_angle(servo.to_pulse_us(told))
    return angle_figures(servo, told, read + arm.rng.normal(0.0, ANGLE_SD, 4))


@fixture(scope="session")
def calibrated():
    """An arm at rest whose masses are known, and its calibration: three stations bare, then five with weights."""
    arm = bench(1)
    exact, found = evaluate.exact(arm.plant, BELIEVED)[0], {name: angles(arm, name) for name in ("base", "scissor")}
    model = DroopModel(exact, BELIEVED, JOINTS)
    _, chosen = poses.stations(model, calibrated_servos(BELIEVED, found), SENSORS, 1)
    readings = looked(arm, chosen[:3])
    first, loaded = fit(model, readings), []
    shares = poses.LOADED_HOLD_SHARE, poses.LOADED_PEAK_SHARE
    wary = poses.cautious_validator(RigidBody(exact), calibrated_servos(BELIEVED, figures_from(first, found)), *shares)
    for weight in WEIGHTS:
        some = poses.candidates(model, poses.with_weight(wary, weight), SENSORS, count=60, seed=2)
        loaded += [replace(one, weight=weight) for one in some]
    readings += looked(arm, poses.choose(model, wary, loaded, 5, first), len(readings))
    return arm, ArmEstimate(exact, BELIEVED, {}, found, fit(model, readings))


@fixture
def few_poses(monkeypatch):
    """Poses are chosen among few, few motions are judged by, and arms are simulated in coarse steps."""
    monkeypatch.setattr(poses, "CANDIDATES", 40)
    monkeypatch.setattr(evaluate, "DRAWS", 20)
    paths = evaluate.usual_paths
    for module in (evaluate, result, compare, rehearsal):
        monkeypatch.setattr(module, "usual_paths", lambda arm, servos, *_: paths(arm, servos, 2))
    for module in (rehearsal, evaluate):
        monkeypatch.setattr(module, "Plant", partial(Plant, dt=COARSE_S))
