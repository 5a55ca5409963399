"""One board and the arm on it, over the real serial link: nothing moves by surprise, nothing is lost without a count."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, servos
from board_on_pty import ALL, NAMES, PATIENCE_S, BoardOnPty, speaker, wait_until

from picker_dynamics import hardware_session
from picker_dynamics.board_limits import board_limits
from picker_dynamics.errors import BoardFaultError, InputError, LimitError, LinkError, VersionError
from picker_dynamics.hardware_session import NEAR, PAST_S, REJOIN_S, CommandCounts, HardwareSession, State
from picker_dynamics.link import Link
from picker_dynamics.protocol import BoardState, Disable, Fault, build
from picker_dynamics.sim.firmware_core import FirmwareConfig
from picker_dynamics.state_model import ArmStateModel

SERVOS = servos()
LIMITS = board_limits(SERVOS)
HOME = np.array(SERVOS.home)
LEAD_S = 0.06
PERIOD_S = 0.01
UNHURRIED_MS = 10_000
"""Watch over the host, for tests about something else: a busy machine is no lost host."""


def units(q) -> tuple[int, ...]:
    return tuple(int(pulse * 8.0 + 0.5) for pulse in SERVOS.to_pulse_us(q).tolist())


def moved(**by) -> np.ndarray:
    target = HOME.copy()
    for joint, amount in by.items():
        target[NAMES.index(joint)] += amount
    return target


def make_board(*, found=HOME, host_timeout_ms=UNHURRIED_MS, joints=5, **firmware) -> BoardOnPty:
    """A board whose outputs run at ``found`` (n,) [rad]; None, or NaN for one joint: off."""
    if found is not None:
        pulses = [np.nan if np.isnan(angle) else servo.to_pulse_us(angle) for servo, angle in zip(SERVOS.servos, found)]
        firmware["found_us"] = [None if np.isnan(pulse) else round(8.0 * pulse) / 8.0 for pulse in pulses]
    return BoardOnPty(FirmwareConfig(LIMITS[:joints], host_timeout_ms=host_timeout_ms), boot_id=7, **firmware)


class Rig:
    """A session on a board, and a record of all telemetry that came: (board time [us], pulses, live)."""

    def __init__(self, board: BoardOnPty, port: str | None = None):
        self.board = board
        self.history: list[tuple[int, tuple[int, ...], int]] = []
        link = Link(port or board.port, joint_names=NAMES, on_telemetry=self._record)
        self.session = HardwareSession(link, SERVOS, ArmStateModel(rigid_body(), SERVOS.model, SERVOS.rest))

    def _record(self, telemetry, _arrived_s) -> None:
        self.history.append((telemetry.time_us, telemetry.pulses, telemetry.live))

    def connected(self) -> HardwareSession:
        self.session.connect()
        return self.session

    def active(self) -> HardwareSession:
        """Outputs run already: adopted."""
        self.connected().activate(at_rest_pose=False)
        return self.session

    def tick_until(self, condition, what: str) -> None:
        """Tick as the node does, until ``condition()``."""
        def ticked():
            self.session.tick(time.monotonic())
            return condition()

        wait_until(ticked, what)

    def news(self, count: int = 3) -> None:
        """Tick until ``count`` more telemetry frames have come."""
        wanted = len(self.history) + count
        self.tick_until(lambda: len(self.history) >= wanted, "telemetry")

    def send(self, q, **options) -> bool:
        now = time.monotonic()
        return self.session.command(now + LEAD_S, np.asarray(q, dtype=float), now, **options)

    def stream(self, goal, steps: int = 60) -> int:
        """Follow a smooth way from the session's set-point to ``goal`` at 100 Hz; how many commands that were."""
        start, goal = self.session.setpoint.copy(), np.asarray(goal)
        for step in range(steps + 10):
            share = min(step / steps, 1.0)
            self.send(start + share * share * (3.0 - 2.0 * share) * (goal - start))
            self.session.tick(time.monotonic())
            time.sleep(PERIOD_S)
        return steps + 10

    def stream_until(self, goal, condition, what: str) -> None:
        """Start towards ``goal`` and go on until ``condition()``."""
        start, began = self.session.setpoint.copy(), time.monotonic()

        def stepped():
            share = min((time.monotonic() - began) / 2.0, 1.0)
            self.send(start + share * (np.asarray(goal) - start))
            self.session.tick(time.monotonic())
            time.sleep(PERIOD_S)
            return condition()

        wait_until(stepped, what)

    def moving(self) -> bool:
        return self.session.link.telemetry.state is BoardState.MOVE and self.pulses() != self.history[0][1]

    def pulses(self) -> tuple[int, ...]:
        with self.board.lock:
            return self.board.firmware.pulses

    def require_no_step(self) -> None:
        """No set-point on the outputs ever moved faster than its servo can: per servo frame, of 20 ms."""
        for (before_us, before, live), (now_us, now, still_live) in zip(self.history, self.history[1:]):
            frames = 2 if now_us < before_us else (now_us - before_us) // 20_000 + 1
            for joint, limits in enumerate(LIMITS):
                if live & still_live & 1 << joint:
                    assert abs(now[joint] - before[joint]) <= limits.speed * frames, NAMES[joint]


