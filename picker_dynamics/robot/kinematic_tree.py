"""Forward kinematics of any kinematic tree, by the URDF's definition, for one pose or many at once.

    T_child = T_parent · Trans(xyz) · Rz(yaw) Ry(pitch) Rx(roll) · motion(axis, q)

The constants of these products are ``ArmDescription.transforms``.

Heights of an arm's joints and tool above the plane of its root link, of many poses at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .description import ArmDescription
from .model import Array, as_states, read_only

WAY_POINTS = 33
"""In which the tool's way is measured."""

ELSEWHERE = 1e-3
"""Joints that are placed otherwise by more are another arm's [m, parts of a unit vector]: URDFs are written to less."""


@dataclass(frozen=True)
class Pose:
    """Frames of one link: ``rotation`` (..., 3, 3) and ``position`` (..., 3) [m] in the root frame."""

    rotation: Array
    position: Array

    def apply(self, point: ArrayLike) -> Array:
        """A point of the link (3,) [m] in the root frame, (..., 3)."""
        position: Array = self.position + self.rotation @ np.asarray(point, dtype=float)
        return position


def joint_frames(description: ArmDescription, q: ArrayLike) -> Array:
    """Frames of the movable joints' links in the root frame, (..., n + 1, 4, 4); the last is the root's.

    Args:
        q: (..., n) joint positions [rad or m], in the description's order.

    Raises:
        InputError: wrong shape, or a value that is not finite.
    """
    q = as_states("q", q, description.n)
    constant, sin, versine, slide = description.transforms.parts
    angle = q[..., None, None]
    frames = np.empty((*q.shape[:-1], description.n + 1, 4, 4))
    frames[..., :-1, :, :] = constant + np.sin(angle) * sin + (1.0 - np.cos(angle)) * versine + angle * slide
    frames[..., -1, :, :] = np.eye(4)
    for i, parent in enumerate(description.transforms.parents):
        if parent >= 0:
            frames[..., i, :, :] = frames[..., parent, :, :] @ frames[..., i, :, :]
    return frames


def placed_elsewhere(there: ArmDescription, here: ArmDescription) -> str:
    """Which joint of both is placed otherwise with all joints at 0, seen from the first, and by how much; '' none."""
    names, places = [name for name in here.joint_names if name in there.joint_names], []
    for arm in (there, here):
        rows = [arm.joint_names.index(name) for name in names]
        frames = joint_frames(arm, np.zeros(arm.n))[rows]
        axes = (frames[:, :3, :3] @ arm.axes[rows, :, None])[..., 0]
        places.append(np.hstack([frames[:, :3, 3] - frames[:1, :3, 3], axes, arm.slides[rows, None]]))
    for name, off in zip(names, places[0] - places[1], strict=True):
        if (far := float(np.linalg.norm(off[:3]))) > ELSEWHERE:
            return f"{name} is {1e3 * far:.1f} mm from where it is in {here.name} here"
        if np.abs(off).max() > ELSEWHERE:
            return f"{name} moves about or along another axis than in {here.name} here"
    return ""


def pose_in(description: ArmDescription, frames: Array, link: str) -> Pose:
    """Pose of a link, of the ``joint_frames``."""
    carrier, offset = description.transforms.links[link]
    placed = frames[..., carrier, :, :] @ offset
    return Pose(placed[..., :3, :3], placed[..., :3, 3])


def link_poses(description: ArmDescription, q: ArrayLike) -> dict[str, Pose]:
    """Pose of every link, by name; argument and errors as of ``joint_frames``."""
    frames = joint_frames(description, q)
    return {link: pose_in(description, frames, link) for link in description.transforms.links}


def tool_pose(description: ArmDescription, q: ArrayLike) -> Pose:
    """Pose of the tool; argument and errors as of ``joint_frames``."""
    return pose_in(description, joint_frames(description, q), description.tool)


def point_jacobians(description: ArmDescription, frames: Array, carriers: Sequence[int], points: Array) -> tuple[Array, Array]:
    """Jacobians of points that move with joints' links: of their positions and of the links' turning, (..., m, 3, n) each.

    A joint that turns about z through p moves what it carries at c by z × (c - p), one that slides by z.

    Args:
        frames: as of ``joint_frames``.
        carriers: (m,) indices of the joints, -1 for the root.
        points: (..., m, 3) [m], root frame.
    """
    joints = frames[..., :-1, :, :]
    axes = (joints[..., :3, :3] @ description.axes[..., None])[..., None, :, :, 0]
    moves = description.transforms.carries[list(carriers)][..., None]
    turns, slides = moves & ~description.slides[:, None], moves & description.slides[:, None]
    linear = np.where(turns, cross(axes, points[..., :, None, :] - joints[..., None, :, :3, 3]), 0.0) + np.where(
        slides, axes, 0.0
    )
    return linear.swapaxes(-1, -2), np.where(turns, axes, 0.0).swapaxes(-1, -2)


def cross(a: Array, b: Array) -> Array:
    """a × b along the last axis; np.cross takes three times as long for few of them."""
    return a[..., [1, 2, 0]] * b[..., [2, 0, 1]] - a[..., [2, 0, 1]] * b[..., [1, 2, 0]]


def sample_poses(description: ArmDescription, count: int, seed: int = 0) -> Array:
    """Seeded poses uniform within the limits, (count, n) [rad or m].

    A joint without limits, or with more than a turn, takes -pi to pi; a sliding one at most -1 to 1 m.
    """
    span = np.where(description.slides, 1.0, math.pi)
    lower, upper = np.clip(description.lower, -span, span), np.clip(description.upper, -span, span)
    return np.random.default_rng(seed).uniform(lower, upper, (count, description.n))


def tip_way(description: ArmDescription, start: ArrayLike, end: ArrayLike) -> float:
    """How far the tool goes on the straight way from ``start`` to ``end`` (n,) each in joint space [m]."""
    tips = tool_pose(description, np.linspace(np.asarray(start, dtype=float), np.asarray(end, dtype=float), WAY_POINTS)).position
    return float(np.linalg.norm(np.diff(tips, axis=0), axis=-1).sum())


def rigid_groups(description: ArmDescription) -> dict[str, tuple[str, ...]]:
    """Links that fixed joints weld together, keyed by the one nearest the root: the root and the children of movable joints."""
    groups = [list[str]() for _ in range(description.n + 1)]
    for link, (carrier, _) in description.transforms.links.items():
        groups[carrier].append(link)
    return {group[0]: tuple(group) for group in (groups[-1], *groups[:-1])}


# -- heights ---------------------------------------------------------------------------------------------------------------

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
