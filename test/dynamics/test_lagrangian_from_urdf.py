"""N joints of any URDF: Pinocchio, every kind of joint and link, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from arm_fixtures import picker
from dynamics_models import ARMATURE, LOAD
from dynamics_properties import check_same, close, states
from small_urdfs import TOOL_ON_THE_BASE, TWO_LINKS, broken, random_arm

from picker_dynamics.dynamics import cross_check, lagrangian
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.robot import description
from picker_dynamics.robot.kinematic_tree import link_poses

SEEDS = range(12)


def arm_of(seed: int, **options) -> description.ArmDescription:
    return description.parse(random_arm(seed, **options))


def agree_with_pinocchio(arm, armature=None, limit=1e-11):
    """Every quantity, over states within the limits, with and without a payload."""
    analytic_model, pinocchio = lagrangian.chain_of(arm, armature=armature), RigidBody(arm, armature=armature)
    report = cross_check.compare(analytic_model, pinocchio, arm.lower, arm.upper, arm.velocity, samples=50, payload=0.2)
    assert report.worst <= limit, report.table(limit)
    q, v, a = cross_check.sample_states(arm.lower, arm.upper, arm.velocity, 50, seed=1)
    check_same(analytic_model, pinocchio, limit, q, v, a)
    check_same(analytic_model.with_payload(*LOAD), pinocchio.with_payload(*LOAD), limit, q, v, a)


@pytest.mark.parametrize("seed", SEEDS)
def test_branched_arms_agree_with_pinocchio(seed):
    arm = arm_of(seed, branching=0.4)
    agree_with_pinocchio(arm, armature=np.linspace(0.1, 0.5, arm.n))


@pytest.mark.parametrize("seed", SEEDS)
def test_serial_arms_agree_with_pinocchio(seed):
    arm = arm_of(100 + seed, branching=0.0)
    assert lagrangian.chain_of(arm).parameters.parents == tuple(range(-1, arm.n - 1))
    agree_with_pinocchio(arm)


def test_the_picker_agrees_with_its_closed_form():
    arm = picker()
    closed_form, chain = lagrangian.from_description(arm, ARMATURE), lagrangian.from_urdf(arm, armature=ARMATURE)
    report = cross_check.compare(chain, closed_form, arm.lower, arm.upper, arm.velocity, samples=200, payload=0.025)
    assert report.worst <= 1e-12


def test_poses_are_those_of_the_description():
    arm = arm_of(2)
    model = lagrangian.from_urdf(arm)
    q = states(model, 10, seed=11)[0]
    pose = link_poses(arm, q)[arm.tool]
    close(model.forward_kinematics(q), pose.position, 1e-14)
    close(model.orientation(q), pose.rotation, 1e-14)


def test_any_gravity_is_a_turned_base():
    """Gravity along -z of an arm whose base is turned by R is gravity along -Rᵀ z."""
    text = random_arm(4, count=5)
    turned = text.replace(
        '<link name="l0">',
        '<link name="world"/><joint name="lean" type="fixed"><parent link="world"/>'
        '<child link="l0"/><origin xyz="0 0 0" rpy="0.4 -1.1 2.0"/></joint><link name="l0">',
        1,
    )
    R = description.rotation_from_rpy((0.4, -1.1, 2.0))
    leaning, upright = RigidBody(description.parse(turned)), lagrangian.from_urdf(description.parse(text), R.T @ (0, 0, -9.81))
    q, v, a, _ = states(upright, 10, seed=12)
    close(upright.inverse_dynamics(q, v, a), leaning.inverse_dynamics(q, v, a), 1e-12)
    close(upright.gravity(q), leaning.gravity(q), 1e-12)
    weightless = lagrangian.from_urdf(description.parse(text), gravity=(0, 0, 0))
    assert not weightless.gravity(q).any() and not weightless.potential_energy(q).any()


def test_mimic_joints_are_independent_and_said_to_be():
    mimicking = broken(('effort="20"/>', 'effort="20"/><mimic joint="lift" multiplier="2"/>'))
    with pytest.warns(UserWarning, match="joint slide mimics lift; here it is a joint of its own"):
        model = lagrangian.from_urdf(description.parse(mimicking))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = lagrangian.from_urdf(description.parse(TWO_LINKS))
        lagrangian.analytic_model(description.parse(mimicking))
    q, v, a, _ = states(model, 5, seed=14)
    np.testing.assert_array_equal(model.inverse_dynamics(q, v, a), expected.inverse_dynamics(q, v, a))


def test_the_hand_written_model_of_an_arm():
    assert lagrangian.analytic_model(picker()).system == "picker"
    other = lagrangian.analytic_model(description.parse(TWO_LINKS), armature=(0.1, 0.2))
    assert other.system == "chain" and other.armature.tolist() == [0.1, 0.2]


# --- refused -------------------------------------------------------------------------------------------


def test_a_tool_that_no_joint_moves():
    model = lagrangian.from_urdf(description.parse(TOOL_ON_THE_BASE))
    assert not model.jacobian(np.ones(2)).any() and model.orientation(np.ones((3, 2))).shape == (3, 3, 3)


@pytest.mark.parametrize("com", [(0.02, 0.0, 0.0), (0.02, 0.01, -0.015)])
def test_by_hand_carries_a_payload_on_the_hands_axis_and_off_it(com):
    """The closed form takes the first, the chain the second; Pinocchio takes any."""
    arm = picker()
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 50, arm.n))
    armature = np.full(arm.n, 1e-3)
    expected = RigidBody(arm, armature=armature).with_payload(0.025, com).inverse_dynamics(q, v, a)
    analytic_model = lagrangian.analytic_model(arm, armature, 0.025, com)
    np.testing.assert_allclose(analytic_model.inverse_dynamics(q, v, a), expected, rtol=0.0, atol=1e-12)
