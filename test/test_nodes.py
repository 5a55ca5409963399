"""The three real nodes as processes, on the virtual board, judged by the simulation's truth; see ``scenarios``."""

from __future__ import annotations

import signal

import numpy as np
import pytest

pytest.register_assert_rewrite("scenarios", "ros_graph")

import scenarios  # noqa: E402
from ros_graph import HOST_TIMEOUT_S, own_domain, running_graph, running_hardware  # noqa: E402
from scenarios import HOME, REST, goal, moved, outcome, stands, start, start_swinging, until  # noqa: E402

from picker_dynamics.errors import PickerError  # noqa: E402
from picker_dynamics.resources import resource  # noqa: E402
from picker_dynamics.sim.board import spawn_board  # noqa: E402

pytestmark = pytest.mark.ros


@pytest.fixture(scope="module", autouse=True)
def domain():
    with own_domain() as domain:
        yield domain


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """One graph for all tests that leave it holding."""
    with running_graph(tmp_path_factory.mktemp("arm")) as running:
        scenarios.comes_up_holding(running.client, running.board)
        yield running


@pytest.fixture
def running(arm):
    assert arm.runner.dead() is None
    return arm


def test_it_comes_up_holding(running):
    running.do(scenarios.comes_up_holding)


@pytest.mark.parametrize("case", scenarios.IMPOSSIBLE)
def test_what_cannot_be_done_is_refused_and_moves_nothing(running, case):
    running.do(scenarios.refuses, case)


@pytest.mark.parametrize("scenario", [
    scenarios.executes_a_trajectory,
    scenarios.refuses_a_goal_from_the_past,
    scenarios.refuses_to_hurry_where_slowing_is_off,
    scenarios.carries_a_payload_without_a_jump,
    scenarios.changes_compensation_without_a_jump,
    scenarios.follows_a_good_stream,
    scenarios.ignores_commands_that_do_not_fit,
    scenarios.stops_and_resumes_nothing,
    scenarios.takes_no_goal_while_it_is_off,
    scenarios.survives_a_board_reset_in_mid_motion,
    scenarios.survives_a_pulled_cable,
    scenarios.brakes_at_a_fault_and_names_it,
    scenarios.arrives_in_spite_of_damaged_frames,
    scenarios.refuses_illegal_transitions_and_lives,
    scenarios.relaxes,
], ids=lambda scenario: scenario.__name__)
def test_the_arm(running, scenario):
    running.do(scenario)


# -- two arms ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def left(arm, tmp_path_factory):
    """A second graph beside the first, in a namespace; what happens to it must not concern the other."""
    with running_graph(tmp_path_factory.mktemp("left"), namespace="left") as running:
        scenarios.comes_up_holding(running.client, running.board)
        yield running


def test_two_arms_side_by_side_do_not_disturb_each_other(arm, left):
    def both_move(client, board) -> None:
        for one in (arm, left):
            scenarios.at_home(one.client, one.board)
        here = start(client, goal(moved(base=0.3), times=[2.0]))
        there = start(left.client, goal(moved(base=-0.5), times=[2.0]))
        left.client.set_parameters("dynamics", payload__mass=0.02)
        until(left.client, lambda: left.board.truth().v[0] < -0.1, "motion")
        left.client.switch("emergency_stop", True)
        until(left.client, lambda: outcome(left.client, there) == "aborted", "the stop")
        until(client, lambda: outcome(client, here) != "accepted", "the end of the other motion")
        assert outcome(client, here) == "done", client.outcomes[here].message
        until(client, lambda: abs(board.truth().q[0] - 0.3) < 0.03, "arrival")
        assert stands(left.client, left.board)[0] > -0.45
        assert client.hardware["state"] == "active" and there not in client.outcomes
        assert client.diagnostic("dynamics", "payload_kg") == 0.0
        assert left.client.diagnostic("dynamics", "payload_kg") == 0.02

    arm.do(both_move)


