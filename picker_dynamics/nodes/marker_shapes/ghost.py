"""Ghost of the reference pose: the URDF's visual shapes, see-through, beside the model that shows where the arm is."""

from __future__ import annotations

import numpy as np
from visualization_msgs.msg import Marker

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses

from .shapes import marker, outer_size

GROUP = "reference"
COLOUR = (0.25, 0.55, 1.0, 0.35)

SKIN_M = 0.001
"""By how much the ghost is larger all around: where both are in one place, the same surface twice would flicker."""


def ghost(description: ArmDescription, q: np.ndarray) -> list[Marker]:
    """Markers of every visual element of the arm at q (n,) [rad or m], in the root frame; a mesh is not larger."""
    made: list[Marker] = []
    for name, pose in link_poses(description, q).items():
        for one in description.links[name].visuals:
            size = np.array(outer_size(one)) + (0.0 if one.kind == "mesh" else 2.0 * SKIN_M)
            where = {"position": pose.apply(one.xyz), "rotation": pose.rotation @ one.rotation}
            made.append(marker(GROUP, len(made), one.kind, description.root, size, COLOUR, text=one.filename or "", **where))
    return made
