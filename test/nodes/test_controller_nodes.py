"""The controller on the running graph: floods, two controllers on one arm, its speed and its parameters while it runs."""

from __future__ import annotations

import time
import uuid

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.serialization import serialize_message
from scenarios.bench import (
    NAMES,
    at_home,
    ends,
    goal,
    is_where_it_was,
    moved,
    outcome,
    publishing,
    said_last,
    stands,
    under_way,
    until,
    until_told,
)
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from waiting import PATIENCE_S
from waiting import until as wait_until

from picker_dynamics.errors import PickerError
from picker_dynamics.execution.goal import MAX_POINTS
from picker_dynamics.nodes.diagnostics import values_of
from picker_dynamics.nodes.runtime import LATEST, STREAM_BYTES, seconds, to_stamp

pytestmark = [pytest.mark.ros, pytest.mark.long, pytest.mark.usefixtures("settings")]


def test_a_flood_of_refusals_is_cut_short_but_each_goal_with_a_name_has_its_answer(arm, client, board):
    """The refusals name one joint after the other, and nobody knows whose they are but for every tenth."""
    before = at_home(client, board)
    names, begin_s, logged = [], time.monotonic(), arm.log.read_text().count("refused:")
    with client.hearing(DiagnosticStatus, "arm_controller/status", 1000) as said:
        for k in range(600):
            message = goal(moved(**{NAMES[k % 4]: 9.0}), times=[1.0])
            if k % 10 == 0:
                names.append(uuid.uuid4().hex)
                message.header.frame_id = names[-1]
            client.goals.publish(message)
            client.spin(0.001)
        until(client, lambda: set(names) <= {values_of(one)["goal"] for one in said}, "an answer to each")
        client.spin(0.5)
        took_s = time.monotonic() - begin_s
    heard = [values_of(one)["goal"] for one in said]
    assert sorted(heard.count(name) for name in names) == [1] * len(names)
    anonymous = heard.count("")
    assert anonymous <= 20.0 * (took_s + 1.0) + 1.0
    assert arm.log.read_text().count("refused:") - logged <= 5.0 * (took_s + 1.0) + 1.0
    is_where_it_was(client, board, before)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("speed_scaling", 1.5, "range"),
        ("speed_scaling", -0.1, "range"),
        ("speed_scaling", float("nan"), "range|finite"),
        ("speed_scaling", "fast", "type"),
        ("tip_speed_limit", float("nan"), "range|finite"),
        ("tip_speed_limit", 0.0, "range"),
        ("floor_z", 1e300, "floor_z is 1e.300 m, must be -10 to 10 m, or -inf"),
        ("floor_z", float("inf"), "finite"),
        ("constraints.goal_time", -1.0, "range"),
        ("constraints.base.goal", float("inf"), "range|finite"),
        ("stretch", 1, "type"),
        ("action_monitor_rate", 5.0, "read-only"),
        ("gripper.joint", "base", "read-only"),
    ],
    ids=str,
)
def test_a_parameter_that_does_not_fit_is_refused_in_one_line(client, name, value, said):
    with pytest.raises(PickerError, match=said) as caught:
        client.set_parameters("trajectory_controller", **{name.replace(".", "__"): value})
    assert "\n" not in str(caught.value)


def test_a_stream_that_is_played_back_moves_nothing(client, board):
    before = at_home(client, board)
    with publishing(client, JointState, "arm_controller/joint_reference") as stream:
        for k in range(30):
            message = JointState(name=list(NAMES), position=moved(base=0.001 * k).tolist())
            to_stamp(message.header.stamp, client.get_clock().now().nanoseconds * 1e-9 - 60.0)
            stream.publish(message)
            client.spin(0.02)
        until_told(client, "stream refused: the sample is 6")
    is_where_it_was(client, board, before)
    assert client.controller["phase"] == "holding"


MANY = 200_000
"""Joints in a message of a stranger: some megabytes, which rclpy converts in most of a second."""


