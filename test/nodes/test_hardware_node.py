"""The hardware node alone, started and ended again and again on one board whose outputs outlive it."""

from __future__ import annotations

import signal

import numpy as np
import pytest
import waiting
from patient import HOST_TIMEOUT_S
from ros_graph import OVERLAY, running_hardware
from scenarios.bench import ALL, HOME, QUANTUM, REST, Watch, until, until_hardware
from spawned_board import spawn_board
from waiting import PATIENCE_S

from picker_dynamics.errors import PickerError

pytestmark = [pytest.mark.ros, pytest.mark.long]


@pytest.fixture(scope="module")
def live_board(domain, tmp_path_factory):
    """A board whose outputs run, at the home pose, as after a restart of the host."""
    port = tmp_path_factory.mktemp("live") / "tty"
    words = ["--live", "--start-pose", "home", "--boot-silence", "0", "--host-timeout", str(HOST_TIMEOUT_S)]
    with spawn_board(port, *words, "--servo-overlay", OVERLAY) as board:
        yield str(port), board


def test_hold_at_the_end_keeps_the_pose_and_the_next_start_adopts_it(live_board, tmp_path):
    port, board = live_board
    waiting.until(lambda: np.isfinite(board.truth().setpoint).all(), "the first pulses")
    for _ in range(2):
        before = board.truth()
        with running_hardware(port, tmp_path, on_shutdown="hold") as (client, process):
            until_hardware(client, "active")
            np.testing.assert_array_equal(board.truth().setpoint, before.setpoint)
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)
        assert process.returncode == 0
        assert board.truth().live == ALL
        np.testing.assert_array_equal(board.truth().setpoint, before.setpoint)
    np.testing.assert_allclose(board.truth().setpoint, HOME, atol=QUANTUM)


def test_park_at_the_end_brings_the_arm_to_its_rest_pose(live_board, tmp_path):
    port, board = live_board
    with Watch(board) as watch, running_hardware(port, tmp_path, on_shutdown="park") as (client, process):
        until_hardware(client, "active")
    assert process.returncode == 0
    assert watch.tip_speed() < 0.15 * 1.3
    np.testing.assert_allclose(board.truth().q, REST, atol=0.03)
    assert board.truth().live == ALL


def test_relax_at_the_end_switches_the_outputs_off_even_if_told_so_while_running(live_board, tmp_path):
    port, board = live_board
    with running_hardware(port, tmp_path, on_shutdown="hold") as (client, process):
        until_hardware(client, "active")
        with pytest.raises(PickerError, match="must be one of hold, park, relax"):
            client.set_parameters("hardware", on_shutdown="drop")
        client.set_parameters("hardware", on_shutdown="relax")
    assert process.returncode == 0
    assert board.truth().live == 0


def test_outputs_that_are_off_are_not_switched_on_without_a_persons_word(live_board, tmp_path):
    """As on a real board: the node comes up, asks for the rest pose, and enables only when told."""
    port, board = live_board
    if board.truth().live:
        with running_hardware(port, tmp_path, on_shutdown="relax") as (client, _):
            until_hardware(client, "active")
    assert board.truth().live == 0
    with running_hardware(port, tmp_path, on_shutdown="relax") as (client, _):
        until(client, lambda: "put it at its rest pose" in client.hardware.get("message", ""), "the question")
        assert client.hardware["state"] == "idle" and client.hardware["outputs"] == "off"
        with pytest.raises(PickerError, match="pose is unknown"):
            client.trigger("adopt")
        assert board.truth().live == 0
        assert client.switch("enable", True).startswith("enabling base")
        until_hardware(client, "active")
