"""Pinocchio behind our interface: order, angles, armature, payload; truth from link poses by differences."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from dynamics_properties import (
    check_batch,
    check_composition,
    check_coriolis_matrix,
    check_gravity,
    check_jacobian,
    check_mass_matrix,
    check_power_balance,
    check_torque_rate,
    close,
    derivative,
    states,
)

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import DescriptionError, InputError, JointNamesError
from picker_dynamics.robot import description
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.model import GRAVITY

BRANCHED = """<robot name="branched">
  <link name="base"><inertial><origin xyz="0 0 0.5"/><mass value="2"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="a"><inertial><origin xyz="0.1 0.02 0.03" rpy="0.1 0.2 0.3"/><mass value="1.5"/>
    <inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.12" iyz="0.02" izz="0.07"/></inertial></link>
  <link name="b"/>
  <link name="c"><inertial><origin xyz="0.1 0.02 -0.03" rpy="0.3 0 0.1"/><mass value="0.5"/>
    <inertia ixx="0.01" ixy="0.001" ixz="0" iyy="0.012" iyz="0.002" izz="0.007"/></inertial></link>
  <link name="d"><inertial><origin xyz="0 0.2 0.03"/><mass value="0.7"/>
    <inertia ixx="0.02" ixy="0" ixz="0.001" iyy="0.01" iyz="0" izz="0.013"/></inertial></link>
  <link name="tool0"/>
  <joint name="zz" type="continuous"><parent link="base"/><child link="a"/>
    <origin xyz="0 0.1 0.2" rpy="0.3 0.2 0.1"/><axis xyz="1 2 3"/>
    <dynamics damping="0.5" friction="0.1"/></joint>
  <joint name="yy" type="prismatic"><parent link="a"/><child link="b"/>
    <origin xyz="0.1 0.1 0.2" rpy="0.3 0.2 0.1"/><axis xyz="0 1 1"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
  <joint name="xx" type="revolute"><parent link="b"/><child link="c"/>
    <origin xyz="0 0.1 0.2" rpy="0 0.2 0.1"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
  <joint name="ww" type="continuous"><parent link="b"/><child link="d"/>
    <origin xyz="0.3 0.1 0" rpy="0.3 0 1.1"/><axis xyz="0 0 -1"/></joint>
  <joint name="tip" type="fixed"><parent link="c"/><child link="tool0"/>
    <origin xyz="0.2 0.1 0" rpy="0.4 0 0.2"/></joint>
