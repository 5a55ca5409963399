"""Quantities as people say them and are told them: in degrees and millimetres what is radians and metres inside."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from picker_dynamics.errors import InputError, refuse_if

NUMBER = r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:e[-+]?\d+)?"
MASS = {"g": 1e-3, "kg": 1.0, "mg": 1e-6}
LENGTH = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}
ANGLE = {"deg": math.pi / 180.0, "°": math.pi / 180.0, "rad": 1.0}
"""How numbers are typed, and their units in SI."""

TIP_M = 10.0
"""No tip is farther away, on any axis [m]."""


def told_in(unit: str) -> tuple[float, str]:
    """Factor by which a position [rad or m] is multiplied to be told, and the unit that it is then in."""
    return (1e3, "mm") if unit == "m" else (math.degrees(1.0), "deg")


def told(value: float, unit: str, beside: float | None = None) -> str:
    """A joint's position [rad or m] or speed [rad/s or m/s] in degrees or millimetres, named without the ``/s``.

    Args:
        unit: of the joint's position, ``rad`` or ``m``.
        beside: what it is compared with; the difference can be seen.
    """
    factor, name = told_in(unit)
    return f"{figure(factor * value, None if beside is None else factor * beside, 1)} {name}"


def figure(value: float, beside: float | None = None, digits: int = 2) -> str:
    """A value with ``digits`` decimals, or with as many as show that it differs from ``beside``."""
    apart = math.inf if beside is None else abs(value - beside)
    if 0.0 < apart < 10.0**-digits:
        digits = 1 + math.ceil(-math.log10(apart))
    return f"{round(value, digits) + 0.0:.{digits}f}"


def quantity(what: str, text: str, units: Mapping[str, float], usual: str) -> float:
    """A number with one of ``units``, without any: of the ``usual`` one; in SI units.

    Raises:
        InputError: no number, or a unit of something else.
    """
    match = re.fullmatch(rf"\s*({NUMBER})\s*([^\s\d]*)\s*", text, re.IGNORECASE)
    if match is None:
        raise InputError(f"{what}: {text.strip()!r} is not a number; for example: 12.3 {usual}", what, text)
    unit = match[2].lower().rstrip(".") or usual
    refuse_if(unit not in units, f"{what}: unit {match[2]!r}, must be one of {', '.join(units)}", what, text)
    return float(match[1].replace(",", ".")) * units[unit]


def degrees_hint(value: float, lower: float, upper: float, unit: str) -> str:
    """What to say of an angle beyond its limits [rad] that would be within them if its sender meant degrees; '' of others."""
    meant = unit == "rad" and abs(value) > math.tau and lower <= math.radians(value) <= upper
    return f" ({value:g} rad: are degrees meant?)" if meant else ""
