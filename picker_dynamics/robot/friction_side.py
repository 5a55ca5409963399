"""Side of the gears' friction, carried along the motion that was sent: which way each joint moved last, as far as is known.

At rest the friction of a servo's gears holds a joint anywhere within a band (``servo``), and which end of it decides whether a
loaded joint is lifted or lowered: the hysteresis of the play operator (M. Krasnosel'skii, A. Pokrovskii, Systems with Hysteresis,
1989) over the reference,

    s' = clip(s + (q' - q) / w, -1, 1)

with w half the way on which a joint that turns back passes from one side to the other.  The side after enabling is
unknown; so two are carried, from -1 and from +1, which are one as soon as the joint has moved by 2 w to either side.

A joint that has come to rest needs no torque of that side any more: its friction holds it there.  In the middle of the band,
s = 0, neither a berry that is put on nor a hand on the arm moves it, and its motor bears the load alone; so the sides of an arm
that stands go there, exponentially, SETTLED_S after it arrived.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from .model import Array

WIDTH = 0.002
"""w [rad]: far below the steps that a person asks for.  Wider ones leave joints that turned back beside the pose (4 mrad: 2.3 mm
in the median instead of 1.6), narrower ones let the set-point jump."""

SETTLED_S, LETTING_GO_S = 0.3, 0.15
"""How long an arm has stood when its joints' sides begin to go to the middle, and the time constant with which they do [s]."""


class FrictionSide:
    """Hysteresis of ``n`` joints' friction; unknown until they move.

    Attributes:
        width: w [rad], a number or (n,), > 0.
        last: (n,) where it was told to go [rad]; None: nowhere yet.
        bounds: (2, n) least and largest that the side may be, -1 to 1; equal where it is known.
        kept: (n,) joints whose side stays though they stand, or False: none.
    """

    def __init__(self, n: int, width: float | Array = WIDTH):
        self.width: float | Array = width
        self._n = n
        self.start()

    @property
    def middle(self) -> Array:
        """Side, (n,), that is wrong by as little as can be."""
        low, high = self.bounds
        between: Array = 0.5 * (low + high)
        return between

    def start(self, side: ArrayLike | None = None) -> None:
        """Start at rest, on ``side`` (n,); None: unknown."""
        self.last: Array | None = None
        self._stood_s = 0.0
        self.kept: np.ndarray | bool = False
        self.bounds: Array = np.array([np.full(self._n, -1.0), np.ones(self._n)] if side is None else [side, side], dtype=float)

    def advance(self, q: Array, dt: float = 0.0) -> None:
        """Advance the hysteresis to ``q`` (n,) [rad], ``dt`` [s] after the pose before; with 0 a resting arm keeps its side."""
        last, self.last = self.last, q
        if last is None:
            return
        moved = (q - last) / self.width
        if np.count_nonzero(moved):
            self._stood_s = 0.0
            self.bounds = np.minimum(np.maximum(self.bounds + moved, -1.0), 1.0)
            return
        self._stood_s += dt
        if self._stood_s > SETTLED_S:
            self.bounds = self.bounds * np.where(self.kept, 1.0, math.exp(-dt / LETTING_GO_S))

    def follow(self, path: Array) -> None:
        """Advance the hysteresis along ``path`` (s, n) [rad] without a stop: only reversals of a joint matter."""
        ways = np.sign(np.diff(path, axis=0))
        latest = np.maximum.accumulate(np.where(ways != 0.0, np.arange(len(ways))[:, None], 0), axis=0)
        ways = np.take_along_axis(ways, latest, axis=0)
        turns = 1 + np.flatnonzero((ways[1:] != ways[:-1]).any(axis=1))
        for k in (0, *turns.tolist(), -1) if len(path) else ():
            self.advance(path[k])
