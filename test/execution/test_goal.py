"""Goals as they come: joints by name, some of them only, and what is left of one that comes late."""

import numpy as np
import pytest
from arm_fixtures import goal_check, picker, servos
from hypothesis import given, settings
from hypothesis import strategies as st

from picker_dynamics.errors import JointNamesError, TrajectoryError
from picker_dynamics.execution.goal import MAX_GOAL_S, PAST_TOLERANCE_S, Goal, OutdatedError, points_of
from picker_dynamics.execution.reference_generator import Phase, ReferenceGenerator
from picker_dynamics.robot.joint_order import some_of

NAMES, HOME = picker().joint_names, np.array(servos().home)


def generator() -> ReferenceGenerator:
    made = ReferenceGenerator(NAMES, goal_check(), 4.0, picker().lower, picker().upper)
    made.start(HOME)
    return made


def base_goal(angles, times, **fields) -> Goal:
    targets = [[HOME[0] + angle, *HOME[1:]] for angle in angles]
    still = [[0.0] * 5] * len(angles)
    return Goal(NAMES, times, targets, still, still, **fields)


@given(st.permutations(range(5)), st.integers(1, 5))
@settings(max_examples=50, deadline=None)
def test_some_joints_in_any_order_are_found_by_name(order, count):
    chosen = list(order)[:count]
    joints, places = some_of([NAMES[k] for k in chosen], NAMES)
    assert joints.tolist() == sorted(chosen) and [chosen[place] for place in places] == sorted(chosen)
    values = [[float(k) for k in chosen]]
    points = points_of(Goal([NAMES[k] for k in chosen], [1.0], values, partial=True), NAMES)
    assert points.positions[0].tolist() == sorted(chosen)


@pytest.mark.parametrize(
    ("names", "text"), [([], "no joint is named"), (["tail"], "unknown joint 'tail'"), (["base", "base"], "base is listed twice")]
)
def test_wrong_names_in_a_partial_goal_are_told(names, text):
    with pytest.raises(JointNamesError, match=text):
        points_of(Goal(names, [1.0], [[0.0] * len(names)], partial=True), NAMES)


def test_without_leave_a_goal_names_all_joints():
    with pytest.raises(JointNamesError, match="scissor is missing"):
        points_of(Goal(NAMES[:-1], [1.0], [HOME[:-1]]), NAMES)


def test_of_a_goal_that_comes_late_the_points_ahead_are_left_at_their_times():
    made = generator()
    motion = made.submit(base_goal([0.1, 0.2, 0.4], [1.0, 2.0, 4.0], start_s=98.5), 100.0)
    assert motion.start_s == 100.0 and motion.trajectory.duration == pytest.approx(2.5), "ends when it was meant to"
    q, v, a = motion.trajectory.sample(0.5)
    assert (q[0], v[0], a[0]) == pytest.approx((HOME[0] + 0.2, 0.0, 0.0), abs=1e-9), "the next point, at its time"
    reference, _ = made.sample(100.0)
    np.testing.assert_allclose(reference.q, HOME, atol=1e-12)


def test_a_goal_that_is_hardly_late_starts_now_and_whole():
    motion = generator().submit(base_goal([0.1], [1.0], start_s=100.0 - 0.9 * PAST_TOLERANCE_S), 100.0)
    assert motion.trajectory.duration == pytest.approx(1.0)


@pytest.mark.parametrize("late", [1.0 + 1e-6, 5.0, 1.7e9])
def test_a_goal_that_would_be_over_is_outdated(late):
    made = generator()
    with pytest.raises(OutdatedError, match=r"should have started \d+\.\d+ s ago and would be over since"):
        made.submit(base_goal([0.1], [1.0], start_s=1.7e9 + 100.0 - late), 1.7e9 + 100.0)
    assert made.phase() is Phase.HOLDING


def test_a_goal_for_later_waits_for_another_motion_and_is_refused_too_far_ahead():
    made = generator()
    made.submit(base_goal([0.3], [3.0]), 0.0)
    later = base_goal([0.0], [2.0], start_s=2.0)
    assert made.must_wait(later, 0.01)
    assert made.must_wait(base_goal([0.0], [2.0], start_s=30.0), 0.01), "begun now, it would end the motion under way"
    assert not made.must_wait(base_goal([0.0], [2.0], start_s=3.5), 3.2), "that motion is over"
    with pytest.raises(TrajectoryError, match="while another moves the arm"):
        made.submit(later, 0.01)
    with pytest.raises(TrajectoryError, match="from now"):
        made.require_sound(base_goal([0.0], [2.0], start_s=MAX_GOAL_S + 1.0), 0.0)


def test_which_goals_are_heavy():
    assert not base_goal([0.1], [2.0]).heavy
    assert base_goal([0.1], [30.0]).heavy and base_goal([0.1] * 400, np.linspace(0.01, 4.0, 400)).heavy
