"""Joint positions for a place of the tip, in closed form for the picker's shape, by search for others; and steps of the tip."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError, UnreachableError, refuse_if

from .description import ArmDescription
from .inverse_kinematics import ChainKinematics
from .model import Array, as_vector, checked_number
from .picker_shape import picker_inverse
from .units import TIP_M

_STEPS = np.radians(np.arange(180.0))

NEAREST_LEVEL = np.stack([-_STEPS, _STEPS], axis=1).ravel()
"""Pitches [rad], the nearest to level first."""


def checked_tip(tip_m: ArrayLike) -> Array:
    """A place of the tip (3,) [m] that some arm may reach; an InputError for any other."""
    tip = as_vector("tip", tip_m, 3)
    far = float(np.abs(tip).max())
    refuse_if(far > TIP_M, f"tip is {far:g} m away, must be within {TIP_M:g} m: are these millimetres?", "tip", far, TIP_M)
    return tip


def tip_target(
    arm: ArmDescription, tip_m: ArrayLike, *, near: ArrayLike, pitch_rad: float | None = None, direction: ArrayLike | None = None
) -> Array:
    """Joint positions (n,) [rad or m] near ``near`` (n,) with the tip at ``tip_m`` (3,) [m], base frame.

    Args:
        pitch_rad: elevation of the tool's direction [rad]; None: the nearest to level for the picker, any for other arms.
        direction: (3,) in which the tool is to point, instead of a pitch; None: any.

    Raises:
        InputError: numbers that cannot be used.
        UnreachableError: out of reach; names the nearest point or pitch that is not.
    """
    tip, pitch = checked_tip(tip_m), None if pitch_rad is None else checked_number("pitch", pitch_rad)
    if direction is None:
        with suppress(DescriptionError):  # of another shape
            try:
                return picker_inverse(arm, tip, NEAREST_LEVEL if pitch is None else pitch, near)
            except UnreachableError:
                if pitch is not None and abs(pitch) > 0.5 * math.pi:
                    raise  # over the back: the search knows no such pitch
    return ChainKinematics(arm).inverse(tip, pitch_rad=pitch, direction=direction, near=near)


TASK = 4
"""Joints that it takes to choose where the tip is and how the hand is pitched."""


def tip_step(arm: ArmDescription, q: ArrayLike, by_m: ArrayLike = (0.0, 0.0, 0.0), pitch_rad: float = 0.0) -> Array:
    """The pose (n,) next to ``q`` (n,) [rad or m] after a small step of the tip, for who steers by hand.

    The hand's pitch is kept, where the arm can keep it, unless it is what changes.

    Args:
        by_m: (3,) in the base frame [m].
        pitch_rad: change of the elevation in which the tool points [rad].

    Raises:
        UnreachableError: the arm cannot make it from here.
        InputError: numbers that cannot be used.
    """
    chain, by, turn = ChainKinematics(arm), as_vector("by_m", by_m, 3), checked_number("pitch_rad", pitch_rad)
    tip, pitch = [chain.forward(q) + by], float(chain.pitch(q)) + turn
    if turn and abs(pitch) > 0.5 * math.pi:
        raise UnreachableError("the hand would point beyond straight up or down", "pitch", pitch)
    ways = [chain.along(tip, q, pitches_rad=[pitch])] if turn or len(chain.columns) >= TASK else []
    ways += [] if turn else [chain.along(tip, q)]
    pose: Array
    for pose in np.concatenate(ways):
        if ((pose >= arm.lower) & (pose <= arm.upper)).all():
            return pose
    raise UnreachableError("the arm cannot make that step from this pose: move a joint instead", "tip")
