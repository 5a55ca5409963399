"""Recognition of arms of the picker's shape, and their link lengths; the special kinematics hold for no other.

The shape: the tool hangs on four revolute joints, a yaw axis and three parallel pitch axes ("0 -1 0", so
that elevations count upwards).  The shoulder lies on the yaw axis; elbow, wrist and tool follow along x, and
at q = 0 no frame is turned.  One more joint, the scissor, does not move the tool.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import DescriptionError

from .description import ArmDescription
from .kinematic_tree import link_poses
from .model import Array, read_only

YAW, PITCH = (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)
AXES = {"base": YAW, "shoulder": PITCH, "elbow": PITCH, "wrist": PITCH}
"""Axis of each joint on the way to the tool, in its own frame."""

TOLERANCE = 1e-9
"""How far an axis [-] or an offset [m] may be from the shape: rounding of decimal numbers in a file."""


@dataclass(frozen=True)
class PickerShape:
    """Lengths of an arm of the picker's shape, and where its joints are in the description's order.

    Attributes:
        columns: indices of base, shoulder, elbow and wrist in every joint vector.
        scissor: index of the joint that does not move the tool.
        shoulder: (3,) position of the shoulder axis in the root frame [m].
        lengths: (3,) L1, L2, L3 [m].
    """

    columns: tuple[int, int, int, int]
    scissor: int
    shoulder: Array
    lengths: Array


def read_shape(description: ArmDescription) -> PickerShape:
    """Read the shape off a description, at the stretched pose q = 0.

    Raises:
        DescriptionError: the arm has another shape; says which joint or link, and what about it.
    """

    def require(holds: bool | np.bool_, what: str, joint: str | None, value: float | None = None) -> None:
        if not holds:
            raise DescriptionError(f"{description.name} is not of the picker's shape: {what}", joint, value)

    chain = [joint for joint in description.path_to(description.tool) if joint.movable]
    names = ", ".join(joint.name for joint in chain) or "none"
    moving = f"{description.n} joints, of which {len(chain)} move {description.tool} ({names}); expected 5 and 4"
    require(description.n == 5 and len(chain) == 4, moving, None, description.n)
    poses = link_poses(description, np.zeros(5))
    for (role, axis), joint in zip(AXES.items(), chain):
        require(joint.type != "prismatic", f"{role} joint {joint.name} slides, expected a rotation", joint.name)
        found, wanted = (" ".join(f"{x:g}" for x in one) for one in (joint.axis, axis))
        said = f"axis of {role} joint {joint.name} is {found}, expected {wanted}"
        require(np.max(np.abs(joint.axis - axis)) <= TOLERANCE, said, joint.name)
        turned = np.max(np.abs(poses[joint.child].rotation - np.eye(3)))
        require(turned <= TOLERANCE, f"link {joint.child} is turned against the root at q = 0", joint.name)
    base, shoulder, elbow, wrist = (poses[joint.child].position for joint in chain)
    tip = poses[description.tool].position
    for what, offset in {
        "shoulder is off the base axis": (shoulder - base)[:2],
        "elbow is off the x axis": (elbow - shoulder)[1:],
        "wrist is off the x axis": (wrist - elbow)[1:],
        "tool is off the x axis": (tip - wrist)[1:],
    }.items():
        worst = float(np.max(np.abs(offset)))
        require(worst <= TOLERANCE, f"the {what} by {worst:g} m", what.split()[0], worst)
    lengths = np.array([elbow - shoulder, wrist - elbow, tip - wrist])[:, 0]
    require(np.min(lengths) > TOLERANCE, f"link lengths {lengths.tolist()} m, must be > 0", None, float(np.min(lengths)))
    first, second, third, fourth = columns = [description.joint_names.index(joint.name) for joint in chain]
    (scissor,) = set(range(5)) - set(columns)
    return PickerShape((first, second, third, fourth), scissor, read_only(shoulder), read_only(lengths))
