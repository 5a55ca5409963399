"""The rrp arm's three nodes as processes: torque-controlled joints, simulated."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid

import numpy as np
import pytest
from ros_graph import own_domain
from sensor_msgs.msg import JointState

from picker_dynamics.bringup import bringup
from picker_dynamics.errors import PickerError
from picker_dynamics.robot import arms

pytestmark = pytest.mark.ros

RRP = arms.load("rrp")
NAMES = RRP.description.joint_names
TARGET = np.array([0.6, 2.0, 0.7])
UNHOLDABLE = np.array([0.2, 2.9, 0.9])
"""Link 2 nearly horizontal, the slide far out."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """The rrp arm's three nodes, and a client."""
    from picker_dynamics.bringup.runner import GraphRunner
    from picker_dynamics.nodes.client import ArmClient

    log = tmp_path_factory.mktemp("rrp") / "nodes.log"
    with own_domain():
        try:
            with GraphRunner(bringup.graph(bringup.Options(arm="rrp")), log_path=log) as runner, ArmClient(NAMES) as client:
                client.wait_holding(60.0)
                heard = []
                client.create_subscription(JointState, "joint_commands", heard.append, 10)
                client.wait(lambda: heard, 60.0, "the dynamics node does not speak")
                yield runner, client
        finally:
            print(f"--- {log}\n{log.read_text()}")


@pytest.fixture
def client(graph):
    runner, client = graph
    assert runner.dead() is None
    if client.hardware["state"] != "active":
        client.trigger("reset")
        client.switch("enable", True)
    client.wait_holding(30.0)
    return client


def stands_at(client, q, tolerance: float) -> None:
    client.wait(lambda: np.abs(client.state - q).max() < tolerance, 30.0, f"{q} is not reached within {tolerance}")


def test_it_comes_up_holding_its_home_pose(client):
    assert client.running_arm() == "rrp"
    stands_at(client, client.reference(), 2e-3)


def test_it_moves_within_tolerance(client):
    client.move_through([2.0], [TARGET], timeout_s=60.0)
    stands_at(client, TARGET, 1e-3)
    client.move_through([2.0], [RRP.home], timeout_s=60.0)
    stands_at(client, RRP.home, 1e-3)


def test_a_goal_that_cannot_be_held_is_refused_and_moves_nothing(client):
    from picker_dynamics.nodes.client import GoalRefusedError

    before = client.reference()
    with pytest.raises(GoalRefusedError, match="theta2 needs .* N·m to hold"):
        client.move_through([8.0], [UNHOLDABLE])
    np.testing.assert_array_equal(client.reference(), before)


def test_stop_in_mid_motion_holds_and_resumes_nothing(client):
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    far = client.reference() + np.array([1.0, 0.0, 0.2])
    message = JointTrajectory(
        joint_names=list(NAMES),
        points=[JointTrajectoryPoint(positions=far.tolist(), velocities=[0.0] * 3, accelerations=[0.0] * 3)],
    )
    message.points[0].time_from_start.sec = 4
    message.header.frame_id = uuid.uuid4().hex
    begin = client.state[0]
    client.goals.publish(message)
    client.wait(lambda: client.state[0] > begin + 0.2, 30.0, "it does not move")
    client.switch("emergency_stop", True)
    client.wait(lambda: client.controller["phase"] == "inactive", 30.0, "the controller goes on")
    client.spin(1.0)
    stopped = client.state.copy()
    assert stopped[0] < begin + 0.9
    client.spin(0.5)
    np.testing.assert_allclose(client.state, stopped, atol=2e-3)
    client.trigger("reset")
    client.switch("enable", True)
    client.wait_holding(30.0)
    np.testing.assert_allclose(client.reference(), stopped, atol=5e-3)
    client.spin(0.5)
    stands_at(client, stopped, 5e-3)


def test_a_payload_is_believed_and_one_that_is_too_heavy_refused(client):
    client.set_parameters("hardware", attached_kg=0.5)
    client.set_parameters("dynamics", payload__mass=0.5)
    stands_at(client, client.reference(), 1e-3)
    with pytest.raises(PickerError, match="payload.mass|needs"):
        client.set_parameters("dynamics", payload__mass=50.0)
    client.set_parameters("hardware", attached_kg=0.0)
    client.set_parameters("dynamics", payload__mass=0.0)
    stands_at(client, client.reference(), 1e-3)


def test_the_command_finds_out_which_arm_runs(client, capsys):
    """``picker`` in this process's ROS domain, as a person would type it."""

    def picker(*words):
        return subprocess.run(
            [sys.executable, "-m", "picker_dynamics.commands.cli", *words],
            env=os.environ,
            capture_output=True,
            text=True,
            timeout=60,
        )

    moved = picker("move", "--joints", "theta1=20", "d3=0.4")
    assert moved.returncode == 0, moved.stderr
    assert "theta1 20.0 deg" in moved.stdout and "d3 0.400 m" in moved.stdout
    stands_at(client, [np.deg2rad(20.0), client.reference()[1], 0.4], 1e-3)
    wrong = picker("move", "--arm", "picker", "--joints", "base=3")
    assert wrong.returncode != 0 and wrong.stderr.strip() == "error: the running graph has the arm rrp, not picker"
    home = picker("home")
    assert home.returncode == 0, home.stderr
    stands_at(client, RRP.home, 1e-3)


def test_without_its_control_node_the_arm_holds(graph, client):
    """Last: it ends a node."""
    runner, _ = graph
    runner.signal("dynamics", signal.SIGKILL)
    epoch = client.hardware["epoch"]
    client.wait(lambda: client.hardware["epoch"] != epoch, 30.0, "no new epoch")
    held, until = client.state.copy(), time.monotonic() + 1.0
    client.wait(lambda: time.monotonic() > until, 10.0, "time")
    np.testing.assert_allclose(client.state, held, atol=1e-3)
