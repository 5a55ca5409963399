"""N joints of any URDF: Pinocchio, any gravity, mimic joints, and what is refused."""

import numpy as np
from arm_fixtures import picker
from dynamics_models import ARMATURE, LOAD, joint
from dynamics_properties import check_same, close, states
from golden import chain_of
from pytest import mark, raises
from small_urdfs import random_arm

from picker_dynamics.dynamics import cross_check, lagrangian
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError
from picker_dynamics.robot import description


@mark.parametrize("seed", range(12))
def test_arms_agree_with_pinocchio(seed):
    """Serial and branched, with rotors, with and without a load on no axis of the tool."""
    arm = description.parse(random_arm(seed, branching=0.4 * (seed % 2)))
    armature = np.linspace(0.1, 0.5, arm.n)
    ours, theirs = lagrangian.ChainModel(arm, armature=armature), RigidBody(arm, armature=armature)
    q, v, a = cross_check.sample_states(arm, 20, seed=1)
    check_same(ours, theirs, 1e-11, q, v, a)
    check_same(ours.with_payload(*LOAD), theirs.with_payload(*LOAD), 1e-11, q, v, a)
    close(ours.required_torque(q, v, a), theirs.required_torque(q, v, a), 1e-11)


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
    leaning, upright = RigidBody(description.parse(turned)), lagrangian.ChainModel(description.parse(text), R.T @ (0, 0, -9.81))
    q, v, a, _ = states(upright, 10, seed=12)
    close(upright.inverse_dynamics(q, v, a), leaning.inverse_dynamics(q, v, a), 1e-12)
    weightless = lagrangian.ChainModel(description.parse(text), gravity=(0, 0, 0))
    assert not weightless.gravity(q).any() and not weightless.potential_energy(q).any()


@mark.parametrize("com", [(0.02, 0.0, 0.0), (0.02, 0.01, -0.015)])
def test_by_hand_carries_a_payload_on_the_hands_axis_and_off_it(com):
    """The closed form takes the first, the chain the second; Pinocchio takes any."""
    arm = picker()
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 50, arm.n))
    model = lagrangian.analytic_model(arm, ARMATURE, 0.025, com)
    assert model.system == ("chain" if com[1] else "picker")
    close(model.inverse_dynamics(q, v, a), RigidBody(arm, ARMATURE).with_payload(0.025, com).inverse_dynamics(q, v, a), 1e-9)


def test_infinite_accelerations_are_refused():
    weightless = [joint("R", "z", (0, 0, 0), 0.0, (0.1, 0.2, 0.3)), joint("R", "z", (0, 0, 0), 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))]
    model = chain_of(weightless, (0, 0, -9.81))
    with raises(InputError, match="the mass matrix is singular"):
        model.forward_dynamics(*np.zeros((3, 2)))
    assert np.isfinite(chain_of(weightless, (0, 0, -9.81), armature=(0.1, 0.1)).forward_dynamics(*np.ones((3, 2)))).all()
