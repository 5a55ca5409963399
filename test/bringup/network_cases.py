"""Operator and arm on two machines: what becomes of goals, streams and stop where the network loses packets or is cut."""

from __future__ import annotations

import contextlib
import os
import time
from unittest import mock

import pytest
import waiting
from diagnostic_msgs.msg import DiagnosticStatus
from patient import patient_clients, with_patience
from ros_graph import Running, connected
from scenarios.bench import (
    HOME,
    NAMES,
    PATIENCE_S,
    Watch,
    at_home,
    ends,
    goal,
    is_where_it_was,
    moved,
    outcome,
    publishing,
    ready,
    stands,
    start,
    start_swinging,
    until,
    until_phase,
    wait_until_up,
)
from sensor_msgs.msg import JointState
from two_machines import TwoMachines, missing

from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.runner import GraphRunner
from picker_dynamics.nodes.diagnostics import values_of
from picker_dynamics.nodes.runtime import OUTCOMES
from picker_dynamics.sim.control_socket import BoardControl

pytestmark = pytest.mark.ros

CUT_S = 10.0
TIP_SPEED = 0.25 * 1.25
"""Of the true tip [m/s]: what is allowed, and a quarter for what springs add."""
BEYOND = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "ROS_DOMAIN_ID": "0"}
"""In namespaces of their own, so nothing leaves this machine."""


@pytest.fixture(scope="module")
def machines():
    if reason := missing():
        pytest.skip(reason)
    with TwoMachines() as made:
        yield made


@pytest.fixture(scope="module")
def arm(machines, tmp_path_factory):
    """The graph on the arm's machine; the client, and this test with it, on the operator's."""
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
        client = ends.enter_context(connected(NAMES))
        wait_until_up(client)
        board = ends.enter_context(BoardControl(made.control, timeout_s=PATIENCE_S))
        yield Running(runner, client, board, folder)


@pytest.fixture
def client(arm):
    assert arm.runner.dead() is None
    return arm.client


@pytest.fixture
def board(arm):
    return arm.board


@contextlib.contextmanager
def answers(client):
    """What was said of a goal, in order; to be asked."""
    with client.hearing(DiagnosticStatus, "arm_controller/status", OUTCOMES) as heard:
        yield lambda name: [values["outcome"] for values in map(values_of, heard) if values.get("goal") == name]


@pytest.mark.parametrize("how", ["unplugged", "silent"])
def test_a_motion_is_finished_while_the_cable_is_cut_and_answered_afterwards(machines, client, board, how):
    with answers(client) as said, Watch(board) as watch:
        name = start_swinging(client, board)
        with machines.unplugged() if how == "unplugged" else machines.losing(100):
            back_s = time.monotonic() + CUT_S
            waiting.until(lambda: abs(board.truth().q[0] - HOME[0] - 0.9) < 0.03, "the arm at its goal")
            client.spin(max(0.0, back_s - time.monotonic()))
            assert outcome(client, name) == "accepted", "nobody has heard of it"
            there = board.truth().q
        ends(client, name)
        is_where_it_was(client, board, there)
        until(client, lambda: len(said(name)) > 1, "the answer, for whoever listens")
        client.spin(1.0)
    assert said(name) == ["accepted", "done"]
    assert watch.tip_speed() < TIP_SPEED


def test_a_stream_that_is_cut_stops_and_nothing_jumps_when_the_cable_is_back(machines, client, board):
    at_home(client, board)
    sent = [0.0]

    def follow(seconds: float) -> None:
        """Ever farther, at 0.15 rad/s, whether somebody hears it or not."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            stream.publish(JointState(name=list(NAMES), position=moved(base=sent[0]).tolist()))
            client.spin(0.02)
            sent[0] = min(sent[0] + 0.003, 1.4)

    with publishing(client, JointState, "arm_controller/joint_reference") as stream:
        with Watch(board) as watch:
            follow(2.0)
            with machines.losing(100):
                heard = sent[0]
                follow(CUT_S)
                there = board.truth().q
            follow(3.0)
            is_where_it_was(client, board, there)
        assert 0.05 < there[0] - HOME[0] < heard + 0.05 < sent[0] - 0.3, "it stopped where it was cut"
        until_phase(client)
        assert watch.tip_speed() < TIP_SPEED


def test_stop_works_where_a_third_of_all_packets_is_lost(machines, client, board):
    at_home(client, board)
    start(client, goal(moved(base=0.9), times=[120.0]))
    with machines.losing(33):
        asked_s = time.monotonic()
        client.stop()
        print(f"stopped after {time.monotonic() - asked_s:.2f} s, at {board.truth().q[0]:.2f} rad")
        there = stands(client, board)
        assert there[0] - HOME[0] < 0.8
    is_where_it_was(client, board, there)
    until(client, client.is_stopped, "word of it")
    ready(client)
