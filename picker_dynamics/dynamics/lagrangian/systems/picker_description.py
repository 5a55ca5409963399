"""Picker's closed form from a URDF (``ArmDescription``), with each of its assumptions checked.

``read_shape`` checks the axes and the offsets.  On top of that the closed form needs the centre of mass of
each link on its x axis, inertias that are diagonal in the link's axes, and a scissor that hangs on the hand's
x axis, turns about the hand's z axis and is balanced there.  What fixed joints weld to a link is part of it.
"""

from __future__ import annotations

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
    r4 = _scissor_distance(description, shape)
    base, bodies = welded(description, turret), [welded(description, link) for link in links]
    for link, body in zip(links, bodies):
        off = body.com[1:]
        _require(np.abs(off).max() <= ROUNDING, f"link {link}: centre of mass [m]", body.com, "it on the link's x axis", link)
    scissor = description.movable[shape.scissor].child
    cutter = welded(description, scissor)
    Ix, Iy, Iz = _moments(cutter, scissor)
    where = f"link {scissor}"
    balanced, even = np.abs(cutter.com).max() <= ROUNDING, abs(Ix - Iy) <= ROUNDING * max(Ix, Iy, Iz)
    _require(balanced, f"{where}: centre of mass [m]", cutter.com, "it on the scissor's axis, at the joint's origin", scissor)
    _require(even, f"{where}: ixx - iyy [kg·m²]", Ix - Iy, "equal inertias across the scissor's axis", scissor)
    base_height = link_poses(description, np.zeros(description.n))[turret].position[2]
    parameters = PickerParameters(
        g=GRAVITY,
        lengths=tuple(shape.lengths.tolist()),
        masses=tuple(body.mass for body in bodies),
        coms=tuple(float(body.com[0]) for body in bodies),
        inertias=tuple(_moments(body, link) for body, link in zip(bodies, links)),
        I0z=float(base.about(np.array([0.0, 0.0, base.com[2]]))[2, 2]),
        m4=cutter.mass,
        r4=r4,
        I4=Iz,
        I4x=Ix,
        coupled=True,
        origin=tuple(shape.shoulder.tolist()),
        turret_moment=base.mass * float(base_height + base.com[2]),
    )
    return PickerModel(
        parameters, description.joint_names, armature=armature, viscous=description.damping, coulomb=description.friction
    )


def _require(holds: bool | np.bool_, what: str, value: object, needed: str, name: str) -> None:
    if not holds:
        shown = f"({', '.join(f'{x:g}' for x in value)})" if isinstance(value, np.ndarray) else value
        raise DescriptionError(f"{what} is {shown}; the picker's closed form needs {needed}", name, value)


def _scissor_distance(description: ArmDescription, shape: PickerShape) -> float:
    """Wrist to scissor joint along the hand [m]; checks how the scissor hangs on the hand."""
    joint, wrist = description.movable[shape.scissor], description.movable[shape.columns[3]]
    poses = link_poses(description, np.zeros(description.n))
    carriers = [other for other in description.path_to(joint.parent) if other.movable]
    offset = poses[joint.child].position - poses[wrist.child].position
    straight = np.allclose(poses[joint.child].rotation, np.eye(3), rtol=0, atol=ROUNDING)
    for holds, what, value, needed in (
        (
            bool(carriers) and carriers[-1] is wrist,
            "parent link",
            joint.parent,
            f"the scissor to hang on the hand, {wrist.child}",
        ),
        (joint.type != "prismatic", "type", joint.type, "a rotation"),
        (np.allclose(joint.axis, (0, 0, 1), rtol=0, atol=ROUNDING), "axis", joint.axis, "(0, 0, 1)"),
        (straight, "frame", "turned against the hand at 0", "it parallel"),
        (np.abs(offset[1:]).max() <= ROUNDING, "origin in the hand [m]", offset, "it on the hand's x axis"),
    ):
        _require(holds, f"joint {joint.name}: {what}", value, needed, joint.name)
    return float(offset[0])


def _moments(body: Body, link: str) -> tuple[float, float, float]:
    """(Ix, Iy, Iz) about the centre of mass, of an inertia that is diagonal."""
    moments = body.inertia.diagonal()
    product = np.abs(body.inertia - np.diag(moments)).max()
    diagonal = product <= ROUNDING * np.abs(moments).max()
    what = f"link {link}: largest product of inertia [kg·m²]"
    _require(diagonal, what, product, "a diagonal inertia in the link's axes", link)
    return tuple(moments.tolist())
