"""Heights of an arm's joints and tool above the plane of its root link, of many poses at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .description import ArmDescription
from .kinematic_tree import joint_frames, pose_in, sample_poses
from .model import Array, read_only

LEVEL = 1e-12
"""A height that changes by less [m] does not."""

TIP = "tip"
"""What the tool's frame is called."""


class FrameHeights:
    """Heights of the tool and of the frames of all joints that move; a sliding joint's slides with it.

    Args:
        description: any fixed-base arm.

    Attributes:
        names: the tool first, as ``tip``; then the joints in the description's order.
        varies: (m,) whether any joint changes that height.
    """

    def __init__(self, description: ArmDescription):
        self.description = description
        self.names = (TIP, *description.joint_names)
        self.varies = np.ptp(self(sample_poses(description, 5)), axis=0) > LEVEL

    def __call__(self, q: ArrayLike) -> Array:
        """Heights, (..., m), of ``names`` above the root's origin [m], for joint positions (..., n) [rad or m]."""
        frames = joint_frames(self.description, q)
        tool = pose_in(self.description, frames, self.description.tool).position[..., 2:]
        return np.concatenate([tool, frames[..., :-1, 2, 3]], axis=-1)


def height_changers(heights: FrameHeights, q: ArrayLike) -> tuple[str, ...]:
    """Names of the joints that change the height of any of the frames, seen from the pose ``q`` (n,)."""
    q = read_only(q)
    changed = np.abs(heights(q + 0.1 * np.eye(len(q))) - heights(q)).max(axis=-1) > LEVEL
    return tuple(name for name, does in zip(heights.description.joint_names, changed) if does)
