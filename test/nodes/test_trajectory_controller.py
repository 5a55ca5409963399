"""The controller's topics on virtual time: goals, streams, drivers and jogs in; references, outcomes and the arm out."""

import json

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import TwistStamped
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from ros_arm import BEGAN_S, HOME, NAMES, goal, moved, ros_arm
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from trajectory_msgs.msg import JointTrajectory

from benchmarks.ros_operator import values_of
from picker_dynamics.execution.events import EventKind
from picker_dynamics.nodes.runtime import LATCHED, OUTCOMES, STREAM_BYTES, seconds, to_stamp
from picker_dynamics.robot import arm_text

pytestmark = pytest.mark.ros
GOALS, STREAM, REFERENCE = (f"arm_controller/{name}" for name in ("joint_trajectory", "joint_reference", "reference"))


@pytest.fixture(scope="module")
def made(domain):
    with ros_arm({"hardware:on_shutdown": "hold"}) as arm:
        arm.goals = arm.publisher(JointTrajectory, GOALS)
        yield arm.active()


@pytest.fixture
def arm(made):
    """It holds at the home pose."""
    made.session.cancel()
    made.until(lambda: made.execution.phase.value == "holding", "rest")
    if np.abs(made.session.reference() - HOME).max() > 1e-9:
        made.goals.publish(goal(HOME, name="home"))
        made.said("home", "done")
    made.status.clear()
    yield made


def test_a_goal_by_topic_moves_the_true_arm_and_is_answered_and_its_references_are_stamped_ahead(arm):
    with arm.hearing(JointTrajectory, REFERENCE, 50) as references:
        arm.goals.publish(goal(moved(base=0.3), name="there"))
        accepted = values_of(arm.said("there", "accepted"))
        arm.said("there", "done")
        arm.run(0.1)
        ahead_s = seconds(references[-1].header.stamp) - BEGAN_S - arm.board.now()
    assert float(accepted["duration_s"]) > 0.5 and accepted["holder.0.name"] == "" and accepted["holder.0.goal"] == "there"
    assert np.abs(arm.plant.q - moved(base=0.3)).max() < 0.02
    last = references[-1]
    np.testing.assert_allclose(last.points[0].positions, moved(base=0.3), atol=1e-9)
    assert tuple(last.joint_names) == NAMES and last.header.frame_id == "trajectory_controller"
    assert 0.0 < ahead_s < 0.06
    assert [values_of(one)["outcome"] for one in arm.status if values_of(one)["goal"] == "there"] == ["accepted", "done"]


def test_a_goal_without_points_cancels_and_one_joint_without_a_time_grips(arm):
    arm.goals.publish(goal(moved(base=0.9), times=[6.0], name="far"))
    arm.until(lambda: arm.plant.v[0] > 0.1, "motion")
    stop = JointTrajectory(joint_names=list(NAMES))
    stop.header.frame_id = "me"
    arm.goals.publish(stop)
    arm.said("far", "cancelled", "aborted")
    assert "no points" in arm.said("me", "cancelled").message and arm.plant.q[0] < HOME[0] + 0.8
    arm.goals.publish(goal([0.4], names=["scissor"], times=[0.0], name="grip"))
    arm.said("grip", "done")
    assert arm.session.reference()[4] == pytest.approx(0.4)


def test_of_a_flood_each_goal_with_a_name_is_answered_and_the_rest_is_cut_short(arm):
    flood, count = goal(moved(base=9.0)), 80
    begin_s = arm.board.now()
    for number in range(count):
        flood.header.frame_id = f"named {number}" if number % 10 == 0 else ""
        arm.goals.publish(flood)
        arm.step()
    arm.run(2.0)
    said = [values_of(one)["goal"] for one in arm.status]
    assert all(said.count(f"named {number}") == 1 for number in range(0, count, 10))
    assert said.count("") <= 20.0 * (arm.board.now() - begin_s + 1.0) + 1.0


