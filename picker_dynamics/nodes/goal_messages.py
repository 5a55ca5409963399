"""Conversion of goals between ROS messages and the execution's types."""

from __future__ import annotations

import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from picker_dynamics.board.stamp_clock import StampClock
from picker_dynamics.errors import InputError
from picker_dynamics.execution.goal import Goal, require_few
from picker_dynamics.execution.goal_tracking import Error

from .runtime import seconds, to_stamp


def start_in(header, stamps: StampClock) -> float | None:
    """Start of a goal with this header, on the steady clock [s]; None: at once."""
    stamp_s = seconds(header.stamp)
    return stamps.to_steady(stamp_s) if stamp_s else None


def goal_from(message: JointTrajectory, partial: bool, start_s: float | None) -> Goal:
    """The goal in a message; an empty field at every point means that it is not given.

    Raises:
        InputError: efforts, which these joints do not follow; as joint_trajectory_controller does.
    """
    points = message.points
    require_few(len(points))
    for number, one in enumerate(points):
        if len(one.effort):
            text = f"point {number} has efforts: they follow from the motion and the payload here; leave the field empty"
            raise InputError(text, "effort")

    def rows(field):
        values = [getattr(point, field) for point in points]
        same = len({*map(len, values)}) == 1
        return np.frombuffer(b"".join(values)).reshape(len(points), -1) if same else values  # 10 000 points in 1 ms

    def given(field):
        return rows(field) if any(len(getattr(point, field)) for point in points) else None

    return Goal(
        message.joint_names,
        [seconds(point.time_from_start) for point in points],
        rows("positions"),
        given("velocities"),
        given("accelerations"),
        start_s,
        partial=partial,
    )


def is_gripper_command(message: JointTrajectory, joint: str) -> bool:
    """Whether a goal is for the gripper's joint alone, at one point without a time: the gripper takes the time that it needs."""
    points = message.points
    return list(message.joint_names) == [joint] and len(points) == 1 and not seconds(points[0].time_from_start)


def point(time_s: float, q, v=None, a=None) -> JointTrajectoryPoint:
    """A trajectory point of arrays (n,)."""
    made = JointTrajectoryPoint(positions=np.asarray(q).tolist())
    if v is not None:
        made.velocities = np.asarray(v).tolist()
    if a is not None:
        made.accelerations = np.asarray(a).tolist()
    to_stamp(made.time_from_start, max(time_s, 0.0))
    return made


def error_points(error: Error, progress_s: float) -> tuple[JointTrajectoryPoint, JointTrajectoryPoint, JointTrajectoryPoint]:
    """Desired, actual, and their difference."""
    desired, actual = error.desired, error.actual
    return (
        point(progress_s, desired.q, desired.v, desired.a),
        point(progress_s, actual.q, actual.v),
        point(progress_s, error.q, error.v),
    )