def accounted(counts: CommandCounts) -> int:
    return sum(vars(counts).values())


@pytest.fixture
def board():
    with make_board() as board:
        yield board


@pytest.fixture
def rig(board):
    rig = Rig(board)
    yield rig
    rig.session.disconnect()


@pytest.fixture
def rigs():
    """Sessions on other boards, by the arguments of ``make_board``."""
    made = []

    def make(**options) -> Rig:
        made.append(Rig(make_board(**options)))
        return made[-1]

    yield make
    for rig in made:
        rig.session.disconnect()
        with rig.board:
            pass


@pytest.fixture
def quick_enabling(monkeypatch):
    monkeypatch.setattr(hardware_session, "ENABLE_PERIOD_S", 0.1)


# -- switching on --------------------------------------------------------------------------------------


def test_connecting_moves_and_owns_nothing(rig):
    session = rig.connected()
    rig.news()
    assert session.state is State.IDLE and session.problem == ""
    assert (rig.board.firmware.owned, rig.board.firmware.live) == (0, ALL)
    assert rig.pulses() == units(HOME)


def test_running_outputs_are_adopted_without_moving_them(rig):
    session = rig.connected()
    assert session.activate(at_rest_pose=False) == "outputs were running: adopted"
    rig.news(10)
    assert session.state is State.ACTIVE and session.epoch == 1
    assert rig.board.firmware.owned == ALL
    assert {pulses for _, pulses, _ in rig.history} == {units(HOME)}
    np.testing.assert_allclose(session.setpoint, HOME, atol=1e-3)


def test_the_held_pose_is_where_the_springs_bear_the_arm(rig):
    session = rig.active()
    needed = rigid_body().gravity(session.held)
    given = SERVOS.model.spring_torque(session.setpoint, session.held)
    np.testing.assert_allclose(given, needed, atol=1e-6)
    assert np.abs(session.held - session.setpoint).max() > 0.01, "it sags: the set-point is not the pose"


def test_outputs_that_are_off_stay_off_until_somebody_vouches_for_the_pose(rigs):
    rig = rigs(found=None)
    session = rig.connected()
    with pytest.raises(BoardFaultError, match=r"put it at its rest pose \(base 0.00 rad, shoulder 1.90 rad"):
        session.activate(at_rest_pose=False)
    rig.news()
    assert session.state is State.IDLE and rig.board.firmware.live == 0


def test_outputs_are_switched_on_one_at_a_time_at_the_rest_pose(rigs, quick_enabling):
    rig = rigs(found=None)
    session = rig.connected()
    session.activate(at_rest_pose=True)
    assert session.state is State.ENABLING
    rig.tick_until(lambda: session.state is State.ACTIVE, "enabling")
    rig.news()
    masks = list(dict.fromkeys(live for _, _, live in rig.history))
    assert masks == [0, 0b1, 0b11, 0b111, 0b1111, 0b11111]
    first_us = [next(time_us for time_us, _, live in rig.history if live == mask) for mask in masks[1:]]
    assert min(np.diff(first_us)) >= 0.06e6, "telemetry comes every 20 ms"
    assert rig.pulses() == units(SERVOS.rest)
    rig.require_no_step()


