"""The servo model against brute force: its own torque law solved by bisection, and the servo's data sheet."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from picker_dynamics.errors import InfeasibleError, InputError
from picker_dynamics.robot.servo import ServoModel

NAMES = ("shoulder", "elbow")
K, DELTA, STALL, NO_LOAD = np.array([10.0, 25.0]), np.array([0.004, 0.002]), np.array([1.08, 0.92]), 7.48


@pytest.fixture
def servo():
    return ServoModel(K, DELTA, NO_LOAD, STALL, NAMES)


def scalar_torque(j, q_cmd, q, v):
    """The design's formula, written out with ifs."""
    error = q_cmd - q
    if abs(error) <= DELTA[j]:
        pull = 0.0
    elif error > 0:
        pull = K[j] * (error - DELTA[j])
    else:
        pull = K[j] * (error + DELTA[j])
    return max(-STALL[j], min(STALL[j], pull)) - STALL[j] / NO_LOAD * v


@pytest.mark.parametrize("j", [0, 1])
@pytest.mark.parametrize("u", [-0.9, -0.3, -0.06, 0.06, 0.3, 0.9])
def test_setpoint_is_the_root_of_the_torque_law(servo, j, u):
    """u: spring torque.  tanh differs from the sign by 2 exp(-2 u / u_s), 1e-5 at 0.06 N·m."""
    rng = np.random.default_rng(1)
    q, v = rng.uniform(-1, 1, 2), rng.uniform(-3, 3, 2)
    tau = u - servo.damping * v
    expected = brentq(lambda x: scalar_torque(j, x, q[j], v[j]) - tau[j], q[j] - 0.2, q[j] + 0.2, xtol=1e-14)
    assert servo.setpoint(q, v, tau)[j] == pytest.approx(expected, abs=2e-5 * DELTA[j])


def test_rest_balances_the_load_and_undoes_the_setpoint(servo):
    load = np.array([[0.5, -0.4], [-0.2, 0.9], [0.0, 0.0]])
    q = servo.resting_position(np.array([0.3, -0.2]), load)
    assert_allclose(servo.spring_torque(np.array([0.3, -0.2]), q), load, atol=1e-14)
    q_d = np.array([0.7, -1.1])
    reached = servo.resting_position(servo.setpoint(q_d, np.zeros(2), load), load)
    assert_allclose(reached, np.broadcast_to(q_d, (3, 2)), atol=1e-12)


def test_rest_under_more_than_stall_is_refused_by_name(servo):
    with pytest.raises(InfeasibleError, match=r"elbow bears 1\.00 N·m and stalls at 0\.92") as caught:
        servo.resting_position(np.zeros(2), np.array([0.1, -1.0]))
    assert (caught.value.subject, caught.value.limit) == ("elbow", 0.92)


@pytest.mark.parametrize(
    "name, values", [("stiffness", [-10.0, 25.0]), ("deadband", [-1e-3, 0.0]), ("stall_torque", [1.0, float("nan")])]
)
def test_bad_parameters_are_named(name, values):
    figures = {"stiffness": K, "deadband": DELTA, "no_load_speed": NO_LOAD, "stall_torque": STALL, name: values}
    with pytest.raises(InputError, match=name):
        ServoModel(**figures, joint_names=NAMES)
