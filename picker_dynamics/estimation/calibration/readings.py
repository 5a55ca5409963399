"""Parser of typed readings, to SI units: "40 mm", "-12.5", "52 mm at 300 mm"; and measured values with standard uncertainty.

A number without a unit has the one that the question names: mm or deg.  What cannot be is refused; nothing is guessed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.units import ANGLE, LENGTH, quantity

UNITS = {"mm": (LENGTH, 1e-3), "deg": (ANGLE, math.radians(1.0))}
"""By the unit that a question names: units that may be typed, and how large it is in SI units."""

TURN = 2.0 * math.pi
"""Angles are within a turn [rad]."""


def reading(what: str, text: str, unit: str, low: float, high: float) -> float:
    """What was typed, in SI units; an angle also with a ruler, ``ACROSS mm at OUT mm``.

    Args:
        what: is read, for messages.
        unit: that the question names, one of ``UNITS``.
        low, high: what it can be.

    Raises:
        InputError: no such number, or beyond what can be.
    """
    across, at, out = text.lower().partition("at")
    if unit == "deg" and at:
        value = math.atan2(*(quantity(what, part, LENGTH, "mm") for part in (across, out)))
    else:
        value = quantity(what, text, UNITS[unit][0], unit)
    ends = f"{low / UNITS[unit][1]:.4g} to {high / UNITS[unit][1]:.4g}"
    why = f"{what} is {value / UNITS[unit][1]:.6g} {unit}, must be {ends}: another part, end or unit?"
    refuse_if(not low <= value <= high, why, what, value, high)
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
