"""The guard on set-points: pure, and in a session with a board whose outputs nobody but that session moves."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from session_bench import HOME, LEAD_S, PERIOD_S, SERVOS, moved, units
from waiting import until

from picker_dynamics.board.hardware_session import CommandCounts, State
from picker_dynamics.board.rejoining import PAUSE_S, REJOIN_S
from picker_dynamics.board.setpoint_guard import AHEAD_S, NEAR, PAST_S, Refusal, SetpointGuard
from picker_dynamics.errors import InputError

BASE = np.eye(5)[0]


def guard(*steps: float, dt: float = 0.01) -> SetpointGuard:
    """Was sent home, and the base on by each of ``steps`` [rad], every ``dt``; the last one for t = 0."""
    made = SetpointGuard(SERVOS)
    made.restart(HOME)
    for k, q in enumerate(np.cumsum((0.0, *steps))):
        time_s = (k - len(steps)) * dt
        assert made.refusal(time_s, HOME + q * BASE, time_s) is None
        made.sent(time_s, HOME + q * BASE)
    return made


def largest(*steps: float, dt: float, sign: float = 1.0) -> float:
    """How far the base may go from where it was sent last, for ``dt`` later [rad]; by bisection."""
    made, low, high = guard(*steps), 0.0, 10.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        refused = made.refusal(dt, HOME + (sum(steps) + sign * middle) * BASE, dt)
        low, high = (low, middle) if refused else (middle, high)
    return low


def test_the_picker_s_set_points_go_no_further_than_forty_milliradians_in_ten_milliseconds():
    assert largest(0.04, 0.04, dt=0.01) == pytest.approx(0.04)
    assert largest(dt=0.01) == pytest.approx(0.04)


@pytest.mark.parametrize("dt", [0.005, 0.01, 0.02, 0.05, 0.1, 0.2])
def test_how_far_is_scaled_with_the_time_since_and_bounded(dt):
    """What goes on as it went goes as far as its speed takes it; from standstill far less, however long it waits."""
    assert largest(0.04, 0.04, dt=dt) == pytest.approx(4.0 * min(dt, 0.1))
    still = largest(dt=dt)
    assert still == pytest.approx(min(4.0 * dt, 0.04 + 20.0 * min(dt, 0.1) ** 2)) and still <= 0.2401


def test_a_pose_that_is_not_the_present_one_is_no_continuation():
    """Another sender's stale pose, a tenth of a radian away, between the commands of the first or right behind them."""
    for dt in (0.01, 0.034, 0.05):
        made = guard()
        assert made.refusal(dt, HOME + 0.10 * BASE, dt) is Refusal.AWAY
    assert made.said == "base leaves its way by 5.7 deg in 50 ms, allowed 5.2 deg"
    assert made.refusal(0.01, HOME, 0.01) is None, "and what goes on as it went is not held up"


def test_turning_back_at_full_speed_is_no_continuation():
    assert largest(*[0.03] * 5, dt=0.01, sign=-1.0) == pytest.approx(0.042 - 0.03)
    assert largest(*[0.03] * 5, dt=0.01) == pytest.approx(0.04)


@pytest.mark.parametrize(
    "time_s, said",
    [
        (-0.005, Refusal.STALE),
        (-PAST_S - 0.01, Refusal.STALE),
        (0.0, Refusal.THINNED),
        (0.002, Refusal.THINNED),
        (0.01, None),
        (AHEAD_S + 0.01, Refusal.AHEAD),
        (1e12, Refusal.AHEAD),
        (-1e12, Refusal.STALE),
    ],
)
def test_time_goes_on_near_the_present(time_s, said):
    assert guard().refusal(time_s, HOME, 0.0) is said


