"""What a graph tells of its arm: all of it to whoever asks, its URDF to everybody as long as nobody else does."""

from __future__ import annotations

import pytest
import rclpy
from arm_fixtures import picker, servos
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from picker_dynamics.nodes.client import OUTCOMES_KEPT, ArmClient
from picker_dynamics.nodes.lease_status import holder_fields
from pytest import raises
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory
from waiting import until

from picker_dynamics.errors import LinkError, PickerError
from picker_dynamics.execution.lease import Holder, Kind, in_words
from picker_dynamics.nodes import client as client_of_arms
from picker_dynamics.nodes.arm_topic import ARM, DESCRIPTION, LOOKS, ArmTopic
from picker_dynamics.nodes.runtime import LATCHED, LATEST
from picker_dynamics.robot.arm_text import Known

pytestmark = pytest.mark.ros

NAMESPACE = "left"
MINE = Holder(Kind.GOAL, identifier="mine")


@pytest.fixture
def client(domain):
    with ArmClient((), NAMESPACE) as client:
        yield client


@pytest.fixture
def node(client):
    """In the client's process: what it publishes is heard when the client is spun."""
    node = rclpy.create_node("teller", namespace=NAMESPACE)
    yield node
    node.destroy_node()


def test_who_asks_later_gets_the_arm_with_all_its_servos(client, node):
    ArmTopic(node, Known(picker(), servos()))
    told = client.running_arm()
    assert (told.servos, told.torque) == (servos(), None)
    assert told.description.urdf == picker().urdf and client.joint_names == picker().joint_names


@pytest.mark.parametrize("text", ["", "{}", "[[[[", '{"urdf": "<robot name=\'a\'/>", "tool": ""}'])
def test_a_damaged_arm_is_one_clear_error(client, node, text):
    node.create_publisher(String, ARM, LATCHED).publish(String(data=text))
    with pytest.raises(PickerError, match="the running graph's arm|no links"):
        client.running_arm()


def test_the_description_is_said_where_nobody_else_says_one_and_withdrawn_when_somebody_does(client, node):
    topic, heard = ArmTopic(node, Known(picker(), servos())), []
    client.create_subscription(String, DESCRIPTION, heard.append, LATCHED)
    for _ in range(LOOKS - 1):
        topic.look()
    assert client.count_publishers(DESCRIPTION) == 0, "a robot_state_publisher may come yet"

    def look() -> None:
        topic.look()
        client.spin(0.02)

    until(lambda: heard, "the description", step=look)
    assert [one.data for one in heard] == [picker().urdf] and client.count_publishers(DESCRIPTION) == 1
    other = client.create_publisher(String, DESCRIPTION, LATCHED)
    until(lambda: node.count_publishers(DESCRIPTION) == 2, "discovery", step=lambda: client.spin(0.02))
    topic.look()
    until(lambda: client.count_publishers(DESCRIPTION) == 1, "withdrawal", step=lambda: client.spin(0.02))
    for _ in range(2 * LOOKS):
        look()
    assert client.count_publishers(DESCRIPTION) == 1, "the other's alone"
    client.destroy_publisher(other)
    until(lambda: len(heard) == 2, "the description again", step=look)


def test_what_every_node_told_last_is_heard_by_who_asks_later(client, node):
    """One subscription, several publishers: with a depth of one, the last one would hide the others until they speak again."""
    parts = [f"{NAMESPACE}/{name}" for name in ("dynamics", "hardware", "trajectory_controller")]
    for name in parts:
        entry = DiagnosticStatus(name=name)
        node.create_publisher(DiagnosticArray, "/diagnostics", LATCHED).publish(DiagnosticArray(status=[entry]))
    with client.telling() as told:
        until(lambda: set(told.entries) >= set(parts), "what was told", step=lambda: client.spin(0.02), patience_s=10.0)


def test_a_client_remembers_the_last_word_of_the_newest_goals(client):
    def word(goal: int, text: str) -> DiagnosticStatus:
        return DiagnosticStatus(message=text, values=[KeyValue(key="goal", value=str(goal))])

    for goal in range(OUTCOMES_KEPT):
        client.on_controller(word(goal, "executing"))
    client.on_controller(word(0, "done"))
    client.on_controller(word(OUTCOMES_KEPT, "executing"))
    assert len(client.outcomes) == OUTCOMES_KEPT and "1" not in client.outcomes
    assert client.outcomes["0"].message == "done" and client.outcomes[str(OUTCOMES_KEPT)].message == "executing"


def said(goal: str, outcome: str, *holders: Holder) -> DiagnosticStatus:
    fields = {"goal": goal, "outcome": outcome, "lease": in_words(holders)} | holder_fields(holders)
    return DiagnosticStatus(values=[KeyValue(key=key, value=value) for key, value in fields.items()])


def test_a_motion_that_a_new_controller_does_not_know_ends_for_who_waits(client, monkeypatch):
    client.on_controller(said("mine", "accepted", MINE))
    assert not client.ended("mine")
    client.on_controller(said("", ""))
    assert not client.ended("mine"), "for a moment"
    monkeypatch.setattr(client_of_arms, "HEARD_S", 0.0)
    with raises(LinkError, match="the controller knows nothing of the motion any more"):
        client.ended("mine")


def test_a_graph_that_was_silent_and_is_back_is_heard(client, node, monkeypatch):
    client.joint_names = ("a",)
    client.on_controller(said("mine", "accepted", MINE))
    client.silent_s = 20.0
    with raises(LinkError, match="nothing came of the graph for 15 s"):
        client.ended("mine")
    publisher = node.create_publisher(JointTrajectory, "arm_controller/reference", LATEST)
    until(lambda: publisher.get_subscription_count() > 0, "a listener", patience_s=10.0)
    publisher.publish(JointTrajectory(joint_names=["a"]))
    until(
        lambda: not client.silent_s or not client.ended("mine"), "what is heard", step=lambda: client.spin(0.02), patience_s=10.0
    )
    assert not client.ended("mine")


def test_a_client_remembers_a_goal_under_way_whatever_becomes_of_others_meanwhile(client):
    for goal, outcome in (("mine", "accepted"), *((str(k), "refused") for k in range(2 * OUTCOMES_KEPT))):
        client.on_controller(DiagnosticStatus(values=[KeyValue(key="goal", value=goal), KeyValue(key="outcome", value=outcome)]))
    assert not client.ended("mine") and len(client.outcomes) == OUTCOMES_KEPT
