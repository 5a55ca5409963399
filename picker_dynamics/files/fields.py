"""Checks of what a file or a caller gives: mappings with known keys, numbers within bounds; complaints name place, value, limit.

What counts as a number is decided in ``as_float``, and nowhere else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from picker_dynamics.errors import ConfigurationError, InputError, shown

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


ANY: Bounds = (-math.inf, True, math.inf)


def as_float(value: Any) -> float | None:
    """A real number as a float, infinite where it is too large for one; None: it is no number.

    Numbers are those of Python, ``fractions``, ``decimal``, and NumPy or what resembles it, also as arrays without axes.
    Truth values, texts, bytes, times and masked entries are none, although ``float`` would make numbers of them.
    """
    if type(value) is float:
        return value
    kind = getattr(value, "dtype", None)
    if kind is None:
        real = isinstance(value, Real | Decimal) and not isinstance(value, bool)
    else:
        real = (
            getattr(value, "shape", None) == () and not hasattr(value, "mask") and bool(re.search(r"(int|float)\d+$", str(kind)))
        )
    try:
        return float(value) if real else None
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except ValueError:  # a signalling NaN
        return math.nan


def number(
    value: Any, what: str, bounds: Bounds = ANY, subject: str | None = None, error: Error = ConfigurationError, unit: str = ""
) -> float:
    """A finite number within ``bounds``."""
    smallest, inclusive, largest = bounds
    read, limit = as_float(value), None
    if read is None or not math.isfinite(read):
        must = "a finite number"
    elif read < smallest or (read == smallest and not inclusive):
        must, limit = f"{'>=' if inclusive else '>'} {smallest:g}", smallest
    elif read > largest:
        must, limit = f"<= {largest:g}", largest
    else:
        return read
    raise error(f"{what} is {_said(value, read)}{unit and ' '}{unit}, must be {must}", subject, value, limit)


def whole(value: Any, what: str, smallest: int, largest: int, subject: str | None = None, error: Error = InputError) -> int:
    """A whole number within bounds, themselves allowed."""
    read = as_float(value) if isinstance(value, Integral) else None
    if read is None or not smallest <= read <= largest:
        must = f"must be a whole number, {smallest} to {largest}"
        raise error(f"{what} is {_said(value, read)}, {must}", subject or what, value, largest)
    return int(value)


def _said(value: Any, read: float | None) -> str:
    return shown(" ".join(repr(value).split()), 60) if read is None else repr(read).removesuffix(".0")
