"""Stops, faults and boards that are not ours: what a hardware session does about them, on a real pty."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from arm_fixtures import picker, servos
from board_on_pty import ALL, NAMES, PATIENCE_S, speaker
from session_bench import HOME, LIMITS, SERVOS, Rig, accounted, make_board, moved, units
from waiting import begun, until

from picker_dynamics.board.firmware.config import board_limits
from picker_dynamics.board.hardware_session import State
from picker_dynamics.board.protocol import BoardState, Disable, Fault
from picker_dynamics.board.protocol.framing import build
from picker_dynamics.board.session import Routine
from picker_dynamics.errors import BoardFaultError, LinkError, VersionError

# -- stop, reset, relax --------------------------------------------------------------------------------


def test_stop_latches_and_nothing_resumes_before_enable(rig):
    session = rig.in_motion()
    session.stop()
    assert session.state is State.IDLE and session.stop_latched
    rig.tick_until(lambda: session.link.telemetry.state is BoardState.HOLD, "standstill")
    assert session.link.telemetry.faults == Fault.STOPPED.bit
    held = rig.pulses()
    assert rig.send(moved(base=0.6)) is False and session.counts.not_active == 1
    rig.not_activated("stop is latched", at_rest_pose=True)
    session.reset()
    rig.news(10)
    assert session.state is State.IDLE and not session.stop_latched and session.problem == ""
    assert session.link.telemetry.faults == 0 and rig.pulses() == held
    rig.adopted()
    rig.news()
    assert session.epoch == 2 and rig.pulses() == held
    rig.require_no_step()


def test_enabling_right_after_a_stop_waits_until_the_arm_stands(rig):
    session = rig.in_motion()
    session.stop()
    session.reset()
    session.activate(at_rest_pose=False)
    rig.comes_to(State.ACTIVE)
    held = rig.pulses()
    rig.news(15)
    assert rig.pulses() == held and session.epoch == 2
    np.testing.assert_allclose(session.setpoint, SERVOS.to_angle(np.array(held) / 8.0), atol=1e-9)


def test_a_stop_that_gets_lost_on_the_wire_is_said_again(rig):
    session = rig.active()
    with rig.board.deaf():
        session.stop()
        rig.tick_for(0.8)
    rig.stopped()


def test_relax_cuts_all_pulses_and_needs_reset_and_a_vouched_pose(rig, quick_enabling):
    session = rig.active()
    session.relax()
    rig.tick_until(lambda: rig.firmware.live == 0, "relax")
    assert session.state is State.IDLE and "relaxed" in session.problem
    rig.not_activated("stop is latched", at_rest_pose=True)
    session.reset()
    rig.news()
    rig.not_activated("pose is unknown", at_rest_pose=False)
    assert rig.firmware.live == 0


def test_a_relax_that_gets_lost_on_the_wire_is_said_again(rig):
    """Somebody's hand may be in there."""
    session = rig.active()
    with rig.board.deaf():
        session.relax()
        rig.tick_for(0.8)
    rig.tick_until(lambda: rig.firmware.live == 0, "relax")


def test_while_outputs_are_off_nobody_claims_to_know_the_pose(rig):
    session = rig.active()
    assert session.held is not None
    session.relax()
    rig.tick_until(lambda: session.link.telemetry.live == 0, "relax")
    rig.news()
    assert session.held is None


def test_disable_switches_off_and_release_keeps_holding(rig):
    session = rig.active()
    session.release()
    rig.news()
    assert session.state is State.IDLE and rig.firmware.live == ALL and rig.pulses() == units(HOME)
    session.disable()
    assert session.state is State.IDLE and rig.firmware.live == 0


def test_without_a_board_stop_latches_and_the_others_say_why_not(rig):
    session = rig.session
    session.stop()
    assert session.stop_latched and session.state is State.OFFLINE
    for action in (session.relax, session.disable, session.reset, lambda: session.activate(True), session.rejoin):
        with pytest.raises((LinkError, BoardFaultError)):
            action()
        assert session.state is State.OFFLINE
    session.connect()
    rig.stopped()


# -- faults --------------------------------------------------------------------------------------------