def test_messages_that_are_too_long_are_dropped_as_bytes_and_the_motion_goes_on(arm, capfd):
    arm.goals.publish(goal(moved(base=0.5), times=[2.0], name="on"))
    data, said = serialize_message(JointState(name=20_000 * ["x"])), ""
    out = arm.publisher(JointState, STREAM, QoSProfile(depth=5))
    words = f"{STREAM}: a message of {len(data)} bytes is ignored, at most {STREAM_BYTES} are taken"

    def heard() -> bool:
        nonlocal said
        out.publish(data)
        said += capfd.readouterr().err
        return words in said

    arm.until(heard, words)
    arm.said("on", "done")


def stream(arm, out, q, count: int = 1, stamp_s: float | None = None) -> None:
    for _ in range(count):
        message = JointState(name=list(reversed(NAMES)), position=np.asarray(q)[::-1].tolist())
        message.header.frame_id = "stream"
        if stamp_s is not None:
            to_stamp(message.header.stamp, stamp_s)
        out.publish(message)
        arm.step()
        arm.step()


def test_a_stream_is_followed_and_what_is_far_off_not_a_number_or_old_moves_nothing(arm):
    """NaN or 0.0 is what ros2_control's JointStateTopicSystem says until a controller is active."""
    out = arm.publisher(JointState, STREAM)
    for q, stamp_s in (
        (np.full(5, np.nan), None),
        (np.zeros(5), None),
        (moved(base=0.06), None),
        (HOME, BEGAN_S + arm.board.now() - 60.0),
    ):
        stream(arm, out, q, 5, stamp_s)
        assert np.abs(arm.session.reference() - HOME).max() < 1e-9
    told = [one.message for one in arm.status]
    assert any("first command of a stream" in one for one in told) and any("s old, allowed 1.0 s" in one for one in told)
    for k in range(-10, 100):  # at rest to begin with: it was refused before
        stream(arm, out, moved(base=0.3 * min(max(k, 0) / 80.0, 1.0)))
    assert abs(arm.session.reference()[0] - HOME[0] - 0.3) < 0.02
    assert "stream stream" in values_of(arm.status[-1])["lease"]
    arm.goals.publish(goal(HOME, name="meanwhile"))
    stream(arm, out, moved(base=0.3), 10)
    assert "a stream stream moves the arm" in arm.said("meanwhile", "refused").message
    arm.until(lambda: arm.execution.phase.value == "holding", "its end")


def test_who_drives_has_the_arm_until_silent_and_a_twist_moves_the_tip(arm):
    beats = arm.publisher(Header, "arm_controller/driver", 10)
    twists = arm.publisher(TwistStamped, "arm_controller/delta_twist_cmds", 10)
    beat = Header(frame_id="me")
    to_stamp(beat.stamp, BEGAN_S)

    def driving(condition) -> None:
        def step() -> bool:
            beats.publish(beat)
            return condition()

        arm.until(step, "a driver")

    driving(lambda: any(holder.name == "me" for holder in arm.execution.lease.holders))
    arm.goals.publish(goal(moved(base=0.2), name="another's"))
    driving(lambda: any(values_of(one)["goal"] == "another's" for one in arm.status))
    assert "driver me" in arm.said("another's", "refused").message
    arm.until(lambda: not arm.execution.lease.holders, "silence")
    begin, twist = arm.arm.model.forward_kinematics(arm.session.reference()), TwistStamped()
    twist.header.frame_id, twist.twist.linear.y = "base_link", 0.05

    def way() -> np.ndarray:
        twists.publish(twist)
        return arm.arm.model.forward_kinematics(arm.session.reference()) - begin

    arm.until(lambda: way()[1] > 0.03, "the tip goes along y")
    assert np.linalg.norm(way()[[0, 2]]) < 0.004
    arm.until(lambda: not arm.execution.lease.holders, "it holds")


