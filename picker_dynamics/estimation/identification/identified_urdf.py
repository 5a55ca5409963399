"""The arm's URDF with what was found.

The URDF stays as it is but for its ``<inertial>`` and ``<dynamics>`` elements.  A body of several welded links was found as one:
its ``<inertial>`` stands in the link that the joint moves, the others have none.
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import rigid_groups

from ..urdf_text import inertial, put
from . import inertia
from .procedure import Identified

NOTHING_M = 1e-9


def text_of(found: Identified, when: str) -> str:
    """The URDF's text; a remark at each link says when it was found."""
    bodies, columns = found.bodies, found.bodies.columns
    viscous, coulomb = (columns.drive(kind, bodies.pi) for kind in ("viscous", "coulomb"))
    remark = f"identified {when} from torques; fit.json says how surely"
    return with_bodies(columns.description, bodies.bodies, viscous, coulomb, remark)


def with_bodies(
    description: ArmDescription, bodies: np.ndarray, viscous: np.ndarray, coulomb: np.ndarray, remark: str = ""
) -> str:
    """The URDF with bodies ``bodies`` (n, 10) and friction (n,) [N·m·s/rad, N·m], and a comment at each body."""
    text, groups = description.urdf, rigid_groups(description)
    for joint, pi, damping, friction in zip(description.movable, bodies, viscous, coulomb):
        leader, *others = groups[joint.child]
        body = inertia.body(pi)
        com = np.where(np.abs(body.com) < NOTHING_M, 0.0, body.com)
        text = put(text, "link", leader, "inertial", inertial(body.mass, com, body.inertia, remark, ".9g", ".9e"))
        note = f"<!-- its mass is part of {leader}'s, with which it was identified as one body -->"
        for other in (one for one in others if description.links[one].has_inertial):
            text = put(text, "link", other, "inertial", note)
        text = put(text, "joint", joint.name, "dynamics", f'<dynamics damping="{damping:.8g}" friction="{friction:.8g}"/>')
    return text
