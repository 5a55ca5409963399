"""A shape to draw, with its colours: what visualization_msgs/Marker holds, without ROS."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

KINDS = ("box", "cylinder", "sphere", "mesh", "text", "arrow", "line", "triangles")

GREEN, YELLOW, RED = (0.18, 0.70, 0.25), (0.95, 0.80, 0.10), (0.90, 0.12, 0.10)

NOWHERE = np.zeros(3)
UPRIGHT = (0.0, 0.0, 0.0, 1.0)

Colour = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Shape:
    """A coloured shape, fixed to a frame.

    Attributes:
        group: what it belongs to, for example ``torque``; people switch groups on and off.
        index: which one of its group; (group, index) names a shape over time.
        kind: one of ``KINDS``.
        frame: name of the link that it is fixed to.
        size: (3,) box: edges; cylinder and sphere: diameters and height; mesh: scale factors; text: height of the letters
            in the last; arrow: shaft, head diameter, head length; line: width in the first [m].
        colour: red, green, blue, opacity; 0 to 1.
        position: (3,) [m], of its centre.
        quaternion: x, y, z, w.
        points: (k, 3) [m]: tail and tip of an arrow, corners of a line, of triangles three each.
        colours: (k, 4) of the points, or None: ``colour`` for all.
        text: of a text, or the resource that a mesh is in.
    """

    group: str
    index: int
    kind: str
    frame: str
    size: tuple[float, float, float]
    colour: Colour
    position: np.ndarray = field(default_factory=lambda: NOWHERE)
    quaternion: tuple[float, float, float, float] = UPRIGHT
    points: np.ndarray | None = None
    colours: np.ndarray | None = None
    text: str = ""


def traffic_light(share: float, opacity: float = 1.0) -> Colour:
    """Colour of a share: green at 0, yellow at 0.5, red from 1 on."""
    share = min(max(float(share), 0.0), 1.0)
    start, end, part = (GREEN, YELLOW, 2.0 * share) if share < 0.5 else (YELLOW, RED, 2.0 * share - 1.0)
    red, green, blue = (a + part * (b - a) for a, b in zip(start, end))
    return red, green, blue, opacity


def rotation_of(quaternion) -> np.ndarray | None:
    """Rotation matrix (3, 3) of a quaternion x, y, z, w; None where that is none of length 1, to a thousandth.

    R = 1 + 2 w [u]x + 2 [u]x², u = (x, y, z) (Shuster, A survey of attitude representations, 1993).
    """
    x, y, z, w = np.asarray(quaternion, dtype=float)
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if not abs(length - 1.0) < 1e-3:
        return None
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) / length
    return np.eye(3) + 2.0 * w / length * cross + 2.0 * cross @ cross


def quaternion_of(rotation) -> tuple[float, float, float, float]:
    """Unit quaternion (x, y, z, w), w >= 0, of a rotation matrix (3, 3).

    Shepperd's method: divides by the largest of the four, so that no rotation is a special case.
    """
    m = np.asarray(rotation, dtype=float)
    squares = (m[0, 0] - m[1, 1] - m[2, 2], m[1, 1] - m[0, 0] - m[2, 2], m[2, 2] - m[0, 0] - m[1, 1], float(np.trace(m)))
    largest = max(range(4), key=squares.__getitem__)
    skew = (m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1])
    double = math.sqrt(1.0 + squares[largest])
    if largest == 3:
        parts = [*skew, double * double]
    else:
        parts = [m[largest, i] + m[i, largest] for i in range(3)] + [skew[largest]]
        parts[largest] = double * double
    sign = -1.0 if parts[3] < 0.0 else 1.0
    x, y, z, w = (sign * part / (2.0 * double) for part in parts)
    return x, y, z, w
