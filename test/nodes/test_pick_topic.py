"""Targets by topic, without a graph: frames by tf2 where it is installed, in a namespace, and one target at a time."""

import sys
import time
import types
from types import SimpleNamespace

import numpy as np
import pytest
from arm_fixtures import picker, servos
from geometry_msgs.msg import PoseStamped, Quaternion, Transform, Vector3
from numpy.testing import assert_allclose
from sensor_msgs.msg import JointState

from benchmarks.ros_operator import values_of
from picker_dynamics.commands.cli import parser
from picker_dynamics.commands.pick import serve
from picker_dynamics.errors import InputError
from picker_dynamics.nodes import pick_topic
from picker_dynamics.nodes.pick_topic import DONE, UNDER_WAY, PickTopics
from picker_dynamics.nodes.runtime import to_stamp
from picker_dynamics.robot import sighting
from picker_dynamics.scripting.arm import Arm

ARM = picker()


class Client:
    """What of a client the topics use."""

    def __init__(self, namespace: str = "/"):
        self.namespace, self.said = namespace, []

    def get_namespace(self):
        return self.namespace

    def get_fully_qualified_name(self):
        return "/picker_client"

    def create_publisher(self, *_how):
        return SimpleNamespace(publish=self.said.append)

    def create_subscription(self, *_how, **_options):
        pass


@pytest.fixture(autouse=True)
def no_wait(monkeypatch):
    monkeypatch.setattr(pick_topic, "TF_S", 0.0)
    monkeypatch.setattr(sighting, "MAX_AGE_S", 60.0)  # the first target waits for SciPy to be loaded


def topics_of(client: Client) -> PickTopics:
    return PickTopics(client, ARM, {})


def target(frame: str, *place: float, age_s: float = 0.0, w: float = 1.0) -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    to_stamp(message.header.stamp, time.time() - age_s)
    message.pose.position.x, message.pose.position.y, message.pose.position.z = place
    message.pose.orientation.w = w
    return message


def in_base(topics: PickTopics, wanted: PoseStamped) -> np.ndarray:
    """Where a target that comes now is to be picked, in the arm's frame."""
    topics.on_target("pick", wanted)
    return topics.in_base(topics.take())[0]


class TransformException(Exception):
    pass


class Buffer:
    """tf2's, that knows one frame."""

    turned = Quaternion(x=0.0, y=0.0, z=np.sqrt(0.5), w=np.sqrt(0.5))

    def can_transform(self, root, frame, _time, _timeout=None):
        return (root, frame) == ("left/base_link", "left/eye")

    def lookup_transform(self, root, frame, time_):
        if not self.can_transform(root, frame, time_):
            raise TransformException(f"{frame} passed to lookupTransform argument source_frame does not exist")
        return SimpleNamespace(transform=Transform(translation=Vector3(x=0.3, y=0.0, z=0.4), rotation=self.turned))


@pytest.fixture
def tf2(monkeypatch):
    module = types.ModuleType("tf2_ros")
    module.Buffer, module.TransformException, module.heard_by = Buffer, TransformException, []
    module.TransformListener = lambda _buffer, node: module.heard_by.append(node)
    monkeypatch.setitem(sys.modules, "tf2_ros", module)
    return module


def test_frames_that_tf2_knows_serve_where_it_is_installed(tf2):
    """It is heard before the first target comes, whose picture is older."""
    client = Client("/left")
    topics = topics_of(client)
    assert tf2.heard_by == [client]
    assert_allclose(in_base(topics, target("eye", 0.1, 0.0, 0.0)), [0.3, 0.1, 0.4], atol=1e-12)
    topics = topics_of(Client("/left"))
    assert_allclose(in_base(topics, target("left/base_link", 0.2, 0.0, 0.1)), [0.2, 0.0, 0.1], atol=1e-12)
    with pytest.raises(InputError, match="tf2 has no transform from 'moon' to left/base_link: .*does not exist"):
        in_base(topics_of(Client("/left")), target("moon", 0.1, 0.0, 0.0))


def test_a_transform_that_turns_nowhere_is_refused(tf2, monkeypatch):
    monkeypatch.setattr(Buffer, "turned", Quaternion(w=0.0))
    with pytest.raises(
        InputError, match="^the rotation of tf2's transform from 'eye' to left/base_link is not a unit quaternion$"
    ):
        in_base(topics_of(Client("/left")), target("eye", 0.1, 0.0, 0.0))


def test_without_tf2_it_is_said_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "tf2_ros", None)
    with pytest.raises(InputError, match="tf2_ros is not installed here; give the target in base_link"):
        in_base(topics_of(Client()), target("eye", 0.1, 0.0, 0.0))


def test_what_the_hand_saw_it_saw_from_where_it_was_then():
    topics, home, now_s = topics_of(Client()), np.array(servos().home), time.time()
    for age_s, base in ((9.0, 0.0), (1.0, 0.5), (0.0, -0.5)):
        state = JointState(name=list(ARM.joint_names), position=[base, *home[1:].tolist()])
        to_stamp(state.header.stamp, now_s - age_s)
        topics.on_state(state)
    place = in_base(topics, target("hand", 0.1, 0.0, 0.0, age_s=1.0 + time.time() - now_s))
    assert np.arctan2(place[1], place[0]) == pytest.approx(0.5, abs=1e-3)
    with pytest.raises(InputError, match="the pose of hand at the time of the target is unknown"):
        in_base(topics_of(Client()), target("hand", 0.1, 0.0, 0.0))


def test_one_target_at_a_time_until_it_is_said_how_it_ended():
    client = Client()
    topics = topics_of(client)
    topics.on_target("pick", target("base_link", 0.2, 0.0, 0.1))
    topics.on_target("pick", target("base_link", 0.2, 0.1, 0.1))
    assert values_of(client.said[-1])["outcome"] == "refused" and "busy" in client.said[-1].message
    first = topics.take()
    topics.say(first, UNDER_WAY, "pick: approach")
    topics.on_target("place", target("base_link", 0.2, 0.1, 0.1))
    assert "busy" in client.said[-1].message and topics.take() is None
    topics.on_target("pick", target("base_link", 0.2, 0.1, 0.1, w=0.3))
    assert "not a unit quaternion" in client.said[-1].message
    topics.on_target("pick", target("base_link", 0.2, 0.1, 0.1))
    assert "busy" in client.said[-1].message and topics.take() is None
    topics.say(first, DONE, "done")
    topics.on_target("place", target("base_link", 0.2, 0.1, 0.1))
    assert topics.take().kind == "place"


def test_of_a_target_whose_pick_a_person_ends_it_is_said_too():
    """Ctrl-C comes as the second leg is told."""

    class Interrupted(Client):
        def create_publisher(self, *_how):
            def publish(message):
                self.said.append(message)
                if len(self.said) == 2:
                    raise KeyboardInterrupt

            return SimpleNamespace(publish=publish)

    client = Interrupted()
    topics = topics_of(client)
    topics.on_target("pick", target("base_link", 0.26, 0.08, 0.17))
    with Arm.simulated(real_time=False) as arm, pytest.raises(KeyboardInterrupt):
        serve(parser("pick").parse_args(["pick", "--listen"]), topics, arm, topics.take())
    assert values_of(client.said[-1])["outcome"] == "aborted" and "interrupted" in client.said[-1].message
