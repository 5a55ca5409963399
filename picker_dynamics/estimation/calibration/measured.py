"""Measured values with standard uncertainty, their means, and propagation to what follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import refuse_if

NORMAL_95 = 1.959964
"""Half-width of the 95 % interval of a normal distribution, in standard deviations."""

COMPLEX_STEP = 1e-30


@dataclass(frozen=True)
class Measured:
    """A value with its standard uncertainty (one standard deviation), in SI units."""

    value: float
    sd: float

    def times(self, factor: float) -> Measured:
        """Measured value in another unit."""
        return Measured(factor * self.value, factor * self.sd)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the value."""
        return self.value - NORMAL_95 * self.sd, self.value + NORMAL_95 * self.sd

    def contains(self, truth: float) -> bool:
        """Whether the 95 % interval contains the truth."""
        low, high = self.interval
        return low <= truth <= high


def mean(name: str, readings: Sequence[float], instrument_sd: float) -> Measured:
    """The mean of repeated readings; its uncertainty from their spread, but never better than the instrument gives.

    Args:
        name: of what was read, for messages.
        readings: at least one.
        instrument_sd: standard deviation of a single reading as the instrument's maker has it.

    Raises:
        InputError: no reading, or one that is not finite.
    """
    values = np.asarray(readings, dtype=float).reshape(-1)
    refuse_if(not values.size, f"{name}: no reading", name)
    refuse_if(not np.isfinite(values).all(), f"{name}: a reading is not a finite number", name)
    spread = float(values.std(ddof=1)) if values.size > 1 else 0.0
    return Measured(float(values.mean()), max(spread, instrument_sd) / math.sqrt(values.size))


def propagate(function: Callable[..., float], *inputs: Measured) -> Measured:
    """``function`` of independent measured numbers, to first order: sd² = Σ (∂f/∂x sd_x)².

    The derivatives are exact, by complex step, so ``function`` has to be analytic: no abs, no comparison.
    """
    values = [one.value for one in inputs]
    variance = 0.0
    for i, one in enumerate(inputs):
        shifted = [complex(x, COMPLEX_STEP if i == j else 0.0) for j, x in enumerate(values)]
        variance += (function(*shifted).imag / COMPLEX_STEP * one.sd) ** 2
    return Measured(float(function(*values)), math.sqrt(variance))
