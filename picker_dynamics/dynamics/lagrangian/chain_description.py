"""N-joint chain, or tree, of a URDF: ``from_urdf``, ``chain_of``."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError
from picker_dynamics.robot.description import ArmDescription, Joint, load
from picker_dynamics.robot.model import GRAVITY, Array, as_vector, read_only

from .bodies import welded
from .chain_equations import ChainParameters
from .chain_model import ChainModel

DOWN = (0.0, 0.0, -GRAVITY)
"""Acceleration of gravity [m/s²] for a base that stands upright."""


def from_urdf(source: str | Path | ArmDescription, gravity: ArrayLike = DOWN, *, armature: ArrayLike | None = None) -> ChainModel:
    """The chain or tree of joints of any fixed-base URDF.

    Revolute and continuous joints are angles, prismatic ones lengths; fixed joints weld their links into one
    body; a link without ``<inertial>`` is massless; the root link never moves.

    Args:
        source: a URDF file, or what :mod:`picker_dynamics.robot.description` read of one.
        gravity: (3,) acceleration of gravity in the root link's frame [m/s²].
        armature: (n,) rotor inertia at each joint [kg·m²], default none.

    Returns:
        The model, joints in the description's order, with the friction of <dynamics>; its tool is
        ``description.tool``.

    Raises:
        DescriptionError: a file that cannot be read, floating or planar joints, loops, or no joint that moves.

    Warns:
        UserWarning: a joint mimics another: both are joints of their own here, nothing couples them.
    """
    description = source if isinstance(source, ArmDescription) else load(source)
    for joint in description.movable:
        if joint.mimic is not None:
            warnings.warn(
                f"{description.source}: joint {joint.name} mimics {joint.mimic or 'a joint without name'}; "
                "here it is a joint of its own",
                UserWarning,
                stacklevel=2,
            )
    return chain_of(description, gravity, armature=armature)


def chain_of(description: ArmDescription, gravity: ArrayLike = DOWN, *, armature: ArrayLike | None = None) -> ChainModel:
    """Chain model of an arm, without :func:`from_urdf`'s warning about mimic joints (the linter has a finding about each)."""
    if not description.n:
        raise DescriptionError(f"{description.source}: no joint of {description.name} moves")
    index = {joint.child: i for i, joint in enumerate(description.movable)}
    folded = _folded(description)
    parents, offsets, rotations = zip(*(_placement(folded, index, joint) for joint in description.movable))
    bodies = [welded(description, joint.child) for joint in description.movable]
    tool_leader, tool_rotation, tool_position = folded[description.tool]
    parameters = ChainParameters(
        parents=parents,
        prismatic=tuple(joint.type == "prismatic" for joint in description.movable),
        offsets=read_only(offsets),
        rotations=read_only(rotations),
        axes=read_only([joint.axis for joint in description.movable]),
        masses=read_only([body.mass for body in bodies]),
        coms=read_only([body.com for body in bodies]),
        inertias=read_only([body.inertia for body in bodies]),
        gravity=read_only(as_vector("gravity", gravity, 3)),
        tool_parent=index.get(tool_leader, -1),
        tool_position=read_only(tool_position),
        tool_rotation=read_only(tool_rotation),
    )
    return ChainModel(
        parameters, description.joint_names, armature=armature, viscous=description.damping, coulomb=description.friction
    )


def _folded(description: ArmDescription) -> dict[str, tuple[str, Array, Array]]:
    """Of every link: the link nearest the root that fixed joints weld it to, and its pose in that link's frame."""
    folded = {description.root: (description.root, np.eye(3), np.zeros(3))}
    for joint in description.joints:
        if joint.movable:
            folded[joint.child] = joint.child, np.eye(3), np.zeros(3)
        else:
            leader, rotation, position = folded[joint.parent]
            folded[joint.child] = leader, rotation @ joint.rotation, position + rotation @ joint.xyz
    return folded


def _placement(folded: dict[str, tuple[str, Array, Array]], index: dict[str, int], joint: Joint) -> tuple[int, Array, Array]:
    """Index of the joint that carries ``joint`` (-1: the base), and its pose there at q = 0."""
    leader, rotation, position = folded[joint.parent]
    return index.get(leader, -1), position + rotation @ joint.xyz, rotation @ joint.rotation
