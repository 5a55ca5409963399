"""Markers that RViz shows beside the model: torques, the reference as a ghost, the demo's scene, what cannot be held."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import Point
from numpy.typing import ArrayLike
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.robot.description import ArmDescription, Geometry
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.picker_shape import read_shape

from .region import Region

TORQUE, REFERENCE, SCENE, NOT_HELD = "torque", "reference", "scene", "cannot be held"
"""Groups of markers, which people switch on and off in RViz."""

KINDS = {
    "box": Marker.CUBE,
    "cylinder": Marker.CYLINDER,
    "sphere": Marker.SPHERE,
    "mesh": Marker.MESH_RESOURCE,
    "text": Marker.TEXT_VIEW_FACING,
    "arrow": Marker.ARROW,
    "boxes": Marker.CUBE_LIST,
}

GREEN, YELLOW, RED = (0.18, 0.70, 0.25), (0.95, 0.80, 0.10), (0.90, 0.12, 0.10)
WHITE, GHOST = (1.0, 1.0, 1.0, 1.0), (0.25, 0.55, 1.0, 0.35)
JUST, TWICE = np.array([1.0, 0.45, 0.05, 0.35]), np.array([0.70, 0.0, 0.05, 0.35])
"""Colours of a place that asks for all that may be held, and for twice as much or more."""

BALL_M, LETTERS_M, ABOVE_M, ARROW_M = 0.022, 0.014, 0.045, 0.12
"""Of a joint's torque: ball, letters, their height above the joint, and length of the arrow at stall [m]."""

LEAST_SHARE = 0.02
"""Of stall; below it there is a ball and a number, but no arrow."""

SKIN_M = 0.001
"""By how much the ghost is larger all around: where both are in one place, the same surface twice would flicker [m]."""

BERRY_M, TRAY_M, DROP_M = 0.037, (0.12, 0.09, 0.015), 0.06
"""Diameter of a berry, edges of the tray, and its depth below the place where the hand lets go [m]."""


def marker(
    group: str,
    index: int,
    kind: str,
    frame: str,
    size: ArrayLike,
    colour: ArrayLike,
    position: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike | None = None,
    points: ArrayLike = (),
    colours: ArrayLike = (),
    text: str = "",
) -> Marker:
    """A marker of ``KINDS``, fixed to the link ``frame``; its stamp is 0: wherever the frame is now.

    Args:
        group, index: name it over time.
        size: (3,) as RViz has it: edges, diameters and height, scale factors, shaft and head [m].
        colour: red, green, blue, opacity; 0 to 1.
        position, rotation: (3,) [m] and (3, 3), of its centre.
        points, colours: (k, 3) [m] and (k, 4).
        text: of a text, or the resource that a mesh is in.
    """
    made = Marker(ns=group, id=index, type=KINDS[kind], color=_colour(colour))
    made.header.frame_id = frame
    made.scale.x, made.scale.y, made.scale.z = np.asarray(size, dtype=float).tolist()
    place, turn = made.pose.position, made.pose.orientation
    place.x, place.y, place.z = np.asarray(position, dtype=float).tolist()
    if rotation is not None:
        from scipy.spatial.transform import Rotation  # takes a while, and most arms draw nothing

        turn.x, turn.y, turn.z, turn.w = Rotation.from_matrix(rotation).as_quat(canonical=True).tolist()
    made.points = [Point(x=x, y=y, z=z) for x, y, z in np.asarray(points).tolist()]
    made.colors = [_colour(one) for one in np.asarray(colours).tolist()]
    made.mesh_resource, made.text = (text, "") if kind == "mesh" else ("", text)
    return made


def _colour(colour: ArrayLike) -> ColorRGBA:
    return ColorRGBA(**dict(zip("rgba", np.asarray(colour, dtype=float).tolist())))


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


def ghost(description: ArmDescription, q: np.ndarray) -> list[Marker]:
    """Draw every visual element of the arm at q (n,) [rad or m], see-through, in the root frame; a mesh is not larger."""
    made: list[Marker] = []
    for name, pose in link_poses(description, q).items():
        for one in description.links[name].visuals:
            size = np.array(outer_size(one)) + (0.0 if one.kind == "mesh" else 2.0 * SKIN_M)
            where = pose.apply(one.xyz), pose.rotation @ one.rotation
            made.append(marker(REFERENCE, len(made), one.kind, description.root, size, GHOST, *where, text=one.filename or ""))
    return made


