"""What a graph tells of its arm: all of it to whoever asks, its URDF to everybody as long as nobody else does."""

from __future__ import annotations

import pytest
import rclpy
from arm_fixtures import picker, servos
from ros_client.client import ArmClient
from std_msgs.msg import String
from waiting import until

from picker_dynamics.errors import PickerError
from picker_dynamics.execution.lease import Holder, Kind
from picker_dynamics.nodes.arm_topic import ARM, DESCRIPTION, LOOKS, ArmTopic
from picker_dynamics.nodes.runtime import LATCHED
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
