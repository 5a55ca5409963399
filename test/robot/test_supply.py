"""The supply of servos: what their own current leaves of it, in motion and at rest, forwards and backwards."""

from __future__ import annotations

import numpy as np
import pytest
from arm_fixtures import rigid_body, servos
from scipy.optimize import brentq

SERVOS, BODY = servos(), rigid_body()
SERVO = SERVOS.model
REACHING = np.array([0.3, 0.8, -0.8, -0.2, 0.6])


@pytest.mark.parametrize("source", [1.0, 0.9])
def test_at_rest_springs_and_supply_are_of_one_mind(source):
    """The share that was solved for is the one that its own torques leave, found by bisection here."""
    told = REACHING + [0.0, 0.12, -0.05, 9.0, 0.001]

    def excess(share):
        return share - (source - float(np.abs(SERVO.spring_torque(told, REACHING, share)) @ SERVO.drain))

    assert SERVO.supply_at(told, REACHING, source).item() == pytest.approx(brentq(excess, 0.2, 1.5), abs=1e-9)


@pytest.mark.parametrize("source", [1.0, 0.85])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_set_point_makes_up_for_the_supply_that_it_causes(source, side):
    load = BODY.gravity(REACHING)
    told = SERVO.setpoint(REACHING, 0.0 * load, load, side, source)
    motor = SERVO.spring_torque(told, REACHING, SERVO.supply_at(told, REACHING, source))
    loaded = np.abs(load) > 0.1
    np.testing.assert_allclose(motor[loaded], SERVO.motor_for(load, side)[loaded], rtol=1e-3)