def test_a_board_reset_in_mid_motion_leaves_the_arm_where_it_is(rig):
    session = rig.in_motion()
    with rig.board.lock:
        rig.board.reset()
        kept = rig.firmware.pulses
    rig.comes_to(State.IDLE)
    assert "board was reset (boot id 7 -> 8)" in session.problem
    before = session.counts.not_active
    assert rig.send(moved(base=0.6)) is False and session.counts.not_active == before + 1
    rig.news(10)
    assert rig.pulses() == kept and rig.firmware.owned == 0
    rig.not_activated("board was reset .*: call reset first", at_rest_pose=True)
    session.reset()
    rig.adopted()
    rig.news()
    assert rig.pulses() == kept and session.state is State.ACTIVE
    rig.stream(session.setpoint + 0.1 * np.eye(5)[0])
    assert session.counts.sent > 0 and session.state is State.ACTIVE
    rig.require_no_step()


def test_a_board_whose_outputs_go_off_with_the_reset_is_not_switched_on_again(rig):
    session = rig.active()
    rig.board.reset(keep_outputs=False)
    rig.comes_to(State.IDLE)
    assert session.outputs == "off"
    rig.not_activated("call reset first", at_rest_pose=False)
    session.reset()
    rig.not_activated("pose is unknown", at_rest_pose=False)
    assert rig.firmware.live == 0


def test_a_board_reset_or_a_cable_pulled_while_nobody_commands_needs_no_reset(tmp_path):
    port = tmp_path / "port"
    with make_board() as board:
        port.symlink_to(board.port)
        rig = Rig(board, str(port))
        session = rig.connected()
        board.reset()
        rig.tick_until(lambda: "board was reset" in session.problem, "notice")
        assert session.problem.endswith("; enable to go on") and session.outputs == "running"
        rig.adopted()
        session.release()
        board.unplug()
        rig.comes_to(State.OFFLINE)
        assert session.outputs == "unknown"
    port.unlink()
    with make_board() as again:
        port.symlink_to(again.port)
        session.connect()
        assert session.problem.endswith("enable to go on") and "reset, then" not in session.problem
        rig.adopted()
        session.disconnect()


def test_a_fault_in_mid_motion_brakes_latches_and_names_itself(rig):
    session = rig.in_motion()
    with rig.board.lock:
        rig.firmware.set_cause(Fault.OUTPUT_FAILED, True)
    rig.comes_to(State.IDLE)
    assert "fault 4 OUTPUT_FAILED" in session.problem
    with pytest.raises(BoardFaultError, match="OUTPUT_FAILED"):
        session.reset()
    rig.not_activated("OUTPUT_FAILED.*: call reset first", at_rest_pose=True)
    with rig.board.lock:
        rig.firmware.set_cause(Fault.OUTPUT_FAILED, False)
    session.reset()
    session.activate(at_rest_pose=False)
    assert session.state is State.ACTIVE
    rig.require_no_step()


def test_an_output_that_goes_off_is_named(rig):
    session = rig.active()
    session.link.request(Disable(0b00010), PATIENCE_S)
    rig.comes_to(State.IDLE)
    assert session.problem == "output off: shoulder"


def test_a_lost_host_is_forgiven_at_the_next_activation_and_nothing_jumps(rigs):
    rig = rigs(host_timeout_ms=200)
    rig.active()
    rig.session.disconnect()
    assert rig.session.state is State.OFFLINE
    until(lambda: rig.firmware.faults == Fault.HOST_LOST.bit, "watchdog")
    assert rig.pulses() == units(HOME)
    again = Rig(rig.board)
    try:
        session = again.connected()
        assert session.state is State.IDLE and session.problem == ""
        again.adopted()
        again.news()
        assert session.state is State.ACTIVE and rig.firmware.faults == 0 and again.pulses() == units(HOME)
    finally:
        again.session.disconnect()


def test_a_lost_host_that_is_noticed_while_commanding_needs_a_reset(rigs):
    rig = rigs(host_timeout_ms=200)
    session = rig.active()
    with rig.board.deaf():
        rig.comes_to(State.IDLE)
    assert "HOST_LOST" in session.problem
    rig.not_activated("HOST_LOST.*: call reset first", at_rest_pose=True)
    session.reset()
    rig.adopted()
    assert rig.pulses() == units(HOME)