def test_joints_that_run_keep_their_pulses_while_the_others_are_switched_on(rigs, quick_enabling):
    found = moved(base=0.4)
    found[[1, 4]] = np.nan
    rig = rigs(found=found)
    session = rig.connected()
    with pytest.raises(BoardFaultError, match="pose is unknown"):
        session.activate(at_rest_pose=False)
    session.activate(at_rest_pose=True)
    rig.tick_until(lambda: session.state is State.ACTIVE, "enabling")
    expected = np.where(np.isnan(found), SERVOS.rest, found)
    assert rig.pulses() == units(expected)
    np.testing.assert_allclose(session.setpoint, expected, atol=1e-3)


def test_a_stop_ends_the_enabling_and_keeps_what_runs(rigs, quick_enabling):
    rig = rigs(found=None)
    session = rig.connected()
    session.activate(at_rest_pose=True)
    rig.tick_until(lambda: rig.board.firmware.live == 0b11, "the second joint")
    session.stop()
    rig.tick_until(lambda: rig.board.firmware.faults == Fault.STOPPED.bit, "stop")
    live = rig.board.firmware.live
    rig.news(15)
    assert session.state is State.IDLE and rig.board.firmware.live == live and live & 0b11 == 0b11 and live != ALL


def test_enabling_outlives_a_damaged_cable(rigs, quick_enabling):
    """Every second chunk is lost for a while: the board does not answer in time, and is asked again."""
    rig = rigs(found=None)
    session = rig.connected()
    session.activate(at_rest_pose=True)
    rig.tick_until(lambda: rig.board.firmware.live == 0b1, "the first joint")
    with rig.board.lock:
        rig.board.wire_in = lambda data: b""
    deaf_until = time.monotonic() + 0.4
    rig.tick_until(lambda: time.monotonic() > deaf_until, "silence")
    with rig.board.lock:
        rig.board.wire_in = lambda data: data
    rig.tick_until(lambda: session.state is not State.ENABLING, "enabling")
    assert session.state is State.ACTIVE, session.problem
    assert rig.board.firmware.live == ALL


def test_outputs_that_hold_no_pose_are_not_taken_over(rigs, monkeypatch):
    """A set-point from which the model finds no rest: refused, and the session is not half active."""
    rig = rigs()
    session = rig.connected()
    session.model.model = rigid_body().with_payload(3.0)
    with pytest.raises(Exception, match="no rest"):
        session.activate(at_rest_pose=False)
    assert session.state is State.IDLE
    rig.news()
    assert rig.pulses() == units(HOME)


# -- commands ------------------------------------------------------------------------------------------


def test_nothing_is_sent_before_activation(rig):
    session = rig.connected()
    assert rig.send(HOME) is False
    assert session.counts == CommandCounts(not_active=1)
    rig.news()
    assert rig.session.link.telemetry.accepted == 0


def test_commands_are_followed_to_the_last_one_and_all_are_counted(rig):
    session = rig.active()
    goal = moved(base=0.3, shoulder=-0.1)
    total = rig.stream(goal)
    rig.tick_until(lambda: rig.pulses() == units(goal), "arrival")
    rig.require_no_step()
    assert accounted(session.counts) == total
    wait_until(lambda: session.link.telemetry.accepted + session.link.telemetry.rejected == session.counts.sent, "counts")
    assert session.link.telemetry.pulses == units(goal)
    until = time.monotonic() + 1.0
    rig.tick_until(lambda: time.monotonic() > until, "the model to settle")
    np.testing.assert_allclose(session.model.q, session.model.settle(goal), atol=1.5 * SERVOS.model.deadband.max())


def test_commands_that_follow_too_closely_are_thinned_and_counted(rig):
    session = rig.active()
    now, held = time.monotonic(), session.setpoint.copy()
    sent = [session.command(now + LEAD_S + 0.002 * k, held, now) for k in range(10)]
    assert sent == [k % 2 == 0 for k in range(10)]
    assert session.counts == CommandCounts(sent=5, thinned=5)


def test_a_first_command_away_from_the_held_set_point_is_not_sent(rig):
    session = rig.active()
    away = session.setpoint + 2.0 * NEAR * np.eye(5)[0]
    assert rig.send(away) is False
    rig.news()
    assert session.counts == CommandCounts(away=1) and session.state is State.ACTIVE
    assert rig.pulses() == units(HOME)


