"""Goals read from bytes are the same as rclpy makes of them; bytes that are none are refused."""

import numpy as np
import pytest
from hardware_bench import OVERLAY, ros, words
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from picker_dynamics.errors import InputError, TrajectoryError
from picker_dynamics.execution.goal import MAX_POINTS
from picker_dynamics.nodes.dynamics import Dynamics
from picker_dynamics.nodes.goal_messages import goal_from
from picker_dynamics.nodes.hardware import Hardware
from picker_dynamics.nodes.long_goals import header_in, message_in, most_bytes
from picker_dynamics.nodes.runtime import STREAM_BYTES, stream_message
from picker_dynamics.nodes.torque_control import TorqueControl
from picker_dynamics.nodes.trajectory_controller import TrajectoryController


def message_of(rng, points: int, joints: int, ragged: bool = False) -> JointTrajectory:
    """Random points; ``ragged``: each has as many values of each field as chance wants."""
    made = JointTrajectory(joint_names=[f"joint{'_' * k}{k}" for k in range(joints)])
    made.header.frame_id = "f" * int(rng.integers(0, 9))
    made.header.stamp.sec, made.header.stamp.nanosec = int(rng.integers(0, 2**31)), int(rng.integers(0, 10**9))
    fields = [field for field in ("velocities", "accelerations", "effort") if rng.random() < (0.6 if field != "effort" else 0.2)]
    for k in range(points):
        point = JointTrajectoryPoint()
        for field in ("positions", *fields):
            setattr(point, field, rng.normal(size=int(rng.integers(0, 4)) if ragged else joints).tolist())
        point.time_from_start.sec, point.time_from_start.nanosec = k, int(rng.integers(0, 10**9))
        made.points.append(point)
    return made


@pytest.mark.parametrize("seed", range(40))
def test_a_goal_in_bytes_is_the_one_of_the_message(seed):
    rng = np.random.default_rng(seed)
    message = message_of(rng, int(rng.integers(0, 30)), int(rng.integers(0, 7)), ragged=seed % 4 == 0)
    data = serialize_message(message)
    if any(len(point.effort) for point in message.points):
        for one in (message_in(data), message):
            with pytest.raises(InputError, match="effort"):
                goal_from(one, True, 1.0)
        return
    ours, theirs = goal_from(message_in(data), True, 1.0), goal_from(message, True, 1.0)
    assert header_in(data) == message_in(data).header
    assert header_in(data).frame_id == message.header.frame_id and header_in(data).stamp.sec == message.header.stamp.sec
    assert ours.joint_names == list(theirs.joint_names) and ours.start_s == theirs.start_s and ours.partial
    assert ours.times_s == theirs.times_s
    for field in ("positions", "velocities", "accelerations"):
        a, b = getattr(ours, field), getattr(theirs, field)
        assert (a is None) == (b is None)
        assert [list(row) for row in a or ()] == [list(row) for row in b or ()]


def test_bytes_that_break_off_or_lie_about_their_length_are_refused():
    rng = np.random.default_rng(1)
    data = serialize_message(message_of(rng, 20, 5))
    for k in range(4, len(data) - 200, 7):  # the buffer may be longer than what is in it
        with pytest.raises(TrajectoryError, match="breaks off"):
            message_in(data[:k])
    for _ in range(300):
        k = int(rng.integers(4, len(data)))
        try:
            message_in(data[:k] + bytes(rng.integers(0, 256, 4, dtype=np.uint8)) + data[k + 4 :])
        except TrajectoryError:
            pass


def test_the_largest_goal_fits_and_one_with_more_points_is_refused_by_their_count():
    point = JointTrajectoryPoint(positions=[0.0] * 5, velocities=[0.0] * 5, accelerations=[0.0] * 5, effort=[0.0] * 5)
    message = JointTrajectory(joint_names=["joint"] * 5, points=[point] * MAX_POINTS)
    data = serialize_message(message)
    assert len(data) <= most_bytes(5) and len(message_in(data).points) == MAX_POINTS
    message.points.append(point)
    with pytest.raises(TrajectoryError, match=f"at most {MAX_POINTS}"):
        message_in(serialize_message(message))


@pytest.mark.parametrize("data", [b"", b"\x00\x01\x00\x00\xff\xff\xff\x7f", b"x" * 50])
def test_bytes_that_are_no_message_of_a_stream_are_one_error(data):
    with pytest.raises(InputError, match=f"joint_states: {len(data)} bytes that are no message are ignored"):
        stream_message(JointState, "joint_states", data)


def test_a_message_of_a_stream_is_no_longer_than_it_may_be():
    data = serialize_message(JointState(name=["x"] * STREAM_BYTES))
    with pytest.raises(InputError, match=f"a message of {len(data)} bytes is ignored, at most {STREAM_BYTES} are taken"):
        stream_message(JointState, "joint_states", data)
    assert stream_message(JointState, "joint_states", serialize_message(JointState(name=["a"]))).name == ["a"]


NODES = {
    Dynamics: {"servo_overlay": OVERLAY},
    Hardware: {"servo_overlay": OVERLAY, "port": "none"},
    TorqueControl: {},
    TrajectoryController: {"servo_overlay": OVERLAY, "collision.enabled": True},
}


@pytest.mark.ros
@pytest.mark.parametrize("kind", NODES, ids=lambda kind: kind.__name__)
def test_every_topic_of_a_node_that_drives_comes_as_bytes(domain, kind):
    """So that the size of each message is looked at before rclpy makes anything of it."""
    with ros(*words(NODES[kind])):
        node = kind()
        try:
            converted = [one.topic_name for one in node.subscriptions if not one.raw]
            assert len(list(node.subscriptions)) >= 2 and not converted
        finally:
            node.destroy_node()