def test_an_unplugged_cable_is_noticed_and_the_way_back_never_jumps(tmp_path):
    port = tmp_path / "port"
    with make_board() as board:
        port.symlink_to(board.port)
        rig = Rig(board, str(port))
        session = rig.active()
        rig.stream(moved(base=0.2), steps=20)
        board.unplug()
        rig.comes_to(State.OFFLINE)
        assert "cable pulled" in session.problem and "the board holds" in session.problem
        assert rig.send(moved(base=0.2)) is False
    port.unlink()
    returned = begun(session.connect)
    until(lambda: "no serial port" in session.problem, "the reason why it is not back")
    with make_board(found=moved(base=0.2)) as again:
        rig.board = again
        rig.history.clear()
        port.symlink_to(again.port)
        returned.join(PATIENCE_S)
        assert session.state is State.IDLE and session.problem.endswith("reset, then enable, to go on")
        rig.news(10)
        assert again.firmware.owned == 0 and rig.pulses() == units(moved(base=0.2))
        rig.not_activated("cable pulled.*: call reset first", at_rest_pose=True)
        session.reset()
        rig.adopted()
        rig.news()
        assert rig.pulses() == units(moved(base=0.2))
        np.testing.assert_allclose(session.setpoint, moved(base=0.2), atol=1e-3)
        session.disconnect()


def test_a_command_that_the_cable_did_not_take_is_counted(rig):
    session = rig.active()
    rig.board.unplug()
    until(lambda: not session.link.connected, "loss")
    with pytest.raises(LinkError, match="cable pulled"):
        rig.send(session.setpoint)
    assert accounted(session.counts) == 1 and session.counts.sent == 0


# -- boards that are not ours --------------------------------------------------------------------------


def test_a_board_with_another_number_of_joints_is_refused(rigs):
    rig = rigs(found=None, joints=4)
    with pytest.raises(BoardFaultError, match="drives 4 joints, the servo map names 5") as caught:
        rig.session.connect()
    assert (caught.value.value, caught.value.limit) == (4, 5)
    assert rig.session.state is State.OFFLINE and not rig.session.link.connected


def test_another_protocol_version_is_refused_at_once():
    with speaker(lambda: build(9, 0x84, 5, b"")) as port:
        rig = Rig(None, port)
        with pytest.raises(VersionError, match="speaks protocol version 9, this program 1"):
            rig.session.connect()
        assert rig.session.state is State.OFFLINE


@pytest.mark.parametrize("comes", [False, True], ids=["no board", "a board that comes up"])
def test_a_port_that_does_not_exist_is_named_while_looking_for_it_and_looking_can_end(tmp_path, comes):
    rig = Rig(None, str(tmp_path / "tty"))
    rig.session.port_comes = comes
    failed = []

    def connect():
        try:
            rig.session.connect()
        except LinkError as error:
            failed.append(error)

    looking = begun(connect)
    until(lambda: f"no serial port {tmp_path / 'tty'}: is the board plugged in?" in rig.session.problem, "the reason")
    rig.session.cancelled.set()
    looking.join(PATIENCE_S)
    assert len(failed) == 1 and rig.session.state is State.OFFLINE
    assert isinstance(rig.session.problem, Routine) is comes, "whether that is a warning"


def test_disconnecting_does_not_wait_for_a_board_that_is_silent():
    """Opened, but nobody speaks: the handshake gives the board seconds, Ctrl-C must not."""
    with speaker(lambda: b"") as port:
        rig = Rig(None, port)
        looking = begun(lambda: pytest.raises(LinkError, rig.session.connect))
        until(lambda: any(one.name == f"link {port}" for one in threading.enumerate()), "the port to be open")
        began = time.monotonic()
        rig.session.disconnect()
        looking.join(PATIENCE_S)
        assert not looking.is_alive()
        assert time.monotonic() - began < 2.5, "the handshake's own patience is 3 s"


def test_a_board_built_for_other_limits_is_noticed(rigs, rig):
    assert rig.connected().limits_differ is False
    other = rigs(found=None)
    other.session.servos = servos(simulated=False)
    other.session.connect()
    assert other.session.limits_differ is (board_limits(servos(simulated=False)) != LIMITS)


def test_names_and_arm_agree():
    assert NAMES == picker().joint_names
