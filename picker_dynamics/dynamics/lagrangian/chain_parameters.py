"""Parameters of N joints, a chain or a tree: of a URDF, or of a list of dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from picker_dynamics.errors import DescriptionError, InputError
from picker_dynamics.robot.description import ArmDescription, rotation_from_rpy
from picker_dynamics.robot.kinematic_tree import link_poses, rigid_groups
from picker_dynamics.robot.model import Array, as_vector, checked_number, read_only

from .bodies import Body, welded

Joint: TypeAlias = Mapping[str, Any]
"""One joint of :func:`parameters_from`."""

KEYS = ("type", "axis", "xyz", "rpy", "mass", "com", "inertia")
INERTIA_KEYS = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
TYPES = {"R": False, "P": True}
"""Joint types, and whether they slide."""

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}

NEGATIVE = 1e-9
"""A principal moment below minus this share of the largest one is no rounding."""


@dataclass(frozen=True)
class ChainParameters:
    """A tree of n joints, parents before children; body i is what joint i carries.

        frame_i = frame_parent · Trans(offset_i) · rotation_i · motion(axis_i, q_i)

    Attributes:
        parents: index of the joint that carries joint i; -1 for the base.
        prismatic: whether joint i slides.
        offsets, rotations, axes: (n, 3) [m], (n, 3, 3) and (n, 3) unit vectors; axes in their own frame.
        bodies: n of them, in frame i.
        gravity: (3,) acceleration [m/s²], base frame.
        tool: index of the joint whose frame carries the tool; -1 if nothing moves it.
        tool_position, tool_rotation: pose of the tool in that frame.
    """

    parents: tuple[int, ...]
    prismatic: tuple[bool, ...]
    offsets: Array
    rotations: Array
    axes: Array
    bodies: tuple[Body, ...]
    gravity: Array
    tool: int
    tool_position: Array
    tool_rotation: Array

    @cached_property
    def carries(self) -> NDArray[np.bool_]:
        """Matrix (n + 1, n), bool: whether joint j (column) lies on the way from the base to body l (row); last row: the base."""
        ways = np.zeros((len(self.parents) + 1, len(self.parents)), dtype=bool)
        for i, parent in enumerate(self.parents):
            ways[i] = ways[parent]
            ways[i, i] = True
        return ways

    @cached_property
    def masses(self) -> Array:
        """(n,) [kg]."""
        return read_only([body.mass for body in self.bodies])

    @cached_property
    def coms(self) -> Array:
        """(n, 3) [m], own frame."""
        return read_only([body.com for body in self.bodies])

    @cached_property
    def inertias(self) -> Array:
        """(n, 3, 3) about the centres of mass [kg·m²], own frame."""
        return read_only([body.inertia for body in self.bodies])


def parameters_of(description: ArmDescription, gravity: ArrayLike) -> ChainParameters:
    """Parameters of an arm's URDF, joints in the description's order; fixed joints weld their links into one body.

    Raises:
        DescriptionError: no joint moves.
    """
    if not description.n:
        raise DescriptionError(f"{description.source}: no joint of {description.name} moves")
    poses = link_poses(description, np.zeros(description.n))
    leaders = {link: leader for leader, members in rigid_groups(description).items() for link in members}
    index = {joint.child: i for i, joint in enumerate(description.movable)} | {description.root: -1}

    def within(leader: str, link: str) -> tuple[Array, Array]:
        """Position and rotation of a link in the frame of another, at q = 0."""
        own, other = poses[leader], poses[link]
        return own.rotation.T @ (other.position - own.position), own.rotation.T @ other.rotation

    offsets, rotations = zip(*(within(leaders[joint.parent], joint.child) for joint in description.movable))
    tool_position, tool_rotation = within(leaders[description.tool], description.tool)
    return ChainParameters(
        tuple(index[leaders[joint.parent]] for joint in description.movable),
        tuple(joint.type == "prismatic" for joint in description.movable),
        read_only(offsets),
        read_only(rotations),
        read_only([joint.axis for joint in description.movable]),
        tuple(welded(description, joint.child) for joint in description.movable),
        read_only(as_vector("gravity", gravity, 3)),
        index[leaders[description.tool]],
        read_only(tool_position),
        read_only(tool_rotation),
    )


def parameters_from(joints: Sequence[Joint], names: Sequence[str], gravity: ArrayLike) -> ChainParameters:
    """Parameters of a serial chain; its tool is the last frame.  Arguments and errors: ``lagrangian.chain``."""
    prismatic, axes, offsets, rotations, bodies = zip(*(_row(joint, name) for name, joint in zip(names, joints)))
    last = len(names) - 1
    return ChainParameters(
        tuple(range(-1, last)),
        prismatic,
        read_only(offsets),
        read_only(rotations),
        read_only(axes),
        bodies,
        read_only(as_vector("gravity", gravity, 3)),
        last,
        read_only(np.zeros(3)),
        read_only(np.eye(3)),
    )


def require_keys(what: str, given: Mapping[str, Any], keys: Sequence[str], subject: str | None = None) -> None:
    """Raise an InputError about ``subject``, or the first wrong key, unless ``given`` has exactly these keys."""
    if not isinstance(given, Mapping):
        raise InputError(f"{what} is of type {type(given).__name__}, expected a dictionary of {', '.join(keys)}", subject)
    for kind, wrong in (
        ("unknown", [str(key) for key in given if key not in keys]),
        ("missing", [key for key in keys if key not in given]),
    ):
        if wrong:
            raise InputError(f"{what}: {kind} {', '.join(wrong)}; it takes {', '.join(keys)}", subject or wrong[0])


def _row(joint: Joint, name: str) -> tuple[bool, Array, Array, Array, Body]:
    """Kind, axis, pose and body of one joint, checked."""
    what = f"joint {name}"
    given = {key: value for key, value in joint.items() if key != "name"} if isinstance(joint, Mapping) else joint
    require_keys(what, given, KEYS, name)
    if not isinstance(joint["type"], str) or joint["type"] not in TYPES:
        raise InputError(f"{what}: type is {joint['type']!r}, must be R (revolute) or P (prismatic)", name, joint["type"])
    axis = joint["axis"]
    if isinstance(axis, str) and axis not in AXES:
        raise InputError(f"{what}: axis is {axis!r}, must be x, y, z or a vector", name, axis)
    direction = as_vector(f"{what}: axis", AXES[axis] if isinstance(axis, str) else axis, 3)
    if not direction.any():
        raise InputError(f"{what}: axis is (0, 0, 0)", name, 0.0)
    xyz, rpy, com = (as_vector(f"{what}: {key}", joint[key], 3) for key in ("xyz", "rpy", "com"))
    mass = checked_number(f"{what}: mass", joint["mass"], least=0.0, subject=name)
    what = f"{what}: inertia"
    require_keys(what, joint["inertia"], INERTIA_KEYS, name)
    xx, xy, xz, yy, yz, zz = (checked_number(f"{what}: {key}", joint["inertia"][key], subject=name) for key in INERTIA_KEYS)
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    moments = np.linalg.eigvalsh(inertia)
    if moments[0] < -NEGATIVE * np.abs(moments).max():
        raise InputError(f"{what}: a principal moment is {moments[0]:g} kg·m², must be >= 0", name, float(moments[0]), 0.0)
    unit = direction / np.linalg.norm(direction)
    return TYPES[joint["type"]], unit, xyz, rotation_from_rpy(rpy), Body(mass, com, inertia)
