"""The nodes of an arm in one process: how they are started, how they end, and that stop is served."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from ros_graph import running_graph
from scenarios.bench import until_hardware, wait_until_up
from waiting import PATIENCE_S, python

from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.bringup import Options, TogetherSpec
from picker_dynamics.errors import ConfigurationError, InputError
from picker_dynamics.nodes import one_process

NODES = ("trajectory_controller", "dynamics", "hardware")


def test_the_graph_puts_required_nodes_together_and_leaves_others_apart(tmp_path):
    made = bringup.graph(Options(directory=str(tmp_path), one_process=True, markers=True, namespace="left", rate_hz=50.0))
    together, markers = made.processes
    assert isinstance(together, TogetherSpec) and markers.name == "markers"
    assert tuple(spec.name for spec in together.nodes) == NODES
    groups = one_process.split(together.arguments())
    assert [name for name, _ in groups] == list(NODES)
    for (_, words), spec in zip(groups, together.nodes):
        assert words == [*spec.ros_arguments(), "--"]
    assert bringup.graph(Options(directory=str(tmp_path))).processes == bringup.graph(Options(directory=str(tmp_path))).nodes


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "no node is named"),
        (["--node"], "no node ''"),
        (["--node", "hardwar"], "no node 'hardwar'"),
        (["--ros-args", "--node", "hardware"], "'--ros-args' stands before the first --node"),
    ],
)
def test_arguments_that_do_not_fit(words, told, capsys):
    with pytest.raises(InputError, match=told):
        one_process.split(words)
    assert one_process.main(words) == InputError.exit_code
    assert capsys.readouterr().err.count("error: ") == 1


@pytest.mark.long
@pytest.mark.ros
def test_the_arm_goes_stops_and_holds(domain, tmp_path):
    with running_graph(tmp_path, one_process=True, rate_hz=50.0, log_level="debug") as running:
        runner, client = running.runner, running.client
        assert set(runner.processes) == {"virtual_board", "nodes"}
        wait_until_up(client)
        target = client.reference().copy()
        target[0] += 0.2
        client.move_through([0.8], [target])
        assert client.reference()[0] == pytest.approx(target[0], abs=1e-9)
        assert "stopped" in client.switch("emergency_stop", True)
        until_hardware(client, "idle")
        assert runner.dead() is None
    assert runner.processes["nodes"].returncode == 0
    text = running.log.read_text()
    assert "Traceback" not in text and "killed" not in text
    assert "[hardware]: not connected" in text.splitlines()[-1]  # its last word


@pytest.mark.ros
def test_a_node_that_cannot_be_made_ends_all_with_one_line(domain, tmp_path):
    words = [*(word for name in NODES for word in ("--node", name)), "--ros-args", "-p", "on_shutdown:=prak"]
    ended = python("-m", "picker_dynamics.nodes.one_process", *words)
    assert ended.returncode == ConfigurationError.exit_code
    errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert errors == ["error: on_shutdown is 'prak', must be one of hold, park, relax"]
    assert "Traceback" not in ended.stderr


@pytest.mark.long
@pytest.mark.ros
def test_one_node_that_fails_ends_the_others_hardware_first(domain, tmp_path):
    """The arguments are the graph's; the failure is put into the running controller."""
    made = bringup.graph(Options(directory=str(tmp_path), one_process=True))
    words = made.processes[0].arguments()
    program = f"""
import sys, threading
from picker_dynamics.errors import LimitError
from picker_dynamics.nodes import dynamics, hardware, one_process, trajectory_controller
for module, name in ((dynamics, "Dynamics"), (hardware, "Hardware"), (trajectory_controller, "TrajectoryController")):
    kind = getattr(module, name)
    def gone(self, before=kind.destroy_node):
        print("gone", type(self).__name__, flush=True)
        before(self)
    kind.destroy_node = gone
class Failing(trajectory_controller.TrajectoryController):
    def on_tick(self):
        self.failure = LimitError("it is enough")
trajectory_controller.TrajectoryController = Failing
sys.exit(one_process.main({words!r}))
"""
    ended = python("-c", program)
    assert ended.returncode > 0
    assert [line for line in ended.stdout.splitlines() if line.startswith("gone")] == [
        "gone Hardware",
        "gone Dynamics",
        "gone Failing",
    ]
    assert "error: it is enough" in ended.stderr


@pytest.mark.long
@pytest.mark.ros
def test_a_signal_while_the_nodes_are_made_ends_it(domain, tmp_path):
    made = bringup.graph(Options(directory=str(tmp_path), one_process=True))
    process = subprocess.Popen(
        [sys.executable, "-m", "picker_dynamics.nodes.one_process", *made.processes[0].arguments()],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        for line in process.stdout:
            if "cross-check passed" in line:  # the hardware is still to be made
                process.send_signal(signal.SIGTERM)
                break
        rest, _ = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0 and "Traceback" not in rest
