"""Inverse kinematics of any chain: poses judged by the URDF's definition."""

import math

import any_arms
import numpy as np
from arm_fixtures import picker
from pytest import approx, mark, raises

from picker_dynamics.errors import InputError, UnreachableError
from picker_dynamics.resources import resource
from picker_dynamics.robot import description
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.robot.kinematic_tree import link_poses, sample_poses

ARM = picker()
TARGETS = 12
FOUND_M, FOUND_RAD = 1e-4, 1e-3


def arm_of(name):
    return description.load(resource(f"urdf/{name}.urdf")) if name in ("picker", "rrp") else any_arms.arm(name)


@mark.parametrize("what", ["position", "pitch", "direction"])
@mark.parametrize("name", [*any_arms.NAMES, "picker", "rrp"])
def test_what_a_pose_reaches_is_found_again(name, what):
    """Targets are tips of random poses within the limits, so they can be reached; the search starts elsewhere."""
    arm = arm_of(name)
    chain = ChainKinematics(arm)
    for q in sample_poses(arm, TARGETS, seed=11):
        tip, d = link_poses(arm, q)[arm.tool].position, chain.direction(q)
        asked = {"position": {}, "pitch": {"pitch_rad": float(chain.pitch(q))}, "direction": {"direction": 3.0 * d}}[what]
        found = chain.inverse(tip, **asked)
        assert (found >= arm.lower).all() and (found <= arm.upper).all()
        assert link_poses(arm, found)[arm.tool].position == approx(tip, abs=FOUND_M)
        if what == "pitch":
            assert float(chain.pitch(found)) == approx(float(chain.pitch(q)), abs=FOUND_RAD)
        if what == "direction":
            assert chain.direction(found) == approx(d, abs=FOUND_RAD)


def test_a_point_too_far_is_answered_with_the_nearest_in_millimetres():
    """The picker stretches to 425 mm from its shoulder, 90 mm up: 600 mm away 175 mm are missing."""
    chain = ChainKinematics(ARM)
    with raises(UnreachableError, match=r"out of reach by 175.0 mm; .* reached is \(425.0, 0.0, 90.0\) mm"):
        chain.inverse([0.6, 0.0, 0.09], near=[0.3, 0.5, -0.5, 0.2, 0.0])
    with raises(UnreachableError, match="out of reach by 175.0 mm"):
        chain.inverse([0.6, 0.0, 0.09], pitch_rad=0.2)


def test_a_pitch_that_the_point_does_not_allow_is_answered_with_one_that_it_does():
    chain = ChainKinematics(any_arms.arm("gantry"))
    point = chain.forward([0.1, 0.1, 0.05])
    with raises(UnreachableError, match="not with a pitch of 20.0 deg; the nearest pitch found there is -90.0 deg"):
        chain.inverse(point, pitch_rad=math.radians(20.0))
    with raises(UnreachableError, match=r"pointing along \(1.00, 0.00, 0.00\); the nearest.*\(0.00, 0.00, -1.00\)"):
        chain.inverse(point, direction=[1, 0, 0])
    assert chain.inverse(point, pitch_rad=-math.pi / 2) == approx([0.1, 0.1, 0.05], abs=FOUND_M)


def test_a_typed_point_of_an_arm_with_two_joints_is_reached_to_its_digits():
    """Such a tip moves on a surface, and a point with four digits lies beside it: by 0.05 mm it is reached, by 1 mm refused."""
    chain = ChainKinematics(any_arms.arm("pan_tilt"))
    on_it = chain.forward([0.4, 0.3])
    outwards = on_it - [0.0, 0.0, 0.09]
    outwards /= np.linalg.norm(outwards)
    found = chain.inverse(on_it + 5e-5 * outwards)
    assert chain.forward(found) == approx(on_it, abs=2e-5)
    with raises(UnreachableError, match="out of reach by 1.0 mm"):
        chain.inverse(on_it + 1e-3 * outwards)


@mark.parametrize(
    "asked, text",
    [
        ({"position_m": [math.nan, 0, 0]}, "position_m"),
        ({"position_m": [0.1, 0, 0.1], "pitch_rad": 2.0}, "must be -90 .down. to 90"),
        ({"position_m": [0.1, 0, 0.1], "direction": [0, 0, 0]}, "points nowhere"),
        ({"position_m": [0.1, 0, 0.1], "near": [0, 0]}, "near has shape"),
    ],
)
def test_targets_that_are_none_are_refused_by_name(asked, text):
    with raises(InputError, match=text):
        ChainKinematics(ARM).inverse(**asked)


@mark.parametrize(
    "name, tool",
    [
        ("four_joint", "tip"),
        ("pan_tilt", "lens"),
        ("gantry", "nozzle"),
        ("so101", "gripper_frame_link"),
        ("so100", "jaw"),
        ("z1", "gripperMover"),
        ("ur5", "tool0"),
        ("panda", "panda_hand_tcp"),
    ],
)
def test_the_tool_is_what_fingers_belong_to(name, tool):
    assert any_arms.arm(name).tool == tool
