"""Inverse kinematics of the picker in closed form, without iteration.

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

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import UnreachableError

from .description import ArmDescription
from .model import Array, as_vector, read_only
from .picker_shape import read_shape
from .units import told

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
