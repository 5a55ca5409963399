"""The whole chain against the simulated arm's truth: what compensation achieves, and what each part of it is for."""

from dataclasses import replace

import numpy as np
from arm_fixtures import picker, rigid_body, servos
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx, fixture, raises

from picker_dynamics.board.protocol import Fault
from picker_dynamics.errors import BoardFaultError, PickerError
from picker_dynamics.estimation.closed_loop import ClosedLoop, feasible_poses, hold_errors, paths_between
from picker_dynamics.execution.validator import torque_validator
from picker_dynamics.sim.plant import Plant

ARM, SERVOS, MODEL = picker(), servos(ideal=True), rigid_body()
VALIDATOR = torque_validator(MODEL, SERVOS)


def servos_with(quantum_us=SERVOS.quantum_us, **figures):
    return replace(SERVOS, quantum_us=quantum_us, servos=tuple(replace(servo, **figures) for servo in SERVOS.servos))


SETTLE_S = 2.0
"""How long after arrival a hold error is read [s]."""

FINE = servos_with(quantum_us=0.001, deadband_us=0.0)
"""Servos without deadband on outputs without steps: what is left is the chain's own error."""


@fixture(scope="module")
def paths():
    return paths_between(feasible_poses(VALIDATOR, ARM.lower, ARM.upper, 2, seed=3, start=SERVOS.home), VALIDATOR)


def errors_mm(paths, mode, *, servos=SERVOS, believed=None, drift=0.0, **plant):
    loop = ClosedLoop(Plant(ARM, servos, **plant), MODEL, believed or servos, mode, clock_drift=drift)
    hold, rms = hold_errors(loop, paths, SETTLE_S)
    return 1e3 * hold, 1e3 * rms


@fixture(scope="module")
def exact(paths):
    """Errors of holding and tracking [mm] per mode, with exact parameters."""
    return {mode: errors_mm(paths, mode) for mode in ("none", "gravity", "full")}


def test_without_compensation_it_sags_as_statics_say(paths, exact):
    """The pose q = q_d - g(q) / K - delta sign g(q), by Pinocchio; and by the centimetres that the design counts on."""
    hold, _ = exact["none"]
    for path, error in zip(paths, hold):
        q = path.end
        for _ in range(50):
            g = np.round(MODEL.gravity(q), 9)
            q = path.end - g / SERVOS.model.stiffness - SERVOS.model.deadband * np.sign(g)
        sag = np.linalg.norm(MODEL.forward_kinematics(q) - MODEL.forward_kinematics(path.end))
        assert error == approx(1e3 * sag, abs=2.0)  # quantisation, and the base anywhere in its deadband
    assert 15.0 < np.median(hold) < 35.0


def test_full_compensation_is_fifteen_times_better_and_gravity_alone_lags(exact):
    hold, tracking = exact["full"]
    assert np.median(hold) <= 1.5 and np.median(exact["gravity"][0]) <= 1.5
    assert np.median(exact["none"][0]) >= 15.0 * np.median(hold)
    assert np.median(exact["none"][1]) >= 15.0 * np.median(tracking)
    assert np.median(exact["gravity"][1]) > 2.0 * np.median(tracking)
    assert all((exact[mode][0] < exact["none"][0]).all() for mode in ("gravity", "full")), "at every pose"


def test_the_chain_itself_adds_no_lag_and_a_clock_that_drifts_is_fitted(paths):
    """With ideal servos the tip follows within 0.1 mm; half a percent of drift is 5 ms after one second, and 1 mm."""
    hold, tracking = errors_mm(paths, "full", servos=FINE)
    assert hold.max() < 0.06 and tracking.max() < 0.1
    assert errors_mm(paths, "full", servos=FINE, drift=5e-3)[1].max() < 0.25


def test_a_berry_that_is_announced_is_held_and_one_that_is_not_sags(paths):
    loop = ClosedLoop(Plant(ARM, SERVOS), MODEL, SERVOS, "full")
    loop.start(paths[0].end)
    without = loop.hold(2.5)
    loop.plant.attach(0.025)
    unannounced = loop.hold(2.5)
    loop.set_payload(0.025)
    announced = loop.hold(2.5)
    droop = 1e3 * (without.tip[-1, 2] - unannounced.tip[-1, 2])
    J = MODEL.jacobian(paths[0].end)
    assert droop == approx(1e3 * 0.025 * 9.81 * (J[2] @ (J[2] / SERVOS.model.stiffness)), rel=0.15)
    assert 1e3 * announced.tip_error[-1] < 2.0 < 1e3 * unannounced.tip_error[-1]


def test_a_recording_says_what_happened_and_a_fault_of_the_board_ends_it(paths):
    loop = ClosedLoop(Plant(ARM, FINE), MODEL, FINE)
    loop.start(paths[0].start)
    run = loop.hold(0.5).joined(loop.run(paths[0])).joined(loop.hold(0.5))
    assert np.allclose(np.diff(run.t), 0.01) and run.t[-1] == approx(1.0 + 0.06 + paths[0].duration, abs=0.011)
    assert_array_equal(run.q_ref[[0, -1]], [paths[0].start, paths[0].end])
    assert_allclose(run.tip_ref, MODEL.forward_kinematics(run.q_ref))
    assert_allclose(run.tip, MODEL.forward_kinematics(run.q), atol=1e-9)
    assert_allclose(run.tau[-1], run.tau_ref[-1], atol=2e-3)  # both are the torque on the joints
    assert run.tip_error.max() < 5e-4 and run.rms < 2e-4 and np.abs(run.setpoint - run.q_ref).max() < 0.2
    loop.arm.board.firmware.set_cause(Fault.OUTPUT_FAILED, True)
    with raises(BoardFaultError, match="OUTPUT_FAILED"):
        loop.hold(0.1)


def test_random_poses_are_reproducible_and_pass_the_gate():
    poses = np.array(feasible_poses(VALIDATOR, ARM.lower, ARM.upper, 4, seed=5, start=SERVOS.home))
    assert_array_equal(poses, feasible_poses(VALIDATOR, ARM.lower, ARM.upper, 4, seed=5, start=SERVOS.home))
    limit = SERVOS.hold_share * SERVOS.stall_torque
    for path in paths_between(poses, VALIDATOR):
        VALIDATOR.validate(path)
        assert (np.abs(MODEL.gravity(path.end)) <= limit).all()
    tips = MODEL.forward_kinematics(poses[1:])
    assert (np.hypot(tips[:, 0], tips[:, 1]) >= 0.2).all() and (tips[:, 2] >= 0.02).all()
    with raises(PickerError, match="of 1 random poses"):
        feasible_poses(VALIDATOR, ARM.lower, ARM.upper, 1, seed=0, start=SERVOS.home, reach_m=1.0)
