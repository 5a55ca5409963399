"""The servo model against brute force: its own torque law solved by bisection, and the servo's data sheet."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from picker_dynamics.errors import InputError
from picker_dynamics.robot.servo import ServoModel

NAMES = ("shoulder", "elbow")
K, DELTA, STALL, NO_LOAD = np.array([10.0, 25.0]), np.array([0.004, 0.002]), np.array([1.08, 0.92]), 7.48


@pytest.fixture
def servo():
    return ServoModel(K, DELTA, NO_LOAD, STALL, NAMES)


def test_rest_balances_the_load_and_undoes_the_setpoint(servo):
    load = np.array([[0.5, -0.4], [-0.2, 0.9], [0.0, 0.0]])
    q = servo.resting_position(np.array([0.3, -0.2]), load)
    assert_allclose(servo.spring_torque(np.array([0.3, -0.2]), q), load, atol=1e-14)
    q_d = np.array([0.7, -1.1])
    reached = servo.resting_position(servo.setpoint(q_d, np.zeros(2), load), load)
    assert_allclose(reached, np.broadcast_to(q_d, (3, 2)), atol=1e-12)


@pytest.mark.parametrize(
    "name, values", [("stiffness", [-10.0, 25.0]), ("deadband", [-1e-3, 0.0]), ("stall_torque", [1.0, float("nan")])]
)
def test_bad_parameters_are_named(name, values):
    figures = {"stiffness": K, "deadband": DELTA, "no_load_speed": NO_LOAD, "stall_torque": STALL, name: values}
    with pytest.raises(InputError, match=name):
        ServoModel(**figures, joint_names=NAMES)
