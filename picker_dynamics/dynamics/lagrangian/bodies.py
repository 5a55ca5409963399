"""Rigid bodies: what fixed joints weld together, as one mass, centre of mass and inertia."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses, rigid_groups
from picker_dynamics.robot.model import Array


@dataclass(frozen=True)
class Body:
    """``mass`` [kg], ``com`` (3,) [m], ``inertia`` (3, 3) about the com [kg·m²]; axes of one link."""

    mass: float
    com: Array
    inertia: Array

    def moved(self, rotation: Array, position: Array) -> Body:
        """Body seen from a frame in which its own frame has this pose."""
        return Body(self.mass, position + rotation @ self.com, rotation @ self.inertia @ rotation.T)

    def about(self, point: Array) -> Array:
        """Inertia about ``point``: I + m (d·d 1 - d dᵀ), with d from the point to the centre of mass."""
        d = self.com - point
        return self.inertia + self.mass * (d @ d * np.eye(3) - np.outer(d, d))

    def __add__(self, other: Body) -> Body:
        mass = self.mass + other.mass
        if mass == 0.0:
            return Body(0.0, self.com, self.inertia + other.inertia)
        com = (self.mass * self.com + other.mass * other.com) / mass
        return Body(mass, com, self.about(com) + other.about(com))


def welded(description: ArmDescription, link: str) -> Body:
    """``link`` and all that fixed joints weld to it, in its axes.

    Args:
        link: the root, or the child of a movable joint.
    """
    poses = link_poses(description, np.zeros(description.n))
    own = poses[link]
    total = Body(0.0, np.zeros(3), np.zeros((3, 3)))
    for name in rigid_groups(description)[link]:
        part, pose = description.links[name], poses[name]
        total += Body(part.mass, part.com, part.inertia).moved(
            own.rotation.T @ pose.rotation, own.rotation.T @ (pose.position - own.position)
        )
    return total
