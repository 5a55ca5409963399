"""One board and the arm on it, bytes and all, on virtual time: nothing moves by surprise, nothing is lost without a count."""

import re
from dataclasses import replace

import numpy as np
import pytest
from arm_fixtures import rigid_body
from session_rig import ALL, HOME, LEAD_S, LIMITS, NAMES, PERIOD_S, SERVOS, Rig, moved, units

from picker_dynamics.board.hardware_session import SEEN_S, CommandCounts, State
from picker_dynamics.board.protocol import PROTOCOL_VERSION, Disable, MessageType, limits_checksum
from picker_dynamics.board.protocol.framing import build
from picker_dynamics.board.rejoining import PAUSE_S
from picker_dynamics.board.setpoint_guard import NEAR
from picker_dynamics.errors import BoardFaultError, LimitError, LinkError, PickerError, VersionError

BASE = np.eye(5)[0]


@pytest.fixture
def rig():
    return Rig()


# -- switching on --------------------------------------------------------------------------------------


def test_connecting_moves_and_owns_nothing_and_running_outputs_are_adopted_without_moving_them(rig):
    session = rig.connected()
    rig.run(0.1)
    assert session.state is State.IDLE and session.problem == "" and not session.other_board
    assert (rig.firmware.owned, rig.firmware.live) == (0, ALL)
    rig.adopted()
    rig.run(0.2)
    assert session.epoch == 1 and rig.firmware.owned == ALL
    assert {frame.pulses for frame in rig.bench.frames} == {units(HOME)}
    np.testing.assert_allclose(session.setpoint, HOME, atol=1e-3)


def test_the_held_pose_is_where_the_springs_bear_the_arm(rig):
    session = rig.active()
    needed = rigid_body().gravity(session.held)
    supply = 1.0 - 0.025 * np.abs(needed / SERVOS.model.motor_stall).sum()
    given = SERVOS.model.spring_torque(session.setpoint, session.held, supply)
    np.testing.assert_allclose(given, needed, atol=1e-6)
    assert np.abs(session.held - session.setpoint).max() > 0.01, "it sags: the set-point is not the pose"


def test_outputs_that_are_off_are_switched_on_one_at_a_time_at_the_rest_pose_that_somebody_vouches_for():
    rig = Rig(None)
    rig.connected()
    rig.refused(r"put it at its rest pose \(base 0.0 deg, shoulder 108.9 deg", at_rest_pose=False)
    rig.run(0.1)
    assert rig.session.state is State.IDLE and rig.firmware.live == 0
    rig.session.activate(at_rest_pose=True)
    assert rig.session.state is State.ENABLING
    with rig.deaf():  # the board does not answer in time, and is asked again
        rig.run(0.4)
    rig.until(lambda: rig.session.state is State.ACTIVE)
    masks = {frame.live: frame.time_s for frame in reversed(rig.bench.frames)}
    assert sorted(masks) == [0, 0b1, 0b11, 0b111, 0b1111, ALL]
    assert min(np.diff([masks[mask] for mask in sorted(masks)][1:])) > 0.25
    assert rig.pulses() == units(SERVOS.rest)


def test_joints_that_run_keep_their_pulses_while_the_others_are_switched_on():
    rig = Rig(moved(base=0.4))
    session = rig.connected()
    session.link.request(Disable(0b10010))
    rig.run(0.1)
    rig.refused("pose is unknown", at_rest_pose=False)
    session.activate(at_rest_pose=True)
    rig.until(lambda: session.state is State.ACTIVE)
    expected = np.where([False, True, False, False, True], SERVOS.rest, moved(base=0.4))
    assert rig.pulses() == units(expected)
    np.testing.assert_allclose(session.setpoint, expected, atol=1e-3)


def test_another_payload_before_the_first_command_is_held_from_where_the_arm_rests_with_it(rig):
    """Pulses stay; a begun epoch stays one; what finds no rest leaves the session idle, and a smaller payload is the way out."""
    session = rig.active()
    begun, held, pulses = session.epoch, session.held, rig.pulses()
    session.set_model(rigid_body().with_payload(0.1))
    assert session.epoch == begun + 1 and (session.held[1:3] < held[1:3]).any()
    with pytest.raises(PickerError, match="no rest"):
        session.set_model(rigid_body().with_payload(10.0))
    assert session.state is State.IDLE and "no rest" in session.problem
    with pytest.raises(PickerError, match="no rest"):
        session.activate(at_rest_pose=False)
    session.set_model(rigid_body())
    rig.adopted()
    assert rig.send(HOME)
    commanded = session.epoch
    session.set_model(rigid_body().with_payload(0.1))
    assert session.epoch == commanded, "who commands makes up for it"
    rig.run(0.1)
    assert rig.pulses() == pulses


# -- another board -------------------------------------------------------------------------------------


def flashed_for(times: float) -> tuple:
    """Limits of speed that are so many times those of the servo map."""
    return tuple(replace(one, speed=round(times * one.speed)) for one in LIMITS)


