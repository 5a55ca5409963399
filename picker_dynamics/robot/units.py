"""Positions and speeds as people are told them: in degrees and millimetres what is radians and metres inside."""

from __future__ import annotations

import math

VISIBLE = 0.1
"""What differs by less [deg or mm] is told with more digits."""


def told_in(unit: str) -> tuple[float, str]:
    """What a position [rad or m] is multiplied with to be told, and the unit that it is then in."""
    return (1e3, "mm") if unit == "m" else (math.degrees(1.0), "deg")


def told(value: float, unit: str, beside: float | None = None) -> str:
    """A joint's position [rad or m] or speed [rad/s or m/s] in degrees or millimetres, named without the ``/s``.

    Args:
        unit: of the joint's position, ``rad`` or ``m``.
        beside: what it is compared with; the difference can be seen.
    """
    factor, name = told_in(unit)
    apart = math.inf if beside is None else factor * abs(value - beside)
    digits = 1 + math.ceil(-math.log10(apart)) if 0.0 < apart < VISIBLE else 1
    return f"{round(factor * value, digits) + 0.0:.{digits}f} {name}"
