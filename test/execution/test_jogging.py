"""Velocities that teleoperation sends, and the reference that comes of them."""

import math

import numpy as np
from arm_fixtures import picker, rigid_body
from execution_rig import ZERO, Rig, goal, moved
from pytest import approx, fixture, mark

from picker_dynamics.execution.driving import Drivers, Jogging
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.motion import Phase
from picker_dynamics.execution.streaming import DELAY_S, SILENCE_S
from picker_dynamics.robot.inverse_kinematics import ChainKinematics

OUT = moved(scissor=-0.6)
"""Away from the limits."""


@fixture
def rig():
    return Rig(pose=OUT)


@fixture
def jogging(rig):
    return Jogging(rig.execution)


def jog(rig, jogging, seconds, say=lambda _number: None, every=3):
    """Let time pass as the node does; ``say`` is called every ``every`` ticks."""
    for number in range(round(seconds / rig.period_s)):
        if number % every == 0:
            say(number)
        rig.tick()


def tip(q):
    return rigid_body().forward_kinematics(q)


@mark.parametrize("axis", [0, 1, 2])
@mark.parametrize("sign", [-1.0, 1.0])
def test_the_tip_goes_along_an_axis_at_that_speed_and_the_hand_keeps_its_pitch(rig, jogging, axis, sign):
    velocity = 0.03 * sign * np.eye(3)[axis]
    jog(rig, jogging, 0.5, lambda _: jogging.twist(velocity, ZERO[:3], rig.now_s))
    begin = tip(rig.newest.q)
    jog(rig, jogging, 1.0, lambda _: jogging.twist(velocity, ZERO[:3], rig.now_s))
    way = tip(rig.newest.q) - begin
    assert way @ velocity / 0.03 == approx(0.03, rel=0.05)
    assert np.linalg.norm(way - velocity) < 0.003
    kinematics = ChainKinematics(picker())
    assert kinematics.pitch(rig.newest.q) == approx(kinematics.pitch(OUT), abs=0.02)
    rig.require_smooth(60.0)


def test_silence_for_a_tenth_of_a_second_brings_it_to_rest(rig, jogging):
    jog(rig, jogging, 1.0, lambda _: jogging.joints(["base"], [0.5], rig.now_s))
    assert rig.newest.v[0] == approx(0.5, rel=0.05)
    jog(rig, jogging, SILENCE_S + 0.1)
    assert rig.newest.v[0] < 0.35, "decelerating within 0.2 s of the last word"
    jog(rig, jogging, 0.6)
    assert rig.phase is Phase.HOLDING and (rig.newest.v == ZERO).all() and rig.lease == ""
    held = rig.newest.q
    jog(rig, jogging, 0.5)
    assert (rig.newest.q == held).all() and (rig.newest.v == ZERO).all()
    rig.require_smooth(60.0)


def test_the_hand_turns_where_the_tip_stays(rig, jogging):
    begin, kinematics = tip(OUT), ChainKinematics(picker())
    jog(rig, jogging, 1.0, lambda _: jogging.twist(np.zeros(3), (0.0, -0.2, 0.0), rig.now_s))
    assert kinematics.pitch(rig.newest.q) - kinematics.pitch(OUT) == approx(0.2, abs=0.04)
    assert np.linalg.norm(tip(rig.newest.q) - begin) < 0.004


def test_at_a_limit_it_stops_and_no_limit_is_broken(rig, jogging):
    arm = picker()
    jog(rig, jogging, 4.0, lambda _: jogging.joints(["base", "scissor"], [3.0, 3.0], rig.now_s))
    q, v = rig["q"], rig["v"]
    assert (q <= arm.upper + 1e-9).all() and (np.abs(v) <= arm.velocity).all() and rig.fastest_tip() <= 0.25
    assert q[-1, 0] == approx(arm.upper[0], abs=0.02)
    rig.require_smooth(60.0)


