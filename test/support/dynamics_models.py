"""Models of every kind, by name: closed forms of the notes' systems and of the picker, chains and trees, Pinocchio's."""

from arm_fixtures import picker
from golden import model_of
from small_urdfs import random_arm

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.robot import description

NOTES = ("rrp", "spatial_2r", "planar_2r", "pendulum", "spring_mass", "cylindrical", "rocking_bar", "two_link", "three_link")
"""The notes' systems beside the picker and the chain."""

WITHOUT_TIP = ("spring_mass",)
CONSTANT_INERTIA = ("pendulum", "spring_mass")

ARMATURE = (6e-4, 7e-4, 8e-4, 5e-4, 9e-4)
ROTORS = (0.1, 0.2, 0.3, 0.4, 0.5)
LOAD = 0.3, (0.05, 0.02, -0.1)
"""A load on no axis of the tool: mass, centre of mass."""

TREE = description.parse(random_arm(3, count=5, branching=0.5))
"""All kinds of joints, two branches."""

BRANCHED_URDF = random_arm(16, count=4, branching=0.5)
BRANCHED = description.parse(BRANCHED_URDF)
"""Siblings against the alphabet, two continuous joints, general axes, a massless link, a heavy root."""


def joint(kind, axis, xyz, mass, com, inertia=(0.0, 0.0, 0.0)):
    """A joint of a chain, and the body that it carries."""
    moments = dict(zip(("Ixx", "Iyy", "Izz"), inertia)) | dict.fromkeys(("Ixy", "Ixz", "Iyz"), 0.0)
    return {"type": kind, "axis": axis, "xyz": xyz, "rpy": (0, 0, 0), "mass": mass, "com": com, "inertia": moments}


def _models():
    for system in ("picker", *NOTES):
        yield system, model_of(system)
    two_link = model_of("two_link")
    yield (
        "two_link, rotors",
        lagrangian.ClosedForm(two_link.equations, two_link.constants, two_link.joint_names, armature=ROTORS[:2]),
    )
    yield "picker, notes", model_of("picker", 1)
    yield "picker, urdf", lagrangian.from_description(picker())
    yield "picker, rotors, payload", lagrangian.from_description(picker(), ARMATURE).with_payload(0.025, (0.02, 0, 0))
    yield "chain", model_of("chain")
    yield "chain, sliding", model_of("chain", 2)
    tree = lagrangian.ChainModel(TREE, gravity=(1.0, -2.0, 9.0), armature=ROTORS)
    yield "tree, rotors", tree
    yield "tree, rotors, payload", tree.with_payload(*LOAD)
    yield "Pinocchio", RigidBody(BRANCHED)
    rotors = RigidBody(BRANCHED, armature=ROTORS[:4])
    yield "Pinocchio, rotors", rotors
    yield "Pinocchio, rotors, payload", rotors.with_payload(*LOAD)


MODELS = dict(_models())
