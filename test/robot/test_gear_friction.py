"""Friction of a servo's gears: the inverse against the law itself, the band at rest, the side that a motion leaves."""

import numpy as np
import pytest
from arm_fixtures import rigid_body, servos
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from picker_dynamics.robot.friction_side import WIDTH, FrictionSide
from picker_dynamics.robot.servo import ServoModel

K, DELTA, PLAY, STALL, NO_LOAD, X, COULOMB = 10.0, 0.004, 0.009, 1.08, 7.48, 0.4, 0.0216
SERVO = ServoModel([K], [DELTA], [NO_LOAD], [STALL], ["elbow"], load_friction=[X], coulomb=[COULOMB], play=[PLAY])


def out(motor: float, side: float) -> float:
    """What is left of a motor's torque behind the gears."""
    return motor - side * (COULOMB + X * abs(motor))


@settings(max_examples=40)
@given(tau=st.floats(-1.2, 1.2), side=st.floats(-1.0, 1.0))
def test_the_motor_gives_what_the_gears_take(tau, side):
    expected = brentq(lambda motor: out(motor, side) - tau, -10.0, 10.0, xtol=1e-13)
    assert SERVO.motor_for([tau], [side])[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("load", [-0.5, 0.01, 0.3, 0.9])
@pytest.mark.parametrize("side", [-1.0, -0.3, 1.0])
def test_a_joint_rests_where_its_setpoint_was_made_for(load, side):
    q_cmd = SERVO.setpoint([0.3], [0.0], [load], [side])
    motor = SERVO.motor_for([load], [side])
    if abs(float(motor[0])) > 0.06:  # else tanh is not the sign
        np.testing.assert_allclose(q_cmd - SERVO.sag(motor), [0.3], atol=1e-5)
        np.testing.assert_allclose(SERVO.side_of(motor, [load]), [side], atol=1e-12)


def test_the_set_point_makes_up_for_the_supply_that_it_causes():
    """At rest the share that the springs' own torques leave is the one that was solved for."""
    servo, pose = servos().model, np.array([0.3, 0.8, -0.8, -0.2, 0.6])
    load = rigid_body().gravity(pose)
    told = servo.setpoint(pose, 0.0 * load, load, 1.0, 0.85)
    supply = servo.supply_at(told, pose, 0.85)
    motor = servo.spring_torque(told, pose, supply)
    np.testing.assert_allclose(supply, 0.85 - np.abs(servo.spring_torque(told, pose, supply)) @ servo.drain, atol=1e-9)
    loaded = np.abs(load) > 0.1
    np.testing.assert_allclose(motor[loaded], servo.motor_for(load, 1.0)[loaded], rtol=1e-3)


# -- the side ------------------------------------------------------------------------------------------


def test_nobody_knows_the_side_before_the_joint_moved():
    side = FrictionSide(2)
    for q in (0.0, 0.5 * WIDTH, 1.5 * WIDTH):
        side.advance(np.array([q, 0.0]))
    assert side.bounds[:, 0] == pytest.approx([0.5, 1.0])
    assert (*side.bounds[:, 1], side.middle[1]) == (-1.0, 1.0, 0.0)
    side.advance(np.array([2.5 * WIDTH, 0.0]))
    assert side.bounds[:, 0] == pytest.approx([1.0, 1.0])


def test_the_way_back_passes_from_one_side_to_the_other():
    side = FrictionSide(1)
    side.start([1.0])
    side.advance(np.array([0.2]))
    for k, expected in enumerate((0.5, 0.0, -0.5, -1.0, -1.0), 1):
        side.advance(np.array([0.2 - 0.5 * k * WIDTH]))
        assert side.middle[0] == pytest.approx(expected)
    side.advance(np.array([0.3]))
    assert side.middle[0] == 1.0
