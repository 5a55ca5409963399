"""The arm's URDF with what was found.

The URDF stays as it is but for its ``<inertial>`` and ``<dynamics>`` elements.  A body of several welded links was found as one:
its ``<inertial>`` stands in the link that the joint moves, the others have none.
"""

from __future__ import annotations

from xml.dom import minidom

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import rigid_groups

from .. import urdf_text
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
    document, groups = minidom.parseString(description.urdf), rigid_groups(description)

    def put(tag: str, name: str, kind: str, new: str) -> None:
        """Replace the ``kind`` elements of a link or joint by ``new``."""
        named = (one for one in document.getElementsByTagName(tag) if one.getAttribute("name") == name)
        (parent,) = (one for one in named if one.parentNode is document.documentElement)
        for old in [one for one in parent.childNodes if one.nodeName == kind]:
            parent.removeChild(old)
        for node in minidom.parseString(f"<new>  {new}\n  </new>").getElementsByTagName("new")[0].childNodes:
            parent.appendChild(document.importNode(node, True))

    for joint, pi, damping, friction in zip(description.movable, bodies, viscous, coulomb):
        leader, *others = groups[joint.child]
        body = inertia.body(pi)
        com = np.where(np.abs(body.com) < NOTHING_M, 0.0, body.com)
        put("link", leader, "inertial", urdf_text.inertial(body.mass, com, body.inertia, remark, ".9g", ".9e"))
        for other in others:
            if description.links[other].has_inertial:
                put(
                    "link",
                    other,
                    "inertial",
                    f"<!-- its mass is part of {leader}'s, with which it was identified as one body -->",
                )
        put("joint", joint.name, "dynamics", f'<dynamics damping="{damping:.8g}" friction="{friction:.8g}"/>')
    return document.toxml() + "\n"
