"""Checks of a motion against sums done by hand, the smallest slowing against brute force, and the words of a refusal."""

from dataclasses import replace

import numpy as np
from arm_fixtures import picker, rigid_body, servos, shipped_arm, torque_share, validator
from execution_rig import HOME, NAMES, REACH, ZERO, moved
from pytest import approx, mark, raises

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InfeasibleError, LimitError
from picker_dynamics.execution import checks
from picker_dynamics.execution.checks import SampledMotion, TorqueLimits, Usage
from picker_dynamics.execution.planning import LimitExcess, Slowing, best_way
from picker_dynamics.execution.validator import MAX_STRETCH, RESOLUTION, MotionValidator, torque_validator
from picker_dynamics.trajectory import profiles
from picker_dynamics.trajectory.trajectory import Trajectory, from_points

IDEAL = servos(ideal=True)
LIMITS = TorqueLimits.of_servos(IDEAL)
STALL, NO_LOAD = IDEAL.stall_torque, IDEAL.no_load_speed
HEAVY = np.array([0.3, 1.12, -1.3, -0.5, 0.6])
GATE = torque_validator(rigid_body(), IDEAL)
"""Of torques alone."""


def state(q=HOME, v=ZERO, a=ZERO) -> SampledMotion:
    return SampledMotion.at(rigid_body(), q, v, a)


def along(duration: float, begin=HOME, **by) -> SampledMotion:
    """A cubic from rest to rest: it is fastest in the middle, at 1.5 times its mean speed."""
    path = from_points([0.0, duration], [begin, begin + moved(**by) - HOME], [ZERO, ZERO], joint_names=NAMES)
    return SampledMotion.along(path, rigid_body(), 0.01)


def move(q0, q1, duration_s, name="quintic") -> Trajectory:
    return profiles.along(profiles.profile(name), q0, q1, duration_s, NAMES)


# -- position and speed ---------------------------------------------------------------------------------------


def test_position_is_that_of_the_extremum_and_named():
    assert not checks.position(along(1.0, scissor=1.2 - HOME[4]), picker()).broken
    found = checks.position(along(1.0, scissor=1.24 - HOME[4]), picker())
    assert found.broken and not found.by_speed and found.text == "scissor reaches 71.0 deg at 1.00 s, limit 68.8 deg"
    assert (found.subject, found.value, found.limit, found.time_s) == ("scissor", approx(1.24), 1.2, 1.0)
    there = from_points([0.0, 1.0, 2.0], [HOME] * 3, [ZERO, moved(scissor=1.3) - HOME, ZERO], [ZERO] * 3, joint_names=NAMES)
    peak = there.sample(np.linspace(0.0, 2.0, 200_001))[0][:, 4].max()
    assert SampledMotion.along(there, rigid_body(), 0.01).q[:, 4].max() == approx(peak, abs=1e-7), "between two samples"


@mark.parametrize("beyond", [0.03, 0.8])
def test_an_arm_that_is_held_beyond_a_limit_may_leave_and_go_no_further(beyond):
    outside = moved(scissor=1.2 + beyond - HOME[4])
    assert not checks.position(along(2.0, begin=outside, scissor=-beyond - 0.2), picker()).broken
    further = checks.position(along(2.0, begin=outside, scissor=0.01), picker())
    assert further.broken and (further.value, further.limit) == (approx(1.21 + beyond), approx(1.2 + beyond))
    assert checks.position(along(2.0, begin=outside, scissor=-0.1, base=1.6), picker()).subject == "base"


@mark.parametrize("duration", [1.0, 0.1])
def test_velocity_is_that_of_the_extremum(duration):
    found, speed, limit = checks.velocity(along(duration, base=-0.6), picker(), None), 0.9 / duration, picker().velocity[0]
    assert found.share == approx(speed / limit, rel=1e-6) and found.by_speed and found.subject == "base"
    assert found.broken == (speed > limit) and (found.value, found.limit) == (approx(-speed, rel=1e-4), limit)
    assert found.time_s == approx(duration / 2.0, abs=1e-3)


# -- torque ---------------------------------------------------------------------------------------------------


def test_torque_of_an_arm_that_is_at_rest_stretched_out_is_masses_times_distances():
    for check, allowed in ((checks.hold_torque, 0.6), (checks.peak_torque, 0.8), (checks.slowed_torque, 0.8)):
        found = check(state(ZERO), LIMITS)
        assert found.share == approx(REACH / (allowed * 1.08)) and not found.by_speed
        assert (found.subject, found.error) == ("shoulder", InfeasibleError)
        assert (found.value, found.limit) == (approx(REACH), approx(allowed * 1.08))


def test_a_swing_that_could_not_be_slowed_is_refused():
    """Thrown up and caught again: its weight alone is too much for the joint, which only the fall relieves."""
    arm = replace(shipped_arm("pendulum"), peak_share=0.6, hold_share=1.0)
    check = MotionValidator(RigidBody(arm.description), TorqueLimits.of_arm(arm), arm.description, 100.0)
    trajectory = Trajectory(arm.description.joint_names, [0.0, 2.0 / 3.0], [[[-0.3], [2.0], [-3.0], [0.0], [0.0], [0.0]]])
    q, v, a = trajectory.sample(np.linspace(0.0, 2.0 / 3.0, 400))
    assert torque_share(check, q, v, a) < 1.0 < torque_share(check, q, 0.0 * v, 0.0 * a), "possible only as fast as it is"
    with raises(InfeasibleError, match="theta would need 0.98 N·m at .* if the motion were slowed to 0 %") as caught:
        check.validate(trajectory)
    assert caught.value.value > caught.value.limit == approx(0.9)


