"""Parser of typed readings, to SI units: "82 g", "40 mm", "-12.5", "20 swings in 11.4 s", "52 mm at 300 mm".

A number without a unit has the one that the question names: g, mm, deg, us.  What cannot be is refused with what was
probably meant; nothing is guessed.
"""

from __future__ import annotations

import math
import re

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.robot.units import ANGLE, LENGTH, MASS, NUMBER, quantity

PULSE = {"us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3}

MASS_MIN, MASS_MAX = 1e-3, 3.0
"""Of a part of such an arm, where its URDF says no more [kg]: a kitchen scale tells no less than a gram."""
LENGTH_MIN, SWINGS_MIN = 1e-3, 5


def mass(what: str, text: str, expected: float | None = None) -> float:
    """A mass [kg]; ``expected`` [kg]: what it should be about.

    Raises:
        InputError: no such mass.
    """
    value = quantity(what, text, MASS, "g")
    shown = f"{1e3 * value:g} g"
    refuse_if(
        value <= 0.0, f"{what} is {shown}, must be above 0: was the scale set to zero with the part on it?", what, value, 0.0
    )
    refuse_if(
        value < MASS_MIN,
        f"{what} is {shown}: a scale does not tell so little; were these kilograms? then type {1e6 * value:g} g",
        what,
        value,
        MASS_MIN,
    )
    most = max(MASS_MAX, 4.0 * (expected or 0.0))
    refuse_if(value > most, f"{what} is {value:g} kg, must be at most {most:g}: are these grams?", what, value, most)
    if expected and not 0.25 < value / expected < 4.0:
        raise InputError(
            f"{what} is {shown}, the URDF has {1e3 * expected:.0f} g: another part, or another unit?",
            subject=what,
            value=value,
            limit=expected,
        )
    return value


def length(what: str, text: str, longest: float) -> float:
    """A length from 0 to ``longest`` [m].

    Raises:
        InputError: negative, or beyond.
    """
    value = quantity(what, text, LENGTH, "mm")
    refuse_if(
        value < 0.0,
        f"{what} is {1e3 * value:g} mm, must not be negative: measure from the joint's axis outwards",
        what,
        value,
        0.0,
    )
    refuse_if(
        0.0 < value < LENGTH_MIN,
        f"{what} is {1e3 * value:g} mm: were these metres? then type {1e6 * value:g} mm",
        what,
        value,
        LENGTH_MIN,
    )
    refuse_if(
        value > longest,
        f"{what} is {1e3 * value:g} mm, the part reaches {1e3 * longest:.0f} mm: another unit, or from the other end?",
        what,
        value,
        longest,
    )
    return value


def angle(what: str, text: str) -> float:
    """An angle [rad]: degrees, or with a ruler as ``ACROSS mm at OUT mm``.

    Raises:
        InputError: no angle, or more than a full turn.
    """
    across = re.fullmatch(rf"\s*({NUMBER})\s*(mm|cm|m)?\s*at\s*({NUMBER})\s*(mm|cm|m)?\s*", text, re.IGNORECASE)
    if across is not None:
        over, out = (float(across[i].replace(",", ".")) * LENGTH[(across[i + 1] or "mm").lower()] for i in (1, 3))
        refuse_if(out == 0.0 and over == 0.0, f"{what}: both lengths are 0", what, text)
        return math.atan2(over, out)
    value = quantity(what, text, ANGLE, "deg")
    refuse_if(
        abs(value) > 2.0 * math.pi, f"{what} is {math.degrees(value):g} deg, must be within one turn", what, value, 2.0 * math.pi
    )
    return value


def place(what: str, text: str, lower: float, upper: float) -> float:
    """Position of a sliding joint, from its zero [m].

    Args:
        lower, upper: of its way [m]; it may be off by as much as that is long.

    Raises:
        InputError: no length, or far from the joint's way.
    """
    value, room = quantity(what, text, LENGTH, "mm"), upper - lower
    refuse_if(
        not lower - room <= value <= upper + room,
        f"{what} at {1e3 * value:g} mm: it goes from {1e3 * lower:.0f} to {1e3 * upper:.0f}; another unit, or from another edge "
        "than its zero?",
        what,
        value,
        upper,
    )
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
    refuse_if(
        count < SWINGS_MIN,
        f"{what}: {count} swings, must be at least {SWINGS_MIN}: a thumb on a stopwatch is off by 50 ms",
        what,
        count,
        SWINGS_MIN,
    )
    refuse_if(
        not 0.1 < seconds / count < 5.0,
        f"{what}: {seconds:g} s for {count} swings is {seconds / count:.2g} s each: the time of all of them, to and fro?",
        what,
        seconds / count,
        0.1,
    )
    return count, seconds


def pulse(what: str, text: str) -> float:
    """The length of a pulse [us].

    Raises:
        InputError: none that a servo understands.
    """
    value = quantity(what, text, PULSE, "us")
    if not 100.0 <= value <= 5000.0:
        hint = f"were these ms? then type {1e3 * value:g} us" if 0.1 <= value <= 5.0 else "servo pulses are 500 to 2500 us long"
        raise InputError(f"{what} is {value:g} us: {hint}", subject=what, value=value, limit=100.0)
    return value


def near_place(what: str, value: float, expected: float, tolerance: float) -> str:
    """Reason why a length [m] cannot be right, '' where it is within ``tolerance`` of what is expected."""
    if abs(value - expected) <= tolerance:
        return ""
    hints = ((-value, "the sign?"), (10.0 * value, "is it in cm? then type the unit too"))
    likely = [hint for other, hint in hints if abs(other - expected) <= tolerance]
    hint = likely[0] if likely else "another unit, from another edge or plane than its zero, or a rack that jumped a tooth?"
    return f"{what} is {1e3 * value:.1f} mm, expected about {1e3 * expected:.1f}: {hint}"


def near(what: str, value: float, expected: float, tolerance: float) -> str:
    """Reason why an angle [rad] cannot be right, '' where it is within ``tolerance`` of what is expected."""
    off = math.remainder(value - expected, 2.0 * math.pi)
    if abs(off) <= tolerance:
        return ""
    said, wanted = math.degrees(value), math.degrees(value - off)
    hints = (
        (-value, "the sign?"),
        (math.degrees(value), "is it in rad? then type the unit too"),
        (math.pi / 2.0 - value, "from the vertical?"),
        (value - math.copysign(math.pi, value), "the other end of the link?"),
        (math.pi - value, "does it lean back beyond the vertical? then type 180 minus that"),
    )
    likely = [hint for other, hint in hints if abs(math.remainder(other - expected, 2.0 * math.pi)) <= tolerance]
    hint = likely[0] if likely else "another link, or not at rest yet?"
    return f"{what} is {said:.1f} deg, expected about {wanted:.1f}: {hint}"
