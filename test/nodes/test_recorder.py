"""``picker record`` as a person runs it: beside a talking arm, ended by Ctrl-C, by time, or with nobody there."""

from __future__ import annotations

import signal
import subprocess
import time

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from patient import patiently, picker
from rclpy.qos import QoSProfile
from rosbags.highlevel import AnyReader
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from waiting import PATIENCE_S, until

from picker_dynamics.nodes.runtime import LATCHED
from picker_dynamics.recording.reader import read

pytestmark = [pytest.mark.ros, pytest.mark.long]

ALL = QoSProfile(depth=100)
"""However slow the recorder is, none is overwritten before it was taken."""
NAMES = ["base", "shoulder", "elbow", "wrist", "scissor"]


@pytest.fixture(scope="module")
def talker(domain):
    """A node in namespace ``left`` with an arm's publishers."""
    rclpy.init()
    node = rclpy.create_node("arm", namespace="left")
    node.states = node.create_publisher(JointState, "joint_states", ALL)
    node.references = node.create_publisher(JointTrajectory, "arm_controller/reference", ALL)
    node.status = node.create_publisher(DiagnosticStatus, "hardware/status", LATCHED)
    active = KeyValue(key="state", value="active")
    node.status.publish(DiagnosticStatus(name="hardware", message="said before", values=[active]))
    yield node
    node.destroy_node()
    rclpy.try_shutdown()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_a_whole_file_with_every_message(talker, tmp_path, number):
    words = patiently("picker", "record", "-o", str(tmp_path / "take"), "--namespace", "/left")
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: talker.states.get_subscription_count() and talker.references.get_subscription_count(), "a listener")
        for k in range(60):
            stamp = talker.get_clock().now().to_msg()
            state = JointState(name=NAMES, position=[0.01 * k] * 5)
            state.header.stamp = stamp
            talker.states.publish(state)
            point = JointTrajectoryPoint(positions=[0.01 * k + 0.002] * 5)
            reference = JointTrajectory(joint_names=NAMES, points=[point])
            reference.header.stamp = stamp
            talker.references.publish(reference)
            time.sleep(0.02)
        time.sleep(0.5)
        process.send_signal(number)
        said, errors = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, errors
    path = tmp_path / "take.mcap"
    assert f"{path}: " in said and "joint_states 60" in said
    with AnyReader([path]) as reader:
        assert {one.topic for one in reader.connections} == {
            "/left/joint_states",
            "/left/arm_controller/reference",
            "/left/hardware/status",
        }
        (status,) = (one for one in reader.connections if one.topic.endswith("status"))
        assert status.ext.offered_qos_profiles[0].durability.name == "TRANSIENT_LOCAL"
        messages = [reader.deserialize(data, status.msgtype) for _, _, data in reader.messages([status])]
        assert [one.message for one in messages] == ["said before"]
    found = read(path)
    np.testing.assert_allclose(found.state.values[:, 0], 0.01 * np.arange(60), atol=1e-12)
    assert found.namespace == "left" and not found.damaged


def test_it_ends_by_itself_and_without_messages_there_is_no_file(talker, tmp_path):
    done = picker("record", "-o", str(tmp_path / "take"), "--namespace", "right", "--duration", "6")
    assert done.returncode == 9 and "nothing to record: nobody said anything" in done.stderr
    assert "nothing heard yet" in done.stdout and not list(tmp_path.iterdir())


def test_a_name_that_is_taken_ends_it_before_anything_is_heard(tmp_path):
    (tmp_path / "take.mcap").write_text("mine")
    done = picker("record", "-o", str(tmp_path / "take"))
    assert done.returncode == 4 and done.stderr.count("\n") == 1 and "exists; a recording never overwrites one" in done.stderr
    assert (tmp_path / "take.mcap").read_text() == "mine"
