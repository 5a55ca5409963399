"""Goals as they come: joints by name, some of them only, and what is left of one that comes late."""

import numpy as np
import pytest
from execution_rig import HOME, NAMES, Rig, goal, moved
from hypothesis import given, settings
from hypothesis import strategies as st

from picker_dynamics.errors import InputError, TrajectoryError
from picker_dynamics.execution.goal import Goal, parse
from picker_dynamics.robot.joint_order import order_of


def base_goal(angles, times, **fields) -> Goal:
    return goal(*(moved(base=angle) for angle in angles), times=times, **fields)


@given(st.permutations(range(5)), st.integers(1, 5))
@settings(max_examples=50, deadline=None)
def test_some_joints_in_any_order_are_found_by_name(order, count):
    chosen = list(order)[:count]
    joints, places = order_of([NAMES[k] for k in chosen], NAMES, partial=True)
    assert joints.tolist() == sorted(chosen) and [chosen[place] for place in places] == sorted(chosen)
    parsed = parse(Goal([NAMES[k] for k in chosen], [1.0], [[float(k) for k in chosen]], partial=True), NAMES)
    assert parsed.positions[0].tolist() == parsed.joints.tolist() == sorted(chosen)
    assert parsed.joint_names == tuple(NAMES[k] for k in sorted(chosen))


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "times, fields, message",
    [
        ([], {}, "no points"),
        ([1, NAN], {}, "point 1 is at nan s"),
        ([-0.5, 1], {}, r"point 0 is at -0\.5 s, must be after 0 s"),
        ([1, 1], {}, "point 1 is at 1 s, must be after 1 s"),
        ([1, 2], {"positions": [[0, 0]]}, "2 points but positions for 1"),
        ([1, 2], {"positions": [[0, 0], [0, 0, 0]]}, "point 1: 3 positions for 2 joints"),
        ([1, 2], {"positions": [[0, 0], [0, NAN]]}, "point 1: b has nan among its positions"),
        ([1, 2], {"positions": [[0, 0], [0, 2e9]]}, "point 1: b has 2e.09 among its positions, must be finite, at most"),
        ([1, 700], {}, "lasts 700 s, at most 600 s"),
        ([1, 2], {"velocities": [[0, 0], [INF, 0]]}, "point 1: a has inf among its velocities"),
        ([1, 2], {"accelerations": [[0, 0]] * 2}, "accelerations but no velocities"),
        ([1, 2], {"velocities": [[0, 0], [0, 0.1]]}, r"last point: b still moves at 5\.7 deg/s"),
    ],
)
def test_bad_points_are_refused_by_name(times, fields, message):
    with pytest.raises(TrajectoryError, match=message):
        parse(Goal(("a", "b"), times, **{"positions": [[0, 0]] * len(times)} | fields), ("a", "b"))


@pytest.mark.parametrize(
    "times, positions, said",
    [([1, "2"], [[0, 0]] * 2, r"times_s\[1\] is '2'"), ([1], [[0.5, True]], r"positions\[0\]\[1\] is True")],
)
def test_points_that_are_no_numbers_are_refused_by_place(times, positions, said):
    with pytest.raises(InputError, match=said):
        parse(Goal(("a", "b"), times, positions), ("a", "b"))


def test_of_a_goal_that_comes_late_the_points_ahead_are_left_at_their_times():
    rig = Rig(begin_s=100.0)
    motion = rig.submit(base_goal([0.1, 0.2, 0.4], [1.0, 2.0, 4.0], start_s=98.5))
    assert motion.start_s == 100.0 and motion.trajectory.duration == pytest.approx(2.5), "ends when it was meant to"
    q, v, a = motion.trajectory.sample(0.5)
    assert (q[0], v[0], a[0]) == pytest.approx((HOME[0] + 0.2, 0.0, 0.0), abs=1e-9), "the next point, at its time"
    np.testing.assert_allclose(rig.at(100.0).reference.q, HOME, atol=1e-12)