def test_a_board_that_was_flashed_for_other_limits_is_enabled_only_when_somebody_has_accepted_those(rig):
    session, pulses = rig.active(), rig.pulses()
    own, before = limits_checksum(LIMITS), session.link.info.firmware_version

    def replugged(times: float, **differs) -> str:
        rig.bench.unplug()
        rig.until(lambda: session.state is State.OFFLINE, "notice")
        with pytest.raises(LinkError, match="not connected"):
            session.accept_board()
        rig.bench.swap(flashed_for(times), **differs)
        rig.bench.plug_in()
        return rig.connected().problem

    figures = rf"checksum {limits_checksum(flashed_for(2.0)):#06x}, the servo map's is {own:#06x}.*enable --accept-board"
    assert re.search(figures, replugged(2.0))
    session.reset()
    assert re.search(figures, session.problem)
    for at_rest_pose in (False, True):
        rig.refused(figures, at_rest_pose=at_rest_pose)
    rig.run(0.1)
    assert session.state is State.IDLE and (rig.firmware.owned, rig.pulses()) == (0, pulses)
    assert f"{limits_checksum(flashed_for(2.0)):#06x}" in session.accept_board() and session.problem == ""
    rig.adopted()
    there = replugged(2.0, firmware_version=(0, 9, 1))  # the limits that were accepted
    assert "the board is back" in there and f"its firmware is 0.9.1, was {before}" in there
    session.reset()
    rig.adopted()
    replugged(0.5)
    session.reset()
    rig.refused(f"{limits_checksum(flashed_for(0.5)):#06x}", at_rest_pose=False)
    assert "the board is back" in replugged(1.0), "the servo map's own"
    session.reset()
    rig.adopted()


@pytest.mark.parametrize(
    ("what", "why"),
    [("three joints", "flashed for 3 joints, the servo map has 5"), ("another protocol", "speaks protocol version .* flash")],
)
def test_a_board_that_cannot_be_used_is_said_once_and_looked_past(rig, what, why):
    """It answers thrice; then the right one is back."""
    bench, own, opened, said = rig.bench, rig.firmware, rig.bench.open, []
    rig.run(0.05)

    def open_port(*where):
        said.append(session.problem)
        if len(said) > 3:
            bench.firmware = own
        return opened(*where)

    bench.open = open_port
    session = bench.session()
    bench.swap(LIMITS[:3] if what == "three joints" else LIMITS)
    if what == "another protocol":
        says = bench.firmware.transmit
        bench.firmware.transmit = lambda: says() and build(PROTOCOL_VERSION + 1, MessageType.INFO, 5, b"whatever")
    with pytest.raises((BoardFaultError, VersionError), match=why):
        session.connect(give_up_s=0.0)
    assert session.state is State.OFFLINE and not session.link.connected
    session.connect()
    assert session.state is State.IDLE and session.problem == "" and len(said) == 4
    assert len(set(said[1:])) == 1 and re.search(f"{why}.*; trying again", said[1])


# -- commands ------------------------------------------------------------------------------------------


def test_commands_are_followed_to_the_last_one_and_all_are_counted(rig):
    session = rig.connected()
    assert rig.send(HOME) is False and session.counts == CommandCounts(not_active=1)
    rig.adopted()
    goal = moved(base=0.3, shoulder=-0.1)
    total = rig.stream(goal)
    rig.run(1.5)  # for the model to settle
    rig.require_no_step()
    assert rig.pulses() == rig.telemetry.pulses == units(goal)
    assert sum(vars(session.counts).values()) == total + 1
    assert rig.telemetry.accepted == session.counts.sent and rig.telemetry.rejected == 0
    model = session.model
    held = np.abs(model.servo.spring_torque(goal, model.q) - model.model.gravity(model.q))
    assert (held <= model.servo.friction(model.servo.spring_torque(goal, model.q)) + 1e-3).all(), "at rest on these set-points"
    assert (np.abs(model.q - goal) < 0.1).all()


def test_a_first_command_away_from_the_held_set_point_is_not_sent_and_after_a_while_everyone_restarts(rig):
    session, away = rig.active(), moved(base=0.5)
    assert rig.send(session.setpoint + 2.0 * NEAR * BASE) is False
    rig.run(0.1)
    assert session.counts == CommandCounts(away=1) and session.state is State.ACTIVE and rig.pulses() == units(HOME)
    rig.until(lambda: rig.send(away) or session.epoch == 2, "a new epoch")
    assert session.counts.sent == 0 and "did not start from the held pose" in session.problem
    np.testing.assert_allclose(session.setpoint, HOME, atol=1e-3)
    assert rig.pulses() == units(HOME) and rig.send(session.setpoint)


def test_after_a_pause_commands_have_to_start_from_the_outputs_again(rig):
    """A controller that was restarted begins somewhere else: its first command is no continuation of the last one."""
    session = rig.active()
    rig.stream(moved(base=0.2))
    rig.run(0.2)
    before = rig.pulses()
    assert before == units(moved(base=0.2))
    assert rig.send(moved(base=-0.5)) is False
    assert rig.send(moved(base=0.2)) is True
    rig.until(lambda: rig.send(moved(base=-0.5)) or session.epoch == 2, "a new epoch")
    assert "commands jumped: restarting" in session.problem
    assert session.epoch == 2 and rig.pulses() == before


