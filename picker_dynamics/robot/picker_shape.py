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
from .kinematic_tree import link_poses, tool_pose
from .model import Array, read_only

TOLERANCE = 1e-9
"""How far the tool may be from where the shape has it [m, or rotation matrix]: rounding of decimal numbers in a file."""


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

    def tip(self, q: Array) -> Array:
        """Position of the tool of an arm of this shape at poses (..., 5) [rad], (..., 3) [m]."""
        yaw, elevations = q[..., self.columns[0]], np.cumsum(q[..., list(self.columns[1:])], axis=-1)
        reach, height = np.cos(elevations) @ self.lengths, np.sin(elevations) @ self.lengths
        tip: Array = self.shoulder + np.stack([reach * np.cos(yaw), reach * np.sin(yaw), height], axis=-1)
        return tip


def read_shape(description: ArmDescription) -> PickerShape:
    """Read the shape off a description at q = 0, and compare its tool with the description's in other poses.

    Raises:
        DescriptionError: the arm has another shape.
    """
    what = f"{description.name} is not of the picker's shape"
    chain = [j for j, joint in enumerate(description.movable) if joint in description.path_to(description.tool)]
    if (description.n, len(chain)) != (5, 4) or description.slides[chain].any():
        names = ", ".join(description.joint_names[j] for j in chain) or "none"
        text = f"{description.n} joints, of which {len(chain)} move {description.tool} ({names}); expected 5 and 4, all turning"
        raise DescriptionError(f"{what}: {text}", None, description.n)
    first, second, third, fourth = chain
    (scissor,) = set(range(5)) - set(chain)
    poses = link_poses(description, np.zeros(5))
    points = [poses[link].position for link in (*(description.movable[j].child for j in chain[1:]), description.tool)]
    shape = PickerShape((first, second, third, fourth), scissor, read_only(points[0]), read_only(np.diff(points, axis=0)[:, 0]))
    q = np.random.default_rng(0).uniform(-3.0, 3.0, (8, 5))
    turned = poses[description.tool].rotation - np.eye(3)  # at 0: with its place in all poses all of its turning is known
    off = max(np.abs(shape.tip(q) - tool_pose(description, q).position).max(), np.abs(turned).max())
    if not (off <= TOLERANCE and shape.lengths.min() > TOLERANCE):
        lengths = ", ".join(f"{x:g}" for x in shape.lengths)
        raise DescriptionError(
            f"{what}: a yaw and three pitch joints (axis 0 -1 0) with links of {lengths} m along x (must be > 0) "
            f"would have the tool elsewhere, off by {off:.2g}",
            description.tool,
            float(off),
        )
    return shape
