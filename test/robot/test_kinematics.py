"""Kinematics of the picker and of any tree, against other readers; the closed form, against the tree's own definition."""

import math

import numpy as np
from arm_fixtures import picker
from pytest import approx, mark, raises
from small_urdfs import broken

from picker_dynamics.errors import DescriptionError, UnreachableError
from picker_dynamics.robot import description
from picker_dynamics.robot.kinematic_tree import link_poses, sample_poses
from picker_dynamics.robot.picker_shape import picker_inverse, read_shape
from picker_dynamics.robot.tip_target import NEAREST_LEVEL, tip_target

ARM = picker()
EXACT = 1e-12
"""[m] or [rad]: a few dozen roundings of numbers near 1."""

STRAIGHT = 1e-7
"""Near a straight elbow acos turns the rounding 1e-16 of its argument into 1e-8 of angle (not of position)."""

ZERO = np.zeros(5)


def tip(q):
    return link_poses(ARM, q)["tool0"].position


def test_from_anywhere_the_target_is_hit_within_the_limits_and_no_farther_away_than_a_known_solution():
    draw, over_the_back = np.random.default_rng(7), 0
    for q in sample_poses(ARM, 200, seed=8):
        near, pitch = draw.uniform(ARM.lower, ARM.upper), float(q[1:4].sum())
        near[4] = q[4]
        found = picker_inverse(ARM, tip(q), pitch, near)
        assert (found >= ARM.lower).all() and (found <= ARM.upper).all() and found[4] == q[4]
        assert tip(found) == approx(tip(q), abs=1e-9)
        assert math.remainder(float(found[1:4].sum()) - pitch, math.tau) == approx(0, abs=EXACT)
        assert np.abs(found - near).max() <= np.abs(q - near).max() + STRAIGHT
        over_the_back += float(tip(found)[:2] @ [math.cos(found[0]), math.sin(found[0])]) < 0.0
    assert over_the_back > 1


@mark.parametrize("place", [(0.33, 0.0, 0.15), (0.36, 0.1, 0.0)])
def test_without_a_pitch_the_nearest_to_level_is_taken(place):
    level = abs(float(tip_target(ARM, place, near=ZERO)[1:4].sum()))
    assert picker_inverse(ARM, place, NEAREST_LEVEL, ZERO) == approx(tip_target(ARM, place, near=ZERO))
    for pitch in np.radians(np.arange(round(math.degrees(level)))):
        for sign in (-1.0, 1.0):
            with raises(UnreachableError):
                picker_inverse(ARM, place, sign * pitch, ZERO)


def test_what_cannot_be_reached_is_refused_with_how_far_it_is():
    with raises(UnreachableError, match="out of reach by 75.0 mm"):
        tip_target(ARM, (0.3, 0.4, 0.09), near=ZERO)
    with raises(UnreachableError, match=r"no joint angles .* at \(-250, 120, 50\) mm with a hand pitch of 150.0 deg"):
        tip_target(ARM, (-0.25, 0.12, 0.05), near=ZERO, pitch_rad=math.radians(150.0))


@mark.parametrize(
    "changes, message",
    [
        ([('<axis xyz="0 -1 0"/>', '<axis xyz="0 1 0"/>')], "axis 0 -1 0"),
        ([('name="wrist" type="revolute"', 'name="wrist" type="fixed"')], "4 joints, of which 3 move tool0"),
    ],
)
def test_an_arm_of_another_shape_is_refused_aloud(changes, message):
    with raises(DescriptionError, match=f"not of the picker's shape.*{message}"):
        read_shape(description.parse(broken(*changes, text=ARM.urdf)))
