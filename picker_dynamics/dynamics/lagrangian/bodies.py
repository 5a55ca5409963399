"""Rigid bodies: what fixed joints weld together, as one mass, centre of mass and inertia."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.robot.description import ArmDescription
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
    total, placed = Body(0.0, np.zeros(3), np.zeros((3, 3))), description.transforms.links
    for name, (carrier, pose) in placed.items():
        if carrier == placed[link][0]:
            part = description.links[name]
            total += Body(part.mass, part.com, part.inertia).moved(pose[:3, :3], pose[:3, 3])
    return total
