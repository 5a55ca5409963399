"""Parser of typed readings, to SI units: "82 g", "40 mm", "-12.5", "20 swings in 11.4 s", "52 mm at 300 mm".

A number without a unit has the one that the question names: g, mm, deg.  What cannot be is refused; nothing is guessed.
"""

from __future__ import annotations

import math
import re

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.units import ANGLE, LENGTH, MASS, NUMBER, quantity

MASS_MIN, MASS_MAX = 1e-3, 3.0
"""Of a part of such an arm, where its URDF says no more [kg]: a kitchen scale tells no less than a gram."""
LENGTH_MIN, SWINGS_MIN = 1e-3, 5


def mass(what: str, text: str, expected: float | None = None) -> float:
    """A mass [kg]; ``expected`` [kg]: what it should be about.

    Raises:
        InputError: no such mass.
    """
    value = quantity(what, text, MASS, "g")
    least, most = (0.25 * expected, 4.0 * expected) if expected else (MASS_MIN, MASS_MAX)
    least, most = max(least, MASS_MIN), max(most, 4.0 * MASS_MIN)
    said = f", and the URDF has {1e3 * expected:.0f}" if expected else ""
    why = f"{what} is {1e3 * value:g} g, must be {1e3 * least:.3g} to {1e3 * most:.4g}{said}: another part, or another unit?"
    refuse_if(not least <= value <= most, why, what, value, most)
    return value


def length(what: str, text: str, longest: float) -> float:
    """A length from 0 to ``longest`` [m].

    Raises:
        InputError: negative, or beyond; below a millimetre but for 0.
    """
    value = quantity(what, text, LENGTH, "mm")
    why = f"{what} is {1e3 * value:g} mm, must be 0, or {1e3 * LENGTH_MIN:g} to {1e3 * longest:.0f}: another unit, or end?"
    refuse_if(value != 0.0 and not LENGTH_MIN <= value <= longest, why, what, value, longest)
    return value


def angle(what: str, text: str) -> float:
    """An angle [rad]: degrees, or with a ruler as ``ACROSS mm at OUT mm``.

    Raises:
        InputError: no angle, or more than a full turn.
    """
    across, at, out = text.lower().partition("at")
    if at:
        over, away = (quantity(what, part, LENGTH, "mm") for part in (across, out))
        refuse_if(away == 0.0 and over == 0.0, f"{what}: both lengths are 0", what, text)
        return math.atan2(over, away)
    value, turn = quantity(what, text, ANGLE, "deg"), 2.0 * math.pi
    refuse_if(abs(value) > turn, f"{what} is {math.degrees(value):g} deg, must be within one turn", what, value, turn)
    return value


def place(what: str, text: str, lower: float, upper: float) -> float:
    """Position of a sliding joint, from its zero [m].

    Args:
        lower, upper: of its way [m]; it may be off by as much as that is long.

    Raises:
        InputError: no length, or far from the joint's way.
    """
    value, room = quantity(what, text, LENGTH, "mm"), upper - lower
    why = f"{what} at {1e3 * value:g} mm: it goes from {1e3 * lower:.0f} to {1e3 * upper:.0f}"
    refuse_if(not lower - room <= value <= upper + room, why, what, value, upper)
    return value


def position(value: float, slides: bool, form: str = "+.1f") -> str:
    """A joint's position [rad or m] for a person: in degrees, of one that slides in mm."""
    return f"{1e3 * value if slides else math.degrees(value):{form}} {'mm' if slides else 'deg'}"


def swings(what: str, text: str) -> tuple[int, float]:
    """``20 swings in 11.4 s`` (or ``20 in 11.4``, ``11.4 s`` of 20): how many, and the time of all [s].

    Raises:
        InputError: too few, or no time.
    """
    form = rf"\s*(?:(\d+)\s*(?:x|swings?)?\s*(?:in|:)\s*)?({NUMBER})\s*(ms|s|sec|seconds?)?\s*"
    match = re.fullmatch(form, text, re.IGNORECASE)
    refuse_if(match is None, f"{what}: {text.strip()!r} is not of the form 20 swings in 11.4 s", what, text)
    count, seconds = int(match[1] or 20), float(match[2].replace(",", ".")) * (1e-3 if match[3] == "ms" else 1.0)
    refuse_if(count < SWINGS_MIN, f"{what}: {count} swings, must be at least {SWINGS_MIN}", what, count, SWINGS_MIN)
    why = f"{what}: {seconds:g} s for {count} swings is {seconds / count:.2g} s each: the time of all of them, to and fro?"
    refuse_if(not 0.1 < seconds / count < 5.0, why, what, seconds / count, 0.1)
    return count, seconds


def near(what: str, value: float, expected: float, tolerance: float, unit: str = "rad") -> str:
    """Reason why a reading [rad or m] cannot be right, '' where it is within ``tolerance`` of what is expected."""
    off = value - expected if unit == "m" else math.remainder(value - expected, 2.0 * math.pi)
    if abs(off) <= tolerance:
        return ""
    said, wanted = (position(one, unit == "m", ".1f") for one in (value, value - off))
    return f"{what} is {said}, expected about {wanted}: sign, unit, or which end, mixed up, or not at rest yet?"
