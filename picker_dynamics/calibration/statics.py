"""What an arm at rest bears: gravity torques for any masses, weights hung on it included.

    G_i = -a_i · Σ_k (p_k - o_i) × m_k g        k: all masses that joint i carries, at p_k; axis a_i through o_i

By the balance of moments, from the frames alone; no dynamics model is asked, because here the masses are what varies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.description import ArmDescription
from picker_dynamics.tree import Pose, link_poses

GRAVITY = np.array([0.0, 0.0, -9.81])


@dataclass(frozen=True)
class PointMass:
    """``mass`` [kg], a number or one per state (...); at ``point`` (3,) or (..., 3) [m] of ``link``."""

    link: str
    mass: float | np.ndarray
    point: np.ndarray


def links_of(description: ArmDescription) -> tuple[PointMass, ...]:
    """The links as points at their centres of mass."""
    return tuple(PointMass(name, link.mass, link.com) for name, link in description.links.items() if link.mass > 0.0)


def gravity_torques(description: ArmDescription, q, masses: Sequence[PointMass], poses: Mapping[str, Pose] | None = None):
    """Torques (forces for sliding joints) that hold the arm still, (..., n) [N·m or N].

    Args:
        q: (..., n) joint positions.
        masses: all that has weight.
        poses: of the links at ``q``, where they are known already.
    """
    poses = link_poses(description, q) if poses is None else poses
    carried = {joint.name: set() for joint in description.movable}
    for mass in masses:
        for joint in description.path_to(mass.link):
            if joint.movable:
                carried[joint.name].add(id(mass))
    weights = [(id(mass), _position(poses[mass.link], mass.point), np.asarray(mass.mass)[..., None] * GRAVITY) for mass in masses]
    columns = []
    for joint in description.movable:
        pose = poses[joint.child]
        axis = pose.rotation @ joint.axis
        total = 0.0
        for identity, position, weight in weights:
            if identity in carried[joint.name]:
                moment = weight if joint.type == "prismatic" else np.cross(position - pose.position, weight)
                total = total - (axis * moment).sum(axis=-1)
        columns.append(np.broadcast_to(total, axis.shape[:-1]))
    return np.stack(columns, axis=-1)


def elevation(pose: Pose) -> np.ndarray:
    """Angle of a link's x axis above the horizontal [rad], (...), as an inclinometer on it reads; within ±pi.

    Told from the link's z axis too, so that a link that leans back beyond the vertical is above pi/2.
    """
    return np.arctan2(pose.rotation[..., 2, 0], pose.rotation[..., 2, 2])


def _position(pose: Pose, point) -> np.ndarray:
    return pose.position + (pose.rotation @ np.asarray(point, dtype=float)[..., None])[..., 0]
