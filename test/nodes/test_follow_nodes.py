"""The actions on the running nodes, as MoveIt uses them: tolerances, feedback, cancel, pre-emption, gripper, speed, floods."""

from __future__ import annotations

import math
import re
import signal

import numpy as np
import pytest

pytest.importorskip("control_msgs", reason="control_msgs is not installed; a ROS 2 machine has it")

from action_client import Actions
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance, JointTrajectoryControllerState, SpeedScalingFactor
from scenarios.bench import (
    HOME,
    NAMES,
    Watch,
    at_home,
    is_told,
    is_where_it_was,
    moved,
    publishing,
    ready,
    stands,
    until,
    until_told,
)
from trajectory_msgs.msg import JointTrajectory
from waiting import PATIENCE_S

from picker_dynamics.execution.goal_tracking import Code
from picker_dynamics.nodes.runtime import LATCHED, seconds

pytestmark = [pytest.mark.ros, pytest.mark.long, pytest.mark.usefixtures("settings")]
GRAPH = {"rate_hz": 200.0}


def test_the_codes_are_those_of_the_message():
    for code in Code:
        assert getattr(FollowJointTrajectory.Result, code.name) == code


def test_a_goal_is_followed_with_feedback_and_succeeds(client, board):
    at_home(client, board)
    target = moved(base=0.4, shoulder=-0.1)
    with Actions(client) as actions, Watch(board):
        sent = actions.send(target, times=[2.0], at_goal=[JointTolerance(name=name, position=0.05) for name in NAMES])
        actions.until_over(sent)
    assert (sent.status, sent.code, sent.results) == ("succeeded", 0, 1), sent.text
    is_where_it_was(client, board, target, 0.03)
    feedback = sent.feedback
    assert len(feedback) > 10 and tuple(feedback[0].joint_names) == NAMES
    progress = [seconds(one.desired.time_from_start) for one in feedback]
    assert progress == sorted(progress) and progress[-1] <= 2.0 + 1e-6
    for one in feedback:
        np.testing.assert_allclose(np.subtract(one.desired.positions, one.actual.positions), one.error.positions, atol=1e-12)
        assert np.abs(one.error.positions).max() < 0.1, "compared at the time of the state, not a lead later"
    assert max(one.desired.velocities[0] for one in feedback) > 0.2


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (dict(target=np.zeros(5), times=[6.0]), Code.INVALID_GOAL, ["shoulder", "N·m", "allowed"]),
        (dict(target=HOME, names=(*NAMES[:-1], "tail")), Code.INVALID_JOINTS, ["unknown joint 'tail'"]),
        (dict(target=HOME, names=(*NAMES[:-1], NAMES[0])), Code.INVALID_JOINTS, ["base", "twice"]),
        (dict(target=HOME, late=5.0), Code.OLD_HEADER_TIMESTAMP, ["should have started", "s ago"]),
        (dict(target=HOME, path=[JointTolerance(name="tail", position=0.1)]), Code.INVALID_JOINTS, ["path_tolerance", "tail"]),
        (dict(target=HOME, at_goal=[JointTolerance(name="base", position=-2.0)]), Code.INVALID_GOAL, ["goal_tolerance of base"]),
        (dict(target=HOME, goal_time=-3.0), Code.INVALID_GOAL, ["goal_time_tolerance"]),
        (dict(target=None), Code.INVALID_GOAL, ["no points"]),
    ],
    ids=lambda value: value.name if isinstance(value, Code) else "",
)
def test_a_goal_that_cannot_be_executed_says_why_and_moves_nothing(client, board, options, code, words):
    options = dict(options)
    target, late = options.pop("target"), options.pop("late", None)
    before = at_home(client, board)
    with Actions(client) as actions:
        start_s = None if late is None else client.get_clock().now().nanoseconds * 1e-9 - late
        sent = actions.send(*([] if target is None else [target]), start_s=start_s, **options)
        actions.until_over(sent)
    assert (sent.accepted, sent.status, sent.code) == (True, "aborted", int(code)), sent.text
    assert all(word in sent.text for word in words), sent.text
    is_where_it_was(client, board, before)


def test_a_path_tolerance_that_is_broken_stops_the_arm_gently_and_names_joint_and_amount(client, board):
    at_home(client, board)
    with Actions(client) as actions, Watch(board):
        sent = actions.send(moved(base=0.9), times=[4.0], path=[JointTolerance(name="base", position=1e-4)])
        actions.until_over(sent)
        assert (sent.status, sent.code) == ("aborted", Code.PATH_TOLERANCE_VIOLATED), sent.text
        said = re.fullmatch(r"path tolerance: base is off by (\S+) deg, allowed (\S+) deg, .*", sent.text)
        off, allowed = map(float, said.groups())
        assert off > allowed == pytest.approx(math.degrees(1e-4), rel=0.06), sent.text
        assert stands(client, board)[0] < 0.7, "it did not go on"
    assert client.hardware["state"] == "active"


def test_a_goal_tolerance_that_is_not_reached_in_time_is_an_error(client, board):
    at_home(client, board)
    with Actions(client) as actions:
        sent = actions.send(moved(base=0.2), times=[1.0], goal_time=0.3, at_goal=[JointTolerance(name="shoulder", position=1e-9)])
        actions.until_over(sent)
    assert (sent.status, sent.code) == ("aborted", Code.GOAL_TOLERANCE_VIOLATED), sent.text
    assert sent.text.startswith("goal tolerance: shoulder is off by") and "goal time 0.3 s" in sent.text


