"""A torque-controlled arm whose control loop stands still: on virtual time, judged by the true arm at each of its steps."""

import numpy as np
from arm_fixtures import shipped_arm, tip_speeds
from generated import LONG
from pytest import mark

from picker_dynamics.board.torque_session import REJOIN_S
from picker_dynamics.controller import parameters
from picker_dynamics.controller.simulated import VirtualTime
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.execution.goal import Goal
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.goal_tracking import Outcome, Verdict
from picker_dynamics.robot.arm_text import Known
from picker_dynamics.session.running_arm import RunningArm
from picker_dynamics.sim.torque_plant import TorquePlant

PERIOD_S = 0.004
TARGET = np.array([0.6, 2.0, 0.7])
SWING = 1.12
REACHED = 0.02
"""Goal tolerance of config/arms.yaml."""


class UnevenTime(VirtualTime):
    """Clock of a loop whose cycles come at times that no step of the plant divides."""

    def __init__(self, seed: int):
        super().__init__()
        self._now_s, self._rng = 0.0, np.random.default_rng(seed)

    def now(self) -> float:
        return self._now_s

    def run(self, seconds: float) -> None:
        self._now_s += seconds * self._rng.uniform(0.8, 1.2)


class Rig:
    """A ``RunningArm`` of joints that take efforts, and what the true arm did in each step of its plant."""

    def __init__(self, name: str, clock: VirtualTime | None = None):
        self.known, self.clock = shipped_arm(name), clock or VirtualTime()
        self.clock.run(PERIOD_S)
        settings = parameters.settings({"trajectory_controller": {"control": "torque", "tip_speed_limit": self.known.tip_speed}})
        known = Known(self.known.description, None, self.known)
        self.arm = RunningArm(settings, self.clock, known=known, plans_beside=False)
        self.controller, self.q, self.v, self.events = self.arm.controller, [], [], []
        assert isinstance(self.arm.plant, TorquePlant)
        self.arm.plant.step = self._stepping(self.arm.plant, self.arm.plant.step)
        self.run(0.3)

    def _stepping(self, plant, step):
        def stepped(tau):
            step(tau)
            self.q.append(plant.q)
            self.v.append(plant.v)

        return stepped

    def run(self, seconds: float, stalls: bool = False) -> None:
        """Let time pass; ``stalls``: the control loop makes no cycle meanwhile."""
        for _ in range(round(seconds / PERIOD_S)):
            if not stalls:
                self.events += self.controller.cycle().tick.events
            self.clock.run(PERIOD_S)

    def move(self, *poses, step_s: float = 1.0, waits: bool = True) -> list[Verdict]:
        """Ask for a motion that rests at each of the poses; the answers that it gets."""
        answers: list[Verdict] = []
        names, times = self.known.description.joint_names, [step_s * (k + 1) for k in range(len(poses))]
        still = [[0.0] * len(names)] * len(poses)
        goal = Goal(names, times, [pose.tolist() for pose in poses], still, still)
        self.controller.submit(GoalRequest(lambda: goal, tracker=self.arm.tracker, answer=answers.append))
        if waits:
            self.run(2 * PERIOD_S)
        return answers

    def tip_speed(self, since: int = 0) -> float:
        """Largest speed of the true tip since that step of the plant [m/s]."""
        return float(tip_speeds(np.array(self.q[since:]), np.array(self.v[since:]), RigidBody(self.known.description)).max())

    def asked(self) -> tuple[float, float]:
        """Largest speed of the tip in the motion that was accepted last [m/s], and its duration [s]."""
        motion = [event.motion for event in self.events if event.motion is not None][-1].trajectory
        q, v, _ = motion.sample(np.linspace(0.0, motion.duration, 500))
        return float(tip_speeds(q, v, RigidBody(self.known.description)).max()), motion.duration


