"""Stops and what else was asked at the same moment, at a real hardware node: nothing that was asked before a stop undoes it."""

from __future__ import annotations

import itertools
import time

import hardware_bench
import pytest
import rclpy
from hardware_bench import Bench, hardware, port_of
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger
from waiting import until

from picker_dynamics.board.request_gate import SETTLE_S
from picker_dynamics.board.session import State

pytestmark = pytest.mark.ros

board = hardware_bench.board

ON = SetBool.Request(data=True)
REQUESTS = {
    "emergency_stop": (SetBool, ON),
    "relax": (Trigger, Trigger.Request()),
    "reset": (Trigger, Trigger.Request()),
    "enable": (SetBool, ON),
    "adopt": (Trigger, Trigger.Request()),
    "hardware/change_state": (ChangeState, ChangeState.Request(transition=Transition(id=Transition.TRANSITION_ACTIVATE))),
}
UNDOING = "reset", "enable", "adopt"


class Panel:
    """Somebody who calls services of a hardware node, spun by itself."""

    def __init__(self, spun: Bench):
        self.spun, self.node = spun, Node("panel")
        self.clients = {name: self.node.create_client(kind, name) for name, (kind, _) in REQUESTS.items()}
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.until(lambda: all(one.service_is_ready() for one in self.clients.values()), "the services")

    def step(self) -> None:
        self.spun.step()
        self.executor.spin_once(0.0)

    def until(self, condition, what: str) -> None:
        until(condition, what, step=self.step)

    def ask(self, *names: str) -> list:
        """Ask for all of these at once, while the node is busy; their answers."""
        asked = [self.clients[name].call_async(REQUESTS[name][1]) for name in names]
        time.sleep(0.02)  # they wait for the node now
        return self.answers(asked)

    def answers(self, asked: list) -> list:
        self.until(lambda: all(one.done() for one in asked), "answers")
        return [one.result() for one in asked]

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()


@pytest.fixture
def panel(board):
    with hardware(port_of(board), autostart=True) as (node, spun):
        spun.until(lambda: node.session.state is State.ACTIVE, "activation")
        made = Panel(spun)
        yield made
        made.close()


def go_on(panel: Panel) -> None:
    """As a person would: each after the answer to the one before."""
    session = panel.spun.session
    for name in ("reset", "adopt"):
        (answer,) = panel.ask(name)
        assert answer.success, answer.message
    panel.until(lambda: session.state is State.ACTIVE, "activation")


@pytest.mark.parametrize("stop", ["emergency_stop", "relax"])
def test_what_was_asked_together_with_a_stop_does_not_undo_it(panel, board, stop):
    session = panel.spun.session
    for order in itertools.islice(itertools.permutations((stop, *UNDOING, "hardware/change_state")), 0, 120, 17):
        answers = dict(zip(order, panel.ask(*order)))
        panel.spun.spin(2.0 * SETTLE_S)
        assert session.stop_latched and session.state is State.IDLE, order
        assert answers[stop].success
        refused = [name for name in UNDOING if not answers[name].success]
        assert all("stopped after this was asked" in answers[name].message for name in refused), answers
        if stop == "relax":
            return
        go_on(panel)


def test_what_comes_a_moment_after_a_stop_is_refused_until_the_stop_is_answered(panel):
    session = panel.spun.session
    stop = panel.clients["emergency_stop"].call_async(ON)
    panel.until(lambda: session.stop_latched, "the stop")
    assert not stop.done()
    for name in UNDOING:
        assert not panel.ask(name)[0].success or stop.done()
    assert panel.answers([stop])[0].success and session.stop_latched
    go_on(panel)


def test_who_asks_after_the_answer_is_never_refused(panel):
    for _ in range(10):
        assert panel.ask("emergency_stop")[0].success
        go_on(panel)


def test_a_fault_is_not_cleared_by_what_waited_when_it_was_noticed(panel, board):
    session = panel.spun.session
    asked = [panel.clients[name].call_async(REQUESTS[name][1]) for name in ("reset", "adopt")]
    before = session.link.telemetry.boot_id
    board.reset()
    until(lambda: session.link.telemetry.boot_id != before, "news of the reset, to the link alone")
    answers = panel.answers(asked)
    assert not session.engaged and "the board was reset" in session.fault_latched
    assert not any(one.success for one in answers)
    # A fault has no answer that a person could wait for: what they see is that its status is no longer settling.
    panel.until(lambda: not panel.spun.arm.session.gate.settling, "the gate to open")
    go_on(panel)


def test_a_stop_that_is_no_stop_is_answered_at_once(panel):
    asked = panel.clients["emergency_stop"].call_async(SetBool.Request(data=False))
    (answer,) = panel.answers([asked])
    assert not answer.success and "only latches" in answer.message
    assert not panel.spun.arm.session.gate.settling and rclpy.ok()