def test_a_killed_node_in_mid_motion_leaves_an_arm_that_holds(arm, left):
    """No set-points come any more: the board plays what it has, decelerates and holds; the graph knows who is missing."""
    left.do(start_swinging)
    with scenarios.Watch(left.board):
        left.runner.signal("left/dynamics", signal.SIGKILL)
        until(left.client, lambda: left.board.truth().state == "HOLD", "an arm that holds")
        held = stands(left.client, left.board)
    assert 0.0 < held[0] < 0.85 and left.board.truth().faults == ()
    until(left.client, lambda: left.runner.dead() is not None, "notice")
    assert left.runner.dead() == ("left/dynamics", -signal.SIGKILL)
    assert arm.runner.dead() is None
    arm.client.wait_holding(scenarios.PATIENCE_S)


def test_when_the_board_dies_the_hardware_node_lives_and_says_so(left):
    left.runner.signal("virtual_board", signal.SIGKILL)
    until(left.client, lambda: left.client.hardware["state"] == "offline", "notice")
    until(left.client, lambda: "no serial port" in left.client.hardware["message"], "a reason")
    assert left.runner.processes["left/hardware"].poll() is None
    with pytest.raises(PickerError, match="not connected"):
        left.client.switch("enable", True)
    with pytest.raises(PickerError, match="not connected"):
        left.client.trigger("relax")
    left.runner.stop()  # it would take the next board that gets this terminal for its own


# -- the hardware node alone ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def live_board(tmp_path_factory):
    """A board whose outputs run, at the home pose, as after a restart of the host."""
    overlay = str(resource("config/servos.sim.yaml"))
    port = tmp_path_factory.mktemp("live") / "tty"
    words = ["--live", "--start-pose", "home", "--boot-silence", "0", "--host-timeout", str(HOST_TIMEOUT_S)]
    with spawn_board(port, *words, "--servo-overlay", overlay) as board:
        yield str(port), board


def test_hold_at_the_end_keeps_the_pose_and_the_next_start_adopts_it(live_board, tmp_path):
    port, board = live_board
    for _ in range(2):
        before = board.truth()
        with running_hardware(port, tmp_path, on_shutdown="hold") as (client, process):
            until(client, lambda: client.hardware.get("state") == "active", "adoption")
            np.testing.assert_array_equal(board.truth().setpoint, before.setpoint)
            process.send_signal(signal.SIGINT)
            process.wait(scenarios.PATIENCE_S)
        assert process.returncode == 0
        assert board.truth().live == scenarios.ALL
        np.testing.assert_array_equal(board.truth().setpoint, before.setpoint)
    np.testing.assert_allclose(board.truth().setpoint, HOME, atol=scenarios.QUANTUM)


def test_park_at_the_end_brings_the_arm_to_its_rest_pose(live_board, tmp_path):
    port, board = live_board
    with scenarios.Watch(board) as watch, running_hardware(port, tmp_path, on_shutdown="park") as (client, process):
        until(client, lambda: client.hardware.get("state") == "active", "adoption")
    assert process.returncode == 0
    assert watch.tip_speed() < 0.15 * 1.3
    np.testing.assert_allclose(board.truth().q, REST, atol=0.03)
    assert board.truth().live == scenarios.ALL


def test_relax_at_the_end_switches_the_outputs_off_even_if_told_so_while_running(live_board, tmp_path):
    port, board = live_board
    with running_hardware(port, tmp_path, on_shutdown="hold") as (client, process):
        until(client, lambda: client.hardware.get("state") == "active", "adoption")
        with pytest.raises(PickerError, match="must be one of hold, park, relax"):
            client.set_parameters("hardware", on_shutdown="drop")
        client.set_parameters("hardware", on_shutdown="relax")
    assert process.returncode == 0
    assert board.truth().live == 0


def test_outputs_that_are_off_are_not_switched_on_without_a_persons_word(live_board, tmp_path):
    """As on a real board: the node comes up, asks for the rest pose, and enables only when told."""
    port, board = live_board
    assert board.truth().live == 0, "left so by the test before"
    with running_hardware(port, tmp_path, on_shutdown="relax") as (client, _):
        until(client, lambda: "put it at its rest pose" in client.hardware.get("message", ""), "the question")
        assert client.hardware["state"] == "idle" and board.truth().live == 0
        assert client.switch("enable", True).startswith("enabling base")
        until(client, lambda: client.hardware["state"] == "active", "enabling")
