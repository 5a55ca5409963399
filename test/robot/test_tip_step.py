"""Steps of the tip on any arm, judged by the URDF's definition of where the tool is."""

import math

import any_arms
import numpy as np
from arm_fixtures import picker
from execution_rig import HOME
from pytest import approx, mark, raises

from picker_dynamics.errors import InputError, UnreachableError
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.robot.kinematic_tree import link_poses, sample_poses
from picker_dynamics.robot.tip_target import tip_step

STEP_M = 0.005


def tips(arm, q):
    return link_poses(arm, q)[arm.tool].position


@mark.parametrize("name", [*any_arms.OWN, "ur5", "panda"])
def test_a_step_is_made_next_to_the_pose_or_not_at_all(name):
    arm = any_arms.arm(name)
    made = 0
    for q, axis in zip(sample_poses(arm, 9, seed=5), np.tile(np.eye(3), (3, 1))):
        try:
            after = tip_step(arm, q, STEP_M * axis)
        except UnreachableError:
            continue
        made += 1
        assert (after >= arm.lower).all() and (after <= arm.upper).all()
        assert tips(arm, after) - tips(arm, q) == approx(STEP_M * axis, abs=1e-4)
        way = tips(arm, q + np.linspace(0.0, 1.0, 50)[:, None] * (after - q)) - tips(arm, q)
        assert np.linalg.norm(way, axis=1).max() < 2.0 * STEP_M
    assert made >= 3 or name == "pan_tilt"  # whose tip cannot leave a sphere: it is driven by its joints


def test_the_pickers_hand_keeps_its_pitch_or_changes_nothing_else():
    arm, kinematics = picker(), ChainKinematics(picker())
    after = tip_step(arm, HOME, (0.0, 0.0, 0.02))
    assert kinematics.pitch(after) == approx(kinematics.pitch(HOME), abs=1e-3)
    turned = tip_step(arm, HOME, pitch_rad=math.radians(5.0))
    assert kinematics.pitch(turned) - kinematics.pitch(HOME) == approx(math.radians(5.0), abs=1e-3)
    assert tips(arm, turned) == approx(tips(arm, HOME), abs=1e-4)


def test_where_there_is_no_way_it_is_said():
    arm, stretched = picker(), np.array([0.0, 0.3, 0.0, 0.0, 0.5])
    with raises(UnreachableError):
        tip_step(arm, stretched, (0.02, 0.0, 0.006))
    with raises(UnreachableError, match="beyond straight up"):
        tip_step(arm, HOME, pitch_rad=3.0)
    with raises(InputError):
        tip_step(arm, HOME, (math.nan, 0.0, 0.0))