@mark.parametrize(
    ("say", "said"),
    [
        (lambda jogging, now_s: jogging.twist((math.nan, 0.0, 0.0), ZERO[:3], now_s), "twist.linear"),
        (lambda jogging, now_s: jogging.pose([0.0, math.nan, 0.0, 0.0, 0.0], 1.0, now_s), "pose[1] is nan"),
        (lambda jogging, now_s: jogging.pose(ZERO[:4], 1.0, now_s), "pose has shape"),
        (lambda jogging, now_s: jogging.pose(ZERO, 1.5, now_s), "speed is 1.5"),
        (lambda jogging, now_s: jogging.joints(["tail"], [0.1], now_s), "velocities: unknown joint 'tail'; the arm has base"),
    ],
)
def test_what_makes_no_sense_moves_nothing_and_is_said_once_in_a_while(rig, jogging, say, said):
    jog(rig, jogging, 1.0, lambda _: say(jogging, rig.now_s))
    assert len(rig.problems) == 1 and rig.problems[0].startswith("jog refused") and said in rig.problems[0]
    assert rig.newest.q == approx(OUT)


def test_two_senders_are_not_mixed(rig, jogging):
    def both(number):
        jogging.joints(["base"], [0.3], rig.now_s, 1000 + number)
        jogging.joints(["base"], [-0.3], rig.now_s, number // 3)

    jog(rig, jogging, 1.0, both)
    assert rig.newest.v[0] == approx(0.3, rel=0.05)
    assert rig.said("another client")


def test_what_is_held_during_the_drivers_own_goal_moves_nothing_when_that_ends_and_it_is_said(rig, jogging):
    drivers = Drivers(rig.execution)
    drivers.hear("page", rig.now_s)
    rig.execution.submit(GoalRequest(lambda: goal(OUT + 0.1 * np.eye(5)[4], times=[1.0]), identifier="page/home", driver="page"))
    rig.tick()

    def held(_number):
        drivers.hear("page", rig.now_s)
        jogging.joints(["base"], [0.3], rig.now_s, driver="page")

    jog(rig, jogging, 2.0, held)
    assert rig.phase is Phase.HOLDING and rig.newest.q == approx(OUT + 0.1 * np.eye(5)[4])
    assert rig.said("a goal page moves the arm") and len(rig.problems) == 1
    assert [event.identifier for event in rig.events if "release the key" in event.text] == ["page"], "told its driver"
    jog(rig, jogging, SILENCE_S + 0.05, lambda _: drivers.hear("page", rig.now_s))
    jog(rig, jogging, 1.0, held)
    assert rig.newest.v[0] == approx(0.3, rel=0.05)


@mark.parametrize("share", [1.0, 0.25])
def test_it_goes_to_a_pose_however_far_that_is_without_a_jump_at_its_share_of_the_speed(rig, jogging, share):
    beyond = OUT + [50.0, 0.1, 0.0, 0.3, 0.0]
    jog(rig, jogging, 6.0 / share, lambda _: jogging.pose(beyond, share, rig.now_s))
    q, v, arm = rig["q"], rig["v"], picker()
    assert q[0] == approx(OUT, abs=1e-3) and q[-1] == approx(np.clip(beyond, arm.lower, arm.upper), abs=1e-3)
    assert (np.abs(v) <= share * arm.velocity).all() and 0.7 * share < rig.fastest_tip() / 0.25 <= share
    rig.require_smooth(60.0)


def test_a_pose_that_moves_is_followed_within_the_filters_delay(rig, jogging):
    """A leader at a third of what the tip may do, heard 50 times a second."""
    leader = []

    def lead(_number):
        leader.append(OUT + 0.2 * np.sin(rig.now_s))
        jogging.pose(leader[-1], 1.0, rig.now_s)

    jog(rig, jogging, 6.0, lead, every=2)
    late = round((DELAY_S + 0.02) / rig.period_s)
    follower, held = rig["q"][300 + late :], np.repeat(leader, 2, axis=0)[300:]
    assert np.abs(follower - held[: len(follower)]).max() < 0.01


def test_velocities_of_who_drives_pass_and_those_of_others_do_not(rig, jogging):
    drivers = Drivers(rig.execution)

    def driven(name):
        drivers.hear("page", rig.now_s)
        jogging.joints(["base"], [0.3], rig.now_s, driver=drivers.of_goal(name, rig.now_s))

    jog(rig, jogging, 0.5, lambda _: driven("base_link"))
    assert rig.newest.q == approx(OUT) and rig.said("driver page moves the arm")
    jog(rig, jogging, 0.3, lambda _: driven(""))
    drivers.hear("page", rig.now_s)
    jogging.tick(rig.now_s + 2.0 * SILENCE_S)  # who was refused has to let go first
    jog(rig, jogging, 1.0, lambda _: driven("page/base_link"))
    assert rig.newest.v[0] == approx(0.3, rel=0.05)
    assert "driver page" in rig.lease
