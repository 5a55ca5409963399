"""Ghost of the reference pose: the URDF's visual shapes, see-through, beside the model that shows where the arm is."""

from __future__ import annotations

from picker_dynamics.robot.description import ArmDescription, Geometry
from picker_dynamics.robot.kinematic_tree import link_poses

from .shapes import Shape, quaternion_of

GROUP = "reference"
COLOUR = (0.25, 0.55, 1.0, 0.35)

SKIN_M = 0.001
"""By how much the ghost is larger all around: where both are in one place, the same surface twice would flicker."""


def ghost_shapes(description: ArmDescription, q, colour=COLOUR) -> list[Shape]:
    """Shapes of every visual element of the arm at q (n,) [rad or m], in the root frame."""
    poses = link_poses(description, q)
    shapes = []
    for link in description.links.values():
        pose = poses[link.name]
        for element in link.visuals:
            shapes.append(
                Shape(
                    GROUP,
                    len(shapes),
                    element.kind,
                    description.root,
                    _size(element),
                    colour,
                    position=pose.apply(element.xyz),
                    quaternion=quaternion_of(pose.rotation @ element.rotation),
                    text=element.filename or "",
                )
            )
    return shapes


def _size(element: Geometry) -> tuple[float, float, float]:
    """Edges, or diameters and height [m]; a mesh is only scaled."""
    if element.kind == "mesh":
        return element.size
    if element.kind == "box":
        edges = element.size
    elif element.kind == "cylinder":
        radius, length = element.size
        edges = (2.0 * radius, 2.0 * radius, length)
    else:
        edges = (2.0 * element.size[0],) * 3
    x, y, z = (edge + 2.0 * SKIN_M for edge in edges)
    return x, y, z
