"""The reference at less than full speed: on the same path, smooth, no faster, and nowhere beyond what the gate allows."""

from dataclasses import replace

import numpy as np
import pytest
from arm_fixtures import goal_check, picker, servos
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InfeasibleError, InputError
from picker_dynamics.execution.effort_gate import EffortGate
from picker_dynamics.execution.goal_check import GoalCheck
from picker_dynamics.execution.reference_generator import Goal, Phase, ReferenceGenerator
from picker_dynamics.robot import arms
from picker_dynamics.trajectory.trajectory import Trajectory

NAMES, HOME = picker().joint_names, np.array(servos().home)
PERIOD, DECELERATION = 0.01, 4.0
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
speeds = st.sampled_from([0.0, 0.1, 0.35, 0.5, 0.8, 1.0])


def generator(**options) -> ReferenceGenerator:
    made = ReferenceGenerator(NAMES, goal_check(**options), DECELERATION, picker().lower, picker().upper)
    made.start(HOME)
    return made


def goal(duration: float = 2.0, identifier: str = "", **by) -> Goal:
    target, still = HOME.copy(), [[0.0] * 5]
    for joint, amount in by.items():
        target[NAMES.index(joint)] += amount
    return Goal(NAMES, [duration], [target], still, still, identifier=identifier)


class Run:
    """References every period, and what ended."""

    def __init__(self, made: ReferenceGenerator):
        self.made, self.time_s, self.references, self.ended = made, 0.0, [], []

    def go(self, duration: float) -> None:
        for _ in range(round(duration / PERIOD)):
            reference, finished = self.made.sample(self.time_s)
            self.references.append(reference)
            self.ended += [finished] if finished else []
            self.time_s += PERIOD

    def to_the_end(self) -> None:
        for _ in range(100):
            self.go(1.0)
            if self.made.phase() is Phase.HOLDING:
                return
        raise AssertionError("it never ends")

    def __getitem__(self, name: str) -> np.ndarray:
        return np.array([getattr(reference, name) for reference in self.references])

    def require_consistent(self, acceleration: float) -> None:
        """Positions, velocities and accelerations belong to one smooth motion, and none exceeds its bound."""
        q, v, a = self["q"], self["v"], self["a"]
        assert np.abs(a).max() <= acceleration * (1 + 1e-3)  # whoever calls this knows the bound from samples
        slack = 0.5 * np.abs(np.diff(a, axis=0)) + 0.1 * acceleration  # of the trapezoidal rule, where accelerations have corners
        assert (np.abs(np.diff(v, axis=0) / PERIOD - (a[1:] + a[:-1]) / 2.0) <= slack).all()
        np.testing.assert_allclose(np.diff(q, axis=0), PERIOD * (v[1:] + v[:-1]) / 2.0, atol=PERIOD**2 * acceleration / 4.0)
        assert np.abs(np.diff(v, axis=0)).max() <= PERIOD * acceleration * (1 + 1e-3)

    def require_within_the_gate(self) -> None:
        check = self.made.check
        assert check.torque_share(self["q"], self["v"], self["a"]) <= 1.0 + 1e-3


@given(st.lists(st.tuples(st.floats(0.0, 1.2), speeds), min_size=1, max_size=5))
@QUICK
def test_changes_of_speed_at_any_time_keep_the_path_and_all_bounds(changes):
    made = generator()
    motion = made.submit(goal(base=0.6, shoulder=-0.3, elbow=0.3, identifier="g"), 0.0)
    run = Run(made)
    for wait, speed in changes:
        run.go(wait)
        made.set_speed(speed, run.time_s)
    run.go(0.5)
    made.set_speed(1.0, run.time_s)
    run.to_the_end()
    path = motion.trajectory.sample(np.linspace(0.0, motion.trajectory.duration, 4001))
    run.require_consistent(np.abs(path[2]).max() + DECELERATION)
    run.require_within_the_gate()
    assert (np.abs(run["v"]).max(axis=0) <= np.abs(path[1]).max(axis=0) + 1e-9).all(), "never faster than it was checked"
    gaps = np.abs(run["q"][:, None] - path[0][None, ::8]).max(axis=2).min(axis=1)
    assert gaps.max() < 2e-3, "on the same path"
    assert [one.identifier for one in run.ended] == ["g"]
    np.testing.assert_allclose(run.references[-1].q, motion.trajectory.end, atol=1e-9)


@pytest.mark.parametrize("speed", [0.1, 0.5, 0.9])
def test_a_motion_at_a_share_of_its_speed_takes_that_much_longer(speed):
    made = generator()
    made.set_speed(speed, 0.0)
    motion = made.submit(goal(base=0.3), 0.0)
    run = Run(made)
    run.to_the_end()
    took = np.count_nonzero(np.abs(run["v"]).max(axis=1) > 0.0) * PERIOD
    assert took == pytest.approx(motion.trajectory.duration / speed, abs=3 * PERIOD)
    run.require_consistent(np.abs(motion.trajectory.sample(np.linspace(0, 2, 500))[2]).max() * speed**2)


