"""Operator and arm on two machines: what becomes of goals, streams and stop where the network loses packets or is cut."""

from __future__ import annotations

import contextlib
import os
import time
from unittest import mock

import numpy as np
import pytest
import waiting
from arm_fixtures import picker
from diagnostic_msgs.msg import DiagnosticStatus
from patient import patient_clients, with_patience
from ros_graph import Running, home_of
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from two_machines import TwoMachines, missing
from waiting import PATIENCE_S

from benchmarks.ros_operator import Operator, values_of
from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.runner import GraphRunner
from picker_dynamics.nodes.runtime import LATEST, OUTCOMES
from picker_dynamics.sim.control_socket import BoardControl

pytestmark = pytest.mark.ros

CUT_S = 10.0
HOME, BASE, NAMES = home_of(), np.eye(5)[0], picker().joint_names
BEYOND = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "ROS_DOMAIN_ID": "0"}
"""In namespaces of their own, so nothing leaves this machine."""


@pytest.fixture(scope="module")
def machines():
    if reason := missing():
        pytest.skip(reason)
    with TwoMachines() as made:
        yield made


@pytest.fixture(scope="module")
def graph(machines, tmp_path_factory):
    """The graph on the arm's machine; the operator, and this test with it, on the other one."""
    folder = tmp_path_factory.mktemp("arm")
    log = folder / "nodes.log"
    with contextlib.ExitStack() as ends:
        ends.enter_context(mock.patch.dict(os.environ, BEYOND))
        made = with_patience(bringup.graph(bringup.Options(directory=str(folder))))
        ends.callback(lambda: print(f"--- {log}\n{log.read_text()}"))
        ends.enter_context(patient_clients())
        with machines.on("arm"):
            runner = ends.enter_context(GraphRunner(made, log_path=log, grace_s=PATIENCE_S))
        ends.enter_context(machines.on("operator"))
        client = ends.enter_context(Operator(NAMES, alive=runner.dead))
        client.wait_holding()
        board = ends.enter_context(BoardControl(made.control, timeout_s=PATIENCE_S))
        yield Running(runner, client, board, folder)


@pytest.fixture
def arm(graph):
    """At its home pose, whatever was before."""
    client = graph.client
    if client.hardware["stop_latched"] == "true":
        assert client.trigger("reset").success and client.switch("enable").success
    client.move(HOME, 1.0)
    return graph


@contextlib.contextmanager
def answers(client):
    """What was said of a goal, in order; to be asked."""
    with client.hearing(DiagnosticStatus, "arm_controller/status", OUTCOMES) as heard:
        yield lambda name: [values["outcome"] for values in map(values_of, heard) if values.get("goal") == name]


def test_a_motion_is_finished_while_the_cable_is_cut_and_answered_afterwards(machines, arm):
    client, board = arm.client, arm.board
    with answers(client) as said:
        name = client.begin(HOME + 0.9 * BASE, 6.0)
        with machines.losing(100):
            back_s = time.monotonic() + CUT_S
            waiting.until(lambda: abs(board.truth().q[0] - HOME[0] - 0.9) < 0.03, "the arm at its goal")
            client.spin(max(0.0, back_s - time.monotonic()))
            assert client.outcomes[name]["outcome"] == "accepted", "nobody has heard of it"
        assert client.ended(name) == "done"
        client.until(lambda: len(said(name)) > 1, "the answer, for whoever listens")
    assert said(name) == ["accepted", "done"]


def test_a_stream_that_is_cut_stops_and_nothing_jumps_when_the_cable_is_back(machines, arm):
    client, sent = arm.client, [0.0]
    out = client.create_publisher(JointState, "arm_controller/joint_reference", LATEST)
    client.until(out.get_subscription_count, "a listener")

    def follow(seconds: float) -> None:
        """Ever farther, at 0.15 rad/s, whether somebody hears it or not."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            out.publish(JointState(name=list(NAMES), position=(HOME + sent[0] * BASE).tolist()))
            client.spin(0.02)
            sent[0] = min(sent[0] + 0.003, 1.4)

    follow(2.0)
    with machines.losing(100):
        heard = sent[0]
        follow(CUT_S)
        there = arm.board.truth().q
    follow(3.0)
    np.testing.assert_allclose(arm.stands(), there, atol=0.01)
    assert 0.05 < there[0] - HOME[0] < heard + 0.05 < sent[0] - 0.3, "it stopped where it was cut"


def test_a_stop_comes_with_the_first_packets_after_a_cut(machines, arm):
    client = arm.client
    client.begin(HOME + 0.9 * BASE, 120.0)
    stop = client.create_client(SetBool, "emergency_stop")
    client.until(stop.service_is_ready, "the service")
    with machines.losing(100):
        asked = [stop.call_async(SetBool.Request(data=True))]
        client.spin(3.0)
        assert not asked[0].done()
    asked.append(stop.call_async(SetBool.Request(data=True)))  # an answer that was lost does not come again
    client.until(lambda: any(one.done() for one in asked), "the answer")
    client.until(lambda: client.hardware["stop_latched"] == "true", "word of it")
    assert arm.stands()[0] - HOME[0] < 0.8
