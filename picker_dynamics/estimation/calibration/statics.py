"""Statics of an arm: gravity torques for any masses, weights hung on it included, and their derivatives.

    G_i       = -Σ_k m_k (p_k - o_i) · (g × a_i)                  k: all masses that joint i carries, at p_k; axis a_i through o_i
    ∂G_i/∂q_j = -Σ_k m_k (a_j × (p_k - o_j)) · (g × a_i)          k: those that joint j carries, which is j = i or further out

By the balance of moments, a · (r × m g) = m r · (g × a), from the frames alone; no dynamics model is asked, because here the
masses are what varies.  The second is a second derivative of the potential energy, hence symmetric.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import Pose, link_poses
from picker_dynamics.robot.model import GRAVITY

DOWN = np.array([0.0, 0.0, -GRAVITY])
Direction = tuple[float, float, float]
AHEAD, UP = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
"""Directions of a link along which an inclinometer lies, and across that in the plane in which it turns."""


LEVEL = 0.01
"""An axis is level that rises by less, as a share: URDFs round their angles."""


@dataclass(frozen=True)
class PointMass:
    """``mass`` [kg], a number or one per state (...); at ``point`` (3,) or (..., 3) [m] of ``link``, or elsewhere along its
    direction ``ahead``."""

    link: str
    mass: float | np.ndarray
    point: np.ndarray
    ahead: Direction | np.ndarray = AHEAD


@dataclass(frozen=True)
class Loads:
    """Loads that the joints bear, and how they change; for k masses and batches (...).

    Attributes:
        torque: (..., n) that holds the arm still [N·m or N].
        by_q: (..., n, n) its derivatives by the joint positions.
        by_mass: (..., n, k) by each mass.
        by_distance: (..., n, k) by each mass's place along its direction ``ahead``.
    """

    torque: np.ndarray
    by_q: np.ndarray
    by_mass: np.ndarray
    by_distance: np.ndarray


def links_of(description: ArmDescription) -> tuple[PointMass, ...]:
    """The links as points at their centres of mass."""
    return tuple(PointMass(name, link.mass, link.com) for name, link in description.links.items() if link.mass > 0.0)


def random_poses(description: ArmDescription, count: int) -> np.ndarray:
    """Random poses, (count, n), the same ones every time, within the limits and a turn [rad or m]."""
    lower, upper = np.maximum(description.lower, -np.pi), np.minimum(description.upper, np.pi)
    return np.random.default_rng(0).uniform(lower, upper, (count, description.n))


def loads(description: ArmDescription, q, masses: Sequence[PointMass]) -> Loads:
    """Torques (forces for sliding joints) that hold the arm still, and their derivatives.

    Args:
        q: (..., n) joint positions.
        masses: all that has weight.
    """
    poses = link_poses(description, q)
    batch, n = np.shape(q)[:-1], description.n
    turns = np.array([joint.type != "prismatic" for joint in description.movable])[:, None]
    axes, origins = joint_axes(description, poses)
    carried = _carried(description, masses)
    mass = _stacked([mass.mass for mass in masses], batch, ())
    place = _stacked([_position(poses[mass.link], mass.point) for mass in masses], batch, (3,))
    ahead = _stacked([poses[mass.link].rotation @ np.asarray(mass.ahead) for mass in masses], batch, (3,))

    lever, away = np.cross(DOWN, axes), place[..., None, :, :] - origins[..., :, None, :]
    by_mass = carried * np.where(turns, -(away * lever[..., None, :]).sum(-1), -(axes @ DOWN)[..., None])
    by_distance = carried * mass[..., None, :] * np.where(turns, -(lever @ np.swapaxes(ahead, -1, -2)), 0.0)
    moment = ((carried * mass[..., None, :])[..., None] * away).sum(-2)
    moved = np.where(turns, np.cross(axes, moment), axes * (mass @ carried.T)[..., None])
    outer = -(lever @ np.swapaxes(moved, -1, -2)) * (turns & _inside_of(description))
    by_q = outer + np.swapaxes(outer * (1.0 - np.eye(n)), -1, -2)
    return Loads((by_mass * mass[..., None, :]).sum(-1), by_q, by_mass, by_distance)


def joint_axes(description: ArmDescription, poses: Mapping[str, Pose]) -> tuple[np.ndarray, np.ndarray]:
    """Direction and a point of each joint's axis in the root frame, (..., n, 3) each; poses of a batch alike."""
    last = poses[description.movable[-1].child] if description.movable else poses[description.root]
    batch = last.position.shape[:-1]
    axes = _stacked([poses[joint.child].rotation @ joint.axis for joint in description.movable], batch, (3,))
    return axes, _stacked([poses[joint.child].position for joint in description.movable], batch, (3,))


def level_joints(description: ArmDescription, home=None) -> tuple[str, ...]:
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
    return turned * (cosine * rising - sine * turning) / (sine**2 + cosine**2)


def _carried(description: ArmDescription, masses: Sequence[PointMass]) -> np.ndarray:
    """(n, k) 1 where the joint carries the mass."""
    paths = [description.path_to(mass.link) for mass in masses]
    return np.array([[float(joint in path) for path in paths] for joint in description.movable]).reshape(-1, len(masses))


def _inside_of(description: ArmDescription) -> np.ndarray:
    """(n, n) whether joint i is on the way to joint j, or is joint j."""
    return np.array([[one in description.path_to(other.child) for other in description.movable] for one in description.movable])


def _stacked(parts, batch: tuple[int, ...], tail: tuple[int, ...]) -> np.ndarray:
    """(..., k, *tail): the parts side by side before the last ``len(tail)`` axes."""
    if not parts:
        return np.zeros((*batch, 0, *tail))
    return np.stack([np.broadcast_to(part, (*batch, *tail)) for part in parts], axis=-1 - len(tail))


def _position(pose: Pose, point) -> np.ndarray:
    return pose.position + (pose.rotation @ np.asarray(point, dtype=float)[..., None])[..., 0]
