"""Checks of a motion, each against a sum done by hand."""

import re
from dataclasses import replace

import numpy as np
from arm_fixtures import picker, rigid_body, servos, shipped_arm, validator
from execution_rig import HOME, NAMES, REACH, TIP_SPEED, ZERO, moved
from pytest import approx, mark, raises

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InfeasibleError, LimitError
from picker_dynamics.execution.checks import (
    HoldTorque,
    MotorSpeed,
    PeakTorque,
    PositionLimits,
    SampledMotion,
    SetpointRange,
    SlowedTorque,
    TipSpeed,
    Usage,
    VelocityLimits,
)
from picker_dynamics.execution.torque_limits import TorqueLimits
from picker_dynamics.execution.validator import motion_validator
from picker_dynamics.robot.units import told
from picker_dynamics.trajectory.trajectory import Trajectory, from_points

IDEAL = servos(ideal=True)
LIMITS = TorqueLimits.of_servos(IDEAL)
STALL, NO_LOAD = IDEAL.stall_torque, IDEAL.no_load_speed
HEAVY = np.array([0.3, 1.12, -1.3, -0.5, 0.6])


def state(q=HOME, v=ZERO, a=ZERO) -> SampledMotion:
    return SampledMotion.at(rigid_body(), q, v, a)


def along(duration: float, begin=HOME, **by) -> SampledMotion:
    """A cubic from rest to rest: it is fastest in the middle, at 1.5 times its mean speed."""
    path = from_points([0.0, duration], [begin, begin + moved(**by) - HOME], [ZERO, ZERO], joint_names=NAMES)
    return SampledMotion.along(path, rigid_body(), 0.01)


def test_a_motion_is_sampled_on_both_sides_of_every_break_and_closely_where_it_is_short():
    motion = along(4.0, base=0.4)
    assert np.diff(motion.times).max() <= 0.01 + 1e-12 and len(along(0.1, base=0.1).times) >= 100
    assert motion.times[[0, -1]].tolist() == [0.0, 4.0] and motion.a[0, 0] == approx(6.0 * 0.4 / 16.0)
    np.testing.assert_allclose(motion.torque[7], rigid_body().required_torque(motion.q[7], motion.v[7], motion.a[7]))
    np.testing.assert_allclose(motion.rest_torque, rigid_body().gravity(moved(base=0.4)))
    path = from_points([0.0, 1.0, 2.0], [HOME, moved(base=0.2), HOME], joint_names=NAMES)
    corner = SampledMotion.along(path, rigid_body(), 0.01)
    assert corner.v[corner.times == 1.0][[0, -1], 0].tolist() == approx([0.2, -0.2])


@mark.parametrize(("share", "broken"), [(0.9, False), (1.0, False), (1.0 + 2e-3, True), (np.inf, True), (np.nan, True)])
def test_a_limit_is_broken_beyond_its_slack_and_by_what_is_no_number(share, broken):
    assert Usage(share, "tip", share, 1.0, 0.0, "", slack=1e-3).broken is broken


def test_position_is_that_of_the_exact_extremum():
    check = PositionLimits(picker())
    assert not check.worst(along(1.0, scissor=1.2 - HOME[4])).broken
    found = check.worst(along(1.0, scissor=1.24 - HOME[4]))
    assert found.broken and not found.by_speed and found.text == "scissor reaches 71.0 deg at 1.000 s, limit 68.8 deg"
    assert (found.subject, found.value, found.limit, found.time_s) == ("scissor", approx(1.24), 1.2, 1.0)


@mark.parametrize("beyond", [0.03, 0.25, 0.8])
def test_an_arm_that_is_held_beyond_a_limit_may_leave_and_go_no_further(beyond):
    check, outside = PositionLimits(picker()), moved(scissor=1.2 + beyond - HOME[4])
    assert not check.worst(along(2.0, begin=outside, scissor=-beyond - 0.2)).broken
    further = check.worst(along(2.0, begin=outside, scissor=0.01))
    assert further.broken and (further.value, further.limit) == (approx(1.21 + beyond), approx(1.2 + beyond))
    assert check.worst(along(2.0, begin=outside, scissor=-0.1, base=1.6)).subject == "base", "the others' limits hold"


