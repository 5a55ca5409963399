"""One board and the arm on it, over the real serial link: nothing moves by surprise, nothing is lost without a count."""

from __future__ import annotations

import time

import numpy as np
import pytest
from arm_fixtures import rigid_body
from board_on_pty import ALL
from session_bench import HOME, LEAD_S, PERIOD_S, SERVOS, accounted, moved, units
from waiting import until

from picker_dynamics.board.hardware_session import CommandCounts, State
from picker_dynamics.board.protocol import Fault
from picker_dynamics.board.rejoining import REJOIN_S
from picker_dynamics.board.setpoint_guard import NEAR, PAST_S
from picker_dynamics.errors import InputError, LimitError, LinkError, PickerError

# -- switching on --------------------------------------------------------------------------------------


def test_connecting_moves_and_owns_nothing(rig):
    session = rig.connected()
    rig.news()
    assert session.state is State.IDLE and session.problem == ""
    assert (rig.firmware.owned, rig.firmware.live) == (0, ALL)
    assert rig.pulses() == units(HOME)


def test_who_enables_before_the_board_is_known_is_told_to_do_it_again(rig):
    """Whoever connects it looks at it first, in another thread, and would undo that."""
    rig.session.link.reconnect(cancelled=rig.session.cancelled)
    with pytest.raises(LinkError, match="enable again"):
        rig.session.activate(at_rest_pose=False)
    rig.connected()
    rig.adopted()
    assert rig.session.state is State.ACTIVE


def test_running_outputs_are_adopted_without_moving_them(rig):
    session = rig.connected()
    rig.adopted()
    rig.news(10)
    assert session.state is State.ACTIVE and session.epoch == 1
    assert rig.firmware.owned == ALL
    assert {pulses for _, pulses, _ in rig.history} == {units(HOME)}
    np.testing.assert_allclose(session.setpoint, HOME, atol=1e-3)


def test_the_held_pose_is_where_the_springs_bear_the_arm(rig):
    session = rig.active()
    needed = rigid_body().gravity(session.held)
    supply = 1.0 - 0.025 * np.abs(needed / SERVOS.model.motor_stall).sum()
    given = SERVOS.model.spring_torque(session.setpoint, session.held, supply)
    np.testing.assert_allclose(given, needed, atol=1e-6)
    assert np.abs(session.held - session.setpoint).max() > 0.01, "it sags: the set-point is not the pose"


def test_outputs_that_are_off_stay_off_until_somebody_vouches_for_the_pose(rigs):
    rig = rigs(found=None)
    session = rig.connected()
    rig.not_activated(r"put it at its rest pose \(base 0.0 deg, shoulder 108.9 deg", at_rest_pose=False)
    rig.news()
    assert session.state is State.IDLE and rig.firmware.live == 0


def test_outputs_are_switched_on_one_at_a_time_at_the_rest_pose(rigs, quick_enabling):
    rig = rigs(found=None)
    session = rig.enabling()
    assert session.state is State.ENABLING
    rig.comes_to(State.ACTIVE)
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
    rig.not_activated("pose is unknown", at_rest_pose=False)
    session.activate(at_rest_pose=True)
    rig.comes_to(State.ACTIVE)
    expected = np.where(np.isnan(found), SERVOS.rest, found)
    assert rig.pulses() == units(expected)
    np.testing.assert_allclose(session.setpoint, expected, atol=1e-3)


def test_a_stop_ends_the_enabling_and_keeps_what_runs(rigs, quick_enabling):
    rig = rigs(found=None)
    session = rig.enabling()
    rig.tick_until(lambda: rig.firmware.live == 0b11, "the second joint")
    session.stop()
    rig.tick_until(lambda: rig.firmware.faults == Fault.STOPPED.bit, "stop")
    live = rig.firmware.live
    rig.news(15)
    assert session.state is State.IDLE and rig.firmware.live == live and live & 0b11 == 0b11 and live != ALL


def test_enabling_outlives_a_damaged_cable(rigs, quick_enabling):
    """Every second chunk is lost for a while: the board does not answer in time, and is asked again."""
    rig = rigs(found=None)
    session = rig.enabling()
    rig.tick_until(lambda: rig.firmware.live == 0b1, "the first joint")
    with rig.board.deaf():
        rig.tick_for(0.4)
    rig.tick_until(lambda: session.state is not State.ENABLING, "enabling")
    assert session.state is State.ACTIVE, session.problem
    assert rig.firmware.live == ALL


def test_outputs_that_hold_no_pose_are_not_taken_over(rigs, monkeypatch):
    """A set-point from which the model finds no rest: refused, and the session is not half active."""
    rig = rigs()
    session = rig.connected()
    session.model.model = rigid_body().with_payload(10.0)
    with pytest.raises(Exception, match="no rest"):
        session.activate(at_rest_pose=False)
    assert session.state is State.IDLE
    rig.news()
    assert rig.pulses() == units(HOME)


def test_another_payload_before_the_first_command_is_held_from_where_the_arm_rests_with_it(rigs):
    """Pulses stay; a begun epoch stays one; what finds no rest leaves the session idle, and a smaller payload is the way out."""
    rig = rigs()
    session = rig.connected()
    session.activate(at_rest_pose=False)
    begun, held, pulses = session.epoch, session.held, rig.pulses()
    session.set_model(rigid_body().with_payload(0.1))
    assert session.epoch == begun + 1 and (session.held[1:3] < held[1:3]).any()
    with pytest.raises(PickerError, match="no rest"):
        session.set_model(rigid_body().with_payload(10.0))
    assert session.state is State.IDLE and "no rest" in session.problem
    session.set_model(rigid_body())
    session.activate(at_rest_pose=False)
    assert session.state is State.ACTIVE
    assert rig.send(HOME)
    commanded = session.epoch
    session.set_model(rigid_body().with_payload(0.1))
    assert session.epoch == commanded, "who commands makes up for it"
    rig.news()
    assert rig.pulses() == pulses


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
    until(lambda: session.link.telemetry.accepted + session.link.telemetry.rejected >= session.counts.sent, "counts")
    if not session.link.telemetry.underruns and not session.counts.thinned:  # else points were sent for commands that came late
        assert session.link.telemetry.accepted + session.link.telemetry.rejected == session.counts.sent
    assert session.link.telemetry.pulses == units(goal)
    rig.tick_for(1.0)  # for the model to settle
    model = session.model
    held = np.abs(model.servo.spring_torque(goal, model.q) - model.model.gravity(model.q))
    assert (held <= model.servo.friction(model.servo.spring_torque(goal, model.q)) + 1e-3).all(), "at rest on these set-points"
    assert (np.abs(model.q - goal) < 0.1).all()


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


def test_a_command_that_is_away_is_counted_once_where_nobody_can_restart(rig):
    session = rig.active()
    session.model.model = rigid_body().with_payload(10.0)
    away = moved(base=0.5)
    count = 0

    def refused() -> bool:
        nonlocal count
        count += 1
        try:
            rig.send(away)
        except PickerError as error:
            assert "no rest" in str(error)
            return True
        time.sleep(PERIOD_S)
        return False

    until(refused, "an epoch that cannot begin")
    assert session.counts == CommandCounts(away=count) and session.state is State.IDLE


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
    before = units(moved(base=0.2))
    rig.tick_until(lambda: rig.pulses() == before, "arrival")
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
