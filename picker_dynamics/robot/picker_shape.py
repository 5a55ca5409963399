"""Recognition of arms of the picker's shape, and their link lengths; the special kinematics hold for no other.

The shape: the tool hangs on four revolute joints, a yaw axis and three parallel pitch axes ("0 -1 0", so
that elevations count upwards).  The shoulder lies on the yaw axis; elbow, wrist and tool follow along x, and
at q = 0 no frame is turned.  One more joint, the scissor, does not move the tool.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import DescriptionError

from .description import ArmDescription, Joint
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
    """Read the shape off a description.

    Raises:
        DescriptionError: the arm has another shape; says which joint or link, and what about it.
    """
    chain = [joint for joint in description.path_to(description.tool) if joint.movable]
    if description.n != 5 or len(chain) != 4:
        names = ", ".join(joint.name for joint in chain) or "none"
        raise _other(
            description,
            f"{description.n} joints, of which {len(chain)} move {description.tool} ({names}); expected 5 and 4",
            None,
            description.n,
            5,
        )
    _require_axes(description, chain)
    shoulder, lengths = _measure(description, chain)
    base, upper, fore, hand = columns = [description.joint_names.index(joint.name) for joint in chain]
    (scissor,) = set(range(description.n)) - set(columns)
    return PickerShape((base, upper, fore, hand), scissor, shoulder, lengths)


def _other(
    description: ArmDescription, what: str, joint: str | None, value: float | None = None, limit: float | None = None
) -> DescriptionError:
    return DescriptionError(f"{description.name} is not of the picker's shape: {what}", joint, value, limit)


def _require_axes(description: ArmDescription, chain: list[Joint]) -> None:
    for (role, axis), joint in zip(AXES.items(), chain):
        if joint.type == "prismatic":
            raise _other(description, f"{role} joint {joint.name} slides, expected a rotation", joint.name)
        if np.max(np.abs(joint.axis - axis)) > TOLERANCE:
            found = " ".join(f"{x:g}" for x in joint.axis)
            wanted = " ".join(f"{x:g}" for x in axis)
            what = f"axis of {role} joint {joint.name} is {found}, expected {wanted}"
            raise _other(description, what, joint.name)


def _measure(description: ArmDescription, chain: list[Joint]) -> tuple[Array, Array]:
    """Shoulder position and (L1, L2, L3), read off the stretched pose q = 0."""
    poses = link_poses(description, np.zeros(description.n))
    for joint in chain:
        if np.max(np.abs(poses[joint.child].rotation - np.eye(3))) > TOLERANCE:
            raise _other(description, f"link {joint.child} is turned against the root at q = 0", joint.name)
    base, shoulder, elbow, wrist = (poses[joint.child].position for joint in chain)
    tip = poses[description.tool].position
    across = {
        "shoulder is off the base axis": (shoulder - base)[:2],
        "elbow is off the x axis": (elbow - shoulder)[1:],
        "wrist is off the x axis": (wrist - elbow)[1:],
        "tool is off the x axis": (tip - wrist)[1:],
    }
    for what, offset in across.items():
        worst = float(np.max(np.abs(offset)))
        if worst > TOLERANCE:
            raise _other(description, f"the {what} by {worst:g} m", what.split()[0], worst, 0.0)
    lengths = np.array([elbow - shoulder, wrist - elbow, tip - wrist])[:, 0]
    if np.min(lengths) <= TOLERANCE:
        what = f"link lengths {lengths.tolist()} m, must be > 0"
        raise _other(description, what, None, float(np.min(lengths)), 0.0)
    return read_only(shoulder), read_only(lengths)