def test_zero_is_a_pause_from_which_it_goes_on():
    made, run = generator(), None
    made.submit(goal(base=0.5), 0.0)
    run = Run(made)
    run.go(0.8)
    made.set_speed(0.0, run.time_s)
    run.go(2.0)
    paused = run.references[-1]
    assert not paused.v.any() and not paused.a.any() and HOME[0] < paused.q[0] < HOME[0] + 0.5
    assert made.phase() is Phase.EXECUTING and made.speed_at(run.time_s) == 0.0
    run.go(1.0)
    np.testing.assert_array_equal(run.references[-1].q, paused.q)
    made.set_speed(1.0, run.time_s)
    run.to_the_end()
    assert run.references[-1].q[0] == pytest.approx(HOME[0] + 0.5)


@given(st.floats(0.1, 1.5), speeds, st.floats(0.0, 0.6), speeds)
@QUICK
def test_a_goal_that_takes_over_does_so_without_a_step_at_any_speed_and_in_any_ramp(first, speed, wait, then):
    made = generator()
    made.submit(goal(base=0.6, duration=3.0), 0.0)
    run = Run(made)
    run.go(first)
    made.set_speed(speed, run.time_s)
    run.go(wait)
    made.submit(goal(shoulder=0.2, wrist=0.3, duration=3.0, identifier="second"), run.time_s)
    run.go(0.2)
    made.set_speed(then, run.time_s)
    run.go(0.3)
    made.set_speed(1.0, run.time_s)
    run.to_the_end()
    run.require_consistent(30.0)
    assert [one.identifier for one in run.ended] == ["second"]


@given(st.floats(0.1, 1.5), speeds, st.floats(0.0, 0.6))
@QUICK
def test_cancel_stops_at_the_wanted_deceleration_at_any_speed_also_in_a_pause(first, speed, wait):
    made = generator()
    motion = made.submit(goal(base=0.6, duration=3.0, identifier="g"), 0.0)
    run = Run(made)
    run.go(first)
    made.set_speed(speed, run.time_s)
    run.go(wait)
    before = run.time_s
    assert made.cancel(run.time_s).identifier == "g"
    run.to_the_end()
    peak = np.abs(motion.trajectory.sample(np.linspace(0, 3, 500))[2]).max()
    run.require_consistent(peak + DECELERATION)
    assert run.ended[0].cancelled and run.ended[0].identifier == "g"
    moving = np.abs(run["v"]).max(axis=1) > 1e-9
    assert np.flatnonzero(moving).max(initial=0) * PERIOD < before + 1.0, "not as slowly as the motion was"


def test_stopping_and_then_moving_on_at_half_speed_has_no_step():
    made = generator()
    made.submit(goal(base=0.6, duration=3.0), 0.0)
    run = Run(made)
    run.go(1.5)
    made.cancel(run.time_s)
    made.set_speed(0.5, run.time_s)
    run.go(0.03)
    assert made.phase() is Phase.STOPPING and np.abs(run.references[-1].v).max() > 0.05
    made.submit(goal(base=0.6, duration=3.0), run.time_s)
    assert made.speed_at(run.time_s) > 0.9, "it moves as fast as it moves"
    run.to_the_end()
    run.require_consistent(10.0)
    assert made.speed == 0.5


@pytest.mark.parametrize("speed", [-0.1, 1.01, float("nan"), float("inf")])
def test_another_speed_is_refused(speed):
    made = generator()
    with pytest.raises(InputError, match="speed_scaling is"):
        made.set_speed(speed, 0.0)
    assert made.speed == 1.0


def test_a_swing_that_could_not_be_slowed_is_refused():
    """Thrown up and caught again: its weight alone is too much for the joint, which only the fall relieves."""
    arm = replace(arms.load("pendulum"), peak_share=0.6, hold_share=1.0)
    model = RigidBody(arm.description)
    check = GoalCheck(arm.description, EffortGate(model, arm), model, tip_speed_limit=100.0)
    trajectory = Trajectory(arm.description.joint_names, [0.0, 2.0 / 3.0], [[[-0.3], [2.0], [-3.0], [0.0], [0.0], [0.0]]])
    q, v, a = trajectory.sample(np.linspace(0.0, 2.0 / 3.0, 400))
    assert check.torque_share(q, v, a) < 1.0 < check.torque_share(q, 0.0 * v, 0.0 * a), "possible only as fast as it is"
    check.gate.check(trajectory)
    with pytest.raises(InfeasibleError, match="theta would need 0.98 N·m at .* if the motion were slowed to 0 %") as caught:
        check.check(trajectory)
    assert caught.value.value > caught.value.limit == pytest.approx(0.9)
