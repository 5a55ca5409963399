"""The rrp arm's three nodes as processes: torque-controlled joints, simulated."""

from __future__ import annotations

import signal
import uuid

import numpy as np
import pytest
from arm_fixtures import shipped_arm
from patient import picker
from ros_graph import running_nodes
from scenarios.bench import enable_again, goal, is_told, until, until_hardware, until_phase, wait_until_up

from picker_dynamics.bringup import bringup
from picker_dynamics.errors import ConfigurationError, PickerError
from picker_dynamics.resources import resource

pytestmark = [pytest.mark.ros, pytest.mark.long]

RRP = shipped_arm("rrp")
NAMES = RRP.description.joint_names
TARGET = np.array([0.6, 2.0, 0.7])
UNHOLDABLE = np.array([0.2, 2.9, 0.9])
"""Link 2 nearly horizontal, the slide far out."""


@pytest.fixture(scope="module")
def arm(domain, tmp_path_factory):
    """The rrp arm's three nodes, and a client."""
    log = tmp_path_factory.mktemp("rrp") / "nodes.log"
    with running_nodes(bringup.graph(bringup.Options(arm="rrp")), log, NAMES) as running:
        wait_until_up(running.client)
        yield running


@pytest.fixture
def client(arm):
    assert arm.runner.dead() is None
    client = arm.client
    if client.hardware["state"] != "active":
        enable_again(client)
    client.wait_holding()
    return client


def stands_at(client, q, tolerance: float) -> None:
    until(client, lambda: np.abs(client.state - q).max() < tolerance, f"{q} within {tolerance}")


def stands(client) -> np.ndarray:
    """Wait until the arm stands still; its pose."""
    seen: list[np.ndarray] = []

    def still() -> bool:
        client.state = None
        until(client, lambda: client.state is not None, "a state")
        seen.append(client.state)
        return len(seen) >= 5 and np.abs(np.diff(seen[-5:], axis=0)).max() < 1e-5

    until(client, still, "standstill")
    return seen[-1]


def test_it_comes_up_holding_its_home_pose(client):
    assert client.running_arm().description.name == "rrp"
    stands_at(client, client.reference(), 2e-3)


def test_it_moves_within_tolerance(client):
    client.move_through([2.0], [TARGET], timeout_s=60.0)
    stands_at(client, TARGET, 1e-3)
    client.move_through([2.0], [RRP.home], timeout_s=60.0)
    stands_at(client, RRP.home, 1e-3)


def test_stop_in_mid_motion_holds_and_resumes_nothing(client):
    message = goal(client.reference() + [1.0, 0.0, 0.2], times=[4.0], names=NAMES)
    message.header.frame_id = uuid.uuid4().hex
    begin = client.state[0]
    client.goals.publish(message)
    until(client, lambda: client.state[0] > begin + 0.2, "motion")
    client.switch("emergency_stop", True)
    until_phase(client, "inactive")
    stopped = stands(client)
    assert stopped[0] < begin + 0.9
    client.spin(0.5)
    np.testing.assert_allclose(client.state, stopped, atol=2e-3)
    enable_again(client)
    client.wait_holding()
    is_told(client, stopped, 5e-3)
    client.spin(0.5)
    stands_at(client, stopped, 5e-3)


def test_a_payload_is_believed_and_one_that_is_too_heavy_refused(client):
    with client.meanwhile("hardware", attached_kg=0.5), client.meanwhile("dynamics", payload__mass=0.5):
        stands_at(client, client.reference(), 1e-3)
        with pytest.raises(PickerError, match="payload.mass|needs"):
            client.set_parameters("dynamics", payload__mass=50.0)
    stands_at(client, client.reference(), 1e-3)


def test_the_command_finds_out_which_arm_runs(client):
    """``picker`` in this process's ROS domain, as a person would type it."""
    moved = picker("move", "--joints", "theta1=20", "d3=0.4")
    assert moved.returncode == 0, moved.stderr
    assert "theta1 20.0 deg" in moved.stdout and "d3 400.0 mm" in moved.stdout
    stands_at(client, [np.deg2rad(20.0), client.reference()[1], 0.4], 1e-3)
    wrong = picker("move", "--arm", "picker", "--joints", "base=3")
    assert wrong.returncode != 0 and wrong.stderr.strip() == "error: the running graph has the arm rrp, not picker"
    home = picker("home")
    assert home.returncode == 0, home.stderr
    stands_at(client, RRP.home, 1e-3)


@pytest.mark.parametrize("words", ["enable --yes", "home", "move --joints base=5", "park"])
def test_a_command_for_another_arm_does_nothing(client, words):
    """Neither does it move the arm, nor switch it on: what runs is understood first."""
    client.switch("enable", False)
    until_hardware(client, "idle")
    epoch = client.hardware["epoch"]
    done = picker(*words.split(), "--urdf", str(resource("urdf/picker.urdf")))
    assert done.returncode == ConfigurationError.exit_code and done.stdout == ""
    assert done.stderr.startswith(
        f"error: the running graph has the arm rrp ({', '.join(NAMES)}), this command means picker (base,"
    )
    client.spin(0.5)
    assert (client.hardware["state"], client.hardware["epoch"]) == ("idle", epoch)


def test_without_its_control_node_the_arm_holds(arm, client):
    """Last: it ends a node."""
    arm.runner.processes["dynamics"].send_signal(signal.SIGKILL)
    epoch = client.hardware["epoch"]
    until(client, lambda: client.hardware["epoch"] != epoch, "a new epoch")
    held = client.state.copy()
    client.spin(1.0)
    np.testing.assert_allclose(client.state, held, atol=1e-3)
