"""Following the supply's source: the arm's own current is no change of it, ripple none, and what cannot be is refused by name."""

import re
from dataclasses import replace

import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, servos

from picker_dynamics.control.compensation import SOURCE_RATE, Compensator
from picker_dynamics.control.supply_follow import SupplyFollower, checked_source
from picker_dynamics.errors import InputError
from picker_dynamics.estimation.closed_loop import SETTLE_S, ClosedLoop
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.plant_error import draw
from picker_dynamics.trajectory import profiles

SERVOS = servos()
IDLE, HALF = np.zeros(5), 0.5 * SERVOS.model.motor_stall
STRETCHED = np.array([0.3, 0.5, -0.6, -0.2, 0.6])


def followed(readings, motor=IDLE, dt=0.02, begun=6000):
    one = SupplyFollower(SERVOS)
    one.measure(begun, IDLE, 0.0)
    return one, [one.measure(mv, motor, dt) for mv in readings]


def test_what_the_motors_take_is_no_change_of_the_source():
    """Five servos at half their stall torque take 5 x 1.25 % of 6 V."""
    one, shares = followed([6000 - 375] * 100, HALF)
    np.testing.assert_allclose(shares, 1.0, atol=1e-9)
    assert one.problem == ""


def test_a_lower_source_is_followed_within_seconds_and_without_a_jump():
    _, shares = followed([5400] * 500)
    assert np.abs(np.diff([1.0, *shares])).max() < 0.1 * 0.021
    assert shares[50] == pytest.approx(0.9 + 0.1 * np.exp(-1.0), abs=0.005)
    assert shares[-1] == pytest.approx(0.9, abs=0.004)


def test_steps_of_the_converter_move_nothing():
    ripple = np.random.default_rng(0).choice([5986, 5996, 6006], 300).tolist()
    assert len(set(followed(ripple, begun=5996)[1])) == 1


@pytest.mark.parametrize(
    "reading, said", [(0, "reads 0.00 V, .*6 V are assumed"), (12_300, "reads 12.30 V, must be 3.6 ... 8.4 V")]
)
def test_a_reading_that_cannot_be_is_named_and_the_nominal_voltage_used(reading, said):
    one, shares = followed([5400] * 500 + [reading] * 500)
    assert re.search(said, one.problem)
    assert shares[499] < 0.91 and shares[-1] == pytest.approx(1.0, abs=0.004)
    assert np.abs(np.diff(shares)).max() < 0.003, "nothing jumps"
    one.measure(6000, IDLE, 0.02)
    assert one.problem == ""


def test_the_set_point_follows_another_source_at_its_own_pace():
    compensator = Compensator(rigid_body(), SERVOS, fade_s=0.0)
    still, q_cmd = np.zeros(5), []
    for k in range(400):
        compensator.source = 1.0 if k < 10 else 0.9
        q_cmd.append(compensator.update(STRETCHED, still, still, 0.01)[0])
    lead = np.array(q_cmd) - STRETCHED
    assert np.abs(np.diff(lead, axis=0)).max() < 1.5 * 0.01 * SOURCE_RATE * np.abs(lead).max()
    motor = SERVOS.model.motor_for(rigid_body().gravity(STRETCHED), 0.0)
    ratio = SERVOS.model.supply_under(motor, 1.0) / SERVOS.model.supply_under(motor, 0.9)
    gap = SERVOS.model.gap[1]
    assert (lead[-1, 1] - gap) / (lead[0, 1] - gap) == pytest.approx(ratio.item(), rel=1e-9)


def test_the_true_arm_holds_on_a_low_supply_that_is_measured():
    """Through frames, converter and filter: where nobody measures, a tenth of the droop is missing, 5 mm."""
    arm = picker()
    low = replace(draw(arm, SERVOS.stall_torque), source=0.9)
    loop = ClosedLoop(Plant(arm, SERVOS, plant_error=low), rigid_body(), SERVOS)
    loop.start(SERVOS.home)
    loop.hold(SETTLE_S)
    loop.run(profiles.along(profiles.profile("quintic"), SERVOS.home, STRETCHED, 2.0, arm.joint_names))
    error, droop = loop.hold(SETTLE_S).tip_error[-1], np.linalg.norm(loop.plant.tip_at(loop.plant.setpoint) - loop.plant.tip)
    assert error < 2e-3 < 0.05 * droop


@pytest.mark.parametrize("share", [0.59, 1.41, np.nan])
def test_a_source_that_cannot_be_is_refused(share):
    with pytest.raises(InputError, match="must be 0.6 to 1.4"):
        checked_source(share)