@pytest.mark.parametrize(
    "kind, topic",
    [
        (JointState, "arm_controller/joint_reference"),
        (JointTrajectory, "arm_controller/reference"),
        (JointState, "joint_commands"),
        (Header, "arm_controller/driver"),
    ],
)
def test_an_endless_message_of_a_stranger_holds_nothing_up(arm, client, board, kind, topic):
    """It is dropped as bytes, by each node that hears it, and said; the motion under way goes on to its end.

    It comes again until it is heard: the arm's own messages take the only place in the queue.
    """
    at_home(client, board)
    long = {JointState: {"name": ["x"] * MANY}, JointTrajectory: {"joint_names": ["x"] * MANY}, Header: {"frame_id": MANY * "x"}}
    data = serialize_message(kind(**long[kind]))
    before, said = arm.log.read_text(), f"{topic}: a message of {len(data)} bytes is ignored, at most {STREAM_BYTES} are taken"
    with publishing(client, kind, topic) as stranger:
        name = under_way(client, board, goal(moved(base=0.5), times=[3.0]))
        wait_until(
            lambda: said in arm.log.read_text().removeprefix(before),
            said_last(client, said),
            step=lambda: (stranger.publish(data), client.spin(0.3)),
        )
        ends(client, name)


def alone_at_home(client, board) -> None:
    """Whoever else was there is gone, and known to be."""
    until(client, lambda: "two controllers" not in client.controller["message"], "the end of another controller")
    at_home(client, board)


def test_a_publisher_that_only_is_there_does_no_harm_and_one_reference_of_its_own_is_one_too_many(client, board):
    alone_at_home(client, board)
    listeners = client.count_subscribers("arm_controller/reference")
    with publishing(client, JointTrajectory, "arm_controller/reference") as intruder:
        until(client, lambda: intruder.get_subscription_count() == listeners + 1, "a look")
        client.spin(1.5)  # another look
        client.move_through([0.5], [moved(base=0.1)], timeout_s=PATIENCE_S)
        message = goal(moved(base=0.1))

        def noticed() -> bool:
            """Said once is enough where it is heard; the controller's own references take the only place in the queue."""
            to_stamp(message.header.stamp, client.get_clock().now().nanoseconds * 1e-9)
            intruder.publish(message)
            return "two controllers on one arm" in client.controller["message"]

        until(client, noticed, "notice")
        assert client.get_name() in client.controller["message"]
    until_told(client, "goals are taken again")


def moving_a_little(points: int, duration_s: float) -> JointTrajectory:
    message = JointTrajectory(joint_names=list(NAMES))
    message.header.frame_id = uuid.uuid4().hex
    for k in range(1, points + 1):
        share, point = k / points, JointTrajectoryPoint()
        point.positions = moved(base=0.05 * np.sin(np.pi * share) ** 2).tolist()
        point.velocities = [0.05 * np.pi / duration_s * np.sin(2.0 * np.pi * share) if k < points else 0.0] + [0.0] * 4
        to_stamp(point.time_from_start, share * duration_s)
        message.points.append(point)
    return message


@pytest.mark.parametrize(
    "points, duration_s, less, ends, said",
    [
        (10 * MAX_POINTS, 400.0, 0, "refused", "bytes, at most"),
        (300, 30.0, 4000, "refused", "breaks off"),
        (MAX_POINTS, 40.0, 0, "accepted", "executing, 40"),
    ],
)
def test_a_goal_of_any_size_is_answered_and_the_reference_goes_on(client, board, points, duration_s, less, ends, said):
    """The largest is read and executed; one that is larger is refused by its size, bytes that are none in one line."""
    at_home(client, board)
    message = moving_a_little(points, duration_s)
    data, name = serialize_message(message), message.header.frame_id
    with client.hearing(JointTrajectory, "arm_controller/reference", LATEST) as heard:
        until(client, lambda: heard, "references")
        client.goals.publish(data[: len(data) - less])
        until(client, lambda: name in client.outcomes, "an answer")
    answer = client.outcomes[name]
    assert outcome(client, name) == ends and said in answer.message
    assert (np.diff([seconds(one.header.stamp) for one in heard]) > 0.0).all()
    client.goals.publish(JointTrajectory())
    stands(client, board)