def test_what_was_sent_before_the_arm_was_enabled_or_is_old_moves_nothing(arm):
    before_s, controller = arm.session.gate.since_s - 0.01, arm.process.controller
    info = {"source_timestamp": round(1e9 * (BEGAN_S + before_s)), "publication_sequence_number": 1}
    controller.on_goal(goal(moved(base=0.3), name="early"), info)
    assert "stopped, reset or enabled after this was asked" in arm.said("early", "refused").message
    arm.run(2.0)  # a stream that was stopped may not go on before
    arm.session.gate.begin(arm.board.now())
    stamp_s = BEGAN_S + arm.board.now() - 0.01
    message = JointState(name=list(NAMES), position=HOME.tolist())
    to_stamp(message.header.stamp, stamp_s)
    controller.on_stream(message, info)
    arm.run(0.1)
    assert any(
        "stream refused: the arm was stopped, reset or enabled after the sample was sent" in one.message for one in arm.status
    )
    twist = TwistStamped()
    twist.twist.linear.y = 0.05
    for stamped in (True, False):  # by its stamp, or the middleware's
        arm.status.clear()
        old_s = BEGAN_S + arm.board.now() - 0.5
        to_stamp(twist.header.stamp, old_s if stamped else 0.0)
        sent_s = BEGAN_S + arm.board.now() if stamped else old_s
        controller.on_twist(twist, {"source_timestamp": round(1e9 * sent_s), "publication_sequence_number": 1})
        arm.run(2.5)  # a complaint is said once in a while
        assert any("jog refused: the jog is 0.50 s old, allowed 0.3 s" in one.message for one in arm.status)
    assert np.abs(arm.session.reference() - HOME).max() < 1e-9 and not arm.execution.lease.holders


@pytest.mark.parametrize("jump_s", [-60.0, 3600.0])
def test_a_jump_of_the_wall_clock_in_mid_motion_changes_stamps_alone_and_is_said(arm, capfd, jump_s):
    arm.goals.publish(goal(moved(base=0.6), times=[2.0], name="swing"))
    arm.until(lambda: arm.plant.v[0] > 0.1, "motion")
    arm.wall_s += jump_s
    arm.run(0.1)
    with arm.hearing(JointTrajectory, REFERENCE, 50) as references:
        arm.said("swing", "done")
        arm.run(0.1)
        ahead_s = seconds(references[-1].header.stamp) - BEGAN_S - arm.wall_s - arm.board.now()
    assert arm.outputs.counts.away == 0 and np.abs(arm.plant.q - moved(base=0.6)).max() < 0.02
    assert 0.0 < ahead_s < 0.06
    assert np.diff([seconds(one.header.stamp) for one in references]).min() > 0.0
    said = capfd.readouterr().err
    for node in ("trajectory_controller", "dynamics", "hardware"):
        assert said.count(f"[{node}]: the wall clock jumped by {jump_s:+.3f} s") == 1


def test_the_arm_is_published_for_who_comes_later_and_its_urdf_where_nobody_else_has_one(arm):
    told = arm.hear(String, "arm_controller/arm", LATCHED)
    arm.until(lambda: told, "the arm")
    known = arm_text.read(told[0].data)
    assert known.servos == arm.arm.servos and known.torque is None and set(json.loads(told[0].data)) >= {"urdf", "servos"}
    urdfs = arm.hear(String, "robot_description", LATCHED)
    arm.until(lambda: urdfs, "the description")
    assert urdfs[0].data == known.description.urdf
    other = arm.operator.create_publisher(String, "robot_description", LATCHED)
    other.publish(String(data=known.description.urdf))
    arm.until(lambda: arm.operator.count_publishers("robot_description") == 1, "withdrawal")
    arm.operator.destroy_publisher(other)
    arm.until(lambda: len(urdfs) > 1 and arm.operator.count_publishers("robot_description") == 1, "the description again")


def test_who_comes_late_hears_the_last_ten_outcomes_and_the_last_word_is_answered(arm):
    for number in range(12):
        arm.goals.publish(goal(moved(base=9.0), name=f"late {number}"))
    arm.said("late 11", "refused")
    late = arm.hear(DiagnosticStatus, "arm_controller/status", OUTCOMES)
    arm.until(lambda: len(late) == 10, "ten outcomes")
    assert values_of(late[-1])["goal"] == "late 11"
    with arm.session.turn:
        arm.execution.tell(EventKind.NOTICE, "a word")
    arm.until(lambda: late[-1].message == "a word", "what is no goal's")
