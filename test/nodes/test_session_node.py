"""What the node that drives the joints says of itself when it is switched off as it was asked to, in this process."""

from __future__ import annotations

import hardware_bench
import pytest
from hardware_bench import ACTIVATE, DEACTIVATE, active, change, ros, switch, words

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
