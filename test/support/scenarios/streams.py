"""Streams on joint_reference: samples by hand, and as ros2_control's JointStateTopicSystem sends them."""

from __future__ import annotations

import contextlib
import uuid

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState
from topic_system import KEEP_ALIVE, TopicSystem
from trajectory_msgs.msg import JointTrajectory

from picker_dynamics.nodes.runtime import OUTCOMES

from .bench import (
    HOME,
    NAMES,
    PATIENCE_S,
    Watch,
    at_home,
    enable_again,
    ends,
    goal,
    is_told,
    is_where_it_was,
    moved,
    publishing,
    refusal,
    stands,
    until,
    until_base,
    until_phase,
    until_told,
)

THRESHOLDS = (KEEP_ALIVE, 1e-5, 0.01)
SAG = 0.02
"""How far the state, and so a controller that begins there, may be from the pose that is held [rad]."""


def follows_a_good_stream(client, board) -> None:
    """joint_reference, as a ros2_control client sends it: NaN and zeros first, which must move nothing; then a motion."""
    before = at_home(client, board)
    with publishing(client, JointState, "arm_controller/joint_reference") as stream:
        for first in (np.full(5, np.nan), np.zeros(5), moved(base=0.06)):
            for _ in range(10):
                stream.publish(JointState(name=list(NAMES), position=first.tolist()))
                client.spin(0.02)
        until_told(client, "first command of a stream")
        is_told(client, HOME, 1e-9)
        is_where_it_was(client, board, before)
        with Watch(board):
            for k in range(-10, 120):  # at rest to begin with: it was refused before
                target = moved(base=0.3 * min(max(k, 0) / 100.0, 1.0))
                stream.publish(JointState(name=list(reversed(NAMES)), position=target[::-1].tolist()))
                client.spin(0.02)
            until_phase(client)
        assert abs(client.reference()[0] - 0.3) < 0.02
        until(client, lambda: abs(board.truth().q[0] - client.desired[0]) < 0.02, "the arm at the end of the stream")


@contextlib.contextmanager
def topic_system(client, **options):
    """ros2_control beside the graph of ``client``, once it knows the arm's state and the arm hears it."""
    with TopicSystem(NAMES, namespace=client.get_namespace(), **options) as system:
        until(client, lambda: system.listeners() > 0 and np.isfinite(system.state).all() and system.state.any(), "a state")
        yield system


@contextlib.contextmanager
def refusals(client):
    """What the controller says against a stream, to be asked."""
    with client.hearing(DiagnosticStatus, "arm_controller/status", OUTCOMES) as heard:
        client.spin(0.5)  # what was said before
        heard.clear()
        yield lambda: [one.message for one in heard if one.message.startswith("stream refused")]


def more(client, system, count: int) -> None:
    """Let the controller_manager have ``count`` more turns."""
    wanted = system.turns + count
    until(client, lambda: system.turns >= wanted, "turns of the controller manager")


def ros2_control_moves_nothing_before_a_controller_is_active(client, board, unset: float) -> None:
    """NaN (JointStateTopicSystem) or 0.0 (its predecessor) at 100 Hz, for a second: nothing moves, and it is said once."""
    before = at_home(client, board)
    with Watch(board), refusals(client) as said, topic_system(client, threshold=KEEP_ALIVE, unset=unset) as system:
        more(client, system, 100)
        assert system.sent >= 100
        is_told(client, HOME, 1e-9)
        is_where_it_was(client, board, before)
        assert client.controller["phase"] == "holding"
        if np.isnan(unset):
            assert said() == []
        else:
            assert "first command of a stream" in said()[0] and len(said()) < 0.1 * system.sent
        system.activate()
        system.swing("base", 0.2, 1.5)
        until_base(client, board, 0.2)
    until_phase(client)


def ros2_control_moves_the_arm(client, board, threshold: float) -> None:
    """Activated, still, moved there, still, moved back: commands repeated all the while, or held back where nothing changes."""
    before = at_home(client, board)
    with refusals(client) as said, Watch(board) as watch:
        with topic_system(client, threshold=threshold) as system:
            system.activate()
            more(client, system, 100)
            is_where_it_was(client, board, before, tolerance=SAG)
            for amount in (0.3, -0.3):
                end = system.command[0] + amount
                system.swing("base", amount, 1.2)
                until(client, lambda end=end: abs(system.command[0] - end) < 1e-9, "the end of the swing")
                until_base(client, board, end)
                there = stands(client, board)
                more(client, system, 50)
                is_where_it_was(client, board, there, tolerance=SAG)
            system.deactivate()
            more(client, system, 50)
            is_where_it_was(client, board, before, tolerance=0.03)
            assert (system.held_back == 0) == (threshold == KEEP_ALIVE), "otherwise a settled arm is at its commands"
        until_phase(client)
    assert said() == [] and watch.tip_speed() < 0.25 * 1.25


def a_goal_takes_the_arm_from_ros2_control(client, board) -> None:
    """A goal after a stop is done, commands that go on bring nothing back, and the next activation begins where the arm is."""
    before = at_home(client, board)
    with refusals(client) as said, topic_system(client, threshold=KEEP_ALIVE) as system:
        system.activate()
        more(client, system, 50)
        message = goal(moved(base=0.4), times=[2.0])
        assert "a stream moves the arm for another" in refusal(client, message)
        is_where_it_was(client, board, before, tolerance=0.03)
        client.goals.publish(JointTrajectory(joint_names=list(NAMES)))
        name = message.header.frame_id = f"from elsewhere {uuid.uuid4().hex}"
        client.goals.publish(message)
        ends(client, name)
        there = stands(client, board)
        assert abs(there[0] - 0.4) < 0.03
        more(client, system, 100)
        is_where_it_was(client, board, there)
        assert any(f"goal {name} moves the arm" in line for line in said()) and any("first command" in line for line in said())
        assert len(said()) < 0.1 * system.sent
        system.activate()
        more(client, system, 50)
        is_where_it_was(client, board, there, tolerance=SAG)
        system.swing("base", -0.2, 1.5)
        until_base(client, board, 0.2)
    until_phase(client)


def ros2_control_resumes_nothing_after_a_stop(client, board) -> None:
    """It swings on while the arm is stopped, reset and enabled: the arm stays, also when the swing passes it by."""
    at_home(client, board)
    with topic_system(client, threshold=KEEP_ALIVE) as system, Watch(board):
        system.activate()
        more(client, system, 20)
        middle = system.command.copy()
        base = np.arange(len(NAMES)) == 0
        system.follow(lambda time_s: middle + 0.2 * (1.0 - np.cos(1.5 * time_s)) * base)
        until(client, lambda: board.truth().q[0] > 0.12, "motion")
        client.switch("emergency_stop", True)
        until_phase(client, "inactive")
        held = stands(client, board)
        enable_again(client)
        until_phase(client)
        is_where_it_was(client, board, held, SAG)
        sides = set()

        def passed() -> bool:
            sides.add(bool(system.command[0] > held[0]))
            return len(sides) == 2

        for _ in range(2):
            sides.clear()
            until(client, passed, "a command that passes the arm")
        is_where_it_was(client, board, held, tolerance=SAG)
        assert client.controller["phase"] == "holding"
        system.activate()
        system.swing("base", -0.1, 1.0)
        until_base(client, board, held[0] - 0.1)
    client.wait_holding(PATIENCE_S)
