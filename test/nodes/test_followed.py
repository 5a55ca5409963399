"""A goal ends where nobody makes commands of its references, or nobody tells where the arm is; "done" means there."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from ros_graph import BOARD, OVERLAY, holding_graph, running_nodes
from scenarios.bench import (
    NAMES,
    answered,
    at_home,
    ends,
    goal,
    is_told,
    is_where_it_was,
    moved,
    outcome,
    over,
    stands,
    start,
    start_swinging,
    until,
    until_hardware,
    until_phase,
    until_told,
)
from waiting import PATIENCE_S

from picker_dynamics.bringup import bringup
from picker_dynamics.execution.following import Missing

pytestmark = [pytest.mark.ros, pytest.mark.long]


PAUSED = "no commands for"
"""What the hardware says, where it is there: whoever notices first ends the goal."""


def ends_soon(client, name: str, *why: str) -> None:
    """A goal under way is aborted, for one of these reasons, long before its end."""
    begin_s = time.monotonic()
    said = ends(client, name, "aborted")
    assert time.monotonic() - begin_s < 1.5
    assert said.startswith(tuple(f"aborted: {reason}" for reason in why)), said


def answer(client) -> str:
    """What becomes of a goal, in words."""
    name = answered(client, goal(moved(base=0.5)))
    until(client, lambda: over(client, name), "its end")
    return client.outcomes[name].message


def next_goal_does_nothing(client, *why: str) -> None:
    """The goals that are sent now are aborted or refused, and soon all are refused."""
    answers = [answer(client)]
    while not answers[-1].startswith("refused"):
        answers.append(answer(client))
    assert len(answers) <= 3 and all(any(reason in one for reason in why) for one in answers), answers


def arrives(client, board, target) -> None:
    ends(client, start(client, goal(target, times=[2.0])))
    np.testing.assert_allclose(board.truth().q, target, atol=0.05)
    is_where_it_was(client, board, target, 0.03)


# -- each on a graph of its own, as its nodes die; before the shared one, so that one graph runs at a time ---


def test_a_dynamics_node_that_is_replaced_by_another_one(tmp_path, domain):
    """In a namespace: the next graph of this domain takes it for another arm."""
    with holding_graph(tmp_path, namespace="replaced") as one:
        name = start_swinging(one.client, one.board)
        one.runner.signal("replaced/dynamics", signal.SIGKILL)
        ends_soon(one.client, name, Missing.COMMANDS.value, PAUSED)
        next_goal_does_nothing(one.client, Missing.COMMANDS.value, PAUSED)
        words = [sys.executable, "-m", "picker_dynamics.nodes.dynamics", "--ros-args", "-r", "__ns:=/replaced"]
        with subprocess.Popen([*words, "-p", f"servo_overlay:={OVERLAY}"], env=os.environ) as another:
            try:
                one.client.wait_ready(PATIENCE_S)
                arrives(one.client, one.board, moved(base=0.2))
            finally:
                another.kill()


def test_a_hardware_node_that_is_killed_ends_the_goal(tmp_path, domain):
    with holding_graph(tmp_path, namespace="other") as other:
        name = start_swinging(other.client, other.board)
        other.runner.signal("other/hardware", signal.SIGKILL)
        ends_soon(other.client, name, Missing.STATES.value)
        next_goal_does_nothing(other.client, Missing.STATES.value)
        until(other.client, lambda: other.runner.processes["other/hardware"].wait(PATIENCE_S) < 0, "its end")


class Deaf(bringup.NodeSpec):
    """A hardware node that hears no commands, as one that the dynamics node has not found yet."""

    def ros_arguments(self) -> list[str]:
        return [*super().ros_arguments(), "-r", "joint_commands:=elsewhere"]


def test_a_hardware_node_that_hears_no_commands_executes_no_goal(tmp_path, domain):
    made = bringup.graph(bringup.Options(directory=str(tmp_path), namespace="deaf"))
    nodes = tuple(Deaf(**vars(node)) if node.executable == "hardware" else node for node in made.nodes)
    with running_nodes(dataclasses.replace(made, nodes=nodes), tmp_path / "nodes.log", NAMES, "deaf") as arm:
        until_hardware(arm.client, "active")
        until_told(arm.client, "joint_commands do not reach")
        assert arm.client.hardware["commanded"] == "false"
        assert answer(arm.client) == f"refused: {Missing.DELIVERY.value}"


# -- on a graph that they share, and leave holding -----------------------------------------------------


def test_done_means_that_the_arm_is_there_and_how_well_that_is_known(client, board):
    at_home(client, board)
    arrives(client, board, moved(base=0.4))
    message = client.controller["message"]
    found = re.match(r"done: holding; modelled, not measured: the tip within (\d+) mm", message)
    assert "slowed" in message or (found and 8 <= int(found[1]) <= 16), message


def test_a_goal_that_is_not_reached_is_an_error_for_the_topic_too(client, board):
    at_home(client, board)
    with client.meanwhile("trajectory_controller", constraints__shoulder__goal=1e-9, constraints__goal_time=0.3):
        assert "goal tolerance: shoulder is off by" in ends(client, start(client, goal(moved(base=0.2))), "aborted")


def test_a_dynamics_node_that_stands_still_ends_the_goal_and_the_next_one_moves_the_arm(arm, client, board):
    name = start_swinging(client, board)
    arm.runner.signal("dynamics", signal.SIGSTOP)
    try:
        ends_soon(client, name, Missing.COMMANDS.value, PAUSED)
        held = stands(client, board)
        assert held[0] < 0.8
        next_goal_does_nothing(client, Missing.COMMANDS.value, PAUSED)
        is_where_it_was(client, board, held)
    finally:
        arm.runner.signal("dynamics", signal.SIGCONT)
    client.wait_ready(PATIENCE_S)
    arrives(client, board, moved(base=0.2))


def test_a_reference_that_nobody_followed_returns_to_the_held_pose_so_that_commands_can_begin(arm, client, board):
    """They begin at that pose or not at all; the goal came right behind the epoch, before anybody was missed."""
    before = at_home(client, board)
    client.stop()
    client.trigger("reset")
    arm.runner.signal("dynamics", signal.SIGSTOP)
    try:
        client.trigger("adopt")
        until_phase(client)
        held, away = client.reference(), goal(moved(base=0.9), times=[1.5])
        while abs(client.desired[0] - held[0]) < 0.01:
            client.goals.publish(away)
            client.spin(0.02)
            assert client.controller["message"] != f"refused: {Missing.COMMANDS.value}", "the goal came too late"
        until(client, lambda: (client.desired == held).all(), "return")
        is_where_it_was(client, board, before)
    finally:
        arm.runner.signal("dynamics", signal.SIGCONT)
    client.wait_ready(PATIENCE_S)
    arrives(client, board, moved(base=0.2))


def test_a_hardware_node_that_stands_still_for_a_moment_costs_a_client_no_goal(arm, client, board):
    """It is refused meanwhile, and sent again."""
    at_home(client, board)
    arm.runner.signal("hardware", signal.SIGSTOP)
    again = threading.Timer(1.0, arm.runner.signal, ("hardware", signal.SIGCONT))
    try:
        until(client, lambda: client.controller["message"] == Missing.STATES.value, "word of it")
        refused = answer(client)
        again.start()
        client.move_through([1.0], [moved(base=0.2)])
    finally:
        again.join() if again.ident else arm.runner.signal("hardware", signal.SIGCONT)
    assert refused == f"refused: {Missing.STATES.value}"
    is_told(client, moved(base=0.2))


def test_a_goal_that_ends_where_it_began_is_not_done_while_the_board_stands_still(arm, client, board):
    """The modelled state would be there all the time, and the arm goes there and back when the board runs again."""
    at_home(client, board)
    name = start(client, goal(moved(base=0.15), moved(), times=[0.4, 0.8]))
    arm.runner.signal(BOARD, signal.SIGSTOP)
    try:
        client.spin(1.3)  # beyond the end of the goal, and not so long that the link is lost
        seen = outcome(client, name)
    finally:
        arm.runner.signal(BOARD, signal.SIGCONT)
    assert seen in ("accepted", "aborted"), client.outcomes[name].message
    until(client, lambda: over(client, name), "the end of the goal")
    if outcome(client, name) == "done":
        np.testing.assert_allclose(board.truth().q, moved(), atol=0.05)