def test_everyone_restarts_where_commands_stay_away(rig):
    session = rig.active()
    away = moved(base=0.5)
    rig.tick_until(lambda: rig.send(away) or session.epoch == 2, "a new epoch")
    assert session.counts.sent == 0 and session.counts.away > 1
    assert "did not start from the held pose" in session.problem
    assert rig.pulses() == units(HOME)
    np.testing.assert_allclose(session.setpoint, HOME, atol=1e-3)
    assert rig.send(session.setpoint) is True


def test_a_single_stray_command_does_not_restart_anybody(rig):
    session = rig.active()
    for k in range(round(3.0 * REJOIN_S / PERIOD_S)):
        rig.send(moved(base=0.5) if k % 10 == 9 else session.setpoint)
        time.sleep(PERIOD_S)
    assert session.epoch == 1 and session.counts.away > 1 and session.counts.sent > session.counts.away


def test_after_a_pause_commands_have_to_start_from_the_outputs_again(rig):
    """A controller that was restarted begins somewhere else: its first command is no continuation of the last one."""
    session = rig.active()
    rig.stream(moved(base=0.2))
    before = rig.pulses()
    session.tick(time.monotonic())
    later = time.monotonic() + 3.0
    assert session.command(later + LEAD_S, moved(base=-0.5), later) is False
    rig.news()
    assert session.counts.away == 1 and rig.pulses() == before
    assert session.command(later + LEAD_S, moved(base=0.2), later) is True
    later += 3.0
    assert session.command(later + LEAD_S, moved(base=-0.5), later) is False
    later += 2.0 * REJOIN_S
    assert session.command(later + LEAD_S, moved(base=-0.5), later) is False
    assert "commands paused for 3.00 s: restarting" in session.problem
    assert session.epoch == 2 and rig.pulses() == before


