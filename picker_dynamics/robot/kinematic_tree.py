"""Forward kinematics of any kinematic tree, link by link, by the URDF's definition.

    T_child = T_parent · Trans(xyz) · Rz(yaw) Ry(pitch) Rx(roll) · motion(axis, q)

The plain reference that the faster, special kinematics and the linter build on; not for control loops.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .description import ArmDescription, Joint
from .model import Array, as_states

WAY_POINTS = 33
"""In which the tool's way is measured."""


@dataclass(frozen=True)
class Pose:
    """Frames of one link: ``rotation`` (..., 3, 3) and ``position`` (..., 3) [m] in the root frame."""

    rotation: Array
    position: Array

    def apply(self, point: ArrayLike) -> Array:
        """A point of the link (3,) [m] in the root frame, (..., 3)."""
        position: Array = self.position + self.rotation @ np.asarray(point, dtype=float)
        return position


def rotation_about(axis: Array, angle: ArrayLike) -> Array:
    """Rodrigues' formula: R = 1 + sin(angle) [k]× + (1 - cos(angle)) [k]×², (..., 3, 3).

    Args:
        axis: (3,) unit vector k.
        angle: (...) [rad].
    """
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    angle = np.asarray(angle, dtype=float)[..., None, None]
    rotation: Array = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)
    return rotation


def link_poses(description: ArmDescription, q: ArrayLike) -> dict[str, Pose]:
    """Pose of every link, by name.

    Args:
        q: (..., n) joint positions [rad or m], in the description's order.

    Raises:
        InputError: wrong shape, or a value that is not finite.
    """
    q = as_states("q", q, description.n)
    column = {name: i for i, name in enumerate(description.joint_names)}
    batch = q.shape[:-1]
    poses = {description.root: Pose(np.broadcast_to(np.eye(3), (*batch, 3, 3)), np.zeros((*batch, 3)))}
    for joint in description.joints:
        value = q[..., column[joint.name]] if joint.movable else None
        poses[joint.child] = _child_pose(poses[joint.parent], joint, value)
    return poses


def _child_pose(parent: Pose, joint: Joint, value: Array | None) -> Pose:
    rotation = parent.rotation @ joint.rotation
    position = parent.apply(joint.xyz)
    if value is None:
        return Pose(rotation, position)
    if joint.type == "prismatic":
        return Pose(rotation, position + rotation @ joint.axis * value[..., None])
    return Pose(rotation @ rotation_about(joint.axis, value), position)


def sample_poses(description: ArmDescription, count: int, seed: int = 0) -> Array:
    """Seeded poses uniform within the limits, (count, n) [rad or m].

    A joint without limits, or with more than a turn, takes -pi to pi; a sliding one at most -1 to 1 m.
    """
    span = np.array([1.0 if joint.type == "prismatic" else math.pi for joint in description.movable])
    lower, upper = np.clip(description.lower, -span, span), np.clip(description.upper, -span, span)
    return np.random.default_rng(seed).uniform(lower, upper, (count, description.n))


def tip_way(description: ArmDescription, start: ArrayLike, end: ArrayLike) -> float:
    """How far the tool goes on the straight way from ``start`` to ``end`` (n,) each in joint space [m]."""
    shares = np.linspace(0.0, 1.0, WAY_POINTS)[:, None]
    tips = link_poses(description, (1.0 - shares) * np.asarray(start) + shares * np.asarray(end))[description.tool].position
    return float(np.linalg.norm(np.diff(tips, axis=0), axis=-1).sum())


def subtree(description: ArmDescription, link: str) -> tuple[str, ...]:
    """``link`` and every link that hangs on it, in the description's order."""
    inside = [link]
    for joint in description.joints:
        if joint.parent in inside:
            inside.append(joint.child)
    return tuple(inside)


def rigid_groups(description: ArmDescription) -> dict[str, tuple[str, ...]]:
    """Links that fixed joints weld together, keyed by the one nearest the root.

    The keys are the root and the children of the movable joints.
    """
    groups = {description.root: [description.root]}
    leader = {description.root: description.root}
    for joint in description.joints:
        leader[joint.child] = joint.child if joint.movable else leader[joint.parent]
        groups.setdefault(leader[joint.child], []).append(joint.child)
    return {first: tuple(links) for first, links in groups.items()}
