"""Heights of an arm's joints and tool above the plane of its root link, of many poses at once.

Only heights: the vertical as each link sees it is carried along the tree; where no joint turns it, nothing is computed a pose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .description import ArmDescription
from .model import Array, as_states, read_only

LEVEL = 1e-12
"""A joint that turns the vertical by less than this, or slides along it by less [m/m], changes no height."""

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
        self._columns = {name: i for i, name in enumerate(description.joint_names)}
        self.varies = np.array([height.ndim > 0 for height in self._heights(np.zeros((1, description.n)))])

    def __call__(self, q: ArrayLike) -> Array:
        """Heights, (..., m), of ``names`` above the root's origin [m], for joint positions (..., n) [rad or m]."""
        q = as_states("q", q, self.description.n)
        rows = q.reshape(-1, q.shape[-1])
        heights = [np.broadcast_to(height, len(rows)) for height in self._heights(rows)]
        return np.stack(heights, axis=-1).reshape(*q.shape[:-1], len(self.names))

    def _heights(self, q: Array) -> list[Array]:
        """Of ``names`` at poses (s, n): (s,) each, a scalar where no joint changes it."""
        description = self.description
        links = {description.root: (np.array([0.0, 0.0, 1.0]), np.array(0.0))}
        origins = []
        for joint in description.joints:
            up, height = links[joint.parent]  # up: (3,) or (3, s), the vertical in the link's axes
            height, up = height + joint.xyz @ up, joint.rotation.T @ up
            if joint.movable:
                value, (x, y, z) = q[:, self._columns[joint.name]], joint.axis
                cross = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
                along, turned = joint.axis @ up, cross @ up
                if joint.type == "prismatic":
                    if up.ndim > 1 or abs(along) > LEVEL:
                        height = height + along * value
                elif up.ndim > 1 or np.abs(turned).max() > LEVEL:
                    up, turned, again = (x.reshape(3, -1) for x in (up, turned, cross @ turned))
                    up = up + np.sin(value) * turned + (1.0 - np.cos(value)) * again
                origins.append(height)
            links[joint.child] = up, height
        return [links[description.tool][1], *origins]


def height_changers(heights: FrameHeights, q: ArrayLike) -> tuple[str, ...]:
    """Names of the joints that change the height of any of the frames, seen from the pose ``q`` (n,)."""
    q = read_only(q)
    changed = np.abs(heights(q + 0.1 * np.eye(len(q))) - heights(q)).max(axis=-1) > LEVEL
    return tuple(name for name, does in zip(heights.description.joint_names, changed) if does)
