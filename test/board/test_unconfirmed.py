"""Set-points that the board does not confirm: goals end, none is sent, and commands start anew from where the arm is held."""

from __future__ import annotations

import numpy as np
import pytest
from arm_fixtures import servos
from stepped_board import SteppedBoard, angles

from picker_dynamics.board.hardware_session import SEEN_S, State

SERVOS = servos()
START = np.array([0.0, 0.7, -0.9, -0.5, 1.2])
LEAD_S, PERIOD_S, SPEED = 0.06, 0.01, 0.5
SILENCE_S = 0.25


class Ride:
    """The base turns, at a constant speed, from where commands began last."""

    def __init__(self):
        self.bench = SteppedBoard(SERVOS, START)
        self.session = self.bench.session()
        self.begun_s = self.epoch = None

    def __enter__(self) -> Ride:
        self._clock = self.bench.clock()
        self._clock.__enter__()
        self.session.connect()
        self.session.activate(at_rest_pose=False)
        self.bench.run(0.5)
        return self

    def __exit__(self, *exception) -> None:
        self._clock.__exit__(*exception)

    def run(self, duration_s: float) -> float | None:
        """How long until set-points were not confirmed any more [s]; None: they were all the time."""
        begin_s, unconfirmed_s = self.bench.now_s, None
        for k in range(round(duration_s / PERIOD_S)):
            if self.session.epoch != self.epoch:
                self.epoch, self.begun_s, self.begun = self.session.epoch, self.bench.now_s, self.session.setpoint.copy()
            q = self.begun.copy()
            q[0] += SPEED * max(self.bench.now_s - self.begun_s - 0.1, 0.0)
            self.session.command(self.bench.now_s + LEAD_S, q, self.bench.now_s)
            self.bench.run(PERIOD_S)
            if k % 2:
                self.session.tick(self.bench.now_s)
            if unconfirmed_s is None and not self.session.confirmed:
                unconfirmed_s = self.bench.now_s - begin_s
        return unconfirmed_s

    def fastest(self) -> float:
        """Of the base on the outputs, over two servo frames [rad/s]."""
        t, q = np.array([frame.time_s for frame in self.bench.frames]), angles(SERVOS, self.bench.frames)[:, 0]
        return float((np.abs(q[2:] - q[:-2]) / np.maximum(t[2:] - t[:-2], 0.04)).max())


def test_a_board_that_says_nothing_gets_no_set_points_until_it_is_heard_and_then_from_where_it_holds():
    with Ride() as ride:
        assert ride.run(1.0) is None
        ride.bench.muted = True
        assert SILENCE_S < ride.run(1.0) < 0.3
        session = ride.session
        assert "said nothing for 0.25 s" in session.problem and session.counts.unconfirmed > 70
        sent, there = session.counts.sent, ride.bench.firmware.pulses
        ride.bench.muted = False
        ride.run(0.1)
        assert ride.run(1.0) is None
        assert session.epoch == 2 and session.state is State.ACTIVE and not session.fault_latched
        assert session.counts.sent > sent + 80 and session.link.telemetry.rejected == 0
        assert ride.bench.firmware.pulses[0] != there[0], "it goes on"
        assert ride.fastest() < 1.2 * SPEED


def test_a_short_silence_costs_nothing():
    with Ride() as ride:
        ride.run(1.0)
        ride.bench.muted = True
        assert ride.run(0.75 * SILENCE_S) is None
        ride.bench.muted = False
        assert ride.run(0.5) is None
        assert ride.session.epoch == 1 and ride.session.counts.unconfirmed == 0


def test_a_process_that_stood_still_itself_has_not_missed_its_board():
    with Ride() as ride:
        ride.run(1.0)
        ride.bench.stall(3.0 * SILENCE_S)
        ride.session.tick(ride.bench.now_s)
        assert ride.session.confirmed


def test_a_state_holds_for_no_later_than_the_board_was_heard():
    with Ride() as ride:
        ride.run(1.0)
        assert ride.session.unseen_s == 0.0
        ride.bench.muted = True
        ride.run(0.2)
        assert ride.session.unseen_s == pytest.approx(0.2 - SEEN_S, abs=0.03)
        ride.bench.muted = False
        ride.run(0.1)
        assert ride.session.unseen_s == 0.0


@pytest.mark.parametrize("muted_s", [0.3, 1.0])
def test_nothing_jumps_where_what_was_sent_got_lost(muted_s):
    """Neither way: a board that was sent nothing stands where the last set-points have left it."""
    with Ride() as ride:
        ride.run(1.0)
        ride.bench.muted = ride.bench.deaf = True
        ride.run(muted_s)
        ride.bench.muted = ride.bench.deaf = False
        ride.session.reset()
        if ride.session.state is not State.ACTIVE:
            ride.session.activate(at_rest_pose=False)
        ride.run(1.0)
        assert ride.session.epoch > 1 and ride.fastest() < 1.2 * SPEED
