"""The hardware node's lifecycle, as ros2_control users know it: what each transition does, and what it does not."""

from __future__ import annotations

import time

import hardware_bench
import pytest
from board_on_pty import ALL, speaker
from hardware_bench import ACTIVATE, CLEANUP, CONFIGURE, DEACTIVATE, HOME, active, ask, change, entry, hardware, port_of, switch
from lifecycle_msgs.msg import Transition
from std_srvs.srv import Trigger

from picker_dynamics.board.session import State
from picker_dynamics.session.entry import STALE

pytestmark = pytest.mark.ros


board = hardware_bench.board


def test_the_transitions_that_a_ros2_control_user_knows(board):
    """Unconfigured: no port; inactive: connected, and not in command; active: in command; and all the way back, and again."""
    with hardware(port_of(board)) as (node, spun):
        spun.spin(0.1)
        assert node.lifecycle_state == "unconfigured" and not node.session.link.connected and board.firmware.owned == 0
        for _ in range(2):
            assert change(node, CONFIGURE) is True and node.lifecycle_state == "inactive"
            spun.connects()
            assert node.session.command(time.monotonic() + 0.06, HOME, time.monotonic()) is False, "nobody is in command yet"
            assert change(node, ACTIVATE) is True and node.lifecycle_state == "active"
            assert (board.firmware.owned, node.session.state) == (ALL, State.ACTIVE)
            held = board.firmware.pulses
            assert change(node, DEACTIVATE) is True and node.lifecycle_state == "inactive"
            assert node.session.state is State.IDLE and board.firmware.live == ALL, "it holds"
            assert change(node, CLEANUP) is True and node.lifecycle_state == "unconfigured"
            spun.spin(0.1)
            assert not node.session.link.connected and board.firmware.pulses == held
        assert change(node, Transition.TRANSITION_UNCONFIGURED_SHUTDOWN) is True and node.lifecycle_state == "finalized"
        spun.spin(0.1)
        assert change(node, CONFIGURE) is False, "the end"


def test_shutdown_from_active_holds_and_lets_go_of_the_port(board):
    with active(board) as (node, spun):
        held = board.firmware.pulses
        assert change(node, Transition.TRANSITION_ACTIVE_SHUTDOWN) is True and node.lifecycle_state == "finalized"
        spun.spin(0.2)
        assert not node.session.link.connected and (board.firmware.live, board.firmware.pulses) == (ALL, held)


def test_activate_fails_as_long_as_there_is_no_board_and_the_node_lives(tmp_path):
    with hardware(tmp_path / "tty") as (node, spun):
        change(node, CONFIGURE)
        spun.until(lambda: "no serial port" in node.session.problem, "the reason")
        assert change(node, ACTIVATE) is False and node.lifecycle_state == "inactive"
        answer = switch(node, "enable", True)
        assert not answer.success and answer.message == "the board is not connected"
        assert switch(node, "emergency_stop", True).success
        assert entry(node, "link").level == STALE and node.level() == STALE


def test_an_unexpected_error_ends_unconfigured_with_the_port_closed_and_it_can_start_anew(board, capfd):
    with hardware(port_of(board)) as (node, spun):
        change(node, CONFIGURE)
        spun.connects()
        node.session.activate = lambda at_rest_pose: 1 / 0
        change(node, ACTIVATE)
        assert node.lifecycle_state == "unconfigured" and not node.session.link.connected
        assert "on_activate: ZeroDivisionError" in capfd.readouterr().err
        del node.session.activate
        change(node, CONFIGURE)
        spun.connects()
        assert change(node, ACTIVATE) is True and board.firmware.owned == ALL


def test_cleanup_does_not_wait_for_a_board_that_is_silent():
    """The handshake has seconds of patience, during which a stop has to be served too."""
    with speaker(lambda: b"") as port, hardware(port) as (node, spun):
        change(node, CONFIGURE)
        spun.until(lambda: "connecting to" in node.session.problem, "a handshake")
        spun.spin(0.1)
        begin = time.monotonic()
        assert change(node, CLEANUP) is True
        assert time.monotonic() - begin < 2.0, "the handshake would take 3 s"


def test_a_fault_deactivates_and_only_who_is_told_activates_again(board):
    with active(board) as (node, spun):
        board.unplug()
        spun.until(lambda: node.session.state is State.OFFLINE and node.lifecycle_state == "inactive", "notice")
        assert node.level() == STALE
        board.plug_in()
        back = "the board is back and holds; reset, then enable, to go on"
        spun.until(lambda: node.session.state is State.IDLE and back in node.session.problem, "the way back")
        spun.spin(0.3)
        assert node.lifecycle_state == "inactive" and node.session.state is State.IDLE, "autostart is for the start"
        assert back in node.session.problem
        assert not switch(node, "enable", True).success
        assert ask(node, Trigger, "reset", Trigger.Request()).success
        assert switch(node, "enable", True).success
        spun.until(lambda: node.lifecycle_state == "active", "following the arm")