@mark.parametrize("stall_s", [0.1, 0.4])
def test_a_stall_delays_a_motion_and_does_not_make_it_faster(stall_s):
    """With references by the clock alone the tip went at 0.58 m/s after 0.1 s, at 0.94 m/s after 0.4 s."""
    rig = Rig("rrp")
    answers = rig.move(TARGET)
    rig.run(1.0)
    rig.run(stall_s, stalls=True)
    asked, duration_s = rig.asked()
    while not answers:
        rig.run(PERIOD_S)
    assert answers[0].outcome is Outcome.SUCCEEDED and np.abs(rig.q[-1] - TARGET).max() < REACHED
    assert duration_s < rig.clock.now() - 0.3 < duration_s + stall_s + 0.3
    rig.run(1.0)
    assert 0.45 < asked < 0.5 and rig.tip_speed() < 1.02 * asked
    assert rig.controller.execution.sent.delay_s == 0.0, "it is made up where nothing moves"


@mark.parametrize("name", ["rrp", "three_link"])
@mark.parametrize("seed", range(20 if LONG else 2))
def test_whatever_stalls_a_motion_bears_it_is_no_faster_and_answered_when_the_arm_is_there(name, seed):
    rig, rng = Rig(name), np.random.default_rng(seed)
    home, lower, upper = rig.known.home, rig.known.description.lower, rig.known.description.upper
    for _ in range(3):
        poses = [np.clip(home + rng.uniform(-0.4, 0.4, 3), lower, upper) for _ in range(rng.integers(1, 4))]
        begin, answers, longest_s = len(rig.v), rig.move(*poses, step_s=rng.uniform(0.3, 1.5)), 0.0
        assert not answers
        for _ in range(rng.integers(1, 5)):
            stall_s = rng.uniform(0.1, 0.6)
            rig.run(rng.uniform(0.05, 0.9))
            if not answers:
                longest_s = max(longest_s, stall_s)
            rig.run(stall_s, stalls=True)
        while not answers:
            rig.run(PERIOD_S)
        if answers[0].outcome is Outcome.SUCCEEDED:
            assert longest_s < REJOIN_S + 0.03
        else:
            assert longest_s > REJOIN_S - 0.03 and str(REJOIN_S) in answers[0].text
        ended, asked = rig.q[-1], rig.asked()[0]
        rig.run(1.0)
        assert answers[0].outcome is Outcome.ABORTED or np.abs(ended - poses[-1]).max() < REACHED
        assert asked > 0.1 and rig.tip_speed(begin) < SWING * asked
        assert np.abs(rig.v[-1]).max() < 1e-3


def test_after_a_stall_a_motion_is_cancelled_as_soon_as_without_one():
    ways = []
    for stall_s in (0.0, 0.4):
        rig = Rig("rrp")
        answers = rig.move(TARGET)
        rig.run(1.2)
        rig.run(stall_s, stalls=True)
        rig.run(0.5 if stall_s else 0.0)  # up to its pace again
        at, speed = rig.q[-1], np.abs(rig.v[-1]).max()
        assert rig.controller.execution.cancel(rig.clock.now())
        rig.run(1.0)
        assert answers[0].outcome is Outcome.CANCELED
        ways.append(np.abs(rig.q[-1] - at).max() / speed)
    assert 0.1 < ways[1] < 1.05 * ways[0]


@mark.parametrize("seed", range(40 if LONG else 4))
def test_cycles_at_uneven_times_after_a_stall_are_no_step_back_of_the_reference(seed):
    """The plant's time lags that of the clock by less than its step, and references are delayed by the plant's."""
    rig, rng = Rig("rrp", UnevenTime(seed)), np.random.default_rng(seed)
    answers = rig.move(TARGET)
    rig.run(0.4)
    for _ in range(25):
        rig.run(PERIOD_S)
        rig.run(rng.uniform(0.0, 30 * PERIOD_S), stalls=True)
    while not answers:
        rig.run(PERIOD_S)
    assert answers[0].outcome is Outcome.SUCCEEDED, answers[0].text


@mark.parametrize("cancels", [True, False], ids=["cancel", "another goal"])
def test_what_is_asked_while_the_loop_stalls_goes_on_from_where_the_motion_is(cancels):
    rig = Rig("rrp")
    rig.move(TARGET)
    rig.run(1.0)
    rig.run(0.2, stalls=True)
    if cancels:
        rig.controller.cancel()
    else:
        rig.move(rig.known.home, step_s=3.0, waits=False)
    rig.run(0.1, stalls=True)
    rig.run(1.0)
    assert rig.controller.execution.guard_stopped == 0
