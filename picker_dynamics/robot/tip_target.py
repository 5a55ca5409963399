"""Joint positions for a place of the tip: in closed form for an arm of the picker's shape, by search for any other."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError, UnreachableError, refuse_if

from .description import ArmDescription
from .inverse_kinematics import ChainKinematics
from .kinematics import PickerKinematics
from .model import Array, as_vector, checked_number
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
            kinematics = PickerKinematics(arm)
            try:
                return kinematics.inverse(tip, NEAREST_LEVEL if pitch is None else pitch, near)
            except UnreachableError:
                if pitch is not None and abs(pitch) > 0.5 * math.pi:
                    raise  # over the back: the search knows no such pitch
    return ChainKinematics(arm).inverse(tip, pitch_rad=pitch, direction=direction, near=near)
