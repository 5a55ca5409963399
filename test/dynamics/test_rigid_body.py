"""Pinocchio behind our interface: order, angles, armature, payload; truth from link poses by differences."""

import dataclasses

import numpy as np
import pytest
from dynamics_models import BRANCHED, BRANCHED_URDF, MODELS, ROTORS
from dynamics_properties import close, states
from small_urdfs import random_arm

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import DescriptionError, JointNamesError
from picker_dynamics.robot import description
from picker_dynamics.robot.kinematic_tree import link_poses

BARE, WITH_ROTORS = MODELS["Pinocchio"], MODELS["Pinocchio, rotors"]


def test_order_and_rotors_are_those_of_the_description():
    """Pinocchio sorts siblings by name: x2 before y1."""
    assert BARE.joint_names == ("y1", "x2", "w3", "v4")
    q, v, a, _ = states(BARE, 5, seed=1)
    close(BARE.forward_kinematics(q), link_poses(BRANCHED, q)[BRANCHED.tool].position, 1e-13)
    close(WITH_ROTORS.inverse_dynamics(q, v, a) - BARE.inverse_dynamics(q, v, a), a * np.array(ROTORS[:4]), 1e-13)


def test_results_are_not_overwritten_by_the_next_call():
    q, v, a, _ = states(BARE, 2, seed=11)
    same_order = random_arm(16, count=4, branching=0.0).replace("continuous", "revolute")

    def results(model, i):
        tau = model.inverse_dynamics(q[i], v[i], a[i])
        return [tau, model.gravity(q[i]), model.mass_matrix(q[i]), model.coriolis_matrix(q[i], v[i])]

    for model in (BARE, RigidBody(description.parse(same_order))):
        first = results(model, 0)
        kept = [x.copy() for x in first]
        results(model, 1)
        assert all(np.array_equal(x, y) for x, y in zip(first, kept))


def test_texts_that_are_not_of_the_arm_are_refused():
    with pytest.raises(DescriptionError, match="Pinocchio cannot read this URDF"):
        RigidBody(dataclasses.replace(BRANCHED, urdf="<robot"))
    with pytest.raises(JointNamesError, match="Pinocchio finds joints .*aa.* the description has .*y1"):
        RigidBody(dataclasses.replace(BRANCHED, urdf=BRANCHED_URDF.replace('"y1"', '"aa"')))
