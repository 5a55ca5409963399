"""The RRP arm's kinematics: four branches, singular configurations, points out of reach."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dynamics_properties import close, states
from golden import agrees, load_cases

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.lagrangian.systems.rrp import BRANCHES
from picker_dynamics.errors import SingularityError, UnreachableError

CASES = load_cases()["rrp"]
ARM = lagrangian.make("rrp", **CASES[0]["params"])
L2, L4 = CASES[0]["params"]["l2"], CASES[0]["params"]["l4"]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_golden_branches_and_determinant(case):
    arm = lagrangian.make("rrp", **case["params"])
    agrees(arm.jacobian_determinant(case["q"]), case["detJ"])
    for branch in case["ik"]:
        signs = branch["sigma_rho"], branch["sigma_D"]
        agrees(arm.inverse_kinematics(case["fk"], sigma_rho=signs[0], sigma_D=signs[1]), branch["q"])
        agrees(arm.inverse_kinematics_branches(case["fk"])[BRANCHES.index(signs)], branch["q"])


def test_every_branch_reaches_the_point():
    directions = np.random.default_rng(1).normal(size=(300, 3))
    points = directions / np.linalg.norm(directions, axis=1)[:, None] * np.random.default_rng(2).uniform(1.7, 4, (300, 1))
    q = ARM.inverse_kinematics_branches(points)
    assert q.shape == (300, 4, 3)
    close(ARM.forward_kinematics(q), np.broadcast_to(points[:, None], (300, 4, 3)), 1e-14)
    assert np.all(q[..., :2] > -math.pi) and np.all(q[..., :2] <= math.pi)
    D = q[..., 2] + L4
    rho = D * np.sin(q[..., 1]) - L2 * np.cos(q[..., 1])
    assert np.array_equal(np.sign(rho), np.broadcast_to([sign for sign, _ in BRANCHES], (300, 4)))
    assert np.array_equal(np.sign(D), np.broadcast_to([sign for _, sign in BRANCHES], (300, 4)))


def test_jacobian_determinant_and_inverse():
    q = states(ARM, 100, seed=4)[0]
    J = ARM.jacobian(q)
    close(ARM.jacobian_determinant(q), np.linalg.det(J), 1e-14)
    good = np.abs(np.linalg.det(J)) > 0.1
    close(ARM.inverse_jacobian(q[good]) @ J[good], np.broadcast_to(np.eye(3), J[good].shape), 1e-13)
    assert ARM.inverse_jacobian(q[0]).shape == (3, 3)


@pytest.mark.parametrize(
    "point, message, nearest",
    [
        ([1.0, 0.5, -0.2], r"point \[1.0, 0.5, -0.2\] m is 1.13578 m from the base, closer than l2 = 1.6 m", 1.135781669),
        ([[2.0, 1.0, 1.0], [0.0, 0.0, 0.0]], r"point \[0.0, 0.0, 0.0\] m is 0 m", 0.0),
        ([1.5999, 0.0, 0.0], "is 1.5999 m from the base", 1.5999),
    ],
)
def test_points_out_of_reach(point, message, nearest):
    with pytest.raises(UnreachableError, match=message) as caught:
        ARM.inverse_kinematics(point)
    assert caught.value.value == pytest.approx(nearest) and caught.value.limit == L2


@pytest.mark.parametrize(
    "point, joint, message",
    [
        ([0.0, 0.0, 2.0], "theta1", "the load is on the axis of theta1, which is free there"),
        ([[2.0, 1.0, 1.0], [0.0, 0.0, -3.0]], "theta1", r"singular at \[0.0, 0.0, -3.0\]: rho is 0 m"),
        ([L2, 0.0, 0.0], "theta2", "D is 0 m"),
        ([L2 * math.cos(0.3), 0.0, L2 * math.sin(0.3)], "theta2", "at the foot of the slide"),
    ],
)
def test_singular_points(point, joint, message):
    with pytest.raises(SingularityError, match=message) as caught:
        ARM.inverse_kinematics(point)
    assert caught.value.subject == joint


@pytest.mark.parametrize("q, joint", [([0.3, 1.0, -L4], "theta2"), ([0.3, math.atan2(L2, 1.2), 1.2 - L4], "theta1")])
def test_singular_configurations_have_no_inverse_jacobian(q, joint):
    assert abs(ARM.jacobian_determinant(q)) < 1e-12
    with pytest.raises(SingularityError, match="singular at") as caught:
        ARM.inverse_jacobian(q)
    assert caught.value.subject == joint
