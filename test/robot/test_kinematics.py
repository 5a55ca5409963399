"""Forward and inverse kinematics of the picker, against finite differences and two other libraries."""

from __future__ import annotations

import math

import numpy as np
from arm_fixtures import picker, shipped_arm
from pytest import approx, importorskip, mark, raises
from small_urdfs import TWO_LINKS, broken

from picker_dynamics.dynamics.urchin_peer import UrchinArm
from picker_dynamics.errors import DescriptionError, InputError, UnreachableError
from picker_dynamics.robot import arms, description
from picker_dynamics.robot.frame_heights import FrameHeights, height_changers
from picker_dynamics.robot.kinematic_tree import link_poses, rigid_groups, sample_poses, subtree
from picker_dynamics.robot.kinematics import PickerKinematics

ARM = picker()
PICKER = PickerKinematics(ARM)
EXACT = 1e-12
"""[m] or [rad]: a few dozen roundings of numbers near 1."""

# Near a straight elbow acos turns the rounding 1e-16 of its argument into 1e-8 of angle (not of position).
STRAIGHT = 1e-7


def poses_within_limits(count, seed):
    return np.random.default_rng(seed).uniform(ARM.lower, ARM.upper, (count, 5))


def test_lengths_and_the_stretched_pose():
    assert PICKER.lengths == approx([0.20, 0.145, 0.08], abs=1e-15)
    assert PICKER.shoulder == approx([0, 0, 0.09], abs=1e-15)
    assert PICKER.forward(np.zeros(5)) == approx([0.425, 0, 0.09], abs=1e-15)
    assert PICKER.forward([math.pi / 2, math.pi / 2, -math.pi / 2, 0, 0.7]) == approx([0, 0.225, 0.29], abs=1e-15)
    assert PICKER.pitch([0.3, 0.5, -0.2, 0.4, 1.0]) == approx(0.7)


def test_forward_kinematics_of_four_readers_agree():
    """Closed form, the URDF's definition walked link by link, Pinocchio and urchin: 200 poses."""
    rigid_body = importorskip("picker_dynamics.dynamics.rigid_body", reason="needs Pinocchio")
    importorskip("urchin", reason="compares with urchin")
    q = poses_within_limits(200, seed=1)
    tip = PICKER.forward(q)
    assert tip == approx(link_poses(ARM, q)["tool0"].position, abs=EXACT)
    assert tip == approx(rigid_body.RigidBody(ARM).forward_kinematics(q), abs=EXACT)
    urchin_tip = UrchinArm(ARM).forward_kinematics(q)["tool0"][:, :3, 3]
    assert tip == approx(urchin_tip, abs=EXACT)


def test_jacobian_by_central_differences():
    """Step 1e-5: truncation 1e-11, rounding 1e-11 m/rad."""
    q = poses_within_limits(300, seed=2)
    step = 1e-5
    numeric = np.empty((300, 3, 5))
    for i, unit in enumerate(np.eye(5)):
        numeric[..., i] = (PICKER.forward(q + step * unit) - PICKER.forward(q - step * unit)) / (2 * step)
    assert PICKER.jacobian(q) == approx(numeric, abs=1e-9)


def test_a_batch_is_just_more_leading_axes():
    q = poses_within_limits(6, seed=3).reshape(2, 3, 5)
    for method, shape in ((PICKER.forward, (2, 3, 3)), (PICKER.pitch, (2, 3)), (PICKER.jacobian, (2, 3, 3, 5))):
        batch = method(q)
        assert batch.shape == shape
        np.testing.assert_allclose(batch[1, 2], method(q[1, 2]), rtol=1e-12, atol=1e-15)


def test_inverse_of_forward_returns_to_the_pose_it_came_from():
    """3000 poses within the limits: with ``near`` the pose itself, the nearest branch is that pose."""
    for q in poses_within_limits(3000, seed=4):
        position, pitch = PICKER.forward(q), float(PICKER.pitch(q))
        if np.hypot(*position[:2]) < 1e-3:
            continue  # the base angle is ill-conditioned this close to the axis; see the test on the axis
        assert PICKER.inverse(position, pitch, near=q) == approx(q, abs=STRAIGHT)


