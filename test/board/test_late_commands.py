"""Commands that come late delay a motion and never make it faster: a controller or a node behind it that stalls in motion.

The real session, link and firmware, and the plant, in simulated time; judged by the board's outputs and the plant's tip.
"""

import numpy as np
import pytest
from arm_fixtures import rigid_body, servos
from stepped_board import STEP_S, SteppedBoard, angles

from picker_dynamics.sim.output_motion import RAMP_US
from picker_dynamics.trajectory.profiles import joint_move, limit_tip_speed

SERVOS = servos()
START = np.array([0.0, 0.7, -0.9, -0.5, 1.2])
GOAL = START + np.array([1.2, 0.15, 0.1, 0.0, 0.0])
LEAD_S, PERIOD_S, FRAME_S, TIP_SPEED = 0.06, 0.01, 0.02, 0.24
SETTLES_S = 1.5
WAY = limit_tip_speed(joint_move(START, GOAL, 3.0, 20.0, joint_names=SERVOS.joint_names), rigid_body(), TIP_SPEED)

SWING = 1.2
"""The arm's tip against its set-point's, at most: outputs that had to stop come up to it gently.  At once it is 3.5, within
0.2 s it is 1.5, and as much where the way that is missing is one line, at one speed."""


class Ride:
    """The way on the bench, and what was seen of it; in each stall no command comes from then on for so many seconds.

    Attributes:
        output_speed: of the fastest joint on the outputs, over two servo frames [rad/s].
        tip_speed: of the plant at its fastest [m/s].
        delays: after each command [s].
        problems: what the session said.
    """

    def __init__(self, *stalls: tuple[float, float], lead_s: float = LEAD_S, late_s: float = 0.0):
        self.bench = SteppedBoard(SERVOS, START)
        self.session = self.bench.session()
        self.delays, self.problems, tips = [], set(), []
        rng = np.random.default_rng(1)
        self.session.connect()
        self.session.activate(at_rest_pose=False)
        self.bench.run(SETTLES_S)
        first, begin_s = len(self.bench.frames), self.bench.now_s
        for k in range(round((WAY.duration + SETTLES_S) / PERIOD_S)):
            now_s, age_s = k * PERIOD_S, rng.uniform(0.0, late_s)
            if not any(at_s - 1e-6 < now_s < at_s + seconds - 1e-6 for at_s, seconds in stalls):
                t = now_s + lead_s - age_s
                q = WAY.sample(min(max(t - 0.1, 0.0), WAY.duration))[0]
                self.session.command(begin_s + t, q, self.bench.now_s)
                self.delays.append(self.session.delay_s)
            for _ in range(round(PERIOD_S / STEP_S)):
                self.bench.run(STEP_S)
                tips.append(self.bench.plant.tip)
            if k % 2:
                self.session.tick(self.bench.now_s)
                self.problems.add(self.session.problem)
        frames = self.bench.frames[first - 1 :]
        t, q = np.array([frame.time_s for frame in frames]), angles(SERVOS, frames)
        took = np.maximum(t[2:] - t[:-2], 2.0 * FRAME_S)[:, None]
        self.output_speed, self.outputs = float((np.abs(q[2:] - q[:-2]) / took).max()), q[-1]
        self.tip_speed = float(np.linalg.norm(np.diff(tips, axis=0)[3:], axis=1).max() / STEP_S)

    def require_arrived(self) -> None:
        np.testing.assert_allclose(self.outputs, GOAL, atol=1e-3)
        telemetry = self.session.link.telemetry
        assert self.session.epoch == 1 and telemetry.rejected == 0
        assert self.delays[-1] == 0.0, "what was lost is made up where nothing moves"


OWN_SPEED = float(np.abs(WAY.grid(1e-3)[2]).max())


@pytest.mark.parametrize("seconds, at_s", [(0.07, [1.6]), (0.2, [1.6]), (0.15, [0.8, 1.2, 1.5, 1.9, 2.4])])
def test_after_stalls_the_motion_goes_on_as_fast_as_it_was_meant_to_be(seconds, at_s):
    """Those that follow on each other delay by the longest and not by their sum."""
    ride = Ride(*((one, seconds) for one in at_s))
    assert 0.55 < OWN_SPEED < 0.75
    assert ride.output_speed < 1.03 * OWN_SPEED
    assert ride.tip_speed < SWING * TIP_SPEED
    assert 0.0 < max(ride.delays) <= seconds + 0.5e-6 * RAMP_US, "or there was no stall"
    ride.require_arrived()


def test_commands_that_are_a_little_late_delay_nothing():
    ride = Ride(late_s=0.009)
    assert max(ride.delays) == 0.0 and ride.session.link.telemetry.underruns == 0
    ride.require_arrived()


def test_what_comes_much_too_late_is_not_followed_and_why_is_said():
    ride = Ride((1.6, 0.23), lead_s=0.03)
    assert ride.output_speed < 1.03 * OWN_SPEED and ride.session.epoch > 1
    said = [problem for problem in ride.problems if "after the one before: restarting from where the arm is held" in problem]
    assert said and all(problem.startswith("commands came 0.2") for problem in said)
    assert ride.bench.plant.q[0] < GOAL[0] - 0.3


def test_commands_that_start_anew_follow_what_the_board_was_sent_before():
    """The estimate of the board's clock gets better meanwhile, and steps back: nothing is refused for its time."""
    bench = SteppedBoard(SERVOS, START)
    session = bench.session()
    link = session.link
    honest = link.board_time_us
    session.connect()
    session.activate(at_rest_pose=False)
    bench.run(SETTLES_S)
    q = session.setpoint.copy()
    for k in range(300):
        wrong_us = 90_000 if k < 100 else 0
        link.board_time_us = lambda at_s, wrong_us=wrong_us: honest(at_s) + wrong_us
        if k in (100, 104, 200):
            session.rejoin()
        q[0] += 1e-3 * np.sin(k)
        session.command(bench.now_s + LEAD_S, q, bench.now_s)
        bench.run(PERIOD_S)
    bench.run(0.1)
    assert session.counts.sent > 200 and link.telemetry.rejected == 0
    assert not link.statistics.setpoints_refused
