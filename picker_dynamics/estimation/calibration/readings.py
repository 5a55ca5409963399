"""Parser of typed readings, to SI units: "82 g", "40 mm", "-12.5", "20 swings in 11.4 s", "52 mm at 300 mm".

A number without a unit has the one that the question names: g, mm, deg, s.  What cannot be is refused; nothing is guessed.

Measured values with standard uncertainty, and their means.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.units import ANGLE, LENGTH, MASS, NUMBER, quantity

UNITS = {"g": (MASS, 1e-3), "mm": (LENGTH, 1e-3), "deg": (ANGLE, math.radians(1.0)), "s": ({"s": 1.0, "ms": 1e-3}, 1.0)}
"""By the unit that a question names: units that may be typed, and how large it is in SI units."""

LEAST_MM, TURN, SWINGS, FEWEST = 1e-3, 2.0 * math.pi, 20, 5
"""Shorter lengths are slips of unit, but for 0 [m]; angles are within a turn [rad]; swings that are counted, and at the least."""

_SWUNG = re.compile(rf"\s*(\d+)\s*(?:x|swings?)?\s*(?:in|:)\s*({NUMBER}\s*m?s?)\s*", re.IGNORECASE)


def reading(what: str, text: str, unit: str, low: float, high: float) -> float:
    """What was typed, in SI units; an angle also with a ruler, ``ACROSS mm at OUT mm``, a time also as ``N swings in S s``, then
    of 20.

    Args:
        what: is read, for messages.
        unit: that the question names, one of ``UNITS``.
        low, high: what it can be.

    Raises:
        InputError: no such number, or beyond what can be.
    """
    across, at, out = text.lower().partition("at")
    swung = _SWUNG.fullmatch(text) if unit == "s" else None
    if unit == "deg" and at:
        value = math.atan2(*(quantity(what, part, LENGTH, "mm") for part in (across, out)))
    elif swung:
        count = int(swung[1])
        refuse_if(count < FEWEST, f"{what}: {count} swings, must be at least {FEWEST}", what, count, FEWEST)
        value = quantity(what, swung[2], UNITS[unit][0], unit) * SWINGS / count
    else:
        value = quantity(what, text, UNITS[unit][0], unit)
    ends = f"{low / UNITS[unit][1]:.4g} to {high / UNITS[unit][1]:.4g}"
    why = f"{what} is {value / UNITS[unit][1]:.6g} {unit}, must be {ends}: another part, end or unit?"
    slip = unit == "mm" and low == 0.0 < value < LEAST_MM
    refuse_if(not low <= value <= high or slip, why, what, value, high)
    return value


def doubt(what: str, value: float, expected: float, within: float, unit: str) -> str:
    """Why a reading is hard to believe, '' where it is within so much of what is expected; angles across the half turn."""
    off = math.remainder(value - expected, TURN) if unit == "deg" else value - expected
    if abs(off) <= within:
        return ""
    said, wanted = (f"{one / UNITS[unit][1]:.1f}" for one in (value, value - off))
    return f"{what} is {said} {unit}, expected about {wanted}: sign, unit, or which end, mixed up, or not at rest yet?"


# -- measured values with standard uncertainty -----------------------------------------------------------------------------

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
