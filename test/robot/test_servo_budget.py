"""Current and temperature of the servos: against the closed solution, and what is said of whom."""

import re

import numpy as np
from arm_fixtures import servos
from pytest import approx, mark

from picker_dynamics.robot.servo_budget import ServoBudget

SERVOS = servos(simulated=False, ideal=True)
STALL = SERVOS.stall_torque
ALL = np.ones(5, dtype=bool)
SHOULDER = np.eye(5)[1]


def loaded(share, seconds: float = 0.0, step_s: float = 0.02, **options) -> ServoBudget:
    """A budget after ``seconds`` at these shares of stall torque."""
    budget = ServoBudget(SERVOS, **options)
    budget.load(np.asarray(share) * STALL, ALL)
    for _ in range(round(seconds / step_s)):
        budget.advance(step_s)
    return budget


@mark.parametrize("step_s", [0.1, 1.0])
def test_temperature_follows_the_closed_solution_whatever_the_step(step_s):
    motor = SERVOS.servos[1].electric
    for seconds in (5.0, 60.0, 600.0):
        expected = 25.0 + motor.stall_rise_k * 0.5**2 * (1.0 - np.exp(-seconds / motor.thermal_s))
        assert loaded(0.5 * SHOULDER, seconds, step_s).celsius[1] == approx(expected, abs=1e-6)


def test_a_warm_servo_is_named_with_amount_and_the_time_that_is_left():
    budget = loaded(0.6 * SHOULDER, 60.0)
    text, too_hot = budget.temperature()
    left = float(re.search(r"there in (\d+) s", text)[1])
    assert re.match(r"shoulder is at \d+ deg C \(estimated\), limit 75, giving 60% of its stall torque", text) and not too_hot
    for _ in range(round(left / 0.02) + 1):
        budget.advance(0.02)
    assert budget.temperature().too_hot and "let it rest" in budget.temperature().text, "the prediction comes true"


def test_more_current_than_the_supply_gives_is_said_once():
    budget = ServoBudget(SERVOS)
    budget.load(np.array([0.2, 0.9, 0.7, 0.3, 0.1]) * STALL, ALL)
    budget.load(np.zeros(5), ALL)
    peak, text = budget.take_peak()
    assert peak == approx(5 * 0.01 + 2.2 * 2.49)
    assert text == "the servos draw 5.5 A (estimated), the supply gives 5 A"
    peak, text = budget.take_peak()
    assert peak == approx(0.05) and text == ""
