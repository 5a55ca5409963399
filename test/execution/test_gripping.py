"""Gripper commands: refused by name, timed by their velocity, judged by where the gripper stands."""

from dataclasses import replace

import numpy as np
import pytest
from arm_fixtures import picker

from picker_dynamics.errors import InputError, JointNamesError, LimitError
from picker_dynamics.execution.goal_tracking import STATELESS_S, ArmState, Error, Outcome
from picker_dynamics.execution.gripping import GripperCommand, GripperSettings, GripperTracker, goal_of, settings_problem
from picker_dynamics.execution.motion import Reference

ARM, INDEX, ZERO = picker(), 4, np.zeros(5)
END = Reference(11.0, 0.4 * np.eye(5)[INDEX], ZERO, ZERO)
SETTINGS = GripperSettings("scissor", torque=0.25)


def tracker(**options) -> GripperTracker:
    made = GripperTracker(GripperSettings("scissor", **options), ARM, 10.0)
    made.ended(END)
    return made


def at(time_s: float, q: float, v: float | None = 0.0) -> Error:
    joint = np.eye(5)[INDEX]
    return Error(replace(END, time_s=time_s), ArmState(time_s, q * joint, None if v is None else v * joint))


@pytest.mark.parametrize("names", [(), ("scissor",)])
def test_a_command_becomes_a_motion_of_the_gripper_alone(names):
    goal = goal_of(GripperCommand(names, [0.4]), SETTINGS, ARM, 1.2)
    assert (goal.joint_names, goal.positions, goal.track, goal.partial) == (["scissor"], [[0.4]], "gripper", True)
    assert goal.times_s[0] == pytest.approx(1.875 * 0.8 / 1.5), "a quintic's peak is 15/8 of its mean"


@pytest.mark.parametrize(
    ("command", "error", "text"),
    [
        ((["elbow"], [0.4]), JointNamesError, "for elbow; the gripper's joint is scissor"),
        ((["scissor", "elbow"], [0.4, 0.1]), JointNamesError, "scissor, elbow"),
        (([], []), InputError, "position \\[\\], expected one number"),
        (([], [1.3]), LimitError, "74.5 deg is beyond its limits 0.0 deg ... 68.8 deg"),
        (([], [float("nan")]), InputError, "expected one number"),
        (([], [0.4], [-1.0]), InputError, "velocity"),
        (([], [0.4], [], [float("nan")]), InputError, "effort"),
        (([], [0.4], [], [0.1]), InputError, "presses with up to 0.25 N·m .* a limit of 0.1"),
    ],
)
def test_a_command_that_cannot_be_kept_is_refused(command, error, text):
    with pytest.raises(error, match=text):
        goal_of(GripperCommand(*command), SETTINGS, ARM, 1.0)


def test_it_has_reached_its_goal_where_a_state_says_so():
    made = GripperTracker(SETTINGS, ARM, 10.0)
    assert made.look(10.5, at(10.5, 0.4)) is None, "the motion is not over"
    made.ended(END)
    assert made.look(11.01, at(10.99, 0.4)) is None, "a state from before"
    assert made.look(11.05, at(11.05, 0.43)) is None
    verdict = made.look(11.1, at(11.1, 0.41))
    assert verdict.outcome is Outcome.SUCCEEDED and not verdict.stalled


@pytest.mark.parametrize(("allowed", "outcome"), [(False, Outcome.ABORTED), (True, Outcome.SUCCEEDED)])
@pytest.mark.parametrize("v", [0.0, None])
def test_standing_away_from_its_goal_it_has_stalled(allowed, outcome, v):
    made = tracker(allow_stalling=allowed)
    assert made.look(11.9, at(11.9, 0.6, v)) is None
    verdict = made.look(12.1, at(12.1, 0.6, v))
    assert verdict.outcome is outcome and verdict.stalled
    assert verdict.text == "gripper: stalled before its goal, scissor is off by 11.5 deg, allowed 1.1 deg"


def test_without_a_state_nobody_waits_for_ever():
    made = tracker()
    assert made.look(11.0 + STATELESS_S, at(10.9, 0.4)) is None
    assert "no joint_states for 1.2 s" in made.look(11.1 + STATELESS_S, at(10.9, 0.4)).text


def test_settings_have_to_fit_the_arm():
    assert settings_problem(SETTINGS, ARM) == ""
    assert "gripper.joint is 'tail'; the arm has base" in settings_problem(GripperSettings("tail"), ARM)
    assert "gripper.max_velocity is 50" in settings_problem(GripperSettings("scissor", max_velocity=50.0), ARM)
