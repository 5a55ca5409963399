"""Picker's closed form from a URDF (``ArmDescription``), with each of its assumptions checked aloud.

``read_shape`` checks the axes and the offsets.  On top of that the closed form needs the centre of mass of
each link on its x axis, inertias that are diagonal in the link's axes, and a scissor that hangs on the hand's
x axis, turns about the hand's z axis and is balanced there.  What fixed joints weld to a link is part of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.model import GRAVITY
from picker_dynamics.robot.picker_shape import PickerShape, read_shape

from ..bodies import Body, welded
from .picker_model import PickerModel, PickerParameters

ROUNDING = 1e-9
"""What counts as zero: lengths in m, direction cosines, inertias as a share of the link's largest moment."""


def from_description(description: ArmDescription, armature: ArrayLike | None = None) -> PickerModel:
    """The picker's closed form with the numbers of a URDF.

    Args:
        description: an arm of the picker's shape; the names of its joints and links are free.
        armature: (5,) rotor inertia at each joint [kg·m²], default none.

    Returns:
        The model in the root link's frame, with the friction of <dynamics> and the scissor's full inertia.

    Raises:
        DescriptionError: the arm has another shape; names joint or link, the value, and what is needed.
    """
    shape = read_shape(description)
    turret, *links = (description.movable[i].child for i in shape.columns)
    scissor = description.movable[shape.scissor].child
    r4 = _scissor_distance(description, shape)
    base = welded(description, turret)
    base_height = link_poses(description, np.zeros(description.n))[turret].position[2]
    masses, coms, inertias = zip(*(_link(description, link) for link in links))
    m4, I4x, I4 = _scissor(description, scissor)
    parameters = PickerParameters(
        g=GRAVITY,
        lengths=tuple(shape.lengths.tolist()),
        masses=masses,
        coms=coms,
        inertias=inertias,
        I0z=float(base.about(np.array([0.0, 0.0, base.com[2]]))[2, 2]),
        m4=m4,
        r4=r4,
        I4=I4,
        I4x=I4x,
        coupled=True,
        origin=tuple(shape.shoulder.tolist()),
        turret_moment=base.mass * float(base_height + base.com[2]),
    )
    return PickerModel(
        parameters, description.joint_names, armature=armature, viscous=description.damping, coulomb=description.friction
    )


def _require(holds: bool, what: str, value: Any, needed: str, name: str) -> None:
    if not holds:
        shown = f"({', '.join(f'{x:g}' for x in value)})" if np.ndim(value) else value
        raise DescriptionError(f"{what} is {shown}; the picker's closed form needs {needed}", name, value)


def _scissor_distance(description: ArmDescription, shape: PickerShape) -> float:
    """Wrist to scissor joint along the hand [m]; checks how the scissor hangs on the hand."""
    joint, wrist = description.movable[shape.scissor], description.movable[shape.columns[3]]
    where = f"joint {joint.name}"
    carriers = [other for other in description.path_to(joint.parent) if other.movable]
    _require(
        bool(carriers) and carriers[-1] is wrist,
        f"{where}: parent link",
        joint.parent,
        f"the scissor to hang on the hand, {wrist.child}",
        joint.name,
    )
    _require(joint.type != "prismatic", f"{where}: type", joint.type, "a rotation", joint.name)
    _require(np.allclose(joint.axis, (0, 0, 1), rtol=0, atol=ROUNDING), f"{where}: axis", joint.axis, "(0, 0, 1)", joint.name)
    poses = link_poses(description, np.zeros(description.n))
    _require(
        np.allclose(poses[joint.child].rotation, np.eye(3), rtol=0, atol=ROUNDING),
        f"{where}: frame",
        "turned against the hand at 0",
        "it parallel",
        joint.name,
    )
    offset = poses[joint.child].position - poses[wrist.child].position
    _require(
        np.abs(offset[1:]).max() <= ROUNDING, f"{where}: origin in the hand [m]", offset, "it on the hand's x axis", joint.name
    )
    return float(offset[0])


def _link(description: ArmDescription, link: str) -> tuple[float, float, tuple[float, float, float]]:
    """Mass, distance of the centre of mass along x, and (Ix, Iy, Iz) about it."""
    body = welded(description, link)
    _require(
        np.abs(body.com[1:]).max() <= ROUNDING, f"link {link}: centre of mass [m]", body.com, "it on the link's x axis", link
    )
    return body.mass, float(body.com[0]), _moments(body, link)


def _scissor(description: ArmDescription, link: str) -> tuple[float, float, float]:
    """Mass, inertia across the axis, inertia about the axis, of a body balanced on that axis."""
    body = welded(description, link)
    _require(
        np.abs(body.com).max() <= ROUNDING,
        f"link {link}: centre of mass [m]",
        body.com,
        "it on the scissor's axis, at the joint's origin",
        link,
    )
    Ix, Iy, Iz = _moments(body, link)
    _require(
        abs(Ix - Iy) <= ROUNDING * max(Ix, Iy, Iz),
        f"link {link}: ixx - iyy [kg·m²]",
        Ix - Iy,
        "equal inertias across the scissor's axis",
        link,
    )
    return body.mass, Ix, Iz


def _moments(body: Body, link: str) -> tuple[float, float, float]:
    moments = body.inertia.diagonal()
    product = np.abs(body.inertia - np.diag(moments)).max()
    _require(
        product <= ROUNDING * np.abs(moments).max(),
        f"link {link}: largest product of inertia [kg·m²]",
        product,
        "a diagonal inertia in the link's axes",
        link,
    )
    return tuple(moments.tolist())
