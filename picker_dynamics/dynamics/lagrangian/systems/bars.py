"""Planar bars in a row: the first joint turns its bar from +x counter-clockwise, each other one relative to the bar before."""

from __future__ import annotations

from ..analytic import Scalar, Values, sin_cos


def tip(q: Values, *lengths: float) -> Values:
    """Position of the end of the last bar (x, y, 0) [m]: the bars end to end."""
    angle: Scalar = 0.0
    x: Scalar = 0.0
    y: Scalar = 0.0
    for turned, length in zip(q, lengths):
        angle = angle + turned
        s, c = sin_cos(angle)
        x, y = x + length * c, y + length * s
    return x, y, 0.0