def test_forward_of_every_branch_is_the_target():
    """2000 random targets, reachable or not: all branches found hit position and pitch."""
    generator = np.random.default_rng(5)
    reached, most = 0, 0
    for _ in range(2000):
        position, pitch = generator.uniform([-0.4, -0.4, -0.2], [0.4, 0.4, 0.5]), generator.uniform(-4, 4)
        try:
            branches = PICKER.branches(position, pitch)
        except UnreachableError:
            continue
        reached += 1
        most = max(most, len(branches))
        for q in branches:
            assert PICKER.forward(q) == approx(position, abs=EXACT)
            assert math.remainder(float(PICKER.pitch(q)) - pitch, math.tau) == approx(0, abs=EXACT)
            assert np.all(q > -math.pi) and np.all(q <= math.pi)
    assert reached > 500 and most == 4


def test_branches_are_complete():
    """Whatever pose a target comes from, one of its branches is that pose: nothing is missed."""
    for q in np.random.default_rng(6).uniform(-math.pi, math.pi, (1000, 5)):
        position = PICKER.forward(q)
        if np.hypot(*position[:2]) < 1e-3:
            continue
        branches = np.array(PICKER.branches(position, float(PICKER.pitch(q)), near=q))
        turns = np.abs(np.remainder(branches - q + math.pi, math.tau) - math.pi)
        assert np.min(np.max(turns, axis=1)) < STRAIGHT


def test_inverse_stays_within_limits_and_picks_the_nearest_branch():
    """Brute force over the branches gives the same choice."""
    generator = np.random.default_rng(7)
    compared = 0
    for q in poses_within_limits(500, seed=8):
        position, pitch = PICKER.forward(q), float(PICKER.pitch(q))
        near = generator.uniform(ARM.lower, ARM.upper)
        best = PICKER.inverse(position, pitch, near=near)
        assert np.all(best >= ARM.lower) and np.all(best <= ARM.upper)
        assert PICKER.forward(best) == approx(position, abs=1e-9)
        allowed = [
            branch
            for branch in PICKER.branches(position, pitch, near=near)
            if np.all(branch >= ARM.lower - 1e-9) and np.all(branch <= ARM.upper + 1e-9)
        ]
        travel = [np.max(np.abs(branch - near)) for branch in allowed]
        assert np.max(np.abs(best - near)) == approx(min(travel), abs=1e-8)
        compared += len(allowed) > 1
    assert compared > 50, "too few poses had a choice"


def test_both_elbows_are_found():
    """A target in front of the shoulder: one elbow up, one down; limits allow only the upper one here."""
    position, pitch = (0.28, 0.0, 0.09), 0.0
    elbows = sorted(q[2] for q in PICKER.branches(position, pitch) if abs(q[0]) < 1)
    assert elbows[0] == approx(-elbows[1]) and elbows[0] < -0.5
    assert PICKER.inverse(position, pitch)[2] == approx(elbows[0])


def test_over_the_back():
    """Behind the base, where its joint cannot turn to, the arm leans back."""
    position = (-0.2, -0.05, 0.40)
    q = PICKER.inverse(position, 0.75 * math.pi)
    assert PICKER.forward(q) == approx(position, abs=1e-9)
    assert abs(q[0]) <= ARM.upper[0]
    assert q[1] > math.pi / 2, "the upper arm leans over the back"


def test_on_the_base_axis_the_base_angle_is_kept():
    """Above the shoulder any base angle will do."""
    position = np.array([0.0, 0.0, 0.09 + 0.40])
    for base in (-1.2, 0.0, 0.7):
        q = PICKER.inverse(position, math.pi / 2, near=[base, 1.5, 0.0, 0.0, 0.3])
        assert q[0] == base
        assert PICKER.forward(q) == approx(position, abs=EXACT)


