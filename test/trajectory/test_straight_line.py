"""Straight lines of the tool: judged by Pinocchio's and the URDF's kinematics, for the picker and for arms of other shapes."""

import any_arms
import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, servos

from picker_dynamics.errors import InputError, SingularityError, UnreachableError
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.robot.kinematic_tree import link_poses, sample_poses
from picker_dynamics.trajectory.straight_line import HELD, STRAY_M, straight_line

ARM, HOME = picker(), np.array(servos().home)
CHAIN, TRUE = ChainKinematics(ARM), rigid_body()
BEGIN = CHAIN.forward(HOME)


def off(points, end, begin=BEGIN):
    """Distances of points (s, 3) from the line between two others, by the cross product."""
    return np.linalg.norm(np.cross(points - begin, end - begin), axis=1) / np.linalg.norm(end - begin)


@pytest.mark.parametrize("pitch", [None, HELD, -0.6])
@pytest.mark.parametrize("way", [(0.06, 0.08, 0.01), (0.0, 0.2, 0.0), (0.03, -0.1, 0.06), (0.0, 0.0, -0.1), (0.005, 0.0, 0.0)])
def test_the_tool_stays_on_its_line_and_keeps_the_pitch_that_is_asked(way, pitch):
    end = BEGIN + way
    path = straight_line(ARM, CHAIN, HOME, end, pitch_rad=pitch)
    s = np.linspace(0.0, path.duration, 400)
    q, slope, _ = path.sample(s)
    tips = rigid_body().forward_kinematics(q)
    assert off(tips, end).max() < STRAY_M
    assert path.duration == pytest.approx(np.linalg.norm(way), rel=1e-12)
    np.testing.assert_allclose(path.start, HOME, atol=1e-9)
    np.testing.assert_allclose(tips[-1], end, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(np.einsum("sij,sj->si", TRUE.jacobian(q), slope), axis=1), 1.0, atol=0.03)
    now = float(CHAIN.pitch(HOME))
    if pitch is not None:
        last = now if pitch == HELD else pitch
        np.testing.assert_allclose(CHAIN.pitch(q), now + s / s[-1] * (last - now), atol=2e-3)
    assert np.ptp(q[:, 4]) == 0.0, "the scissor has no part in it"


@pytest.mark.parametrize("name", ["four_joint", "gantry", "z1", "ur5", "panda"])
def test_other_arms_go_straight_too(name):
    """Short lines from random poses, any direction of the tool and, where the arm can, the same one."""
    arm, rng, gone = any_arms.arm(name), np.random.default_rng(5), 0
    chain = ChainKinematics(arm)
    for q in sample_poses(arm, 8, seed=2):
        begin = link_poses(arm, q)[arm.tool].position
        way = rng.normal(size=3)
        end = begin + 0.05 * chain.length * way / np.linalg.norm(way)
        for kept in ({}, {"direction": chain.direction(q)} if name in ("z1", "ur5", "panda") else {"pitch_rad": HELD}):
            try:
                path = straight_line(arm, chain, q, end, **kept)
            except (SingularityError, UnreachableError):
                continue
            gone += 1
            places = path.sample(np.linspace(0.0, path.duration, 40))[0]
            tips = np.array([link_poses(arm, place)[arm.tool].position for place in places])
            assert off(tips, end, begin).max() < STRAY_M
            if "direction" in kept:
                np.testing.assert_allclose(chain.direction(places), np.broadcast_to(kept["direction"], tips.shape), atol=2e-3)
    assert gone >= 4


@pytest.mark.parametrize(
    "tip, asked, error, said",
    [
        ((0.6, 0.0, 0.17), {}, UnreachableError, r"cannot be followed after \d+ of 404 mm, at \(41\d, 0, 164\) mm.*out of reach"),
        (
            (0.2, 0.1, 0.2),
            {"direction": (1.0, 0.0, 0.0)},
            UnreachableError,
            "after 1 of 109 mm.*not with the tool pointing along",
        ),
        ((260, 80, 170), {}, InputError, r"tip is 260 m away, must be within 10 m: are these millimetres\?"),
        (tuple(BEGIN), {}, InputError, "from there already"),
        ((0.2, 0.1, 0.2), {"direction": (1, 0, 0), "pitch_rad": 0.0}, InputError, "not both"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_the_place(tip, asked, error, said):
    with pytest.raises(error, match=said):
        straight_line(ARM, CHAIN, HOME, tip, **asked)


def test_a_line_through_a_singularity_is_refused_where_the_jacobian_loses_its_rank():
    """Lines across the base axis of an arm that cannot lean over its back."""
    arm = any_arms.arm("four_joint")
    chain, refused = ChainKinematics(arm), 0
    for q in sample_poses(arm, 25, seed=3)[12:]:
        begin = chain.forward(q)
        end = begin * (-1.0, -1.0, 1.0)
        try:
            straight_line(arm, chain, q, end)
        except SingularityError as error:
            refused += 1
            assert "passes a singularity after" in str(error) and 0.0 < error.value < error.limit
            shares = np.linspace(0.0, error.value / error.limit, 400)[:, None]
            last = chain.along(begin + shares * (end - begin), q)[-1]
            jacobian = [(chain.forward(last + h) - chain.forward(last - h)) / 2e-5 for h in 1e-5 * np.eye(arm.n)]
            assert np.linalg.svd(np.array(jacobian), compute_uv=False)[2] < 0.15 * chain.length
            break
        except UnreachableError:
            continue
    assert refused >= 1