</robot>"""
"""Siblings against the alphabet, two continuous joints, general axes, a massless link, a heavy root."""

ARM = description.parse(BRANCHED)
BARE = RigidBody(ARM)
ROTORS = RigidBody(ARM, armature=(0.1, 0.2, 0.3, 0.4))
LOADED = ROTORS.with_payload(0.3, (0.05, 0.02, -0.1), np.array([[3, 1, 0], [1, 2, 0], [0, 0, 4]]) * 1e-3)
every_model = pytest.mark.parametrize("model", (BARE, ROTORS, LOADED), ids=("bare", "rotors", "loaded"))


def energies_from_poses(q, v) -> tuple[float, float]:
    """T = sum 1/2 m |dp/dt|² + 1/2 wᵀ I w and V = sum m g z, from where the links are, by differences."""
    kinetic = potential = 0.0
    for name, link in ARM.links.items():
        if name == ARM.root:
            continue

        def com(t, name=name, link=link):
            return link_poses(ARM, q + t * v)[name].apply(link.com)

        def rotation(t, name=name):
            return link_poses(ARM, q + t * v)[name].rotation

        R, velocity = rotation(0.0), derivative(com)
        spin = R.T @ derivative(rotation)
        omega = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        kinetic += 0.5 * link.mass * velocity @ velocity + 0.5 * omega @ link.inertia @ omega
        potential += link.mass * GRAVITY * com(0.0)[2]
    return kinetic, potential


def test_joint_order_is_the_descriptions():
    """Pinocchio sorts siblings by name: ww before xx."""
    assert BARE.joint_names == ("zz", "yy", "xx", "ww")
    assert BARE.viscous.tolist() == [0.5, 0, 0, 0] and BARE.coulomb.tolist() == [0.1, 0, 0, 0]


def test_energies_are_those_of_the_moving_links():
    for q, v in np.swapaxes(states(BARE, 5, seed=1)[:2], 0, 1):
        kinetic, potential = energies_from_poses(q, v)
        assert BARE.kinetic_energy(q, v) == pytest.approx(kinetic, rel=1e-8)
        assert BARE.potential_energy(q) == pytest.approx(potential, rel=1e-12)


def test_tool_is_where_the_description_puts_it():
    q = states(BARE, 20, seed=2)[0]
    close(BARE.forward_kinematics(q), link_poses(ARM, q)["tool0"].position, 1e-13)


def test_angular_jacobian_turns_the_tool():
    q, v, _, _ = states(BARE, 1, seed=3)[:, 0]
    R = link_poses(ARM, q)["tool0"].rotation
    spin = derivative(lambda t: link_poses(ARM, q + t * v)["tool0"].rotation) @ R.T
    close(BARE.angular_jacobian(q) @ v, [spin[2, 1], spin[0, 2], spin[1, 0]], 1e-8)


@every_model
def test_physics(model):
    q, v, a, j = states(model, 20, seed=4)
    check_mass_matrix(model, q, v)
    check_coriolis_matrix(model, q, v)
    check_gravity(model, q)
    check_jacobian(model, q)
    check_composition(model, q, v, a)
    check_torque_rate(model, q, v, a, j)


@every_model
def test_energy_gained_is_work_done(model):
    q, v, amplitude, _ = states(model, 1, seed=5, reach=1.0)[:, 0]
    check_power_balance(model, q, v, lambda t: 0.2 * amplitude * math.cos(5.0 * t), duration=0.3)


def test_batch_equals_loop():
    check_batch(LOADED, *states(LOADED, 4, seed=6))


def test_one_joint():
    """A pendulum has 1×1 matrices, like any other arm's."""
    arm = description.parse("""<robot name="pendulum"><link name="base"/><link name="rod"><inertial>
        <origin xyz="0.3 0 0"/><mass value="2"/>
        <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link>
        <joint name="swing" type="continuous"><parent link="base"/><child link="rod"/>
        <axis xyz="0 -1 0"/></joint></robot>""")
    pendulum = RigidBody(arm)
    q, v, a, j = states(pendulum, 5, seed=12)
    inertia, weight = 0.05 + 2 * 0.3**2, 2 * GRAVITY * 0.3
    close(pendulum.mass_matrix(q), np.full((5, 1, 1), inertia), 1e-13)
    close(pendulum.inverse_dynamics(q, v, a), inertia * a + weight * np.cos(q), 1e-13)
    close(pendulum.torque_rate(q, v, a, j), inertia * j - weight * np.sin(q) * v, 1e-13)
    assert not pendulum.coriolis_matrix(q, v).any()
    assert pendulum.jacobian(q).shape == (5, 3, 1)
    check_batch(pendulum, q, v, a, j)


def test_continuous_joints_are_angles():
    q, v, a, _ = states(BARE, 5, seed=7)
    turns = 2 * math.pi * np.array([1, 0, 0, -2])
    close(BARE.inverse_dynamics(q + turns, v, a), BARE.inverse_dynamics(q, v, a), 1e-12)


def test_armature_is_on_the_diagonal():
    q, v, a, _ = states(BARE, 5, seed=8)
    np.testing.assert_allclose(
        ROTORS.mass_matrix(q) - BARE.mass_matrix(q), np.broadcast_to(np.diag((0.1, 0.2, 0.3, 0.4)), (5, 4, 4)), atol=1e-14
    )
    close(ROTORS.inverse_dynamics(q, v, a) - BARE.inverse_dynamics(q, v, a), a * (0.1, 0.2, 0.3, 0.4), 1e-13)


def test_gravity_vector():
    assert BARE.gravity_vector.tolist() == [0.0, 0.0, -GRAVITY]
    with pytest.raises(ValueError, match="read-only"):
        BARE.gravity_vector[2] = 0.0


