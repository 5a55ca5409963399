"""Markers of RViz as the other modules draw them, and rotations as messages have them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from geometry_msgs.msg import Point
from numpy.typing import ArrayLike
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from picker_dynamics.robot.description import Geometry

KINDS = {
    "box": Marker.CUBE,
    "cylinder": Marker.CYLINDER,
    "sphere": Marker.SPHERE,
    "mesh": Marker.MESH_RESOURCE,
    "text": Marker.TEXT_VIEW_FACING,
    "arrow": Marker.ARROW,
    "line": Marker.LINE_STRIP,
    "triangles": Marker.TRIANGLE_LIST,
}

GREEN, YELLOW, RED = (0.18, 0.70, 0.25), (0.95, 0.80, 0.10), (0.90, 0.12, 0.10)

Colour = tuple[float, float, float, float]


def marker(
    group: str,
    index: int,
    kind: str,
    frame: str,
    size: ArrayLike,
    colour: Colour,
    *,
    position: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
    points: ArrayLike = (),
    colours: ArrayLike = (),
    text: str = "",
) -> Marker:
    """A marker of ``KINDS``, fixed to the link ``frame``; its stamp is 0: wherever the frame is now.

    Args:
        group, index: name it over time; people switch groups on and off.
        size: (3,) as RViz has it: edges, diameters and height, scale factors, shaft and head, width of a line [m].
        colour: red, green, blue, opacity; 0 to 1.
        position, rotation: (3,) [m] and (3, 3), of its centre.
        points, colours: (k, 3) [m] and (k, 4).
        text: of a text, or the resource that a mesh is in.
    """
    made = Marker(ns=group, id=index, type=KINDS[kind], color=colour_of(colour))
    made.header.frame_id = frame
    made.scale.x, made.scale.y, made.scale.z = np.asarray(size, dtype=float).tolist()
    put(made.pose, position, np.eye(3) if rotation is None else rotation)
    made.points = [Point(x=x, y=y, z=z) for x, y, z in np.asarray(points).tolist()]
    made.colors = [colour_of(one) for one in np.asarray(colours).tolist()]
    made.mesh_resource, made.text = (text, "") if kind == "mesh" else ("", text)
    return made


def put(pose: Any, position: ArrayLike, rotation: ArrayLike) -> None:
    """Write a position (3,) [m] and a rotation (3, 3) into a message's pose."""
    from scipy.spatial.transform import Rotation  # takes a while, and most arms draw nothing

    place, turn = pose.position, pose.orientation
    place.x, place.y, place.z = np.asarray(position, dtype=float).tolist()
    turn.x, turn.y, turn.z, turn.w = Rotation.from_matrix(rotation).as_quat(canonical=True).tolist()


def rotation_of(orientation: Any) -> np.ndarray | None:
    """Rotation matrix (3, 3) of a message's quaternion; None where that is none of length 1, to a thousandth."""
    from scipy.spatial.transform import Rotation

    quaternion = [orientation.x, orientation.y, orientation.z, orientation.w]
    return Rotation.from_quat(quaternion).as_matrix() if abs(math.hypot(*quaternion) - 1.0) < 1e-3 else None


def outer_size(shape: Geometry) -> list[float]:
    """Edges, or diameters and height, (3,) [m] of a shape; scale factors of a mesh."""
    size = [float(one) for one in shape.size]
    if shape.kind in ("box", "mesh"):
        return size
    return [2.0 * size[0], 2.0 * size[0], size[1] if shape.kind == "cylinder" else 2.0 * size[0]]


def colour_of(colour: Any) -> ColorRGBA:
    red, green, blue, opacity = map(float, colour)
    return ColorRGBA(r=red, g=green, b=blue, a=opacity)


def traffic_light(share: float, opacity: float = 1.0) -> Colour:
    """Colour of a share: green at 0, yellow at 0.5, red from 1 on."""
    red, green, blue = (float(np.interp(share, (0.0, 0.5, 1.0), channel)) for channel in zip(GREEN, YELLOW, RED))
    return red, green, blue, opacity