def test_stale_commands_are_not_sent(rig):
    session = rig.active()
    now = time.monotonic()
    assert session.command(now - 2.0 * PAST_S, session.setpoint, now) is False
    assert session.counts == CommandCounts(stale=1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_commands_that_are_not_finite_are_refused_by_name(rig, value):
    session = rig.active()
    command = session.setpoint.copy()
    command[2] = value
    with pytest.raises(InputError, match="elbow|not finite"):
        rig.send(command)
    assert session.counts == CommandCounts(invalid=1) and session.epoch == 1
    rig.news()
    assert rig.pulses() == units(HOME)


def test_commands_beyond_the_pulse_range_are_refused_by_name(rigs):
    edge = moved(scissor=float(SERVOS.setpoint_upper[4]) - HOME[4] - 1e-3)
    rig = rigs(found=edge)
    session = rig.active()
    with pytest.raises(LimitError, match="scissor") as caught:
        rig.send(session.setpoint + 0.02 * np.eye(5)[4])
    assert caught.value.limit == pytest.approx(SERVOS.setpoint_upper[4])
    assert session.counts == CommandCounts(invalid=1)


# -- stop, reset, relax --------------------------------------------------------------------------------


def test_stop_latches_and_nothing_resumes_before_enable(rig):
    session = rig.active()
    rig.stream_until(moved(base=0.6), rig.moving, "motion")
    session.stop()
    assert session.state is State.IDLE and session.stop_latched
    rig.tick_until(lambda: session.link.telemetry.state is BoardState.HOLD, "standstill")
    assert session.link.telemetry.faults == Fault.STOPPED.bit
    held = rig.pulses()
    assert rig.send(moved(base=0.6)) is False and session.counts.not_active == 1
    with pytest.raises(BoardFaultError, match="stop is latched"):
        session.activate(at_rest_pose=True)
    session.reset()
    rig.news(10)
    assert session.state is State.IDLE and not session.stop_latched and session.problem == ""
    assert session.link.telemetry.faults == 0 and rig.pulses() == held
    assert session.activate(at_rest_pose=False) == "outputs were running: adopted"
    rig.news()
    assert session.epoch == 2 and rig.pulses() == held
    rig.require_no_step()


def test_enabling_right_after_a_stop_waits_until_the_arm_stands(rig):
    session = rig.active()
    rig.stream_until(moved(base=0.6), rig.moving, "motion")
    session.stop()
    session.reset()
    session.activate(at_rest_pose=False)
    rig.tick_until(lambda: session.state is State.ACTIVE, "activation")
    held = rig.pulses()
    rig.news(15)
    assert rig.pulses() == held and session.epoch == 2
    np.testing.assert_allclose(session.setpoint, SERVOS.to_angle(np.array(held) / 8.0), atol=1e-9)


def test_a_stop_that_gets_lost_on_the_wire_is_said_again(rig):
    session = rig.active()
    with rig.board.lock:
        rig.board.wire_in = lambda data: b""
    session.stop()
    deaf_until = time.monotonic() + 0.8
    rig.tick_until(lambda: time.monotonic() > deaf_until, "silence")
    with rig.board.lock:
        rig.board.wire_in = lambda data: data
    rig.tick_until(lambda: rig.board.firmware.faults & Fault.STOPPED.bit, "the stop")


def test_relax_cuts_all_pulses_and_needs_reset_and_a_vouched_pose(rig, quick_enabling):
    session = rig.active()
    session.relax()
    rig.tick_until(lambda: rig.board.firmware.live == 0, "relax")
    assert session.state is State.IDLE and "relaxed" in session.problem
    with pytest.raises(BoardFaultError, match="stop is latched"):
        session.activate(at_rest_pose=True)
    session.reset()
    rig.news()
    with pytest.raises(BoardFaultError, match="pose is unknown"):
        session.activate(at_rest_pose=False)
    assert rig.board.firmware.live == 0


def test_a_relax_that_gets_lost_on_the_wire_is_said_again(rig):
    """Somebody's hand may be in there."""
    session = rig.active()
    with rig.board.lock:
        rig.board.wire_in = lambda data: b""
    session.relax()
    deaf_until = time.monotonic() + 0.8
    rig.tick_until(lambda: time.monotonic() > deaf_until, "silence")
    with rig.board.lock:
        rig.board.wire_in = lambda data: data
    rig.tick_until(lambda: rig.board.firmware.live == 0, "relax")


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
    assert session.state is State.IDLE and rig.board.firmware.live == ALL and rig.pulses() == units(HOME)
    session.disable()
    assert session.state is State.IDLE and rig.board.firmware.live == 0


def test_without_a_board_stop_latches_and_the_others_say_why_not(rig):
    session = rig.session
    session.stop()
    assert session.stop_latched and session.state is State.OFFLINE
    for action in (session.relax, session.disable, session.reset, lambda: session.activate(True), session.rejoin):
        with pytest.raises((LinkError, BoardFaultError)):
            action()
        assert session.state is State.OFFLINE
    session.connect()
    rig.tick_until(lambda: rig.board.firmware.faults & Fault.STOPPED.bit, "the stop")


# -- faults --------------------------------------------------------------------------------------------


def test_a_board_reset_in_mid_motion_leaves_the_arm_where_it_is(rig):
    session = rig.active()
    rig.stream_until(moved(base=0.6), rig.moving, "motion")
    with rig.board.lock:
        rig.board.firmware.reboot(rig.board.now_us(), keep_outputs=True)
        kept = rig.board.firmware.pulses
    rig.tick_until(lambda: session.state is State.IDLE, "notice")
    assert "board was reset (boot id 7 -> 8)" in session.problem
    before = session.counts.not_active
    assert rig.send(moved(base=0.6)) is False and session.counts.not_active == before + 1
    rig.news(10)
    assert rig.pulses() == kept and rig.board.firmware.owned == 0
    assert session.activate(at_rest_pose=False) == "outputs were running: adopted"
    rig.news()
    assert rig.pulses() == kept and session.state is State.ACTIVE
    rig.stream(session.setpoint + 0.1 * np.eye(5)[0])
    assert session.counts.sent > 0 and session.state is State.ACTIVE
    rig.require_no_step()


def test_a_board_whose_outputs_go_off_with_the_reset_is_not_switched_on_again(rig):
    session = rig.active()
    with rig.board.lock:
        rig.board.firmware.reboot(rig.board.now_us(), keep_outputs=False)
    rig.tick_until(lambda: session.state is State.IDLE, "notice")
    with pytest.raises(BoardFaultError, match="pose is unknown"):
        session.activate(at_rest_pose=False)
    assert rig.board.firmware.live == 0


def test_a_fault_in_mid_motion_brakes_latches_and_names_itself(rig):
    session = rig.active()
    rig.stream_until(moved(base=0.6), rig.moving, "motion")
    with rig.board.lock:
        rig.board.firmware.set_cause(Fault.OUTPUT_FAILED, True)
    rig.tick_until(lambda: session.state is State.IDLE, "notice")
    assert "fault 4 OUTPUT_FAILED" in session.problem
    with pytest.raises(BoardFaultError, match="OUTPUT_FAILED"):
        session.reset()
    with pytest.raises(BoardFaultError, match="OUTPUT_FAILED"):
        session.activate(at_rest_pose=True)
    with rig.board.lock:
        rig.board.firmware.set_cause(Fault.OUTPUT_FAILED, False)
    session.reset()
    session.activate(at_rest_pose=False)
    assert session.state is State.ACTIVE
    rig.require_no_step()


def test_an_output_that_goes_off_is_named(rig):
    session = rig.active()
    session.link.request(Disable(0b00010), PATIENCE_S)
    rig.tick_until(lambda: session.state is State.IDLE, "notice")
    assert session.problem == "output off: shoulder"


def test_a_lost_host_is_forgiven_at_the_next_activation_and_nothing_jumps(rigs):
    rig = rigs(host_timeout_ms=200)
    rig.active()
    rig.session.disconnect()
    assert rig.session.state is State.OFFLINE
    wait_until(lambda: rig.board.firmware.faults == Fault.HOST_LOST.bit, "watchdog")
    assert rig.pulses() == units(HOME)
    again = Rig(rig.board)
    try:
        session = again.connected()
        assert session.state is State.IDLE and session.problem == ""
        assert session.activate(at_rest_pose=False) == "outputs were running: adopted"
        again.news()
        assert session.state is State.ACTIVE and rig.board.firmware.faults == 0 and again.pulses() == units(HOME)
    finally:
        again.session.disconnect()


def test_an_unplugged_cable_is_noticed_and_the_way_back_never_jumps(tmp_path):
    port = tmp_path / "port"
    with make_board() as board:
        port.symlink_to(board.port)
        rig = Rig(board, str(port))
        session = rig.active()
        rig.stream(moved(base=0.2), steps=20)
        board.unplug()
        rig.tick_until(lambda: session.state is State.OFFLINE, "notice")
        assert "cable pulled" in session.problem and "the board holds" in session.problem
        assert rig.send(moved(base=0.2)) is False
    port.unlink()
    returned = threading.Thread(target=session.connect, daemon=True)
    returned.start()
    wait_until(lambda: "no serial port" in session.problem, "the reason why it is not back")
    with make_board(found=moved(base=0.2)) as again:
        rig.board = again
        rig.history.clear()
        port.symlink_to(again.port)
        returned.join(PATIENCE_S)
        assert session.state is State.IDLE
        rig.news(10)
        assert again.firmware.owned == 0 and rig.pulses() == units(moved(base=0.2))
        assert session.activate(at_rest_pose=False) == "outputs were running: adopted"
        rig.news()
        assert rig.pulses() == units(moved(base=0.2))
        np.testing.assert_allclose(session.setpoint, moved(base=0.2), atol=1e-3)
        session.disconnect()


def test_a_command_that_the_cable_did_not_take_is_counted(rig):
    session = rig.active()
    rig.board.unplug()
    wait_until(lambda: not session.link.connected, "loss")
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


def test_a_port_that_does_not_exist_is_named_while_looking_for_it_and_looking_can_end(tmp_path):
    rig = Rig(None, str(tmp_path / "tty"))
    failed = []

    def connect():
        try:
            rig.session.connect()
        except LinkError as error:
            failed.append(error)

    looking = threading.Thread(target=connect, daemon=True)
    looking.start()
    wait_until(lambda: f"no serial port {tmp_path / 'tty'}: is the board plugged in?" in rig.session.problem, "the reason")
    rig.session.cancelled.set()
    looking.join(PATIENCE_S)
    assert len(failed) == 1 and rig.session.state is State.OFFLINE


def test_disconnecting_does_not_wait_for_a_board_that_is_silent():
    """Opened, but nobody speaks: the handshake gives the board seconds, Ctrl-C must not."""
    with speaker(lambda: b"") as port:
        rig = Rig(None, port)
        looking = threading.Thread(target=lambda: pytest.raises(LinkError, rig.session.connect), daemon=True)
        looking.start()
        wait_until(lambda: rig.session.link._thread is not None, "the port to be open")
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
