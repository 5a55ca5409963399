"""Joint positions for a place of the tip, in closed form for the picker's shape, by search for others; and steps of the tip."""

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


DETOUR, DETOUR_M = 1.5, 2e-3
"""How far from where it was the tip may be on the way: so many times the step, and so much [m]."""

TASK = 4
"""Joints that it takes to choose where the tip is and how the hand is pitched."""

SHARES = np.linspace(0.0, 1.0, 9)[1:, None]
"""Of the way, at which is looked where the tip is."""


class TipSteps:
    """Small steps of an arm's tip from a pose (n,) [rad or m], along the base frame's axes or in pitch, for who steers by hand.

    The pose after a step is the one next to the pose before: of a step that only another configuration could make, or on whose
    way the tip would swing out, it is said so.

    Args:
        arm: the arm.
    """

    def __init__(self, arm: ArmDescription):
        self._chain = ChainKinematics(arm)

    def target(self, q: ArrayLike, by_m: ArrayLike = (0.0, 0.0, 0.0), pitch_rad: float = 0.0) -> Array:
        """The pose after a step from ``q``, (n,).

        The hand's pitch is kept, where the arm can keep it, unless it is what changes.

        Args:
            by_m: (3,) in the base frame [m].
            pitch_rad: change of the elevation in which the tool points [rad].

        Raises:
            UnreachableError: the arm cannot make it from here.
            InputError: numbers that cannot be used.
        """
        pose, by = as_vector("q", q, self._chain.n), as_vector("by_m", by_m, 3)
        turn, tip = checked_number("pitch_rad", pitch_rad), self._chain.forward(pose)
        pitch = float(self._chain.pitch(pose)) + turn
        if turn and abs(pitch) > 0.5 * math.pi:
            raise UnreachableError("the hand would point beyond straight up or down", "pitch", pitch)
        after = self._next(pose, tip + by, pitch, turn)
        way = self._chain.forward(pose + SHARES * (after - pose)) - tip
        out, allowed = float(np.linalg.norm(way, axis=-1).max()), DETOUR * float(np.linalg.norm(by)) + DETOUR_M
        if out > allowed:
            raise UnreachableError(
                f"from this pose the step leads to another configuration: the tip would swing {1e3 * out:.0f} mm, allowed "
                f"{1e3 * allowed:.0f} mm; move a joint instead",
                "tip",
                out,
                allowed,
            )
        return after

    def _next(self, pose: Array, tip: Array, pitch: float, turn: float) -> Array:
        """A pose with the tip there, and with that pitch: for sure where it is to change, else where it can be."""
        if turn:
            return self._chain.inverse(tip, pitch_rad=pitch, near=pose)
        if len(self._chain.columns) >= TASK:
            with suppress(UnreachableError):
                return self._chain.inverse(tip, pitch_rad=pitch, near=pose)
        return self._chain.inverse(tip, near=pose)