def torque_markers(description: ArmDescription, q, torque, strongest, hold_limit) -> list[Marker]:
    """Draw all joints' torques in the root frame: of joint j ball, text and arrow are number 3 j and on.

    The arrow lies along the joint's axis, in the sense of the torque by the right-hand rule, or of the force.

    Args:
        q, torque: (n,) where the joints are [rad or m], and what they have to give [N·m or N].
        strongest: (n,) stall torques, or effort limits [N·m or N].
        hold_limit: (n,) what they may give for long [N·m or N].
    """
    poses, root = link_poses(description, q), description.root
    made: list[Marker] = []
    for j, joint in enumerate(description.movable):
        centre, axis = poses[joint.child].position, poses[joint.child].rotation @ joint.axis
        value, share = float(torque[j]), float(torque[j] / strongest[j])
        used = abs(value) / hold_limit[j]
        colour = [*(np.interp(used, (0.0, 0.5, 1.0), channel) for channel in zip(GREEN, YELLOW, RED)), 0.9]
        text = f"{joint.name} {round(value, 2) + 0.0:+.2f} {description.effort_units[j]}, {100.0 * abs(share):.0f} %"
        made.append(marker(TORQUE, 3 * j, "sphere", root, (BALL_M,) * 3, colour, centre))
        made.append(
            marker(TORQUE, 3 * j + 1, "text", root, (0.0, 0.0, LETTERS_M), WHITE, centre + [0.0, 0.0, ABOVE_M], text=text)
        )
        if abs(share) >= LEAST_SHARE:
            points = [centre, centre + np.clip(share, -1.0, 1.0) * ARROW_M * axis]
            made.append(marker(TORQUE, 3 * j + 2, "arrow", root, (0.004, 0.012, 0.014), colour, points=points))
    return made


def region_markers(description: ArmDescription, region: Region) -> list[Marker]:
    """Draw the cells that cannot be held, in the frame of the link behind the base, with which they turn; none where all can."""
    bad = region.share > 1.0
    if not bad.any():
        return []
    shape = read_shape(description)
    link = description.movable[shape.columns[0]].child
    offset = link_poses(description, np.zeros(description.n))[link].position - [0.0, shape.shoulder[1], 0.0]
    points = np.insert(region.centres[bad], 1, 0.0, axis=1) - offset
    colours = JUST + np.clip(region.share[bad] - 1.0, 0.0, 1.0)[:, None] * (TWICE - JUST)
    size = region.cell_m, 0.1 * region.cell_m, region.cell_m
    return [marker(NOT_HELD, 0, "boxes", link, size, JUST, points=points, colours=colours)]


def scene_markers(path: str | Path, frame: str) -> list[Marker]:
    """Draw what ``picker demo`` picks, in ``frame``: each berry hangs below the place where its stem is cut; and the tray.

    Raises:
        ConfigurationError: no such file, or a place that is missing or none.
    """
    raw = read_yaml(path, "scene", ConfigurationError)
    try:
        *berries, tray = (np.array(one["at_m"], dtype=float).reshape(3) for one in (*raw["berries"], raw["tray"]))
    except (KeyError, TypeError, ValueError) as error:
        text = f"scene {path}: {type(error).__name__}: {' '.join(str(error).split())}"
        raise ConfigurationError(text, value=str(path)) from error
    made = [
        marker(SCENE, index, "sphere", frame, (BERRY_M,) * 3, (0.80, 0.08, 0.12, 1.0), at - [0.0, 0.0, 0.5 * BERRY_M])
        for index, at in enumerate(berries)
    ]
    low = max(tray[2] - DROP_M, 0.5 * TRAY_M[2])
    return [*made, marker(SCENE, len(made), "box", frame, TRAY_M, (0.55, 0.50, 0.42, 0.8), [tray[0], tray[1], low])]
