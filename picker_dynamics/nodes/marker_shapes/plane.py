"""Markers of the region that cannot be held: its cells in the arm's plane, which turns with the base."""

from __future__ import annotations

import numpy as np
from visualization_msgs.msg import Marker

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.picker_shape import read_shape

from .region import Region
from .shapes import marker

GROUP = "cannot be held"
JUST, TWICE = (1.0, 0.45, 0.05, 0.35), (0.70, 0.0, 0.05, 0.35)
"""Colours of a share of 1, and of 2 and more."""

CORNERS = 0.5 * np.array([[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]])


def region_markers(description: ArmDescription, region: Region) -> list[Marker]:
    """The cells that cannot be held as triangles in the frame of the link behind the base; none where all can."""
    bad = region.share > 1.0
    if not bad.any():
        return []
    shape = read_shape(description)
    link = description.movable[shape.columns[0]].child
    offset = link_poses(description, np.zeros(description.n))[link].position - [0.0, shape.shoulder[1], 0.0]
    flat = (region.centres[bad][:, None, :] + region.cell_m * CORNERS).reshape(-1, 2)
    points = np.insert(flat, 1, 0.0, axis=1) - offset
    darkness = np.clip(region.share[bad] - 1.0, 0.0, 1.0)[:, None]
    colours = np.repeat(JUST + darkness * np.subtract(TWICE, JUST), 6, axis=0)
    return [marker(GROUP, 0, "triangles", link, (1.0, 1.0, 1.0), JUST, points=points, colours=colours)]
