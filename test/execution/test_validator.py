"""Validator against sums done by hand, against brute force in time, and against the words it must use."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
from arm_fixtures import picker, servos, validator
from execution_rig import HOME, NAMES, REACH, ZERO, Rig, executing, goal, limits, moved
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx, mark, raises

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InfeasibleError, InputError, JointNamesError, LimitError, PickerError
from picker_dynamics.execution.checks import HoldTorque, MotorSpeed, PeakTorque, SampledMotion, SetpointRange, Usage
from picker_dynamics.execution.slowing import gentlest
from picker_dynamics.execution.torque_limits import TorqueLimits
from picker_dynamics.execution.validator import MAX_STRETCH, RESOLUTION, torque_validator
from picker_dynamics.trajectory import profiles
from picker_dynamics.trajectory.stops import stop_trajectory
from picker_dynamics.trajectory.trajectory import Trajectory, blend, from_points

STALL = 1.08
SERVOS = servos(simulated=False, ideal=True)
REST = np.array(SERVOS.rest)
GATE = torque_validator(RigidBody(picker(), SERVOS.armature), SERVOS)
"""Of torques alone."""


def move(q0, q1, duration_s, name="quintic", blend=None) -> Trajectory:
    law = profiles.profile(name) if blend is None else profiles.profile(name, blend)
    return profiles.along(law, q0, q1, duration_s, NAMES)


def raised(torque: float) -> np.ndarray:
    """Stretched out, the shoulder as high as it bears this."""
    return np.array([0.0, np.arccos(torque / REACH), 0.0, 0.0, 0.0])


def swing(duration: float) -> Trajectory:
    return from_points([0.0, duration], [HOME, moved(base=0.8)], [ZERO] * 2, [ZERO] * 2, joint_names=NAMES)


# -- torques --------------------------------------------------------------------------------------------------


def test_an_easy_motion_passes_with_its_shares():
    path = move(REST, HOME, 2.0)
    found = GATE.validate(path)
    assert found.trajectory is path and found.factor == 1.0 and found.passed
    torque = np.abs(GATE.model.inverse_dynamics(*path.sample(np.linspace(0.0, 2.0, 1001)))).max(axis=0)
    np.testing.assert_allclose(np.abs(found.motion.torque).max(axis=0), torque, atol=2e-3)
    np.testing.assert_allclose(found.motion.rest_torque, GATE.model.gravity(HOME), atol=1e-12)
    hold, peak = found.usages[:2]
    assert [type(check) for check in GATE.checks] == [HoldTorque, PeakTorque, MotorSpeed, SetpointRange]
    assert hold.share == approx(np.abs(found.motion.rest_torque).max() / (0.6 * STALL), abs=1e-12)
    assert peak.share == approx(torque.max() / (0.8 * STALL), abs=3e-3)
    worst = max((hold, peak), key=lambda usage: usage.share)
    assert worst.subject == "shoulder" and worst.time_s == approx(2.0)
    assert found.motion.times.shape == (len(found.motion.torque),)


def test_full_reach_is_refused_naming_joint_time_torque_and_limit():
    with raises(InfeasibleError) as caught:
        GATE.validate(move(HOME, ZERO, 2.1))
    error = caught.value
    assert str(error) == ("shoulder needs 0.98 N·m to hold its pose at 2.10 s, allowed 0.65 (0.60 of 1.08 stall)")
    assert (error.subject, error.time_s) == ("shoulder", approx(2.1))
    assert error.value == approx(REACH, abs=1e-12)
    assert error.limit == approx(0.6 * STALL)


def test_a_way_through_a_pose_too_heavy_is_refused_where_it_gets_too_heavy():
    """From raised to raised over the horizontal: both ends can be held, the middle not, however slowly."""
    up, down = np.array([0.0, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, -0.34, -1.9, 0.5, 0.0])
    start = np.array([0.0, -0.34, 0.0, 0.0, 0.0])
    path = from_points([0.0, 20.0, 40.0], [up, start, down], [ZERO] * 3, joint_names=NAMES)
    with raises(InfeasibleError, match=r"shoulder needs 0\.98 N·m at .* \(0\.80 of 1\.08 stall\)") as caught:
        GATE.validate(path)
    first = caught.value.time_s
    times = np.linspace(0.0, 40.0, 4001)
    torque = np.abs(GATE.model.inverse_dynamics(*path.sample(times)))[:, 1]
    assert first == approx(times[(torque > 0.8 * STALL).argmax()], abs=0.02)
    assert caught.value.value == approx(torque.max(), abs=1e-4)
    with raises(InfeasibleError) as again:
        GATE.scaled(path)
    assert str(again.value) == str(caught.value)


def test_joints_must_be_the_same():
    names = tuple(reversed(NAMES))
    with raises(JointNamesError, match="the trajectory's joints are scissor"):
        GATE.validate(profiles.along(profiles.profile("quintic"), REST, HOME, 2.0, names))
    other = dataclasses.replace(SERVOS, servos=tuple(reversed(SERVOS.servos)))
    with raises(JointNamesError, match="the servo map's scissor"):
        torque_validator(GATE.model, other)
    turned = dataclasses.replace(TorqueLimits.of_servos(other), servo_map=None)
    with raises(JointNamesError, match="the arm's scissor"):
        torque_validator(GATE.model, turned)
    with raises(InputError, match="period_s"):
        dataclasses.replace(GATE, period_s=0.0)


# -- slower ---------------------------------------------------------------------------------------------------


@mark.parametrize("name", ["quintic", "trapezoidal"])
def test_stretching_is_by_the_smallest_factor(name):
    path = move(REST, HOME, 0.15, name)
    with raises(InfeasibleError):
        GATE.validate(path)
    found = GATE.scaled(path, 1.002)
    assert 1.0 < found.factor < MAX_STRETCH
    assert found.trajectory.duration == approx(0.15 * found.factor)
    GATE.validate(path.stretched(found.factor))
    with raises((InfeasibleError, LimitError)):
        GATE.validate(path.stretched(0.995 * found.factor))


@mark.parametrize("duration", [0.15, 0.4, 1.0])
def test_the_factor_found_is_enough_and_hardly_more_than_needed(duration):
    made = validator()
    factor = made.scaled(swing(duration)).factor
    made.validate(swing(duration * factor))
    with raises((LimitError, InfeasibleError)):
        made.validate(swing(duration * factor / RESOLUTION**1.01))


def test_a_refusal_has_the_numbers_of_the_motion_as_it_was_asked():
    """From a pose in mid-swing the slowest motion would go far astray; that is no reason to tell anybody."""
    rig = executing(goal(moved(base=0.6)), 1.0)
    with raises(InfeasibleError, match=r"shoulder needs 0\.98 N·m to hold its pose at 9\.00 s") as caught:
        rig.submit(goal(ZERO, times=[9.0]))
    assert caught.value.value == approx(REACH, abs=1e-9) and caught.value.time_s == approx(9.0)


@mark.parametrize("back", [0.6, 0.8, 1.0])
def test_a_motion_that_begins_moving_is_slowed_as_far_as_it_does_not_go_astray(back):
    rig = executing(goal(moved(base=1.2), times=[2.0]), 0.8)
    state, target = tuple(rig[name][-1] for name in "qva"), moved(base=-0.4)

    def made(factor: float) -> Trajectory:
        return blend(state, from_points([back * factor], [target], [ZERO], [ZERO], joint_names=NAMES, start=state))

    for refused in (1.0, MAX_STRETCH):
        with raises(LimitError):
            validator().validate(made(refused))
    assert 1.0 < rig.submit(goal(target, times=[back])).validated.factor < MAX_STRETCH


# -- changes of a motion --------------------------------------------------------------------------------------


def test_of_the_ways_to_rest_the_first_that_fits_is_taken_else_the_gentlest():
    made, arm = validator(), picker()
    hard, gentle, easy = (move(HOME, HOME + [0, -0.05, 0.05, 0, 0], t) for t in (0.02, 0.05, 2.0))
    shares = [made.torque_share(*way.sample(np.linspace(0.0, way.duration, 500))) for way in (hard, gentle, easy)]
    assert shares[0] > shares[1] > 1.0 > shares[2]
    assert gentlest([hard, easy, gentle], made, arm.lower, arm.upper)[0] is easy
    least, strain = gentlest([hard, gentle], made, arm.lower, arm.upper)
    assert least is gentle and strain.torque == approx(shares[1], rel=0.01) and strain.tip > 1.0
    assert gentlest([easy, gentle], made, arm.lower, HOME + [1, 1, 0.04, 1, 1])[0] is easy, "none stays in range: the first"


def test_where_the_tip_begins_too_fast_on_every_way_to_rest_the_torque_decides():
    """A limit was lowered in mid-motion."""
    made, arm = validator(tip_speed=0.05), picker()
    v = np.array([0.0, -2.0, 0.0, 0.0, 0.0])
    hard, gentle = (stop_trajectory(HOME, v, ZERO, 1.5 * 2.0 / t, joint_names=NAMES) for t in (0.05, 0.3))
    hard_share, gentle_share = (made.torque_share(*way.sample(np.linspace(0.0, way.duration, 100))) for way in (hard, gentle))
    assert hard_share > 1.0 > gentle_share
    way, strain = gentlest([hard, gentle], made, arm.lower, arm.upper)
    assert way is gentle and strain.torque < 1.0 and strain.tip > hard_share


# -- one more entry -------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Wall:
    """The base may not turn beyond an angle [rad], nor faster than a speed [rad/s]: in place of a collision."""

    angle: float
    speed: float

    def worst(self, motion: SampledMotion) -> Usage:
        reach, speed = (float(np.abs(x[:, 0]).max()) for x in (motion.q, motion.v))
        if reach > self.angle:
            return Usage(np.inf, "wall", reach, self.angle, 0.0, f"the arm would be {reach:.2f} rad into the wall")
        return Usage(speed / self.speed, "wall", speed, self.speed, 0.0, "too fast beside the wall", by_speed=True)


WALL = (Wall(0.5, 0.1),)


def test_a_check_that_is_not_of_the_arms_own_limits_is_asked_by_streams_and_ways_to_rest_wherever_it_is_entered():
    made = validator()
    assert made.further == () and dataclasses.replace(made, checks=(*WALL, *made.checks)).further == WALL


def test_one_more_check_is_obeyed_by_goals_and_streams():
    rig = Rig(limits(further=WALL), period_s=0.02)
    with raises(LimitError, match=r"0\.60 rad into the wall"):
        rig.submit(goal(moved(base=0.6)))
    assert rig.submit(goal(moved(base=0.3), times=[3.0])).validated.factor == approx(1.875, rel=0.05)
    rig.to_rest()
    assert np.abs(rig["v"][:, 0]).max() == approx(0.1, rel=0.05)
    with raises(LimitError, match=r"deg ahead of the arm, allowed .* deg: too fast beside the wall"):
        for k in range(60):
            rig.push(moved(base=0.3 + 0.005 * max(k - 9, 0)))
            rig.tick()
    rig.to_rest()
    rig.run(0.5)
    assert np.abs(rig["v"][:, 0]).max() == approx(0.1, rel=0.05) and rig.refused == 1
    with raises(LimitError, match=r"0\.50 rad into the wall"):
        for base in np.arange(rig.newest.q[0], 0.6, 0.0015):
            rig.push(moved(base=base))
            rig.tick()
    assert np.abs(rig["q"][:, 0]).max() <= 0.5


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_a_refusal_names_a_time_in_the_motion_as_it_was_asked(seed):
    """And not in the slowest one that was tried, ten times as long."""
    rng = np.random.default_rng(seed)
    arm = picker()
    targets = rng.uniform(arm.lower, arm.upper, (3, 5))
    try:
        Rig().submit(goal(*targets, times=[1.0, 2.5, 4.0]), "g")
    except PickerError as refusal:
        times = [float(found) for found in re.findall(r"([0-9.]+) s\b", str(refusal))]
        assert times and all(0.0 <= time_s <= 4.0 for time_s in [*times, getattr(refusal, "time_s", 0.0)]), refusal
