"""Bad points are named: which point, which joint, what value, what limit."""

from __future__ import annotations

import numpy as np
import pytest

from picker_dynamics.errors import TrajectoryError
from picker_dynamics.trajectory.points import checked_points

NAMES = ("shoulder", "elbow")
NAN, INF = float("nan"), float("inf")


def test_fields_may_be_absent_per_point():
    times, points = checked_points([0, 1], [[1, 2], [3, 4]], [None, [5, 6]], [[], [7, 8]], NAMES)
    assert times == [0.0, 1.0]
    assert points[0][1] is None and points[0][2] is None
    np.testing.assert_array_equal(points[1], [[3, 4], [5, 6], [7, 8]])


@pytest.mark.parametrize(
    "times, positions, velocities, accelerations, message, value",
    [
        ([], [], None, None, "no points", 0),
        ([0, NAN], [[0, 0]] * 2, None, None, "point 1: time is nan", NAN),
        ([0, INF], [[0, 0]] * 2, None, None, "point 1: time is inf", INF),
        ([-0.5, 1], [[0, 0]] * 2, None, None, r"point 0 is at -0\.5 s, before", -0.5),
        ([0, 1, 1], [[0, 0]] * 3, None, None, "point 2 is at 1 s, not after point 1 at 1 s", 1.0),
        ([0, 2, 1], [[0, 0]] * 3, None, None, "point 2 is at 1 s, not after point 1 at 2 s", 1.0),
        ([0, 1], [[0, 0]], None, None, "1 positions for 2 points", 1),
        ([0, 1], [[0, 0], [0, 0, 0]], None, None, r"point 1: 3 positions for 2 joints \(shoulder, elbow\)", 3),
        ([0, 1], [[0, 0], [0, NAN]], None, None, "point 1: position of elbow is nan", NAN),
        ([0, 1], [[0, 0]] * 2, [[0, 0], [INF, 0]], None, "point 1: velocity of shoulder is inf", INF),
        ([0, 1], [[0, 0]] * 2, [[0, 0]] * 2, [[0, NAN], [0, 0]], "point 0: acceleration of elbow is nan", NAN),
        ([0, 1], [[0, 0], []], None, None, "point 1 has no positions", 1),
        ([0, 1], [[0, 0]] * 2, None, [[0, 0], None], "point 0 has accelerations but no velocities", 0),
    ],
)
def test_bad_points(times, positions, velocities, accelerations, message, value):
    with pytest.raises(TrajectoryError, match=message) as caught:
        checked_points(times, positions, velocities, accelerations, NAMES)
    np.testing.assert_equal(caught.value.value, value)
