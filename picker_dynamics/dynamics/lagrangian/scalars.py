"""Scalars in which the equations are written, and sine and cosine of one, the only transcendental functions that they use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Scalar: TypeAlias = Any
"""A float or an array of them (a batch), either of them complex."""

Values: TypeAlias = Sequence[Any]
"""One ``Scalar`` per joint or direction."""

Rows: TypeAlias = Sequence[Values]
"""A matrix, row by row."""


def sin_cos(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine (sin, cos) of ``angle`` [rad]."""
    if isinstance(angle, float):
        return math.sin(angle), math.cos(angle)
    return np.sin(angle), np.cos(angle)
