"""Checks of what a person writes down of an arm: numbers, vectors and names of parameters, refused with what is allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError
from picker_dynamics.robot.model import Array, as_states


def require_keys(what: str, given: Mapping[str, Any], keys: Sequence[str], *, noun: str = "", subject: str | None = None) -> None:
    """``given`` has exactly these keys, or an InputError about ``subject`` (default: the first wrong key)."""
    for kind, wrong in (
        ("unknown", [str(key) for key in given if key not in keys]),
        ("missing", [key for key in keys if key not in given]),
    ):
        if wrong:
            message = f"{what}: {kind} {noun}{', '.join(wrong)}; it takes {', '.join(keys)}"
            raise InputError(message, subject=subject or wrong[0])


def number(name: str, value: Any, subject: str, least: float = -math.inf) -> float:
    """``value`` as a finite float of at least ``least``, or an InputError that says what ``name`` is."""
    try:
        x = float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is {value!r}, not a number", subject=subject, value=value) from error
    if not math.isfinite(x):
        raise InputError(f"{name} is {x}, not a finite number", subject=subject, value=x)
    if x < least:
        raise InputError(f"{name} is {x}, must be >= {least:g}", subject=subject, value=x, limit=least)
    return x


def vector(name: str, value: ArrayLike, subject: str) -> Array:
    """``value`` as a finite (3,) array, or an InputError that says what ``name`` is."""
    array = as_states(name, value, 3)
    if array.shape != (3,):
        raise InputError(f"{name} has shape {array.shape}, expected (3,)", subject=subject, value=array.shape, limit=3)
    return array
