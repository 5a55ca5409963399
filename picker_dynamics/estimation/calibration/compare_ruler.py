"""What a person reads on a ruler before and after: the real arm's tip at the same poses with either set of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import InputError

from .measured import NORMAL_95

RULER_SD_MM, RULER_MAX_MM, PAIRS_MIN = 0.5, 300.0, 3


@dataclass(frozen=True)
class RulerWorth:
    """What a person read on a ruler, at the same poses with either set of numbers: distances of the tip from its target [mm].

    ``nearer``: mean of how much nearer the tip is afterwards [mm], with a 95 % interval of Student's t.
    """

    before_mm: tuple[float, ...]
    after_mm: tuple[float, ...]
    nearer_mm: float
    interval_mm: tuple[float, float]

    @property
    def no_worse(self) -> bool:
        """The readings do not say that the tip is farther off than before."""
        return self.interval_mm[1] >= 0.0

    @property
    def better(self) -> bool:
        """The readings say that the tip is nearer."""
        return self.interval_mm[0] > 0.0


def ruler_worth(pairs: Sequence[tuple[float, float]]) -> RulerWorth:
    """Statistics of pairs of readings (before, after) [mm], one pair a pose.

    Raises:
        InputError: too few pairs, or a reading that cannot be.
    """
    if len(pairs) < PAIRS_MIN:
        raise InputError(
            f"{len(pairs)} pairs of ruler readings, must be at least {PAIRS_MIN}",
            subject="ruler",
            value=len(pairs),
            limit=PAIRS_MIN,
        )
    for number, pair in enumerate(pairs, start=1):
        for side, value in zip(("before", "after"), pair):
            if not 0.0 <= value <= RULER_MAX_MM:
                raise InputError(
                    f"ruler, pose {number} {side}: {value:g} mm, must be 0 to {RULER_MAX_MM:g}: the tip's distance "
                    "from its target, in millimetres",
                    subject="ruler",
                    value=value,
                    limit=RULER_MAX_MM,
                )
    before, after = np.array(pairs, dtype=float).T
    gain, count = before - after, len(pairs)
    sd = max(float(gain.std(ddof=1)), math.sqrt(2.0) * RULER_SD_MM) / math.sqrt(count)
    half = student_95(count - 1) * sd
    mean = float(gain.mean())
    return RulerWorth(tuple(before.tolist()), tuple(after.tolist()), mean, (mean - half, mean + half))


def student_95(freedom: int) -> float:
    """Half-width of Student's 95 % interval in standard deviations, by Cornish and Fisher's expansion: within 4 % from 2 on."""
    z, n = NORMAL_95, freedom
    return (
        z
        + (z**3 + z) / (4.0 * n)
        + (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / (96.0 * n**2)
        + (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / (384.0 * n**3)
    )
