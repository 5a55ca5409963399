"""The three nodes as processes on the virtual board, judged by the simulation's truth: scenarios, commands, two arms.

In `make test`: what only processes show, which is a goal by topic, stop, reset and enable by services,
a pulled cable and its return, an illegal lifecycle request, a second node of one kind, and a session at a terminal.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess

import numpy as np
import pytest
from patient import patiently
from ros_graph import holding_graph
from scenarios import faults, graphs, motions, streams
from scenarios.bench import (
    HOME,
    NAMES,
    REST,
    Watch,
    at_home,
    goal,
    is_told,
    is_where_it_was,
    moved,
    outcome,
    stands,
    start,
    start_swinging,
    until,
    until_hardware,
    until_phase,
)
from waiting import PATIENCE_S, python

from picker_dynamics.bringup import bringup
from picker_dynamics.commands import cli
from picker_dynamics.errors import PickerError
from picker_dynamics.session.address import OccupiedError

pytestmark = pytest.mark.ros


def test_it_comes_up_holding(client, board):
    motions.comes_up_holding(client, board)


SCENARIOS = [
    motions.executes_a_trajectory,
    faults.stops_and_resumes_nothing,
    faults.survives_a_pulled_cable,
    faults.refuses_illegal_transitions_and_lives,
]
LONG_SCENARIOS = [
    streams.follows_a_good_stream,
    motions.carries_a_payload_without_a_jump,
    motions.changes_compensation_without_a_jump,
    faults.ignores_commands_that_do_not_fit,
    faults.survives_a_board_reset_in_mid_motion,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_the_arm(client, board, scenario):
    scenario(client, board)


@pytest.mark.long
@pytest.mark.parametrize("scenario", LONG_SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_the_arm_in_all_its_cases(client, board, scenario):
    scenario(client, board)


@pytest.mark.long
def test_an_arm_is_held_again_though_nobody_has_noticed_yet_what_was_done_before(client, board):
    """As a test that failed half-way leaves it to the next one."""
    at_home(client, board)
    start_swinging(client, board)
    board.reset(keep_outputs=True)
    at_home(client, board)


def test_a_second_process_of_one_arm_ends_before_it_has_said_a_word(client, board, arm):
    """The motion under way does not notice."""
    at_home(client, board)
    node = bringup.NodeSpec("arm", {"hardware": {"port": "/dev/null"}})
    name = start(client, goal(moved(base=0.3), times=[60.0]))
    with Watch(board):
        ended = python("-m", node.module, *node.arguments())
    has_it = arm.runner.processes["arm"].pid
    assert ended.returncode == OccupiedError.exit_code and ended.stdout == ""
    assert ended.stderr.startswith("error: the arm in ROS domain") and f"by process {has_it} already" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert outcome(client, name) == "accepted" and client.controller["phase"] == "executing"
    client.cancel()


# -- the picker command on a running graph -------------------------------------------------------------


@pytest.fixture
def command(capsys):
    """``picker WORDS`` in this process: exit code, what it printed, its complaints."""

    def run(*words: str) -> tuple[int, str, list[str]]:
        capsys.readouterr()  # what others printed before
        code = cli.main(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err.splitlines()

    return run


def test_a_person_at_a_bench_moves_jogs_parks_and_loads_the_arm(client, board, command):
    at_home(client, board)
    for words, wanted in (
        (["move", "--joints", "base=20", "wrist=-40"], moved(base=np.radians(20), wrist=0.8 - np.radians(40))),
        (["jog", "base", "-12.5deg"], moved(base=np.radians(7.5), wrist=0.8 - np.radians(40))),
        (["home"], HOME),
        (["park"], REST),
    ):
        code, said, complaints = command(*words)
        assert (code, complaints) == (0, []) and said.startswith("there after "), complaints
        is_told(client, wanted)
        is_where_it_was(client, board, wanted, 0.03)
    code, said, _ = command("move", "--tip", "0.2", "0.05", "0.2", "--duration", "1.5")
    assert code == 0
    until(client, lambda: np.linalg.norm(board.truth().tip - [0.2, 0.05, 0.2]) < 5e-3, "the tip at its place")
    assert command("payload", "0.02")[:2] == (0, "payload 20 g\n")
    assert client.diagnostic("dynamics", "payload_kg") == 0.02
    assert command("payload", "0")[0] == 0
    until_phase(client)
    code, said, _ = command("status")
    assert code == 0 and said.startswith("hardware: active\ncontroller: holding")
    assert re.search(r"tip at \d+, \d+, \d+ mm \(modelled\)\n  base +\d", said)
    assert "payload 0 g, compensation full" in said and "next: picker home" in said
    told = json.loads(command("status", "--json")[1])
    truth = board.truth()
    np.testing.assert_allclose(told["tip_m"], truth.tip, atol=5e-3)
    np.testing.assert_allclose([joint["position"] for joint in told["joints"].values()], truth.q, atol=0.03)
    assert tuple(told["joints"]) == NAMES and 0.0 < told["joints"]["shoulder"]["margin"] < 1.0


def test_a_person_at_a_bench_stops_resets_and_enables(client, board, command, monkeypatch):
    before = at_home(client, board)
    assert command("stop")[0] == 0
    code, _, complaints = command("enable", "--yes")
    assert code == 1 and complaints == ["error: stop is latched: call reset first"]
    assert "next: picker reset, then picker enable" in command("status")[1]
    assert command("reset")[0] == 0
    with monkeypatch.context() as patched:
        patched.setattr("ros_client.graph_client.ANSWER_S", 3.0)  # so long it waits for an arm that holds
        code, _, complaints = command("home")
    assert code != 0 and complaints[0].endswith("; picker enable first")
    assert command("enable") == (0, "outputs were running: adopted\n", []), "nothing is switched on: nobody is asked"
    client.wait_holding(PATIENCE_S)
    is_where_it_was(client, board, before, tolerance=0.02)


def test_outputs_that_are_off_are_switched_on_only_where_somebody_says_that_the_arm_is_at_its_rest_pose(
    client, board, command, monkeypatch
):
    at_home(client, board)
    assert command("relax")[0] == command("reset")[0] == 0
    until(client, lambda: client.hardware["outputs"] == "off", "outputs off")
    monkeypatch.setattr("builtins.input", lambda _prompt: "no")
    code, _, complaints = command("enable")
    assert (code, complaints, board.truth().live) == (5, ["error: not enabled"], 0)
    assert command("enable", "--yes")[0] == 0
    client.wait_holding(PATIENCE_S)


@pytest.mark.long
def test_ctrl_c_of_a_move_stops_the_arm(client, board):
    """Whoever moves the arm from a terminal and presses Ctrl-C means the arm."""
    at_home(client, board)
    words = patiently("picker", "move", "--joints", "base=60", "--duration", "6")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            until(client, lambda: board.truth().v[0] > 0.05 or process.poll() is not None, "motion")
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 130
        finally:
            process.kill()
    assert stands(client, board)[0] < np.radians(50)
    until_phase(client)
    assert client.hardware["state"] == "active"


# -- two arms ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def left(arm, tmp_path_factory):
    """A second graph beside the first, in a namespace; what happens to it must not concern the other."""
    with holding_graph(tmp_path_factory.mktemp("left"), namespace="left") as running:
        yield running


@pytest.mark.long
def test_two_arms_side_by_side_do_not_disturb_each_other(arm, left):
    graphs.two_arms_do_not_disturb_each_other(arm, left)


@pytest.mark.long
def test_a_killed_node_in_mid_motion_leaves_an_arm_that_holds(arm, left):
    """No set-points come any more: the board plays what it has, decelerates and holds; the graph knows who is missing."""
    start_swinging(left.client, left.board)
    with Watch(left.board):
        left.runner.processes["left/dynamics"].send_signal(signal.SIGKILL)
        until(left.client, lambda: left.board.truth().state == "HOLD", "an arm that holds")
        held = stands(left.client, left.board)
    assert 0.0 < held[0] < 0.85 and left.board.truth().faults == ()
    until(left.client, lambda: left.runner.dead() is not None, "notice")
    assert left.runner.dead() == ("left/dynamics", -signal.SIGKILL)
    assert arm.runner.dead() is None
    arm.client.wait_holding(PATIENCE_S)


@pytest.mark.long
def test_when_the_board_dies_the_hardware_node_lives_and_says_so(left):
    left.runner.processes["virtual_board"].send_signal(signal.SIGKILL)
    until_hardware(left.client, "offline")
    until(left.client, lambda: "no serial port" in left.client.hardware["message"], "a reason")
    assert left.runner.processes["left/hardware"].poll() is None
    with pytest.raises(PickerError, match="not connected"):
        left.client.switch("enable", True)
    with pytest.raises(PickerError, match="not connected"):
        left.client.trigger("relax")
    left.runner.stop()  # it would take the next board that gets this terminal for its own
