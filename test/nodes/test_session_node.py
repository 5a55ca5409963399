"""What the node that drives the joints says of itself when it is switched off as it was asked to, in this process."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import hardware_bench
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from hardware_bench import ACTIVATE, DEACTIVATE, active, change, hardware, port_of, ros, switch, words

from picker_dynamics.errors import LinkError
from picker_dynamics.nodes.diagnostics import ERROR, OK, WARN
from picker_dynamics.nodes.torque_arm_sim import TorqueArmSim

pytestmark = pytest.mark.ros

board = hardware_bench.board


def told(capfd, text: str) -> str:
    """The level of the line of the log that says so."""
    (line,) = [one for one in capfd.readouterr().err.splitlines() if one.endswith(f"]: {text}")]
    return line[1 : line.index("]")]


def test_switched_off_as_asked_is_no_fault(board, capfd):
    with active(board) as (node, spun):
        assert node.level() == OK
        assert change(node, DEACTIVATE)
        node.publish_status()
        assert node.level() == WARN and told(capfd, "released: holding") == "INFO"
        assert change(node, ACTIVATE)
        answer = switch(node, "enable", False)
        assert answer.success and answer.message == "outputs off"
        assert node.level() == WARN and told(capfd, "outputs off") == "INFO"
        node.session.stop()
        assert node.level() == ERROR, "a stop is latched"


def test_what_changed_is_diagnosed_at_once(board):
    """Not up to a second later: who asks when the arm is ready is not told that it is being enabled."""
    with hardware(port_of(board), autostart=True) as (node, spun):
        notes: list = []
        node.status_out = node.diagnostics_out = SimpleNamespace(publish=lambda message: notes.append(copy.deepcopy(message)))
        spun.until(lambda: any(isinstance(one, DiagnosticStatus) and one.level == OK for one in notes), "active")
        spun.spin(0.02)
        ready = next(i for i, one in enumerate(notes) if isinstance(one, DiagnosticStatus) and one.level == OK)
        entries = {one.name: one for one in notes[ready + 1].status}
        assert entries["hardware: board"].message == "active" and entries["hardware: joint state"].level == OK
        for carry_out, message in ((node.session.stop, "stopped: holding"), (node.session.reset, "idle")):
            notes.clear()
            carry_out()
            node.publish_status()
            (board_said,) = [one.message for one in notes[-1].status if one.name == "hardware: board"]
            assert board_said.startswith(message)
        notes.clear()
        for on in [True, False] * 20:
            node.session.stop_latched = on
            node.publish_status()
        assert sum(isinstance(one, DiagnosticStatus) for one in notes) == 40
        assert sum(isinstance(one, DiagnosticArray) for one in notes) <= 5, "a flood of changes is told once a second"


def test_switched_off_after_a_fault_it_is_one_still(board):
    with active(board) as (node, spun):
        node.session.fault_latched = "the board was reset"
        assert switch(node, "enable", False).success
        assert node.level() == ERROR, "a reset is needed"


def test_switched_off_and_not_confirmed_is_one(board, monkeypatch):
    with active(board) as (node, spun):

        def unheard(*_request):
            raise LinkError("no answer")

        monkeypatch.setattr(node.session.link, "request", unheard)
        assert switch(node, "enable", False).message == "no answer"
        assert node.level() == ERROR


def test_torque_drives_switched_off_as_asked_are_no_fault(domain, capfd):
    with ros(*words({"arm": "rrp"})):
        node = TorqueArmSim()
        try:
            answer = switch(node, "enable", False)
            assert answer.success and answer.message == "outputs off"
            assert node.level() == WARN and told(capfd, "outputs off") == "INFO"
        finally:
            node.destroy_node()
