"""An arm's process and its board as processes, judged by the simulation's truth: what only processes show.

In `make test`: it comes up, a person moves, stops, enables and loads it by commands, a second process of the arm, and its end.
"""

import json
import os
import re
import signal

import numpy as np
import pytest
from patient import patiently, picker
from ros_graph import Up as PickerUp
from ros_graph import (
    arm_of,
    control_socket,
    folder_of,
    home_of,
    own_domain,
    process_tree,
    running_graph,
    stops_and_resumes_nothing,
)
from waiting import PATIENCE_S, python

from benchmarks.terminal import Terminal
from picker_dynamics.bringup.runner import ProcessEndedError
from picker_dynamics.commands import cli
from picker_dynamics.robot import servo_arm
from picker_dynamics.session.address import OccupiedError

pytestmark = pytest.mark.ros
HOME = home_of()


@pytest.fixture
def command(capsys):
    """``picker WORDS`` in this process: exit code, what it printed, its complaints."""

    def run(*words: str) -> tuple[int, str, list[str]]:
        capsys.readouterr()  # what others printed before
        code = cli.main(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err.splitlines()

    return run


def test_it_comes_up_holding_and_after_a_stop_resumes_nothing(arm):
    truth = arm.board.truth()
    assert truth.faults == () and truth.live == truth.owned == (1 << len(HOME)) - 1
    np.testing.assert_allclose(arm.stands(), arm.client.reference(), atol=0.03)
    stops_and_resumes_nothing(arm)


def test_a_person_at_a_bench_moves_jogs_parks_and_loads_the_arm(arm, command):
    arm.client.move(HOME, 1.0)
    base = np.eye(5)[0]
    for words, wanted in (
        (["move", "--joints", "base=20"], HOME + np.radians(20) * base),
        (["jog", "base", "-12.5deg"], HOME + np.radians(7.5) * base),
        (["park"], np.array(servo_arm.load()[1].rest)),
    ):
        code, said, complaints = command(*words)
        assert (code, complaints) == (0, []) and said.startswith("there after "), complaints
        np.testing.assert_allclose(arm.stands(), wanted, atol=0.03)
    assert command("payload", "20")[:2] == (0, "payload 20 g\n") and command("payload", "0")[0] == 0
    code, said, _ = command("status")
    assert code == 0 and said.startswith("hardware: active\ncontroller: holding")
    assert re.search(r"tip tool0 at -?\d+, -?\d+, -?\d+ mm \(modelled\)\n  base +\d", said)
    told = json.loads(command("status", "--json")[1])
    np.testing.assert_allclose([joint["position"] for joint in told["joints"].values()], arm.board.truth().q, atol=0.03)


def test_outputs_that_are_off_are_switched_on_only_where_somebody_says_that_the_arm_is_at_its_rest_pose(
    arm, command, monkeypatch
):
    assert command("stop")[0] == 0
    code, _, complaints = command("enable", "--yes")
    assert code == 1 and complaints == ["error: stop is latched: call reset first"]
    assert command("relax")[0] == command("reset")[0] == 0
    arm.client.until(lambda: arm.client.hardware["outputs"] == "off", "outputs off")
    monkeypatch.setattr("builtins.input", lambda _prompt: "no")
    code, _, complaints = command("enable")
    assert (code, complaints, arm.board.truth().live) == (
        5,
        ["error: not enabled: nobody confirmed (--yes confirms in advance)"],
        0,
    )
    assert command("enable", "--yes")[0] == 0
    arm.client.wait_holding()


def test_a_second_process_of_one_arm_ends_before_it_has_said_a_word(arm):
    """The motion under way does not notice."""
    name = arm.client.begin(arm.client.reference() + 0.3 * np.eye(5)[0], 6.0)
    ended = python("-m", "picker_dynamics.nodes.arm", "--ros-args", "-p", "hardware:port:=/dev/null")
    assert ended.returncode == OccupiedError.exit_code and ended.stdout == "" and len(ended.stderr.splitlines()) == 1
    assert f"by process {arm.runner.processes['arm'].pid} already" in ended.stderr
    assert arm.client.ended(name) == "done", arm.client.outcomes[name]


def test_told_to_end_in_mid_motion_it_parks_where_it_shall_and_answers_its_goal(arm):
    """The last test here."""
    client = arm.client
    assert client.set_parameter("hardware", "on_shutdown", "park") == ""
    client.move(HOME, 1.0)
    name = client.begin(HOME + 0.9 * np.eye(5)[0], 6.0)
    client.until(lambda: arm.board.truth().v[0] > 0.1, "motion")
    arm.runner.processes["arm"].send_signal(signal.SIGTERM)
    client.until(lambda: client.outcomes[name]["outcome"] != "accepted", "an answer")
    assert client.outcomes[name]["outcome"] in ("aborted", "cancelled")
    assert arm.runner.processes["arm"].wait(PATIENCE_S) == 0
    np.testing.assert_allclose(arm.stands(), servo_arm.load()[1].rest, atol=0.03)
    assert arm.board.truth().live


# -- long ----------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", ["arm", "virtual_board"])
def test_picker_up_ends_when_one_of_its_processes_is_killed_and_says_why(tmp_path, name):
    with own_domain(), PickerUp(tmp_path, "--sim") as up:
        control = control_socket(tmp_path, folder_of(), alive=lambda: up.process.poll() is None)
        with arm_of(control) as graph:
            graph.client.wait_holding()
            graph.client.begin(HOME + 0.9 * np.eye(5)[0], 6.0)
            os.kill(process_tree(up.process.pid)[name], signal.SIGKILL)
            code, said = up.ended()
    assert code == ProcessEndedError.exit_code and "Traceback" not in said, said
    assert re.search(rf"{name}\S* (was ended by signal 9|ended by itself with exit code -9); stopping the others", said), said
    assert [path.name for path in tmp_path.iterdir()] == ["log"], "no folder is left behind"


@pytest.mark.long
def test_keys_drive_step_stop_and_enable_and_a_killed_terminal_leaves_an_arm_that_is_free(tmp_path):
    with own_domain(), running_graph(tmp_path / "graph") as arm:
        client = arm.client
        client.move(HOME, 1.0)

        def shown(terminal: Terminal, *words: str) -> None:
            client.until(lambda: all(word in terminal.shown for word in words), f"{words} in {terminal.shown[-500:]!r}")

        with Terminal(patiently("picker", "drive")) as terminal:
            shown(terminal, "holding")
            client.until(lambda: client.controller["lease"].startswith("driver"), "a driver")
            before = client.reference()
            terminal.press("1+")
            client.until(lambda: abs(client.reference()[0] - before[0] - np.radians(5.0)) < 1e-6, "one step of 5 degrees")
            terminal.press(" ")
            shown(terminal, "stopped: decelerating")
            client.until(lambda: client.hardware["stop_latched"] == "true", "a latched stop")
            for word, said in (("reset", "reset: nothing moves"), ("enable", "outputs were running: adopted")):
                assert said in picker(word).stdout
            client.until(lambda: client.controller["lease"].startswith("driver"), "the driver again")
            client.until(lambda: "active, holding" in terminal.shown.rpartition("\033[J")[2], "an arm that is held")
            terminal.press("-")  # from where the stop holds it: by the model, some tenths of a degree from the reference before
            client.until(lambda: abs(client.reference()[0] - before[0]) < np.radians(0.5), "one step back")
            terminal.process.kill()
            client.until(lambda: not client.controller["lease"], "an arm that nobody drives")