def test_fully_stretched_is_reachable():
    """The outermost point has one elbow only; rounding must not put it out of reach."""
    for theta0, elevation in np.random.default_rng(9).uniform([-1.5, -0.3], [1.5, 2.5], (200, 2)):
        target = PICKER.forward([theta0, elevation, 0, 0, 0])
        q = PICKER.inverse(target, elevation, near=[theta0, elevation, 0, 0, 0])
        assert PICKER.forward(q) == approx(target, abs=1e-9)


def test_the_scissor_is_kept_or_set():
    near = np.array([0.0, 0.5, -0.5, 0.0, 0.9])
    assert PICKER.inverse((0.3, 0, 0.2), 0.0, near=near)[4] == 0.9
    assert PICKER.inverse((0.3, 0, 0.2), 0.0, near=near, scissor=0.2)[4] == 0.2
    assert near.tolist() == [0.0, 0.5, -0.5, 0.0, 0.9], "the caller's array is not touched"


def test_beyond_the_whole_arm_says_how_far():
    with raises(UnreachableError, match="500.0 mm from the shoulder.*reaches 425.0 mm: 75.0 mm too far") as e:
        PICKER.inverse((0.3, 0.4, 0.09), 0.0)
    assert (e.value.value, e.value.limit) == (approx(0.5), approx(0.425))


def test_out_of_reach_with_this_pitch_says_what_is_possible():
    with raises(UnreachableError, match="wrist 368.8 mm .*55.0 to 345.0 mm: 23.8 mm too far") as caught:
        PICKER.inverse((0.36, 0, 0.09), -math.pi / 2)
    assert (caught.value.value, caught.value.limit) == (approx(math.hypot(0.36, 0.08)), approx(0.345))
    with raises(UnreachableError, match="wrist 20.0 mm .*: 35.0 mm too close") as caught:
        PICKER.inverse((0.10, 0, 0.09), 0.0)
    assert caught.value.limit == approx(0.055)


def test_a_joint_limit_is_named_with_value_and_limit():
    """Straight behind and low: only the base could turn there, and it may not."""
    with raises(UnreachableError, match="needs joint base at .* its limits are -85.9 deg to 85.9 deg") as caught:
        PICKER.inverse((-0.25, 0.12, 0.05), -0.5)
    assert caught.value.subject == "base"
    assert caught.value.limit == approx(1.5)
    assert caught.value.value == approx(math.atan2(0.12, -0.25))
    with raises(UnreachableError, match="needs joint scissor at 114.6 deg") as caught:
        PICKER.inverse((0.3, 0, 0.2), 0.0, scissor=2.0)
    assert (caught.value.subject, caught.value.limit) == ("scissor", 1.2)


def test_reachable_pitch_is_the_nearest_that_works():
    position = (0.33, 0.0, 0.15)
    pitch = PICKER.reachable_pitch(position, preferred=-math.pi / 2)
    assert -math.pi / 2 < pitch < 0.5
    PICKER.inverse(position, pitch)
    with raises(UnreachableError):
        PICKER.inverse(position, pitch - math.radians(1.0))
    assert PICKER.reachable_pitch((0.3, 0, 0.2), preferred=0.1) == 0.1, "what works is not changed"
    with raises(UnreachableError, match="no hand pitch reaches .* too far"):
        PICKER.reachable_pitch((0.6, 0, 0.2))


@mark.parametrize(
    "position, pitch, near, message",
    [
        ((0.3, 0, math.nan), 0.0, None, r"position_m\[2\] is nan"),
        ((0.3, 0), 0.0, None, "position_m has shape"),
        (((0.3, 0, 0.2), (0.3, 0, 0.2)), 0.0, None, "position_m has shape"),
        ((0.3, 0, 0.2), math.inf, None, "pitch_rad is inf"),
        ((0.3, 0, 0.2), "flat", None, "pitch_rad is 'flat'"),
        ((0.3, 0, 0.2), 0.0, [0, 0, 0, 0], "near has shape"),
        ((0.3, 0, 0.2), 0.0, [0, 0, 0, 0, math.inf], "near.4. is inf"),
    ],
)
def test_input_that_is_no_target_is_refused(position, pitch, near, message):
    with raises(InputError, match=message) as caught:
        PICKER.inverse(position, pitch, near=near)
    assert not isinstance(caught.value, UnreachableError)


