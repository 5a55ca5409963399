"""Kinematics of planar bars in a row: the tip of the notes' planar arms, and its Jacobians.

The first joint turns its bar from +x counter-clockwise, each other one relative to the bar before; the tip is the end of
the last bar.
"""

from __future__ import annotations

from ..scalars import Rows, Scalar, Values, sin_cos


def tip(q: Values, *lengths: float) -> Values:
    """Position of the tip (x, y, 0) [m]: the bars end to end."""
    x, y = to_the_tip(q, *lengths)[0]
    return x, y, 0.0


def tip_jacobian(q: Values, *lengths: float) -> Rows:
    """Jacobian of the tip, d(tip)/dq, three rows of n [m/rad]: each joint turns, about +z, all that lies beyond it."""
    x, y = zip(*to_the_tip(q, *lengths))
    return tuple(-yi for yi in y), x, (0.0,) * len(q)


def to_the_tip(q: Values, *lengths: float) -> list[tuple[Scalar, Scalar]]:
    """Vectors from each joint to the tip, (x, y) [m]."""
    angle: Scalar = 0.0
    x: Scalar = 0.0
    y: Scalar = 0.0
    ends, ways = [], []
    for turned, length in zip(q, lengths):
        angle = angle + turned
        s, c = sin_cos(angle)
        ends.append((length * c, length * s))
    for along, across in reversed(ends):
        x, y = x + along, y + across
        ways.append((x, y))
    return ways[::-1]
