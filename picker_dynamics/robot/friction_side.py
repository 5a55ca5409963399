"""Side of the gears' friction, carried along the motion that was sent: which way each joint moved last, as far as is known.

At rest the friction of a servo's gears holds a joint anywhere within a band (``servo``), and which end of it decides whether a
loaded joint is lifted or lowered: the hysteresis of the play operator (M. Krasnosel'skii, A. Pokrovskii, Systems with Hysteresis,
1989) over the reference,

    s' = clip(s + (q' - q) / w, -1, 1)

with w the way on which a joint that turns back passes from one side to the other.  Where it stands after it was enabled nobody
knows; so two are carried, from -1 and from +1, which are one as soon as the joint has moved by 2 w to either side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .model import Array

WIDTH = 0.002
"""w [rad]: far below the steps that a person asks for.  Wider ones leave joints that turned back beside the pose (4 mrad: 2.3 mm
in the median instead of 1.6), narrower ones let the set-point jump."""


class FrictionSide:
    """Hysteresis of ``n`` joints' friction; unknown until they move.

    Attributes:
        low, high: (n,) bounds of the side, -1 to 1; equal where it is known.
    """

    def __init__(self, n: int):
        self._last: Array | None = None
        self.low: Array = -np.ones(n)
        self.high: Array = np.ones(n)

    @property
    def middle(self) -> Array:
        """(n,) side that is wrong by as little as can be."""
        between: Array = 0.5 * (self.low + self.high)
        return between

    def start(self, side: ArrayLike | None = None) -> None:
        """Stand, on ``side`` (n,); None: nobody knows."""
        self._last = None
        n = len(self.low)
        self.low, self.high = (-np.ones(n), np.ones(n)) if side is None else (np.array(side, dtype=float),) * 2

    def advance(self, q: Array) -> None:
        """Be told to go to ``q`` (n,) [rad]."""
        last, self._last = self._last, q
        if last is not None:
            moved = (q - last) / WIDTH
            self.low, self.high = (np.minimum(np.maximum(side + moved, -1.0), 1.0) for side in (self.low, self.high))
