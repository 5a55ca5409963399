"""``picker record`` beside a running arm: what the arm does is in the file, as the topics of its ROS nodes."""

import contextlib
import time

import numpy as np
import pinocchio
import pytest
from numpy.testing import assert_allclose
from places import ROOT
from rosbags.highlevel import AnyReader
from scipy.spatial.transform import Rotation
from served_arm import Running
from small_urdfs import random_arm
from waiting import until

from picker_dynamics.board.stamp_clock import clocks_apart_s
from picker_dynamics.commands.cli import main
from picker_dynamics.recording.arm_topics import ArmTopics
from picker_dynamics.recording.reader import read
from picker_dynamics.recording.writer import Recording
from picker_dynamics.robot import arm_text, description


@pytest.fixture
def arm(tmp_path, monkeypatch):
    """The torque-controlled arm of the notes, running in namespace ``left``."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with contextlib.closing(Running("left")) as running:
        until(lambda: running.arm.controller.execution.active, "an active arm")
        yield running.arm


def test_what_a_running_arm_does_is_recorded(arm, tmp_path, capsys):
    cycles = []
    arm.session.subscribe(cycles.append)
    path = tmp_path / "take.mcap"
    arm.controller.set_payload(0.1, (0.0, 0.0, 0.0), arm.clock.now())
    assert main(["record", "-o", str(path), "--namespace", "left", "--duration", "1"]) == 0
    said = capsys.readouterr().out
    assert f"{path}: " in said and "joint_states " in said and "dropped" not in said
    found = read(path)
    assert found.namespace == "left" and found.arm == "rrp" and not found.damaged
    assert arm_text.read(found.told).description.joint_names == found.joint_names
    sent = {one.state.time_s: one for one in cycles}
    assert len(found.state) > 5 and abs(found.state.t[-1] - time.time()) < 30.0
    ahead_s, _ = clocks_apart_s(arm.clock.now, time.time)
    for t, q, tau in zip(found.state.t, found.state.values, found.state_torque.values):
        nearest = sent[min(sent, key=lambda one: abs(one + ahead_s - t))]
        assert_allclose(q, nearest.state.q, atol=1e-12)
        assert_allclose(tau, nearest.state.effort, atol=1e-12)
    assert_allclose(found.reference.values - arm.controller.execution.sent.newest.q, 0.0, atol=1e-12)
    assert len(found.torque) > 5 and np.isfinite(found.torque.values).all() and np.abs(found.torque.values).max() > 1.0
    with AnyReader([path]) as reader:
        said = {one.topic: reader.deserialize(data, one.msgtype) for one, _, data in reader.messages()}
    assert said["/left/payload"].inertia.m == 0.1 and said["/left/payload"].header.frame_id == arm.description.tool
    assert said["/left/hardware/status"].message and said["/left/robot_description"].data == arm.description.urdf
    assert {one.child_frame_id for one in said["/tf"].transforms} == {f"left/{one.child}" for one in arm.description.movable}
    assert {one.name for one in said["/diagnostics"].status} >= {"trajectory_controller", "dynamics"}


def test_set_points_references_and_events_are_as_they_were_sent(tmp_path):
    path = tmp_path / "a.mcap"
    recording = Recording(path)
    topics = ArmTopics(recording, "/", description.load(ROOT / "urdf/two_link.urdf"))
    topics.ahead_s, state = 100.0, [1.0, [0.1, 0.2], None, None]
    sent = [[0.3, 0.4], [0.7, 0.8], 1.06, [1.0, 2.0], [3.0, 4.0], 1.06, [0.5, 0.6]]
    topics.take("states", [state + sent, state + [None] * 7])
    topics.take("event", {"level": 2, "name": "c", "message": "no", "hardware_id": "x", "values": {"outcome": "refused"}})
    recording.close()
    found = read(path)
    assert_allclose(found.state.values, [[0.1, 0.2]])
    assert_allclose(found.reference.t, [101.06])
    assert_allclose(
        [found.reference.values[0], found.setpoint.values[0], found.torque.values[0]], [[0.3, 0.4], [0.5, 0.6], [0.7, 0.8]]
    )
    assert [(one.outcome, one.message) for one in found.events] == [("refused", "no")]


@pytest.mark.parametrize("urdf", [(ROOT / "urdf/picker.urdf").read_text(), *map(random_arm, (0, 1, 2))])
def test_transforms_are_where_pinocchio_has_the_links(tmp_path, urdf):
    """What Foxglove shows: the URDF's links, placed by /tf and /tf_static for the joint states of the same stamps."""
    arm, path, rng = description.parse(urdf), tmp_path / "a.mcap", np.random.default_rng(0)
    recording = Recording(path)
    topics = ArmTopics(recording, "/left/", arm)
    topics.arm("")
    for k in range(100):  # 2 s
        topics.take("states", [[0.02 * k, rng.uniform(-1.0, 1.0, arm.n).tolist(), None, None, *[None] * 7]])
    recording.close()
    with AnyReader([path]) as reader:
        said = [(one.topic, reader.deserialize(data, one.msgtype)) for one, _, data in reader.messages()]
        durability = {one.topic: one.ext.offered_qos_profiles[0].durability.name for one in reader.connections}
    (urdf,) = [message.data for topic, message in said if topic == "/left/robot_description"]
    stamped = ((message.header.stamp, message) for topic, message in said if topic == "/left/joint_states")
    states = {(stamp.sec, stamp.nanosec): message for stamp, message in stamped}
    model = pinocchio.buildModelFromXML(urdf)
    data, seen = model.createData(), 0
    fixed = [one for topic, message in said if topic == "/tf_static" for one in message.transforms]
    for moving in (message.transforms for topic, message in said if topic == "/tf"):
        stamp = moving[0].header.stamp
        state, q = states[stamp.sec, stamp.nanosec], pinocchio.neutral(model)
        for name, value in zip(state.name, state.position):
            joint = model.joints[model.getJointId(name)]
            q[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
        pinocchio.framesForwardKinematics(model, data, q)
        found = {f"left/{arm.root}": np.eye(4)}
        waiting = [*moving, *fixed]
        while waiting:  # each link has one parent, and all hang from the root
            one = next(one for one in waiting if one.header.frame_id in found)
            waiting.remove(one)
            step, at, turn = np.eye(4), one.transform.translation, one.transform.rotation
            step[:3, :3], step[:3, 3] = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).as_matrix(), [at.x, at.y, at.z]
            assert one.child_frame_id not in found
            found[one.child_frame_id] = found[one.header.frame_id] @ step
        assert set(found) == {f"left/{link}" for link in arm.links}
        for link in arm.links:
            assert_allclose(
                found[f"left/{link}"], data.oMf[model.getFrameId(link, pinocchio.FrameType.BODY)].homogeneous, atol=1e-9
            )
        seen += 1
    assert 30 <= seen <= 41, "20 Hz at the most"
    assert durability["/tf"] == "VOLATILE" and durability.get("/tf_static") == ("TRANSIENT_LOCAL" if fixed else None)


def test_without_an_arm_there_is_no_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    (tmp_path / "run").mkdir()
    assert main(["record", "-o", str(tmp_path / "take"), "--duration", "0.2"]) == 9
    assert "no running arm answers" in capsys.readouterr().err and not list(tmp_path.glob("*.mcap"))