@pytest.mark.parametrize("time_s", [math.nan, math.inf, -math.inf])
def test_a_time_that_is_no_time_is_refused(time_s):
    with pytest.raises(InputError, match="time of the set-point"):
        guard().refusal(time_s, HOME, 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_asked_what_is_sent_keeps_speed_and_continuity(seed):
    """Noise, jumps, gaps and other senders: looked at with finite differences of what came through."""
    rng, made = np.random.default_rng(seed), SetpointGuard(SERVOS)
    made.restart(HOME)
    now, q, passed = 0.0, HOME.copy(), []
    for _ in range(3000):
        now += rng.choice([0.004, 0.01, 0.01, 0.03, 0.15])
        q = q + rng.normal(0.0, rng.choice([0.0, 0.01, 0.03, 0.3], p=[0.5, 0.3, 0.15, 0.05]), 5)
        wanted = HOME if rng.random() < 0.1 else q
        if passed and now - passed[-1][0] > 0.25:  # as the session does where an epoch begins
            made.restart(passed[-1][1])
            q = passed[-1][1].copy()
        if made.refusal(now, wanted, now) is None:
            made.sent(now, wanted)
            passed.append((now, wanted))
        elif rng.random() < 0.3:
            q = passed[-1][1].copy() if passed else HOME.copy()
    assert 300 < len(passed) < 3000
    times, sent = np.array([t for t, _ in passed]), np.array([s for _, s in passed])
    dt = np.diff(times)[:, None]
    steps = np.diff(sent, axis=0)
    assert np.abs(sent[0] - HOME).max() <= NEAR
    assert (np.abs(steps) <= 4.0 * np.minimum(dt, 0.1) + 1e-9).all()
    turned = np.abs(steps[1:] - steps[:-1] * dt[1:] / dt[:-1])
    went_on = dt[1:] <= 0.1
    assert (turned <= 0.04 + 20.0 * dt[1:] ** 2 + 1e-6)[went_on[:, 0]].all()


# -- in a session --------------------------------------------------------------------------------------


def test_a_second_sender_at_an_old_pose_moves_nothing_and_restarts_nobody(rig):
    """It is refused for as long as it goes on: the first one's commands go on meanwhile."""
    session = rig.active()
    rig.stream(moved(base=0.2))
    sent, epoch = session.counts.sent, session.epoch
    for _ in range(round(3.0 * REJOIN_S / PERIOD_S)):
        rig.send(moved(base=0.2))
        time.sleep(0.5 * PERIOD_S)
        rig.send(moved(base=0.1))
        session.tick(time.monotonic())
        time.sleep(0.5 * PERIOD_S)
    rig.news()
    assert session.counts.sent > sent + 20 and session.counts.away > 20 and session.epoch == epoch
    assert rig.pulses() == units(moved(base=0.2))
    rig.require_no_step()


def test_commands_that_jump_are_not_sent_and_after_a_while_all_start_anew_where_the_arm_holds(rig):
    session = rig.active()
    rig.stream(moved(base=0.2))

    def played() -> bool:
        stands = len({pulses for _, pulses, _ in rig.history[-5:]}) == 1
        return stands and rig.pulses() == units(moved(base=0.2))

    rig.stream_until(moved(base=0.2), played, "all that was sent to be played")
    before = rig.pulses()
    rig.tick_until(lambda: rig.send(moved(base=0.5)) or session.epoch == 2, "a new epoch")
    assert rig.pulses() == before and session.state is State.ACTIVE
    assert "commands jumped: restarting from where the arm is held (base " in session.problem
    np.testing.assert_allclose(session.setpoint, moved(base=0.2), atol=1e-3)
    np.testing.assert_allclose(session.held, session.model.q, atol=1e-9)
    assert rig.send(session.setpoint), "it never refuses for ever"


def test_without_commands_the_held_pose_becomes_the_present_one(rig):
    """An epoch for each stretch of holding: who comes then begins where the arm is, and not where it was enabled."""
    session = rig.active()
    old = session.held.copy()
    rig.stream(moved(base=0.3))
    assert session.epoch == 1
    np.testing.assert_allclose(session.held[0], old[0] + 0.3, atol=0.04, err_msg="the present one, in motion too")
    rig.tick_until(lambda: session.epoch == 2, "a new epoch")
    assert session.problem == f"no commands for {PAUSE_S} s: holding"
    np.testing.assert_allclose(session.held - old, moved(base=0.3) - HOME, atol=0.015, err_msg="beside what holds the base back")
    rig.tick_for(2.0 * PAUSE_S)
    assert session.epoch == 2 and session.problem, "nothing has moved since"
    rig.stream_until(session.setpoint, lambda: not session.problem, "an end of the remark")


def test_the_time_of_a_command_is_held_to_the_present(rig):
    session = rig.active()
    now = time.monotonic()
    assert session.command(now + AHEAD_S + 1.0, session.setpoint, now) is False
    assert session.command(now - PAST_S - 1.0, session.setpoint, now) is False
    with pytest.raises(InputError):
        session.command(math.nan, session.setpoint, now)
    assert session.counts == CommandCounts(ahead=1, stale=1, invalid=1)
    assert session.command(now + LEAD_S, session.setpoint, now) is True


def test_a_tick_that_comes_late_is_no_silence_of_who_commands(rig):
    """This process stood still: the commands of that time are only waiting to be heard."""
    session = rig.active()
    assert rig.send(session.setpoint)
    now = time.monotonic()
    for late in (0.4, 0.8, 1.2):
        session.tick(now + late)
    assert session.epoch == 1


def test_outputs_that_move_on_before_commands_come_begin_another_epoch(rig):
    """By a late set-point of before: who heard of the held pose before it would begin at another one than who did after."""
    session = rig.active()
    epoch, at_s = session.epoch, time.monotonic() + LEAD_S
    session.link.send_setpoint(session.link.board_time_us(at_s), units(moved(base=0.03)))
    rig.tick_until(lambda: session.epoch == epoch + 1, "another epoch")
    assert session.problem == "the outputs moved on before commands came: restarting from where the arm is held"
    np.testing.assert_allclose(session.setpoint, moved(base=0.03), atol=0.01)
    rig.tick_for(0.3)
    assert session.epoch == epoch + 1, "they stand"
    assert rig.stream(moved(base=0.1)) and session.counts.sent, "and commands are followed"


def test_what_is_held_is_of_one_telemetry(rig, monkeypatch):
    """That of motion, read before the board stood, would pass for where it is held: newer comes while it is looked at."""
    session = rig.active()
    link, step, sent_s = session.link, session.model.step, -math.inf

    def begun() -> bool:
        """Sent again where a stall let it come too late."""
        nonlocal sent_s
        if not rig.moving() and time.monotonic() - sent_s > 1.0:
            sent_s = time.monotonic()
            link.send_setpoint(link.board_time_us(sent_s + LEAD_S), units(moved(base=0.5)))
        return rig.moving()

    rig.tick_until(begun, "motion")

    def slow(*args):
        until(lambda: not link.telemetry.state.moves, "the board to stand")
        return step(*args)

    epoch = session.epoch
    monkeypatch.setattr(session.model, "step", slow)
    session.tick(time.monotonic())
    monkeypatch.undo()
    assert session.epoch == epoch, "what was looked at moves"
    rig.tick_until(lambda: session.epoch > epoch, "another epoch")
    assert units(session.setpoint) == rig.pulses(), "where the outputs stand"