@mark.parametrize(
    "changes, message",
    [
        ([('<axis xyz="0 -1 0"/>', '<axis xyz="0 1 0"/>')], "axis of shoulder joint shoulder is 0 1 0, expected 0 -1 0"),
        ([('<axis xyz="0 0 1"/>', '<axis xyz="0 0.1 1"/>')], "axis of base joint base"),
        ([('<origin xyz="0.145 0 0"/>', '<origin xyz="0.145 0 0.01"/>')], "wrist is off the x axis by 0.01 m"),
        ([('<origin xyz="0.20 0 0"/>', '<origin xyz="0.20 0 0" rpy="0 0.3 0"/>')], "link forearm is turned"),
        ([('<origin xyz="0.20 0 0"/>', '<origin xyz="-0.20 0 0"/>')], "must be > 0"),
        ([('name="wrist" type="revolute"', 'name="wrist" type="prismatic"')], "wrist joint wrist slides"),
        ([('name="wrist" type="revolute"', 'name="wrist" type="fixed"')], "4 joints, of which 3 move tool0"),
    ],
)
def test_an_arm_of_another_shape_is_refused_aloud(changes, message):
    with raises(DescriptionError, match=f"not of the picker's shape.*{message}"):
        PickerKinematics(description.parse(broken(*changes, text=ARM.urdf)))


def test_lengths_come_from_the_urdf_and_fixed_joints_may_lift_the_base():
    text = broken(
        ('<origin xyz="0.145 0 0"/>', '<origin xyz="0.2 0 0"/>'),
        (
            "</robot>",
            '<link name="world"/><joint name="mount" type="fixed"><parent link="world"/>'
            '<child link="base_link"/><origin xyz="1 2 3"/></joint></robot>',
        ),
        text=ARM.urdf,
    )
    raised = PickerKinematics(description.parse(text))
    assert raised.forward(np.zeros(5)) == approx([1.48, 2, 3.09])
    target = (1.3, 2.1, 3.2)
    assert raised.forward(raised.inverse(target, -0.4)) == approx(target, abs=EXACT)


def test_link_poses_of_a_sliding_joint():
    """The rod's frame is 0.2 m along the lifted arm, plus what it slides."""
    arm = description.parse(TWO_LINKS)
    pose = link_poses(arm, [[math.pi / 2, 0.05]])["rod"]
    assert pose.position[0] == approx([0, 0, 0.1 + 0.25])
    assert pose.apply([0.05, 0, 0])[0] == approx([0, 0, 0.1 + 0.30])


def test_subtrees_and_welded_groups():
    assert subtree(ARM, "forearm") == ("forearm", "hand", "scissor", "tool0")
    assert rigid_groups(ARM)["hand"] == ("hand", "tool0")
    assert set(rigid_groups(ARM)) == {"base_link", "turret", "upper_arm", "forearm", "hand", "scissor"}


@mark.parametrize("name", arms.names())
def test_heights_of_joints_and_tool_are_those_of_the_links_walked_one_by_one(name):
    arm = shipped_arm(name).description
    heights, q = FrameHeights(arm), sample_poses(arm, 60).reshape(3, 20, arm.n)
    poses = link_poses(arm, q)
    origins = [poses[joint.child].position for joint in arm.movable]
    expected = np.stack([poses[arm.tool].position, *origins], axis=-2)[..., 2]
    assert heights.names == ("tip", *arm.joint_names) and heights(q) == approx(expected, abs=EXACT)
    assert heights(q[0, 0]) == approx(expected[0, 0], abs=EXACT)
    assert (np.ptp(expected.reshape(60, -1), axis=0) > 1e-9).tolist() == heights.varies.tolist()


def test_a_joint_about_the_vertical_changes_no_height_nor_does_one_that_carries_nothing():
    assert height_changers(FrameHeights(ARM), np.zeros(5)) == ("shoulder", "elbow", "wrist")
