"""Whoever else publishes what one node alone should: it moves nothing, it is said by name, and the arm goes on."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from scenarios.bench import (
    HOME,
    NAMES,
    Watch,
    at_home,
    enable_again,
    ends,
    goal,
    is_told,
    is_where_it_was,
    moved,
    start,
    until,
    until_hardware,
    until_told,
)
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory
from waiting import PATIENCE_S

from picker_dynamics.errors import GoalRefusedError
from picker_dynamics.nodes.diagnostics import values_of
from picker_dynamics.nodes.runtime import LATCHED, LATEST, OUTCOMES, to_stamp

pytestmark = [pytest.mark.ros, pytest.mark.long]

PULSE = 0.008
"""A step of the pulses [rad]: at rest the set-point goes to the middle of what friction holds."""
LEAD_S = 0.06


def sway(watch: Watch) -> float:
    """How far the base's set-points went apart [rad]."""
    return np.ptp([truth.setpoint[0] for truth in watch.samples])


@contextlib.contextmanager
def other_sender(client, kind, topic: str, make, rate_hz: float = 200.0, qos=LATEST):
    """Somebody who publishes on ``topic`` what ``make()`` returns, stamped a lead ahead, until the end."""
    others = client.count_publishers(topic)
    publisher = client.create_publisher(kind, topic, qos)

    def publish() -> None:
        time_s = client.get_clock().now().nanoseconds * 1e-9 + LEAD_S
        message = make()
        to_stamp(message.header.stamp, time_s)
        publisher.publish(message)

    timer = client.create_timer(1.0 / rate_hz, publish)
    try:
        yield publisher
    finally:
        client.destroy_timer(timer)
        client.destroy_publisher(publisher)
        until(client, lambda: client.count_publishers(topic) == others, "the end of the other sender")


def test_commands_of_somebody_else_are_not_followed_and_the_next_goal_is_done(arm, client, board):
    before = at_home(client, board)
    there = moved(base=0.02).tolist()  # near enough to be let pass, were it the sender's turn
    with other_sender(client, JointState, "joint_commands", lambda: JointState(name=list(NAMES), position=there)), Watch(board):
        until(client, lambda: "joint_commands come from two senders" in arm.log.read_text(), "a word")
        is_where_it_was(client, board, before)
        client.move_through([1.0], [moved(base=0.2)], timeout_s=PATIENCE_S)
    is_told(client, moved(base=0.2))


def test_references_of_somebody_else_are_never_followed_not_even_the_first(arm, client, board):
    before = at_home(client, board)
    message = goal(moved(base=0.02))
    message.points[0].velocities = message.points[0].accelerations = [0.0] * len(NAMES)
    with other_sender(client, JointTrajectory, "arm_controller/reference", lambda: message), Watch(board) as watch:
        until(client, lambda: "reference ignored: references come from two senders" in arm.log.read_text(), "a word")
        until_told(client, "two controllers on one arm")
        is_where_it_was(client, board, before)
    assert sway(watch) < PULSE
    until_told(client, "goals are taken again")
    client.wait_holding(PATIENCE_S)


@pytest.mark.parametrize("topic", ["arm_controller/reference", "joint_commands"])
def test_who_speaks_while_the_arm_is_stopped_does_not_have_it_afterwards(client, board, topic):
    """A stranger that is quiet at first, and then wants to swing the base by 0.6 rad."""
    before = at_home(client, board)
    wanted = [0.0]

    def message():
        if wanted[0]:
            wanted[0] = min(wanted[0] + 0.005, 0.6)
        if topic == "joint_commands":
            return JointState(name=list(NAMES), position=moved(base=wanted[0]).tolist())
        reference = goal(moved(base=wanted[0]))
        reference.points[0].velocities = reference.points[0].accelerations = [0.0] * len(NAMES)
        return reference

    client.switch("emergency_stop", True)
    until_hardware(client, "idle")
    with other_sender(client, JointTrajectory if "reference" in topic else JointState, topic, message), Watch(board) as watch:
        client.spin(1.0)
        enable_again(client)
        until_hardware(client, "active")
        client.spin(1.0)
        wanted[0] = 0.005
        client.spin(2.0)
        is_where_it_was(client, board, before)
    assert sway(watch) < 0.02
    client.wait_ready(PATIENCE_S)


def test_states_of_two_arms_judge_no_goal(client, board):
    """The stranger's are far off the path; the goal is not aborted for that, but because nobody knows where the arm is."""
    at_home(client, board)
    with (
        client.hearing(DiagnosticStatus, "arm_controller/status", OUTCOMES) as said,
        client.meanwhile("trajectory_controller", constraints__base__trajectory=0.2),
    ):
        name = start(client, goal(moved(base=0.4), times=[20.0]))
        elsewhere = JointState(name=list(NAMES), position=moved(base=-1.0).tolist(), velocity=[0.0] * len(NAMES))
        with other_sender(client, JointState, "joint_states", lambda: elsewhere, 50.0):
            why = ends(client, name, "aborted")
            assert "joint_states" in why and "path tolerance" not in why
            until(client, lambda: any("one arm, one sender" in m.message or "two senders" in m.message for m in said), "a word")

        def taken() -> bool:
            """A goal is, again, some time after the stranger's last word."""
            try:
                client.move_through([1.0], [HOME], timeout_s=PATIENCE_S)
            except GoalRefusedError as refusal:
                assert "joint_states" in str(refusal)
                return False
            return True

        until(client, taken, "a goal that is done")


def drifting():
    """Held poses, each a little beside the last one."""
    count = itertools.count(1)
    return lambda: JointState(name=list(NAMES), position=moved(base=0.02 * next(count)).tolist(), effort=[0.0] * len(NAMES))


def unbearable() -> InertiaStamped:
    """A payload that no joint can hold."""
    message = InertiaStamped()
    message.inertia.m = 4.0
    return message


@pytest.mark.parametrize(
    ("kind", "topic", "make"),
    [(JointState, "hardware/held_pose", drifting), (InertiaStamped, "payload", lambda: unbearable)],
    ids=["held_pose", "payload"],
)
def test_a_second_publisher_of_what_is_latched_moves_nothing_and_is_said_once(arm, client, board, kind, topic, make):
    before = at_home(client, board)
    heard = arm.log.read_text().count("one arm, one sender")
    words = f"{topic} is published by "
    with client.hearing(DiagnosticStatus, "arm_controller/status", OUTCOMES) as said:
        with other_sender(client, kind, topic, make(), 50.0, LATCHED), Watch(board) as watch:
            until(client, lambda: any(words in one.message for one in said), "a word")
            with pytest.raises(GoalRefusedError, match="holding until one is gone"):
                client.move_through([1.0], [moved(base=0.2)], timeout_s=PATIENCE_S)
            client.spin(2.0)
            is_where_it_was(client, board, before)
        assert sway(watch) < PULSE
        until_told(client, "goals are taken again")
        told = [one.message for one in said if words in one.message and not values_of(one)["goal"]]
        assert len(set(told)) == 1 and len(told) <= 2, told  # a machine that stalls may have another reason in between
        assert arm.log.read_text().count("one arm, one sender") - heard < 6, "each node once"
        client.move_through([1.0], [moved(base=0.2)], timeout_s=PATIENCE_S)
        client.move_through([1.0], [HOME], timeout_s=PATIENCE_S)
