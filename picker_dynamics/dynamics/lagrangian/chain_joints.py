"""Serial chain of N joints from a list of dictionaries: ``lagrangian.chain``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError
from picker_dynamics.robot.description import rotation_from_rpy
from picker_dynamics.robot.model import Array, as_vector, checked_number, read_only

from .chain_equations import ChainParameters
from .chain_model import ChainModel

Joint: TypeAlias = Mapping[str, Any]
"""One joint of :func:`chain`."""

KEYS = ("type", "axis", "xyz", "rpy", "mass", "com", "inertia")
INERTIA_KEYS = ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
TYPES = {"R": False, "P": True}
"""Joint types, and whether they slide."""

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}

NEGATIVE = 1e-9
"""A principal moment below minus this share of the largest one is no rounding."""


def chain(joints: Sequence[Joint], gravity: ArrayLike, *, armature: ArrayLike | None = None) -> ChainModel:
    """A serial chain of revolute and prismatic joints.

        frame_i = frame_{i-1} · Trans(xyz) · Rz(rpy[2]) Ry(rpy[1]) Rx(rpy[0]) · motion(axis, q_i)

    Args:
        joints: in order from the base, each a dictionary with all of

            type      "R" (turns by q_i about the axis) or "P" (slides by q_i along it)
            axis      "x", "y", "z" or a vector, own frame; its length does not matter
            xyz, rpy  pose at q_i = 0 in the frame before [m, rad]
            mass, com [kg], [m] in frame_i, after the motion
            inertia   Ixx Iyy Izz Ixy Ixz Iyz: tensor elements about the com in frame_i [kg·m²]

            and, if wanted, ``name`` (default joint1, joint2, …).
        gravity: (3,) acceleration of gravity in the base frame [m/s²], such as (0, 0, -9.81).
        armature: (n,) rotor inertia at each joint [kg·m²], default none.

    Returns:
        The model; its tool is the last frame.

    Raises:
        InputError: no joint, an unknown or missing key, another type or axis, values that are not finite or of
            the wrong count, a negative mass or moment of inertia; names the joint and what is allowed.
    """
    listed = isinstance(joints, Sequence) and not isinstance(joints, (str, bytes))
    if not listed or not joints:
        found = "empty" if listed else f"of type {type(joints).__name__}"
        raise InputError(f"joints is {found}, expected a list of at least one joint dictionary", "joints")
    names = [_name(joint, i) for i, joint in enumerate(joints)]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"joint {name} is there twice", name)
    rows = [_row(joint, name) for name, joint in zip(names, joints)]
    prismatic, axes, offsets, rotations, masses, coms, inertias = zip(*rows)
    parameters = ChainParameters(
        parents=tuple(range(-1, len(rows) - 1)),
        prismatic=prismatic,
        offsets=read_only(offsets),
        rotations=read_only(rotations),
        axes=read_only(axes),
        masses=read_only(masses),
        coms=read_only(coms),
        inertias=read_only(inertias),
        gravity=read_only(as_vector("gravity", gravity, 3)),
        tool_parent=len(rows) - 1,
        tool_position=read_only(np.zeros(3)),
        tool_rotation=read_only(np.eye(3)),
    )
    return ChainModel(parameters, names, armature=armature)


def _name(joint: Any, index: int) -> str:
    default = f"joint{index + 1}"
    if not isinstance(joint, Mapping):
        raise InputError(f"{default} is of type {type(joint).__name__}, expected a dictionary of {', '.join(KEYS)}", default)
    return str(joint.get("name", default))


def require_keys(what: str, given: Mapping[str, Any], keys: Sequence[str], *, noun: str = "", subject: str | None = None) -> None:
    """``given`` has exactly these keys, or an InputError about ``subject`` (default: the first wrong key)."""
    for kind, wrong in (
        ("unknown", [str(key) for key in given if key not in keys]),
        ("missing", [key for key in keys if key not in given]),
    ):
        if wrong:
            message = f"{what}: {kind} {noun}{', '.join(wrong)}; it takes {', '.join(keys)}"
            raise InputError(message, subject or wrong[0])


def _row(joint: Joint, name: str) -> tuple[bool, Array, Array, Array, float, Array, Array]:
    """What ``ChainParameters`` needs of one joint, checked."""
    what = f"joint {name}"
    require_keys(what, {key: joint[key] for key in joint if key != "name"}, KEYS, subject=name)
    if not isinstance(joint["type"], str) or joint["type"] not in TYPES:
        raise InputError(f"{what}: type is {joint['type']!r}, must be R (revolute) or P (prismatic)", name, joint["type"])
    xyz, rpy, com = (as_vector(f"{what}: {key}", joint[key], 3) for key in ("xyz", "rpy", "com"))
    return (
        TYPES[joint["type"]],
        _axis(joint["axis"], name),
        xyz,
        rotation_from_rpy(rpy),
        checked_number(f"{what}: mass", joint["mass"], least=0.0, subject=name),
        com,
        _inertia(joint["inertia"], name),
    )


def _axis(axis: str | ArrayLike, name: str) -> Array:
    what = f"joint {name}: axis"
    if isinstance(axis, str):
        if axis not in AXES:
            raise InputError(f"{what} is {axis!r}, must be x, y, z or a vector", name, axis)
        return np.array(AXES[axis])
    direction = as_vector(what, axis, 3)
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        raise InputError(f"{what} is (0, 0, 0)", name, length)
    return direction / length


def _inertia(elements: Any, name: str) -> Array:
    what = f"joint {name}: inertia"
    if not isinstance(elements, Mapping):
        raise InputError(f"{what} is of type {type(elements).__name__}, expected a dictionary of {', '.join(INERTIA_KEYS)}", name)
    require_keys(what, elements, INERTIA_KEYS, subject=name)
    Ixx, Iyy, Izz, Ixy, Ixz, Iyz = (checked_number(f"{what}: {key}", elements[key], subject=name) for key in INERTIA_KEYS)
    inertia = np.array([[Ixx, Ixy, Ixz], [Ixy, Iyy, Iyz], [Ixz, Iyz, Izz]])
    moments = np.linalg.eigvalsh(inertia)
    if moments[0] < -NEGATIVE * max(abs(moments)):
        raise InputError(f"{what}: a principal moment is {moments[0]:g} kg·m², must be >= 0", name, float(moments[0]), 0.0)
    return inertia
