"""Goals as they come: joints by name, some of them only, and what is left of one that comes late."""

import numpy as np
import pytest
from execution_rig import HOME, NAMES, TIP_SPEED, Rig, goal, moved
from hypothesis import given, settings
from hypothesis import strategies as st

from picker_dynamics.errors import InputError, PickerError, TrajectoryError
from picker_dynamics.execution.events import EventKind
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


def dense(start, target, first: int, fields: int) -> Goal:
    """201 points at 10 ms from rest to rest, as MoveIt plans them, from this one on; positions, and so many derivatives."""
    x, way = np.arange(201)[first:, None] / 200.0, np.subtract(target, start)
    shares = 10 * x**3 - 15 * x**4 + 6 * x**5, (30 * x**2 - 60 * x**3 + 30 * x**4) / 2.0, (60 * x - 180 * x**2 + 120 * x**3) / 4.0
    rates = [None if k > fields else (way * shares[k]).tolist() for k in (1, 2)]
    return Goal(NAMES, (2.0 * x[:, 0]).tolist(), (start + way * shares[0]).tolist(), *rates)


@pytest.mark.parametrize("fields", [0, 1, 2])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("target", [-0.3, 0.2, 0.9])
def test_a_dense_goal_that_was_planned_from_a_state_of_before_takes_over_from_a_motion(target, first, fields):
    """It was refused, as its first point is where the arm was: "would jump by 8 deg", without that point "needs 69 N·m"."""
    rig = Rig(period_s=0.01, lead_s=0.06)
    rig.submit(base_goal([0.7], [2.5]), "old")
    rig.run(1.0)
    seen = rig.state().q
    rig.run(0.25)
    rig.send(dense(seen, moved(base=target), first, fields), "new")
    rig.to_rest()
    assert rig.kinds("new") == [EventKind.ACCEPTED, EventKind.DONE] and rig.kinds("old")[-1] is EventKind.PREEMPTED
    np.testing.assert_allclose(rig.newest.q, moved(base=target), atol=1e-9)
    assert rig.fastest_tip() <= TIP_SPEED + 1e-6
    rig.require_smooth(20.0)


@pytest.mark.parametrize("off", [0.01, -0.03])
def test_a_dense_goal_from_the_state_of_an_arm_that_stands_a_little_off_its_reference_is_not_slowed(off):
    rig = Rig()
    motion = rig.submit(dense(moved(base=off), moved(base=0.4), 1, 2))
    assert motion.validated.factor == 1.0 and rig.to_rest().q[0] == pytest.approx(moved(base=0.4)[0])


def test_points_that_are_not_dense_are_met_all_and_a_goal_that_nothing_fits_is_refused():
    rig = Rig()
    motion = rig.submit(base_goal([0.2, 0.3], [0.1, 0.2]))
    at = motion.trajectory.sample(0.1 * motion.validated.factor)[0]
    assert motion.validated.factor > 1.0 and at[0] == pytest.approx(moved(base=0.2)[0]), "slowed, not cut short"
    rig = Rig()
    rig.submit(base_goal([0.7], [2.5]))
    rig.run(1.0)
    with pytest.raises(PickerError, match="shoulder"):
        rig.submit(dense(HOME, np.zeros(5), 1, 2))
