"""Attitudes of an arm: the axes of its joints, which of them stay level, and the elevations of its links."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import Pose, link_poses

Direction = tuple[float, float, float]
AHEAD, UP = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
"""Directions of a link along which an inclinometer lies, and across that in the plane in which it turns."""


LEVEL = 0.01
"""An axis is level that rises by less, as a share: URDFs round their angles."""


def random_poses(description: ArmDescription, count: int) -> np.ndarray:
    """Random poses, (count, n), the same ones every time, within the limits and a turn [rad or m]."""
    lower, upper = np.maximum(description.lower, -np.pi), np.minimum(description.upper, np.pi)
    return np.random.default_rng(0).uniform(lower, upper, (count, description.n))


def joint_axes(description: ArmDescription, poses: Mapping[str, Pose]) -> tuple[np.ndarray, np.ndarray]:
    """Direction and a point of each joint's axis in the root frame, (..., n, 3) each; poses of a batch alike."""
    moved = [(poses[joint.child].rotation @ joint.axis, poses[joint.child].position) for joint in description.movable]
    axes, origins = (np.stack(np.broadcast_arrays(*part), axis=-2) for part in zip(*moved))
    return axes, origins


def level_joints(description: ArmDescription, home: np.ndarray | None = None) -> tuple[str, ...]:
    """Joints that turn about an axis which is level in every pose: an inclinometer tells how far.

    Args:
        home: (n,) [rad or m] where all others stay; None: none of them stays anywhere.
    """
    poses, found = random_poses(description, 64), []
    q = poses if home is None else np.tile(np.asarray(home, dtype=float), (64, 1))
    axes, _ = joint_axes(description, link_poses(description, q))
    for column, joint in enumerate(description.movable):  # from the base outwards: an axis is turned by those before it
        if joint.type != "prismatic" and np.abs(axes[:, column, 2]).max() < LEVEL:
            found.append(joint.name)
            if home is not None:
                q[:, column] = poses[:, column]
                axes, _ = joint_axes(description, link_poses(description, q))
    return tuple(found)


def elevation(pose: Pose, ahead: Direction = AHEAD, up: Direction = UP) -> np.ndarray:
    """Angle of a link's direction ``ahead``, by default its x axis, above the horizontal [rad], (...), as an inclinometer on it
    reads; within ±pi.

    Told from the link's direction ``up``, across ``ahead`` in the plane in which the link turns, too, so that a link that leans
    back beyond the vertical is above pi/2.
    """
    return np.arctan2(pose.rotation[..., 2, :] @ ahead, pose.rotation[..., 2, :] @ up)


def elevation_rates(
    description: ArmDescription, link: str, poses: Mapping[str, Pose], ahead: Direction = AHEAD, up: Direction = UP
) -> np.ndarray:
    """Derivatives, (..., n), of a link's elevation by the joint positions: d(ahead, up)/dq = a × (ahead, up)."""
    axes, _ = joint_axes(description, poses)
    one, other = (poses[link].rotation @ np.asarray(direction) for direction in (ahead, up))
    rising, turning = (np.cross(axes, direction[..., None, :])[..., 2] for direction in (one, other))
    sine, cosine = one[..., 2, None], other[..., 2, None]
    path = description.path_to(link)
    turned = np.array([float(joint in path and joint.type != "prismatic") for joint in description.movable])
    rates: np.ndarray = turned * (cosine * rising - sine * turning) / (sine**2 + cosine**2)
    return rates