def test_payload_is_a_link_at_the_tool():
    """The same as a URDF in which the payload is a link on a fixed joint."""
    load = """<link name="berry"><inertial><origin xyz="0.05 0.02 -0.1"/><mass value="0.3"/>
        <inertia ixx="3e-3" ixy="1e-3" ixz="0" iyy="2e-3" iyz="0" izz="4e-3"/></inertial></link>
      <joint name="grip" type="fixed"><parent link="tool0"/><child link="berry"/></joint></robot>"""
    built_in = RigidBody(description.parse(BRANCHED.replace("</robot>", load)), ROTORS.armature)
    q, v, a, _ = states(BARE, 10, seed=9)
    close(LOADED.inverse_dynamics(q, v, a), built_in.inverse_dynamics(q, v, a), 1e-13)
    close(LOADED.mass_matrix(q), built_in.mass_matrix(q), 1e-13)
    assert LOADED.payload_mass == 0.3 and ROTORS.payload_mass == 0.0


def test_payload_is_replaced_not_added():
    q = states(BARE, 3, seed=10)[0]
    assert np.array_equal(LOADED.with_payload(0.1).mass_matrix(q), ROTORS.with_payload(0.1).mass_matrix(q))
    assert np.array_equal(LOADED.with_payload(0.0).mass_matrix(q), ROTORS.mass_matrix(q))


def test_results_are_not_overwritten_by_the_next_call():
    q, v, a, _ = states(BARE, 2, seed=11)
    limited = '<limit lower="-3" upper="3" velocity="1" effort="1"/></joint>'
    same_order = BRANCHED.replace("ww", "xy").replace("continuous", "revolute").replace("</joint>", limited)
    no_conversion = RigidBody(description.parse(same_order))

    def results(model, i):
        tau = model.inverse_dynamics(q[i], v[i], a[i])
        return [tau, model.gravity(q[i]), model.coriolis_matrix(q[i], v[i])]

    for model in (BARE, no_conversion):
        first = results(model, 0)
        kept = [x.copy() for x in first]
        results(model, 1)
        assert all(np.array_equal(x, y) for x, y in zip(first, kept))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((-0.1,), "payload mass is -0.1 kg"),
        ((0.1, (0, math.nan, 0)), r"payload com\[1\] is nan"),
        ((0.1, (0, 0, 0), np.arange(9.0).reshape(3, 3)), "not symmetric"),
    ],
)
def test_payload_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        BARE.with_payload(*arguments)


def test_payload_refused_where_no_joint_carries_it():
    on_hand = '<parent link="c"/><child link="tool0"/>'
    fixed_tool = BRANCHED.replace(on_hand, on_hand.replace('"c"', '"base"'))
    with pytest.raises(InputError, match="tool0 is fixed to the base"):
        RigidBody(description.parse(fixed_tool)).with_payload(0.1)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m: m.inverse_dynamics(np.zeros(4), np.zeros(3), np.zeros(4)), r"v has shape \(3,\), expected"),
        (lambda m: m.gravity([0, 0, math.inf, 0]), r"q\[2\] is inf"),
        (lambda m: m.forward_dynamics(np.zeros((2, 4)), np.zeros((3, 4)), np.zeros(4)), "do not broadcast: q"),
        (lambda m: m.friction([0, 0, 0, math.nan]), r"v\[3\] is nan"),
    ],
)
def test_states_refused(call, message):
    with pytest.raises(InputError, match=message):
        call(BARE)


def test_text_that_pinocchio_cannot_read_is_refused():
    with pytest.raises(DescriptionError, match="Pinocchio cannot read this URDF"):
        RigidBody(dataclasses.replace(ARM, urdf="<robot"))


def test_other_joints_in_the_text_are_refused():
    with pytest.raises(JointNamesError, match="Pinocchio finds joints .*aa.* the description has .*zz"):
        RigidBody(dataclasses.replace(ARM, urdf=BRANCHED.replace('"zz"', '"aa"')))
