"""The picker's closed form: the note's letters, Pinocchio, payload, and what it refuses."""

import re
from xml.etree import ElementTree

import numpy as np
from arm_fixtures import picker
from dynamics_models import MODELS
from dynamics_properties import check_same, close, states
from golden import model_of
from pytest import approx, mark, raises

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import DescriptionError, InputError
from picker_dynamics.robot import description


def edited(*changes, extra: str = "") -> description.ArmDescription:
    """The picker's URDF with attributes set, each change ("kind name/path", attributes), and more elements added."""
    robot = ElementTree.fromstring(picker().urdf)
    for path, attributes in changes:
        element = robot.find(re.sub(r" (\w+)", r"[@name='\1']", path))
        assert element is not None, path
        for key, value in attributes.items():
            element.set(key, value)
    robot.extend(ElementTree.fromstring(f"<robot>{extra}</robot>"))
    return description.parse(ElementTree.tostring(robot, encoding="unicode"))


def test_stretched_arm_needs_the_known_shoulder_torque():
    """Sum of m g x by hand: 0.9785 N·m without, 1.0828 N·m with a 25 g berry at the tip."""
    bare, berry = model_of("picker", 0), model_of("picker", 1)
    shoulder_torque = 9.81 * (0.15 * 0.1 + 0.12 * 0.2725 + 0.08 * 0.385 + 0.05 * 0.425)
    assert bare.gravity(np.zeros(5))[1] == approx(shoulder_torque, rel=1e-12)
    assert berry.gravity(np.zeros(5))[1] == approx(shoulder_torque + 9.81 * 0.025 * 0.425, rel=1e-12)


# --- the URDF's numbers, against Pinocchio ------------------------------------------------------------------


def agrees_with_pinocchio(arm, armature=None, *loads):
    for load in ((), *loads):
        ours, theirs = lagrangian.from_description(arm, armature), RigidBody(arm, armature)
        if load:
            ours, theirs = ours.with_payload(*load), theirs.with_payload(*load)
        q, v, a, j = states(ours, 50, seed=9)
        check_same(ours, theirs, 1e-11, q, v, a, j)
        close(ours.required_torque(q, v, a), theirs.required_torque(q, v, a), 1e-11)


def test_agrees_with_pinocchio_for_another_arm_of_this_shape():
    """Centres of mass anywhere along the links, scissor short of the tool, base moved, turret lopsided."""
    arm = edited(
        ("joint base/origin", {"xyz": "0.3 -0.2 0.1"}),
        ("link turret/inertial/origin", {"xyz": "0.01 0.02 0.03"}),
        ("link upper_arm/inertial/origin", {"xyz": "-0.03 0 0"}),
        ("link forearm/inertial/origin", {"xyz": "0.16 0 0"}),
    )
    agrees_with_pinocchio(arm)


# --- payload ---------------------------------------------------------------------------------------------


def test_payload_off_the_hands_axis_refused():
    with raises(InputError, match="payload com .* across the hand"):
        MODELS["picker, urdf"].with_payload(0.1, (0, 0.01, 0))


# --- from_description: every assumption of the closed form ------------------------------------------------


@mark.parametrize(
    "change",
    [
        ("joint scissor/axis", {"xyz": "0 1 0"}),
        ("joint scissor/origin", {"xyz": "0.08 0 0.01"}),
        ("link forearm/inertial/origin", {"xyz": "0.07 0 0.01"}),
        ("link hand/inertial/inertia", {"ixy": "1e-6"}),
        ("link scissor/inertial/inertia", {"ixx": "1.5e-5", "iyy": "1e-5"}),
    ],
)
def test_from_description_refuses_what_its_equations_do_not_describe(change):
    with raises(DescriptionError, match="not of the picker's shape: at joint .* is off by"):
        lagrangian.from_description(edited(change))
