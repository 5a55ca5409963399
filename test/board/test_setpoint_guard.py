"""The guard on set-points: time, step and continuity, whatever is asked."""

import numpy as np
import pytest
from session_rig import HOME, SERVOS

from picker_dynamics.board.setpoint_guard import AHEAD_S, PAST_S, Refusal, SetpointGuard

BASE = np.eye(5)[0]


def guard(*steps: float, dt: float = 0.01) -> SetpointGuard:
    """Was sent home, and the base on by each of ``steps`` [rad], every ``dt``; the last one for t = 0."""
    made = SetpointGuard(SERVOS)
    made.restart(HOME)
    for k, q in enumerate(np.cumsum((0.0, *steps))):
        time_s = (k - len(steps)) * dt
        assert made.refusal(time_s, HOME + q * BASE, time_s) is None
        made.sent(time_s, HOME + q * BASE)
    return made


def largest(*steps: float, dt: float, sign: float = 1.0) -> float:
    """How far the base may go from where it was sent last, for ``dt`` later [rad]; by bisection."""
    made, low, high = guard(*steps), 0.0, 10.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        refused = made.refusal(dt, HOME + (sum(steps) + sign * middle) * BASE, dt)
        low, high = (low, middle) if refused else (middle, high)
    return low


@pytest.mark.parametrize("dt", [0.005, 0.01, 0.02, 0.05, 0.1, 0.2])
def test_how_far_is_scaled_with_the_time_since_and_bounded(dt):
    """What goes on as it went goes as far as its speed takes it; from standstill far less, however long it waits."""
    assert largest(0.04, 0.04, dt=dt) == pytest.approx(4.0 * min(dt, 0.1))
    still = largest(dt=dt)
    assert still == pytest.approx(min(4.0 * dt, 0.04 + 20.0 * min(dt, 0.1) ** 2)) and still <= 0.2401


def test_a_pose_that_is_not_the_present_one_is_no_continuation():
    """Another sender's stale pose, a tenth of a radian away, between the commands of the first or right behind them."""
    for dt in (0.01, 0.034, 0.05):
        made = guard()
        assert made.refusal(dt, HOME + 0.10 * BASE, dt) is Refusal.AWAY
    assert made.said == "base leaves its way by 5.7 deg in 50 ms, allowed 5.2 deg"
    assert made.refusal(0.01, HOME, 0.01) is None, "and what goes on as it went is not held up"


@pytest.mark.parametrize(
    "time_s, said",
    [
        (-0.005, Refusal.STALE),
        (-PAST_S - 0.01, Refusal.STALE),
        (0.0, Refusal.THINNED),
        (0.002, Refusal.THINNED),
        (0.01, None),
        (AHEAD_S + 0.01, Refusal.AHEAD),
        (1e12, Refusal.AHEAD),
        (-1e12, Refusal.STALE),
    ],
)
def test_time_goes_on_near_the_present(time_s, said):
    assert guard().refusal(time_s, HOME, 0.0) is said