@mark.parametrize("duration", [1.0, 0.1])
def test_velocity_is_that_of_the_exact_extremum(duration):
    found, speed, limit = VelocityLimits(picker()).worst(along(duration, base=-0.6)), 0.9 / duration, picker().velocity[0]
    assert found.share == approx(speed / limit, rel=1e-6) and found.by_speed and found.subject == "base"
    assert found.broken == (speed > limit) and (found.value, found.limit) == (approx(-speed, rel=1e-4), -limit)
    assert found.text == f"base moves at {told(-speed, 'rad')}/s at {duration / 2:.3f} s, limit {told(-limit, 'rad')}/s"
    assert found.time_s == approx(duration / 2.0, abs=1e-3)
    still = VelocityLimits(picker()).worst(state(v=[0, 0, 2.0 * limit, 0, 0]))
    assert still.share == approx(2.0) and still.text == f"elbow moves at {told(2 * limit, 'rad')}/s, limit {told(limit, 'rad')}/s"


def test_tip_speed_is_that_of_finite_differences():
    motion = along(1.0, base=0.5, shoulder=0.2, elbow=-0.3, wrist=0.4)
    t = np.linspace(0.0, 1.0, 2001)
    tip = rigid_body().forward_kinematics(motion.trajectory.sample(t)[0])
    truth = np.linalg.norm(np.diff(tip, axis=0), axis=1).max() / (t[1] - t[0])
    assert TipSpeed(TIP_SPEED).worst(motion).value == approx(truth, rel=1e-3)


def test_torque_of_an_arm_that_stands_stretched_out_is_masses_times_distances():
    for check, allowed in ((HoldTorque(LIMITS), 0.6), (PeakTorque(LIMITS), 0.8), (SlowedTorque(LIMITS), 0.8)):
        found = check.worst(state(ZERO))
        assert found.share == approx(REACH / (allowed * 1.08)) and not found.by_speed
        assert (found.subject, found.error) == ("shoulder", InfeasibleError)
        assert (found.value, found.limit) == (approx(REACH), approx(allowed * 1.08))


def test_hold_torque_is_that_of_the_end_and_peak_torque_that_of_the_way():
    motion = along(9.0, begin=ZERO, elbow=-1.5)
    assert HoldTorque(LIMITS).worst(motion).value == approx(rigid_body().gravity(moved(elbow=-1.5) - HOME)[1])
    peak = PeakTorque(LIMITS).worst(motion)
    assert peak.value == approx(REACH, abs=0.01) and peak.time_s == 0.0
    assert re.fullmatch(
        r"shoulder needs 0\.98 N·m at 0\.\d\d s, allowed 0\.86 \(0\.80 of 1\.08 stall\), too much from 0\.00 s on", peak.text
    )


@mark.parametrize("turn", [0.5, 1.01])
def test_a_motor_without_torque_may_turn_at_its_speed_without_load(turn):
    found = MotorSpeed(IDEAL).worst(state(v=[0, 0, 0, 0, turn * NO_LOAD[4]]))
    tau = rigid_body().required_torque(HOME, [0, 0, 0, 0, turn * NO_LOAD[4]], ZERO)[4]
    assert found.subject == "scissor" and found.share == approx(turn + tau / STALL[4], abs=1e-9)
    assert found.limit == STALL[4] and found.broken is (found.share > 1.0)


def test_a_set_point_leads_by_what_the_spring_gives():
    q = moved(base=1.2)
    lower, upper = IDEAL.setpoint_lower[0], IDEAL.setpoint_upper[0]
    found = SetpointRange(IDEAL).worst(state(q))
    assert found.subject == "base" and found.value == approx(q[0]), "no load, no lead"
    assert found.share == approx(abs(q[0] - (lower + upper) / 2.0) / ((upper - lower) / 2.0))
    lead = IDEAL.model.setpoint(HOME, ZERO, np.full(5, 0.1)) - HOME
    assert (lead > 0.0).all(), "a load is met by a set-point beyond"


def test_at_a_share_of_its_speed_a_motion_needs_its_weight_and_the_square_of_that_share():
    v, a = np.array([0.0, 1.0, 0, 0, 0]), np.array([0.0, -20.0, 0, 0, 0])
    g, friction, tau = rigid_body().gravity(HOME), rigid_body().friction, rigid_body().required_torque(HOME, v, a)
    needed = [g + friction(s * v) + s**2 * (tau - g - friction(v)) for s in (0.0, 0.25, 0.5, 0.75)]
    found = SlowedTorque(LIMITS).worst(state(HOME, v, a))
    assert found.share == approx((np.abs(needed) / LIMITS.peak).max()) and found.slack == 1e-3


