"""Small steps of the tip from a pose, along the base frame's axes or in pitch, as a person asks for who steers by hand.

The pose after a step is the one next to the pose before: of a step that only another configuration could make, or on whose
way the tip would swing out, it is said so.
"""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import UnreachableError

from .description import ArmDescription
from .inverse_kinematics import ChainKinematics
from .model import Array, as_vector, checked_number

DETOUR, DETOUR_M = 1.5, 2e-3
"""How far from where it was the tip may be on the way: so many times the step, and so much [m]."""

TASK = 4
"""Joints that it takes to choose where the tip is and how the hand is pitched."""

SHARES = np.linspace(0.0, 1.0, 9)[1:, None]
"""Of the way, at which is looked where the tip is."""


class TipSteps:
    """Steps of an arm's tip; arrays (n,) [rad or m].

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
