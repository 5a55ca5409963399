"""Lint rules about gravity: a joint that cannot hold its load, or one that should feel some and does not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from ..description import ArmDescription, Joint
from ..kinematic_tree import Pose, link_poses, sample_poses, subtree
from ..model import GRAVITY, Array
from .finding import Finding

SAMPLES = 400
"""Random poses that are looked at."""

BALANCED = 1e-6
"""A joint whose holding torque never exceeds this share of weight times size is balanced in every pose."""

UPRIGHT = 1e-6
"""An axis tilted less than this [rad] is vertical and feels no weight."""


def holding_torque(description: ArmDescription, q: ArrayLike) -> Array:
    """Torque [N·m] (force [N] if sliding) that holds the arm still at q (..., n), by virtual work.

        tau = sum over the links carried of  m g z · (k × (c - p))    turning about k through p
        tau = sum over the links carried of  m g z · k                sliding along k

    with masses m and centres of mass c.

    Returns:
        (..., n), in the description's order.
    """
    frames = link_poses(description, q)
    torque = np.zeros_like(np.asarray(q, dtype=float))
    for i, joint in enumerate(description.movable):
        axis = motion = frames[joint.child].rotation @ joint.axis
        for name in subtree(description, joint.child):
            link = description.links[name]
            if joint.type != "prismatic":
                motion = np.cross(axis, frames[name].apply(link.com) - frames[joint.child].position)
            torque[..., i] += link.mass * GRAVITY * motion[..., 2]
    return torque


def driven_inertia(description: ArmDescription, q: Array) -> Array:
    """Inertia that each joint moves, M_jj(q) [kg·m² or kg], (s, n): masses and inertias beyond it, about or along its axis.

    I = sum over the links carried of  m |k × (c - p)|² + k · Ic k    (axis k through p)
    """
    frames, inertia = link_poses(description, q), np.zeros_like(q)
    for i, joint in enumerate(description.movable):
        axis = frames[joint.child].rotation @ joint.axis
        for name in subtree(description, joint.child):
            link = description.links[name]
            if joint.type == "prismatic":
                inertia[:, i] += link.mass
                continue
            away = np.cross(axis, frames[name].apply(link.com) - frames[joint.child].position)
            own = np.einsum("sji,sj->si", frames[name].rotation, axis)  # the axis in the link's
            inertia[:, i] += link.mass * (away**2).sum(axis=-1) + np.einsum("si,ij,sj->s", own, link.inertia, own)
    return inertia


def gravity_findings(description: ArmDescription) -> Iterator[Finding]:
    """Joints that could not hold their load, or that lift joints and never feel them."""
    q = sample_poses(description, SAMPLES)
    frames, largest = link_poses(description, q), np.abs(holding_torque(description, q)).max(axis=0)
    for joint, unit, worst in zip(description.movable, description.effort_units, largest):
        what = f"holding torque at joint {joint.name}"
        if 0.0 < joint.effort < worst:
            yield Finding(
                joint.child,
                what,
                f"{worst:.3g} {unit}",
                f"in some poses, more than its limit {joint.effort:g} {unit}: a mass, a length or the effort limit is wrong",
            )
        if worst <= _noticeable(description, joint, frames):
            yield Finding(
                joint.child,
                what,
                f"0 {unit}",
                "in every pose, although it lifts other joints: masses or centres of mass are missing",
            )


def _noticeable(description: ArmDescription, joint: Joint, frames: dict[str, Pose]) -> float:
    """Torque below which a joint that lifts others carries nothing [N·m]; -1 for a joint that lifts none."""
    links = subtree(description, joint.child)
    own = frames[joint.child]
    tilt = np.max(np.linalg.norm((own.rotation @ joint.axis)[..., :2], axis=-1))
    lifts = any(other.parent in links for other in description.movable)
    if joint.type == "prismatic" or not lifts or tilt < UPRIGHT:
        return -1.0
    size = max(np.max(np.linalg.norm(frames[name].position - own.position, axis=-1)) for name in links)
    return float(BALANCED * GRAVITY * size * sum(description.links[name].mass for name in links))
