"""Sine and cosine of one angle together: the only transcendental functions the equations use."""

from __future__ import annotations

import math

import numpy as np


def sin_cos(angle):
    """(sin, cos) of ``angle`` [rad]: a float, or an array, real or complex.

    ``compiled`` puts in its place a version that a compiler can vectorise.
    """
    if isinstance(angle, float):
        return math.sin(angle), math.cos(angle)
    return np.sin(angle), np.cos(angle)
