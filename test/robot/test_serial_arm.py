"""One chain of joints and a gripper, out of descriptions that have more; what cannot be one is refused by name."""

import any_arms
import numpy as np
from numpy.testing import assert_allclose
from pytest import mark, raises
from small_urdfs import TWO_LINKS

from picker_dynamics.errors import DescriptionError
from picker_dynamics.robot import description
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.serial_arm import serial_arm

ONE_MORE = """<link name="{name}"><inertial><mass value="0.1"/><inertia ixx="1e-5" ixy="0" ixz="0" iyy="1e-5" iyz="0" izz="1e-5"/>
  </inertial></link><joint name="{name}_joint" type="{kind}"><parent link="{parent}"/><child link="{name}"/>
  <origin xyz="0 0.02 0"/><axis xyz="0 0 1"/><limit lower="{lower}" upper="0.5" velocity="1" effort="1"/>{mimic}
  </joint></robot>"""


def with_joint(text, name, parent, *, kind="revolute", lower=-0.5, mimic=""):
    mimic = f'<mimic joint="{mimic}"/>' if mimic else ""
    return text.replace("</robot>", ONE_MORE.format(name=name, parent=parent, kind=kind, lower=lower, mimic=mimic))


def of(text):
    return serial_arm(description.parse(text))


@mark.parametrize(
    "name, moves, locked, tool",
    [("four_joint", "grasp", "grasp_mirror", "tip"), ("panda", "panda_finger_joint1", "panda_finger_joint2", "panda_hand_tcp")],
)
def test_two_fingers_become_one_gripper_and_that_is_said(name, moves, locked, tool):
    before = any_arms.arm(name)
    arm = serial_arm(before)
    assert arm.joint_names == tuple(joint for joint in before.joint_names if joint != locked)
    assert arm.tool == before.tool == tool
    assert arm.notes == (f"gripper: joint {moves} drives it, {locked} is locked",)
    assert description.parse(arm.urdf).joint_names == arm.joint_names  # what Pinocchio and MuJoCo read is locked too


def test_a_finger_that_cannot_be_at_0_is_locked_at_its_nearest_limit():
    text = with_joint(with_joint(TWO_LINKS, "left", "rod"), "right", "rod", kind="prismatic", lower=0.03)
    whole, arm = description.parse(text), of(text)
    q = np.array([0.3, 0.05, 0.1])
    there = link_poses(whole, [*q, 0.03])["right"].position
    assert_allclose(link_poses(arm, q)["right"].position, there, atol=1e-15)


@mark.parametrize(
    "text, message",
    [
        (with_joint(TWO_LINKS, "other", "base_link"), "several arms: joints lift and other_joint both move at base_link"),
        (
            with_joint(with_joint(with_joint(TWO_LINKS, "a", "rod"), "b", "rod"), "c", "b"),
            "several arms: joints a_joint and b_joint both move after joint slide",
        ),
        (with_joint(TWO_LINKS, "bar", "base_link", mimic="lift"), "joint bar_joint mimics lift, and is not a finger"),
        (with_joint(TWO_LINKS, "bar", "rod", mimic="nothing"), "joint bar_joint mimics nothing, and is not a finger"),
        (
            TWO_LINKS.replace('type="revolute"', 'type="fixed"').replace('type="prismatic"', 'type="fixed"'),
            "no joint of two moves",
        ),
    ],
)
def test_what_is_no_serial_arm_is_refused_by_name(text, message):
    with raises(DescriptionError, match=message):
        of(text)