def test_without_commands_the_held_pose_becomes_the_present_one(rig):
    """An epoch for each stretch of holding: who comes then begins where the arm is, and not where it was enabled."""
    session = rig.active()
    old = session.held.copy()
    rig.stream(moved(base=0.3))
    assert session.epoch == 1
    np.testing.assert_allclose(session.held[0], old[0] + 0.3, atol=0.04, err_msg="the present one, in motion too")
    rig.until(lambda: session.epoch == 2, "a new epoch")
    assert session.problem == f"no commands for {PAUSE_S} s: holding"
    np.testing.assert_allclose(session.held - old, moved(base=0.3) - HOME, atol=0.015, err_msg="beside what holds the base back")
    rig.run(2.0 * PAUSE_S)
    assert session.epoch == 2 and session.problem, "nothing has moved since"
    rig.until(lambda: rig.send(session.setpoint) and not session.problem, "an end of the remark")


def test_commands_beyond_the_pulse_range_are_refused_by_name():
    rig = Rig(moved(scissor=float(SERVOS.setpoint_upper[4]) - HOME[4] - 1e-3))
    session = rig.active()
    with pytest.raises(LimitError, match="scissor") as caught:
        rig.send(session.setpoint + 0.002 * np.eye(5)[4])
    assert caught.value.limit == pytest.approx(SERVOS.setpoint_upper[4])
    assert session.counts == CommandCounts(invalid=1)


def test_a_tick_that_comes_late_is_no_silence_of_who_commands(rig):
    """This process stood still: the commands of that time are only waiting to be heard."""
    session = rig.active()
    assert rig.send(session.setpoint)
    for late in (0.4, 0.8, 1.2):
        session.tick(rig.now + late)
    assert session.epoch == 1


def test_outputs_that_move_on_before_commands_come_begin_another_epoch(rig):
    """By a late set-point of before: who heard of the held pose before it would begin at another one than who did after."""
    session = rig.active()
    session.link.send_setpoint(session.link.board_time_us(rig.now + LEAD_S), units(moved(base=0.015)))
    rig.until(lambda: session.epoch == 2, "another epoch")
    assert session.problem == "the outputs moved on before commands came: restarting from where the arm is held"
    np.testing.assert_allclose(session.setpoint, moved(base=0.015), atol=0.005)
    assert units(session.setpoint) == rig.pulses(), "where the outputs stand"
    rig.run(0.3)
    assert session.epoch == 2, "they stand"
    assert rig.stream(moved(base=0.1)) and session.counts.sent, "and commands are followed"


# -- a board that says nothing -------------------------------------------------------------------------


def stream_on(rig, seconds: float) -> None:
    """A controller that turns the base at 0.5 rad/s, anew from each held set-point."""
    session = rig.session
    begun, epoch = (rig.now, session.setpoint.copy()), session.epoch
    for _ in range(round(seconds / PERIOD_S)):
        if session.epoch != epoch:
            begun, epoch = (rig.now, session.setpoint.copy()), session.epoch
        rig.send(begun[1] + 0.5 * max(rig.now - begun[0] - 0.1, 0.0) * BASE)
        rig.step()


def test_a_board_that_says_nothing_gets_no_set_points_until_it_is_heard_and_then_from_where_it_holds(rig):
    session = rig.active()
    stream_on(rig, 0.5)
    assert session.unseen_s == 0.0
    rig.bench.muted = True
    stream_on(rig, 0.19)
    assert session.confirmed and session.unseen_s == pytest.approx(0.19 - SEEN_S, abs=0.03)
    stream_on(rig, 0.8)
    assert not session.confirmed and "silent for 0.25 s" in session.problem and session.counts.unconfirmed > 60
    sent, there = session.counts.sent, rig.pulses()
    rig.bench.muted = False
    stream_on(rig, 1.0)
    assert session.confirmed and session.epoch == 2 and session.state is State.ACTIVE and not session.fault_latched
    assert session.counts.sent > sent + 80 and rig.telemetry.rejected == 0 and rig.pulses()[0] > there[0], "it goes on"
    rig.require_no_step()


@pytest.mark.parametrize("lost_s", [0.3, 1.0])
def test_nothing_jumps_where_what_was_sent_got_lost(rig, lost_s):
    """Neither way: a board that was sent nothing stands where the last set-points have left it."""
    session = rig.active()
    stream_on(rig, 0.5)
    rig.bench.muted = rig.bench.deaf = True
    stream_on(rig, lost_s)
    rig.bench.muted = rig.bench.deaf = False
    session.reset()
    if session.state is not State.ACTIVE:
        session.activate(at_rest_pose=False)
    stream_on(rig, 1.0)
    assert session.epoch > 1 and NAMES[0] == "base"
    rig.require_no_step()