def test_the_friction_of_gears_counts_as_the_motor_feels_it():
    """At the limits a motor gives its share of its own stall torque: (tau + c) / (1 - x) of (stall + c) / (1 - x)."""
    typical, held = servos(), TorqueLimits.of_servos(servos())
    for share, most in ((typical.peak_share, held.peak), (typical.hold_share, held.hold)):
        np.testing.assert_allclose(typical.model.motor_for(most, np.ones(5)), share * typical.model.motor_stall)
    found = checks.motor_speed(state(HEAVY, v=[0, 1e-9, 0, 0, 0]), held, typical)
    lifted = (rigid_body().gravity(HEAVY)[1] + 0.0216) / 0.6
    drawn = sum(abs(load) + 0.0216 for load in rigid_body().gravity(HEAVY)) / (1.08 + 0.0216)
    assert found.value == approx(lifted) and found.limit == approx((1.0 - 0.025 * drawn) * (1.08 + 0.0216) / 0.6)


@mark.parametrize("source", [1.2, 0.8])
def test_a_motion_is_planned_with_the_lowest_supply_that_it_causes(source):
    """Its worst moment counts for all of it; a source that gives more than it should lets nothing more pass."""
    held, motion = replace(TorqueLimits.of_servos(servos()), source=source), along(2.0, shoulder=-0.6)
    drawn = (np.abs(motion.torque) + 0.0216).sum(axis=1).max() / (1.08 + 0.0216)
    lowest = min(source, 1.0) - 0.025 * drawn
    found = checks.peak_torque(motion, held)
    assert found.limit == approx(0.8 * lowest * (1.08 + 0.0216) - 0.0216) and found.share == approx(found.value / found.limit)
    assert f"stall, its supply at {100 * lowest:.0f} %)" in found.text


# -- the validator --------------------------------------------------------------------------------------------


def test_every_check_is_asked_and_the_first_that_is_broken_refuses():
    made, motion = validator(), SampledMotion.at(rigid_body(), ZERO, np.array([9.0, 0, 0, 0, 0]), ZERO)
    broken = [usage for usage in made.usages(motion) if usage.broken]
    assert len(list(made.usages(motion))) == 8 and len(list(GATE.usages(motion))) == 4
    assert [usage.subject for usage in broken] == ["base", "tip", "shoulder", "shoulder", "base", "shoulder"]
    with raises(LimitError) as caught:
        made.validate_state(motion.q[0], motion.v[0], motion.a[0])
    assert str(caught.value) == broken[0].text
    assert Usage(np.nan, "tip", 0.0, 1.0, 0.0, "").broken


@mark.parametrize(("name", "duration"), [("quintic", 0.15), ("trapezoidal", 0.15), ("quintic", 1.0)])
def test_the_factor_found_is_enough_and_hardly_more_than_needed(name, duration):
    for made in (validator(), GATE):
        path = move(HOME, moved(base=0.8, shoulder=0.5), duration if made is not GATE else 0.15, name)
        with raises((LimitError, InfeasibleError)):
            made.validate(path)
        factor = made.scaled(path).factor
        assert 1.0 < factor < MAX_STRETCH
        made.validate(path.stretched(factor))
        with raises((LimitError, InfeasibleError)):
            made.validate(path.stretched(factor / RESOLUTION**1.01))


# -- ways to rest ---------------------------------------------------------------------------------------------


def test_a_stop_straight_on_is_as_hard_as_the_torque_allows_also_where_the_tip_is_too_fast_on_every_one():
    made, v = validator(tip_speed=0.05), np.array([0.0, -2.0, 0.0, 0.0, 0.0])
    for deceleration in (4.0, 400.0):
        way, motion, hits = best_way(Slowing(picker(), deceleration).stops((HOME, v, ZERO), 0.0), 0.0, made)
        excess = LimitExcess.of(made, motion)
        assert hits is None and excess.torque <= 1.0 < excess.tip and way.trajectory.duration >= 0.75 * 3.0 / deceleration


# -- one more entry -------------------------------------------------------------------------------------------


def test_a_way_through_a_pose_too_heavy_is_refused_however_slowly():
    """From raised to raised over the horizontal: both ends can be held, the middle not."""
    up, down = np.array([0.0, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, -0.34, -1.9, 0.5, 0.0])
    middle = np.array([0.0, -0.34, 0.0, 0.0, 0.0])
    path = from_points([0.0, 20.0, 40.0], [up, middle, down], [ZERO] * 3, joint_names=NAMES)
    torque = np.abs(rigid_body().inverse_dynamics(*path.sample(np.linspace(0.0, 40.0, 4001))))[:, 1]
    for look in (GATE.validate, GATE.scaled):
        with raises(InfeasibleError, match=r"shoulder needs 0\.98 N·m at .* \(0\.80 of 1\.08 stall\)") as caught:
            look(path)
        assert caught.value.value == approx(torque.max(), abs=1e-4)
