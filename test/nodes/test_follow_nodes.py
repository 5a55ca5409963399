"""The actions on the running nodes, as MoveIt uses them: tolerances, feedback, cancel, pre-emption, gripper, speed, floods."""

from __future__ import annotations

import signal

import numpy as np
import pytest

pytest.importorskip("control_msgs", reason="control_msgs is not installed; a ROS 2 machine has it")

from action_client import Actions
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance, JointTrajectoryControllerState, SpeedScalingFactor
from scenarios.bench import NAMES, Watch, at_home, is_told, is_where_it_was, moved, publishing, stands, until, until_told
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


def test_whoever_ends_the_controller_answers_its_goals(arm, client, board):
    """The last test here: the controller is gone afterwards."""
    at_home(client, board)
    with Actions(client) as actions:
        sent = actions.send(moved(base=0.5), times=[3.0])
        actions.until_moving(board)
        arm.runner.processes["trajectory_controller"].send_signal(signal.SIGTERM)
        client.wait(lambda: sent.over, "an answer", PATIENCE_S)
    assert sent.status == "aborted" and "the controller ends" in sent.text