def test_a_swing_that_could_not_be_slowed_is_refused():
    """Thrown up and caught again: its weight alone is too much for the joint, which only the fall relieves."""
    arm = replace(shipped_arm("pendulum"), peak_share=0.6, hold_share=1.0)
    check = motion_validator(arm.description, TorqueLimits.of_arm(arm), RigidBody(arm.description), tip_speed=100.0)
    trajectory = Trajectory(arm.description.joint_names, [0.0, 2.0 / 3.0], [[[-0.3], [2.0], [-3.0], [0.0], [0.0], [0.0]]])
    q, v, a = trajectory.sample(np.linspace(0.0, 2.0 / 3.0, 400))
    assert check.torque_share(q, v, a) < 1.0 < check.torque_share(q, 0.0 * v, 0.0 * a), "possible only as fast as it is"
    assert not any(usage.broken for usage in list(check.usages(check.sampled(trajectory)))[:-1])
    with raises(InfeasibleError, match="theta would need 0.98 N·m at .* if the motion were slowed to 0 %") as caught:
        check.validate(trajectory)
    assert caught.value.value > caught.value.limit == approx(0.9)


def test_every_check_is_asked_and_the_first_that_is_broken_refuses():
    made = validator()
    kinds = [type(check) for check in made.checks]
    assert kinds == [PositionLimits, VelocityLimits, TipSpeed, HoldTorque, PeakTorque, MotorSpeed, SetpointRange, SlowedTorque]
    motion = SampledMotion.at(rigid_body(), ZERO, np.array([9.0, 0, 0, 0, 0]), ZERO)
    broken = [usage for usage in made.usages(motion) if usage.broken]
    assert [usage.subject for usage in broken] == ["base", "tip", "shoulder", "shoulder", "base", "shoulder"]
    with raises(LimitError) as caught:
        made.validate_state(motion.q[0], motion.v[0], motion.a[0])
    assert str(caught.value) == broken[0].text


def test_the_friction_of_gears_counts_as_the_motor_feels_it():
    """At the limits a motor gives its share of its own stall torque: (tau + c) / (1 - x) of (stall + c) / (1 - x)."""
    typical, limits = servos(), TorqueLimits.of_servos(servos())
    for share, most in ((typical.peak_share, limits.peak), (typical.hold_share, limits.hold)):
        np.testing.assert_allclose(typical.model.motor_for(most, np.ones(5)), share * typical.model.motor_stall)
    found = MotorSpeed(typical).worst(state(HEAVY, v=[0, 1e-9, 0, 0, 0]))
    lifted = (rigid_body().gravity(HEAVY)[1] + 0.0216) / 0.6
    drawn = sum(abs(load) + 0.0216 for load in rigid_body().gravity(HEAVY)) / (1.08 + 0.0216)
    limit = (1.0 - 0.025 * drawn) * (1.08 + 0.0216) / 0.6
    assert found.subject == "shoulder" and found.value == approx(lifted) and found.limit == approx(limit)


@mark.parametrize("source", [1.2, 1.0, 0.8])
def test_a_motion_is_planned_with_the_lowest_supply_that_it_causes(source):
    """Its worst moment counts for all of it; a source that gives more than it should lets nothing more pass."""
    typical = servos()
    limits = replace(TorqueLimits.of_servos(typical), source=source)
    motion = along(2.0, shoulder=-0.6)
    drawn = (np.abs(motion.torque) + 0.0216).sum(axis=1).max() / (1.08 + 0.0216)
    lowest = min(source, 1.0) - 0.025 * drawn
    assert motion.lowest_supply(limits) == approx(lowest) and lowest < min(source, 1.0) - 0.01
    found = PeakTorque(limits).worst(motion)
    assert found.limit == approx(0.8 * lowest * (1.08 + 0.0216) - 0.0216) and found.share == approx(found.value / found.limit)
    assert f"stall, its supply at {100 * lowest:.0f} %)" in found.text
    rest = motion.slowed(0.1)
    assert MotorSpeed(typical, source).worst(motion).limit < min(source, 1.0) * (1.08 + 0.0216) / 0.6
    assert SetpointRange(typical, 0.8).worst(rest).share > SetpointRange(typical).worst(rest).share
