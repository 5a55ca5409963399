"""Floor check: no motion takes the tool or a joint below a plane, that on which the arm stands.

Points are looked at, not shapes: the tool's frame and the origin of every joint.  A link's belly, a cable, or what the tool holds
may be lower.  A goal may take an arm that is below already up, not deeper; streams and jogs are refused
there, as a state alone does not say where it began.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.frame_heights import FrameHeights, height_changers

from .checks import SampledMotion, Usage

OFF = -math.inf
"""The height of no floor."""

TOLERANCE_M, STATE_TOLERANCE_M = 1e-4, 1e-3
"""How far below the floor a motion may be, and one sample of a stream: rounding of what was computed, of pulses and messages."""

ON_PLANE_M = 1e-3
"""A joint whose axis is no higher than this above a plane lies in it."""

SHARE_PER_M = 1e3
"""By how much a motion's share grows with its depth [1/m]: of several ways that are all below, the least deep one is the best."""


@dataclass(frozen=True, eq=False)
class FloorCheck:
    """Height of the tool and of the joints: none may be below ``floor_z``; no slowing mends that.

    Args:
        description: the arm.
        floor_z: height of the floor in the root's frame [m]; ``OFF``: there is none.
        deceleration: with which a stream is brought to rest [rad/s²]: a sample has to leave room for that.

    Raises:
        InputError: a height that is no number, or above everything.
    """

    description: ArmDescription
    floor_z: float = 0.0
    deceleration: float = 4.0

    def __post_init__(self) -> None:
        if math.isnan(self.floor_z) or self.floor_z == math.inf:
            raise InputError(
                f"floor_z is {self.floor_z} m, must be a height, or -inf where there is no floor", "floor_z", self.floor_z
            )

    @cached_property
    def heights(self) -> FrameHeights:
        return FrameHeights(self.description)

    def worst(self, motion: SampledMotion) -> Usage:
        """Usage where the motion is deepest below the floor, or below where it begins."""
        heights, one_state = self.heights, motion.trajectory is None
        z = heights(motion.stopping(self.deceleration) if one_state else motion.q)
        allowed = np.full(z.shape[1], self.floor_z) if one_state else np.minimum(self.floor_z, z[0])
        below = heights.varies & (allowed - z > (STATE_TOLERANCE_M if one_state else TOLERANCE_M))
        depth = np.where(below, self.floor_z - z, 0.0)
        deepest = depth.max(axis=0)
        j = int((deepest > deepest.max() - TOLERANCE_M).argmax())  # the tool, where a joint is in the same place
        k, name = int(depth[:, j].argmax()), heights.names[j]
        at, share = (0 if one_state else k), 1.0 + SHARE_PER_M * float(depth[k, j])
        text = f"{name} would be {1e3 * depth[k, j]:.0f} mm below the floor (floor_z {self.floor_z:.3f} m){motion.when(at)}"
        return Usage(share, name, float(z[k, j]), self.floor_z, float(motion.times[at]), text)


def standing_floor(description: ArmDescription, rest: ArrayLike) -> tuple[float, str]:
    """Height of the floor of an arm that nobody says one for [m], or ``OFF`` with the reason.

    An arm stands on the plane of its root where at its rest pose ``rest`` (n,) the tool and every joint are above it, and no axis
    that raises or lowers anything lies in it.  Others hang, or are drawn about an axis in that plane: links are below by design.
    """
    heights, q = FrameHeights(description), np.asarray(rest, dtype=float)
    at_rest, raising = dict(zip(heights.names, heights(q).tolist())), height_changers(heights, q)
    for name, z in at_rest.items():
        if z < -TOLERANCE_M or (name in raising and z <= ON_PLANE_M):
            where = "below" if z < -TOLERANCE_M else "in"
            return OFF, f"{name} is {where} the plane of {description.root} where the arm rests"
    return 0.0, ""
