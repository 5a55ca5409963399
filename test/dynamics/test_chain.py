"""N joints of any URDF: Pinocchio, any gravity, mimic joints, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
from arm_fixtures import picker
from dynamics_models import ARMATURE, LOAD, joint
from dynamics_properties import check_same, close, states
from pytest import mark, raises, warns
from small_urdfs import TOOL_ON_THE_BASE, TWO_LINKS, broken, random_arm

from picker_dynamics.dynamics import cross_check, lagrangian
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError
from picker_dynamics.robot import description
from picker_dynamics.robot.kinematic_tree import link_poses


@mark.parametrize("seed", range(12))
def test_arms_agree_with_pinocchio(seed):
    """Serial and branched, with rotors, with and without a load on no axis of the tool."""
    arm = description.parse(random_arm(seed, branching=0.4 * (seed % 2)))
    armature = np.linspace(0.1, 0.5, arm.n)
    ours, theirs = lagrangian.chain_of(arm, armature=armature), RigidBody(arm, armature=armature)
    q, v, a = cross_check.sample_states(arm.lower, arm.upper, arm.velocity, 20, seed=1)
    check_same(ours, theirs, 1e-11, q, v, a)
    check_same(ours.with_payload(*LOAD), theirs.with_payload(*LOAD), 1e-11, q, v, a)
    close(ours.required_torque(q, v, a), theirs.required_torque(q, v, a), 1e-11)
    pose = link_poses(arm, q)[arm.tool]
    close(ours.forward_kinematics(q), pose.position, 1e-13)
    close(ours.orientation(q), pose.rotation, 1e-13)


def test_the_picker_agrees_with_its_closed_form():
    arm = picker()
    closed_form, chain = lagrangian.from_description(arm, ARMATURE), lagrangian.from_urdf(arm, armature=ARMATURE)
    report = cross_check.compare(chain, closed_form, arm.lower, arm.upper, arm.velocity, samples=100, payload=0.025)
    assert report.worst <= 1e-12


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
    weightless = lagrangian.from_urdf(description.parse(text), gravity=(0, 0, 0))
    assert not weightless.gravity(q).any() and not weightless.potential_energy(q).any()


def test_mimic_joints_are_independent_and_said_to_be():
    mimicking = description.parse(broken(('effort="20"/>', 'effort="20"/><mimic joint="lift" multiplier="2"/>')))
    with warns(UserWarning, match="joint slide mimics lift; here it is a joint of its own"):
        model = lagrangian.from_urdf(mimicking)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lagrangian.analytic_model(mimicking)
    q, v, a, _ = states(model, 5, seed=14)
    expected = lagrangian.from_urdf(description.parse(TWO_LINKS)).inverse_dynamics(q, v, a)
    np.testing.assert_array_equal(model.inverse_dynamics(q, v, a), expected)


@mark.parametrize("com", [(0.02, 0.0, 0.0), (0.02, 0.01, -0.015)])
def test_by_hand_carries_a_payload_on_the_hands_axis_and_off_it(com):
    """The closed form takes the first, the chain the second; Pinocchio takes any."""
    arm = picker()
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 50, arm.n))
    model = lagrangian.analytic_model(arm, ARMATURE, 0.025, com)
    assert model.system == ("chain" if com[1] else "picker")
    close(model.inverse_dynamics(q, v, a), RigidBody(arm, ARMATURE).with_payload(0.025, com).inverse_dynamics(q, v, a), 1e-9)


def test_a_tool_that_no_joint_moves():
    model = lagrangian.from_urdf(description.parse(TOOL_ON_THE_BASE))
    assert not model.jacobian(np.ones(2)).any() and model.orientation(np.ones((3, 2))).shape == (3, 3, 3)


GOOD = joint("R", "z", (0, 0, 0), 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))


def but(**changes):
    return [{key: value for key, value in (GOOD | changes).items() if value is not None}]


@mark.parametrize(
    "joints, message",
    [
        ([], r"joints is \[\], expected a list of at least one joint dictionary"),
        ([3], "joint joint1 is of type int, expected a dictionary of type, axis, xyz"),
        (but(mass=None, com=None), "joint joint1: missing mass, com; it takes type, axis, xyz"),
        (but(weight=1.0), "joint joint1: unknown weight; it takes type, axis, xyz"),
        ([*but(name="a"), *but(name="a")], "joint a is there twice"),
        (but(type="revolute"), r"joint joint1: type is 'revolute', must be R \(revolute\) or P \(prismatic\)"),
        (but(axis="w"), "joint1: axis is 'w', must be x, y, z or a vector"),
        (but(axis=(0, 0, 0)), r"joint1: axis is \(0, 0, 0\)"),
        (but(mass=-1.0), "joint1: mass is -1.0, must be >= 0"),
        (but(inertia={"Ixx": 1.0}), "joint1: inertia: missing Ixy, Ixz, Iyy, Iyz, Izz; it takes Ixx"),
        (but(inertia=GOOD["inertia"] | {"Ixy": 1.0}), "joint1: inertia: a principal moment is -0.9 kg·m², must be >= 0"),
    ],
)
def test_joints_refused(joints, message):
    with raises(InputError, match=message):
        lagrangian.chain(joints, (0, 0, -9.81))


def test_infinite_accelerations_are_refused():
    weightless = [joint("R", "z", (0, 0, 0), 0.0, (0.1, 0.2, 0.3), (0.0, 0.0, 0.0)), *but()]
    model = lagrangian.chain(weightless, (0, 0, -9.81))
    with raises(InputError, match="the mass matrix is singular"):
        model.forward_dynamics(*np.zeros((3, 2)))
    assert np.isfinite(lagrangian.chain(weightless, (0, 0, -9.81), armature=(0.1, 0.1)).forward_dynamics(*np.ones((3, 2)))).all()
