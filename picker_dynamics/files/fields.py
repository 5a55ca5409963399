"""Checks of what a parsed file holds: mappings with known keys, numbers within bounds; complaints name place, value, limit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from picker_dynamics.errors import ConfigurationError, shown

from .reading import Error

Bounds = tuple[float, bool, float]
"""Smallest value, whether it is itself allowed, largest value."""


def mapping(
    value: Any, where: str, allowed: Iterable[str] | None = None, subject: str | None = None, error: Error = ConfigurationError
) -> dict[str, Any]:
    """A copy of ``value``, which has to be keys and values, the keys texts, and of those that are ``allowed``."""
    if not isinstance(value, dict):
        raise error(f"{where}: expected keys and values, found {shown(repr(value), 60)}", subject, value)
    for key in value:
        if not isinstance(key, str) or (allowed is not None and key not in allowed):
            may = "" if allowed is None else f"; allowed are {', '.join(allowed)}"
            raise error(f"{where}: unknown {shown(repr(key), 40)}{may}", subject or str(key), key)
    return dict(value)


def number(value: Any, what: str, bounds: Bounds, subject: str | None = None, error: Error = ConfigurationError) -> float:
    """A finite number within ``bounds``."""
    smallest, inclusive, largest = bounds
    limit = None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        must = "a finite number"
    elif value < smallest or (value == smallest and not inclusive):
        must, limit = f"{'>=' if inclusive else '>'} {smallest:g}", smallest
    elif value > largest:
        must, limit = f"<= {largest:g}", largest
    else:
        return float(value)
    raise error(f"{what} is {shown(repr(value), 60)}, must be {must}", subject, value, limit)