def test_cancel_decelerates_and_is_answered_when_the_arm_stands(client, board):
    at_home(client, board)
    with Actions(client) as actions, Watch(board):
        sent = actions.send(moved(base=0.9), times=[4.0])
        actions.until_moving(board)
        sent.cancel()
        actions.until_over(sent)
        assert sent.status == "canceled" and "holding" in sent.text
        assert 0.0 < stands(client, board)[0] < 0.8
    assert client.controller["phase"] == "holding"


def test_a_newer_goal_takes_over_without_a_step(client, board):
    at_home(client, board)
    with Actions(client) as actions, Watch(board):
        first = actions.send(moved(base=0.9), times=[4.0])
        actions.until_moving(board)
        second = actions.send(moved(base=0.1, wrist=0.2), times=[2.5])
        actions.until_over(first, second)
    assert (first.status, first.text) == ("aborted", "preempted by a newer goal")
    assert second.status == "succeeded", second.text


def test_an_emergency_stop_ends_the_goal_with_its_reason(client, board):
    at_home(client, board)
    with Actions(client) as actions, Watch(board):
        sent = actions.send(moved(base=0.9), times=[4.0])
        actions.until_moving(board)
        client.switch("emergency_stop", True)
        actions.until_over(sent)
        assert sent.status == "aborted" and "stopped" in sent.text
        late = actions.send(moved(base=0.5))
        actions.until_over(late)
        assert late.status == "aborted" and "not active" in late.text
        stands(client, board)
    ready(client)


def test_a_flood_of_goals_is_answered_one_by_one_and_the_last_one_wins(client, board):
    at_home(client, board)
    with client.hearing(JointTrajectory, "arm_controller/reference", 1000) as heard, Actions(client) as actions, Watch(board):
        flood = [actions.send(moved(base=0.3 - 0.002 * k), times=[1.5]) for k in range(100)]
        actions.until_over(*flood)
    assert all(one.results == 1 for one in flood)
    assert flood[-1].status == "succeeded", flood[-1].text
    assert {one.status for one in flood[:-1]} == {"aborted"}
    assert all("newer goal" in one.text for one in flood[:-1]), {one.text for one in flood}
    is_told(client, moved(base=0.3 - 0.002 * 99))
    assert len(heard) > 100


def test_speed_is_scaled_while_the_arm_moves_down_to_a_pause(client, board):
    at_home(client, board)
    with (
        publishing(client, SpeedScalingFactor, "arm_controller/speed_scaling_input", LATCHED) as factors,
        client.hearing(JointTrajectoryControllerState, "arm_controller/controller_state") as states,
    ):
        with Actions(client) as actions, Watch(board):
            sent = actions.send(moved(base=0.8), times=[3.0])
            actions.until_moving(board)
            factors.publish(SpeedScalingFactor(factor=0.0))
            until(client, lambda: states and states[-1].speed_scaling_factor == 0.0, "a pause")
            paused = stands(client, board)
            client.spin(0.5)
            is_where_it_was(client, board, paused)
            assert not sent.over
            client.set_parameters("trajectory_controller", speed_scaling=0.5)
            until(client, lambda: states[-1].speed_scaling_factor == 0.5, "half speed")
            actions.until_over(sent)
            assert sent.status == "succeeded", sent.text
        is_told(client, moved(base=0.8))
        assert tuple(states[0].joint_names) == NAMES and len(states[0].output.positions) == 5
        for bad in (-0.1, 1.5, float("nan")):
            factors.publish(SpeedScalingFactor(factor=bad))
            until_told(client, "speed_scaling")
            client.controller["message"] = ""


def test_the_gripper_moves_beside_the_arm(client, board):
    at_home(client, board)
    client.set_parameters("trajectory_controller", allow_partial_joints_goal=True)
    with Actions(client) as actions, Watch(board):
        swing = actions.send(moved(base=0.6)[:-1], times=[3.0], names=NAMES[:-1])
        actions.until_moving(board)
        grip = actions.grip(0.4, name=["scissor"])
        actions.until_over(grip)
        assert grip.status == "succeeded" and grip.result.reached_goal and not grip.result.stalled
        assert abs(grip.result.state.position[0] - 0.4) < 0.03 and grip.feedback
        assert not swing.over, "the arm goes on"
        actions.until_over(swing)
        assert swing.status == "succeeded", swing.text
    is_told(client, [*moved(base=0.6)[:-1], 0.4])


@pytest.mark.parametrize(
    ("position", "fields", "said"),
    [
        (2.0, {}, "scissor: 114.6 deg is beyond its limits"),
        (0.4, dict(name=["elbow"]), "the gripper's joint is scissor"),
        (0.4, dict(effort=[0.05]), "scissor presses with up to 0.25 N·m"),
        (0.4, dict(velocity=[50.0]), "scissor: 2864.8 deg/s is beyond its limit"),
    ],
)
def test_a_gripper_command_that_makes_no_sense_is_rejected(client, board, position, fields, said):
    before = at_home(client, board)
    with Actions(client) as actions:
        sent = actions.grip(position, **fields)
        actions.until_over(sent)
        assert sent.accepted is False
        until_told(client, said)
    is_where_it_was(client, board, before)


def test_whoever_ends_the_controller_answers_its_goals(arm, client, board):
    """The last test here: the controller is gone afterwards."""
    at_home(client, board)
    with Actions(client) as actions:
        sent = actions.send(moved(base=0.5), times=[3.0])
        actions.until_moving(board)
        arm.runner.signal("trajectory_controller", signal.SIGTERM)
        client.wait(lambda: sent.over, "an answer", PATIENCE_S)
    assert sent.status == "aborted" and "the controller ends" in sent.text
