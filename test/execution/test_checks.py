"""Whether a motion may start, and the smallest slowing with which it may."""

import numpy as np
import pytest
from arm_fixtures import goal_check, picker, servos

from picker_dynamics.errors import InfeasibleError, LimitError
from picker_dynamics.execution.goal_check import MAX_STRETCH, STRETCH_STEP
from picker_dynamics.trajectory.trajectory import from_points

HOME = np.array(servos().home)


def move(by, duration):
    zero = np.zeros(5)
    return from_points([0.0, duration], [HOME, HOME + by], [zero, zero], [zero, zero], joint_names=picker().joint_names)


def builder(by, duration):
    return lambda factor: move(by, duration * factor)


SWING = np.array([0.8, 0.0, 0.0, 0.0, 0.0])


def test_tip_speed_is_that_of_finite_differences():
    check, trajectory = goal_check(), move(np.array([0.5, 0.2, -0.3, 0.4, 0.0]), 1.0)
    t = np.linspace(0.0, 1.0, 2001)
    tip = check.model.forward_kinematics(trajectory.sample(t)[0])
    truth = np.linalg.norm(np.diff(tip, axis=0), axis=1).max() / (t[1] - t[0])
    assert check.tip_speed(trajectory)[0] == pytest.approx(truth, rel=1e-3)


def test_a_slow_motion_is_left_as_it_is():
    assert goal_check().fit(builder(SWING, 6.0)).factor == 1.0


@pytest.mark.parametrize("duration", [0.15, 0.4, 1.0])
def test_the_factor_found_is_enough_and_hardly_more_than_needed(duration):
    check = goal_check()
    fitted = check.fit(builder(SWING, duration))
    check.check(fitted.trajectory)
    with pytest.raises((LimitError, InfeasibleError)):
        check.check(move(SWING, duration * fitted.factor / STRETCH_STEP**1.01))


def test_what_slowing_cannot_mend_is_refused_with_that_reason():
    with pytest.raises(InfeasibleError, match="shoulder"):
        goal_check().fit(builder(-HOME, 0.8))


def test_too_fast_even_when_slowed_most_is_refused():
    with pytest.raises(LimitError):
        goal_check().fit(builder(SWING, 0.9 / MAX_STRETCH / 3.0))


def test_stretching_may_be_off():
    with pytest.raises(LimitError, match=r"tip would move at \d.\d\d m/s") as caught:
        goal_check(stretch=False).fit(builder(SWING, 0.5))
    assert caught.value.limit == 0.25
