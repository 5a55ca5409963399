"""Recognition of arms of the picker's shape, and their link lengths; the special kinematics hold for no other.

The shape: the tool hangs on four revolute joints, a yaw axis and three parallel pitch axes ("0 -1 0", so
that elevations count upwards).  The shoulder lies on the yaw axis; elbow, wrist and tool follow along x, and
at q = 0 no frame is turned.  One more joint, the scissor, does not move the tool.

Inverse kinematics of the picker in closed form, without iteration.

With theta0 the base angle, elevations a1 = theta1, a2 = theta1 + theta2, a3 = theta1 + theta2 + theta3, from the horizontal,
upwards positive, link lengths L1, L2, L3 and the shoulder at (x0, y0, h) of the root frame:

    rho = L1 cos a1 + L2 cos a2 + L3 cos a3               reach in the arm's vertical plane
    tip = (x0 + rho cos theta0, y0 + rho sin theta0, h + L1 sin a1 + L2 sin a2 + L3 sin a3)

The pitch of the hand is a3, an angle of the arm's plane: 0 points forwards, -pi/2 down.  An arm that leans over its back has
rho < 0, and there a hand of pitch pi points outwards.  The base faces the tip or turns its back on it, each with both elbows,
which the law of cosines gives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError, UnreachableError

from .description import ArmDescription
from .kinematic_tree import link_poses, tool_pose
from .model import Array, as_vector, read_only
from .units import told

TOLERANCE = 1e-9
"""How far the tool may be from where the shape has it [m, or rotation matrix]: rounding of decimal numbers in a file."""


@dataclass(frozen=True)
class PickerShape:
    """Lengths of an arm of the picker's shape, and where its joints are in the description's order.

    Attributes:
        columns: indices of base, shoulder, elbow and wrist in every joint vector.
        scissor: index of the joint that does not move the tool.
        shoulder: (3,) position of the shoulder axis in the root frame [m].
        lengths: (3,) L1, L2, L3 [m].
    """

    columns: tuple[int, int, int, int]
    scissor: int
    shoulder: Array
    lengths: Array

    def tip(self, q: Array) -> Array:
        """Position of the tool of an arm of this shape at poses (..., 5) [rad], (..., 3) [m]."""
        yaw, elevations = q[..., self.columns[0]], np.cumsum(q[..., list(self.columns[1:])], axis=-1)
        reach, height = np.cos(elevations) @ self.lengths, np.sin(elevations) @ self.lengths
        return self.shoulder + np.stack([reach * np.cos(yaw), reach * np.sin(yaw), height], axis=-1)


def read_shape(description: ArmDescription) -> PickerShape:
    """Read the shape off a description at q = 0, and compare its tool with the description's in other poses.

    Raises:
        DescriptionError: the arm has another shape.
    """
    what = f"{description.name} is not of the picker's shape"
    chain = [j for j, joint in enumerate(description.movable) if joint in description.path_to(description.tool)]
    if (description.n, len(chain)) != (5, 4) or description.slides[chain].any():
        names = ", ".join(description.joint_names[j] for j in chain) or "none"
        text = f"{description.n} joints, of which {len(chain)} move {description.tool} ({names}); expected 5 and 4, all turning"
        raise DescriptionError(f"{what}: {text}", None, description.n)
    first, second, third, fourth = chain
    (scissor,) = set(range(5)) - set(chain)
    poses = link_poses(description, np.zeros(5))
    points = [poses[link].position for link in (*(description.movable[j].child for j in chain[1:]), description.tool)]
    shape = PickerShape((first, second, third, fourth), scissor, read_only(points[0]), read_only(np.diff(points, axis=0)[:, 0]))
    q = np.random.default_rng(0).uniform(-3.0, 3.0, (8, 5))
    turned = poses[description.tool].rotation - np.eye(3)  # at 0: with its place in all poses all of its turning is known
    off = max(np.abs(shape.tip(q) - tool_pose(description, q).position).max(), np.abs(turned).max())
    if not (off <= TOLERANCE and shape.lengths.min() > TOLERANCE):
        lengths = ", ".join(f"{x:g}" for x in shape.lengths)
        raise DescriptionError(
            f"{what}: a yaw and three pitch joints (axis 0 -1 0) with links of {lengths} m along x (must be > 0) "
            f"would have the tool elsewhere, off by {off:.2g}",
            description.tool,
            float(off),
        )
    return shape


# -- inverse kinematics ----------------------------------------------------------------------------------------------------

ON_AXIS_M = 1e-9
"""A tip this close to the base axis [m] leaves the base angle as it is."""

STRETCHED = 1e-8
"""Cosines of the elbow this far beyond 1 are rounding."""

LIMIT_SLACK = 1e-9
"""Angles this far beyond a limit [rad] are rounding, and are put onto the limit."""


def picker_inverse(description: ArmDescription, position_m: ArrayLike, pitch_rad: ArrayLike, near: ArrayLike) -> Array:
    """Joint angles within their limits that put the tip at ``position_m`` (3,) [m, root frame] with that pitch [rad].

    Args:
        description: the arm.
        pitch_rad: a number, or (p,), of which the first that can be had counts.
        near: (n,) present joint angles [rad]: of several solutions the one whose farthest-moving joint moves least wins;
            also gives the scissor, and the base angle of a tip on the base axis.

    Returns:
        (n,) [rad], read-only.

    Raises:
        DescriptionError: the arm has another shape (see ``picker_shape``).
        UnreachableError: out of reach, or every solution breaks a joint limit.
    """
    shape, lower, upper = read_shape(description), description.lower, description.upper
    target, now = as_vector("position_m", position_m, 3), as_vector("near", near, description.n)
    pitch = np.ravel(pitch_rad)
    (L1, L2, L3), columns = shape.lengths, list(shape.columns)
    x, y, height = target - shape.shoulder
    rho = math.hypot(x, y)
    facings = [(now[columns[0]], 0.0)] if rho < ON_AXIS_M else [(math.atan2(y, x), rho), (math.atan2(-y, -x), -rho)]
    base, reach = np.array(facings).T[:, None, :, None]
    wrist, up = reach - L3 * np.cos(pitch), height - L3 * np.sin(pitch)
    cosine = (wrist**2 + up**2 - L1**2 - L2**2) / (2.0 * L1 * L2)
    bend = np.array([1.0, -1.0])[:, None, None] * np.arccos(np.clip(cosine, -1.0, 1.0))
    lift = np.arctan2(up, wrist) - np.arctan2(L2 * np.sin(bend), L1 + L2 * np.cos(bend))
    q = np.broadcast_to(now, (*bend.shape, now.size)).copy()  # (elbows, facings, pitches, n)
    q[..., columns] = np.stack(np.broadcast_arrays(base, lift, bend, pitch - lift - bend), axis=-1)
    turns = np.round((now - q) / math.tau) + np.arange(-1, 2)[:, None, None, None, None]
    turned = q + math.tau * turns
    excess = np.maximum(np.maximum(lower - turned, turned - upper), LIMIT_SLACK)
    best = np.lexsort((np.abs(turned - now), excess), axis=0)[:1]  # within the limits if it can be, and then closest
    turned, excess = (np.take_along_axis(part, best, axis=0)[0] for part in (turned, excess))
    fits = (excess <= LIMIT_SLACK).all(axis=-1) & (np.abs(cosine) <= 1.0 + STRETCHED)
    if not fits.any():
        at = "({:.0f}, {:.0f}, {:.0f}) mm".format(*1e3 * target)
        said = told(float(pitch[0]), "rad")
        raise UnreachableError(f"no joint angles within their limits put the tip at {at} with a hand pitch of {said}")
    first = int(fits.any(axis=(0, 1)).argmax())
    moved = np.abs(turned[:, :, first][fits[:, :, first]] - now)
    chosen = turned[:, :, first][fits[:, :, first]][np.lexsort((moved.sum(axis=1), moved.max(axis=1)))[0]]
    return read_only(np.clip(chosen, lower, upper))
