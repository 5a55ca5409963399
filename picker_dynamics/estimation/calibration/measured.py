"""Measured values with standard uncertainty, and their means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NORMAL_95 = 1.959964
"""Half-width of the 95 % interval of a normal distribution, in standard deviations."""


@dataclass(frozen=True)
class Measured:
    """A value with its standard uncertainty (one standard deviation), in SI units."""

    value: float
    sd: float

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the value."""
        return self.value - NORMAL_95 * self.sd, self.value + NORMAL_95 * self.sd

    def contains(self, truth: float) -> bool:
        """Whether the 95 % interval contains the truth."""
        low, high = self.interval
        return low <= truth <= high


def mean(readings: Sequence[float], instrument_sd: float) -> Measured:
    """The mean of repeated readings; its uncertainty from their spread, but never better than the instrument gives.

    Args:
        readings: at least one.
        instrument_sd: standard deviation of a single reading as the instrument's maker has it.
    """
    spread = float(np.std(readings, ddof=1)) if len(readings) > 1 else 0.0
    return Measured(float(np.mean(readings)), max(spread, instrument_sd) / math.sqrt(len(readings)))
