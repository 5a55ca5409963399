"""Stops, faults and boards that are not ours: what a hardware session does about them, on virtual time."""

import threading

import numpy as np
import pytest
from board_on_pty import speaker
from session_rig import ALL, HOME, SERVOS, Rig, moved, units
from waiting import begun, until

from picker_dynamics.board.hardware_session import HardwareSession, State
from picker_dynamics.board.link import Link
from picker_dynamics.board.protocol import BoardState, Fault
from picker_dynamics.board.session import Routine
from picker_dynamics.errors import BoardFaultError, LinkError
from picker_dynamics.robot.servo_map import ServoMap


@pytest.fixture
def rig():
    return Rig()


def test_stop_latches_and_nothing_resumes_before_enable(rig):
    session = rig.in_motion()
    session.stop()
    assert session.state is State.IDLE and session.stop_latched
    rig.until(lambda: rig.telemetry.state is BoardState.HOLD, "standstill")
    assert rig.telemetry.faults == Fault.STOPPED.bit
    held = rig.pulses()
    assert rig.send(moved(base=0.6)) is False and session.counts.not_active == 1
    rig.refused("stop is latched", at_rest_pose=True)
    session.reset()
    rig.run(0.2)
    assert session.state is State.IDLE and not session.stop_latched and session.problem == ""
    assert rig.telemetry.faults == 0 and rig.pulses() == held
    rig.adopted()
    rig.run(0.1)
    assert session.epoch == 2 and rig.pulses() == held
    rig.require_no_step()


def test_a_stop_is_on_its_way_before_the_next_cycle(rig):
    rig.in_motion().stop()
    rig.bench.run(0.01)
    assert rig.firmware.faults == Fault.STOPPED.bit


# -- stop, reset, relax --------------------------------------------------------------------------------


def test_enabling_right_after_a_stop_waits_until_the_arm_stands(rig):
    session = rig.in_motion()
    session.stop()
    session.reset()
    session.activate(at_rest_pose=False)
    rig.until(lambda: session.state is State.ACTIVE)
    held = rig.pulses()
    rig.run(0.3)
    assert rig.pulses() == held and session.epoch == 2
    np.testing.assert_allclose(session.setpoint, SERVOS.to_angle(np.array(held) / 8.0), atol=1e-9)


@pytest.mark.parametrize("what", ["stop", "relax"])
def test_what_gets_lost_on_the_wire_is_said_again(rig, what):
    """Somebody's hand may be in there."""
    session = rig.active()
    with rig.deaf():
        getattr(session, what)()
        rig.run(0.8)
    rig.until(lambda: rig.firmware.faults & Fault.STOPPED.bit if what == "stop" else rig.firmware.live == 0)


def test_relax_cuts_all_pulses_and_needs_reset_and_a_vouched_pose(rig):
    session = rig.active()
    session.relax()
    rig.run(0.1)
    assert rig.firmware.live == 0 and session.state is State.IDLE and "relaxed" in session.problem
    assert session.held is None, "nobody claims to know the pose"
    rig.refused("stop is latched", at_rest_pose=True)
    session.reset()
    rig.refused("pose is unknown", at_rest_pose=False)
    assert rig.firmware.live == 0


def test_disable_switches_off_and_release_keeps_holding(rig):
    session = rig.active()
    session.release()
    rig.run(0.1)
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
    rig.connected()
    rig.until(lambda: rig.firmware.faults & Fault.STOPPED.bit, "the stop")


# -- faults --------------------------------------------------------------------------------------------


def test_a_board_reset_or_a_cable_pulled_while_nobody_commands_needs_no_reset(rig):
    session = rig.connected()
    rig.bench.reset()
    rig.until(lambda: "board was reset" in session.problem, "notice")
    assert session.problem.endswith("; enable to continue") and session.outputs == "running"
    rig.adopted()
    session.release()
    rig.bench.unplug()
    rig.until(lambda: session.state is State.OFFLINE)
    assert session.outputs == "unknown"
    rig.bench.plug_in()
    rig.connected()
    assert session.problem.endswith("enable to continue") and "reset, then" not in session.problem
    rig.adopted()


def test_a_fault_in_mid_motion_brakes_latches_and_names_itself(rig):
    session = rig.in_motion()
    rig.firmware.set_cause(Fault.OUTPUT_FAILED, True)
    rig.until(lambda: session.state is State.IDLE)
    assert "fault 4 OUTPUT_FAILED" in session.problem
    with pytest.raises(BoardFaultError, match="OUTPUT_FAILED"):
        session.reset()
    rig.refused("OUTPUT_FAILED.*: call reset first", at_rest_pose=True)
    rig.firmware.set_cause(Fault.OUTPUT_FAILED, False)
    session.reset()
    rig.adopted()
    rig.require_no_step()


def test_a_lost_host_is_forgiven_at_the_next_activation_and_noticed_while_commanding_it_needs_a_reset(rig):
    session = rig.active()
    session.disconnect()
    rig.bench.run(0.6)
    assert rig.firmware.faults == Fault.HOST_LOST.bit and rig.pulses() == units(HOME)
    rig.connected()
    assert session.state is State.IDLE and "enable to continue" in session.problem
    rig.adopted()
    rig.run(0.1)
    assert rig.firmware.faults == 0 and rig.pulses() == units(HOME)
    with rig.deaf():
        rig.until(lambda: session.state is State.IDLE)
    assert "HOST_LOST" in session.problem
    rig.refused("HOST_LOST.*: call reset first", at_rest_pose=True)
    session.reset()
    rig.adopted()
    assert rig.pulses() == units(HOME)


# -- boards that are not ours, on a port -----------------------------------------------------------------


def session_on(port, servo_map: ServoMap | None = None) -> HardwareSession:
    rig = Rig()
    return HardwareSession(Link(str(port)), servo_map or SERVOS, rig.session.model)


@pytest.mark.parametrize("comes", [False, True], ids=["no board", "a board that comes up"])
def test_a_port_that_does_not_exist_is_named_while_looking_for_it_and_looking_can_end(tmp_path, comes):
    session = session_on(tmp_path / "tty")
    session.port_comes = comes
    looking = begun(lambda: pytest.raises(LinkError, session.connect))
    until(lambda: f"no serial port {tmp_path / 'tty'}: is the board plugged in?" in session.problem, "the reason")
    session.cancelled.set()
    looking.join(20.0)
    assert not looking.is_alive() and session.state is State.OFFLINE
    assert isinstance(session.problem, Routine) is comes, "whether that is a warning"


def test_disconnecting_does_not_wait_for_a_board_that_is_silent():
    """Opened, but nobody speaks: the handshake gives the board seconds, Ctrl-C must not."""
    with speaker(lambda: b"") as port:
        session = session_on(port)
        looking = begun(lambda: pytest.raises(LinkError, session.connect))
        until(lambda: any(one.name == f"link {port}" for one in threading.enumerate()), "the port to be open")
        session.disconnect()
        looking.join(2.5)
        assert not looking.is_alive(), "the handshake's own patience is 3 s"
