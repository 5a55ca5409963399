"""The arm's URDF with what was found, and how sure it is as a remark at each number.

The URDF stays as it is but for its ``<inertial>`` and ``<dynamics>`` elements.  A body of several welded links was found as one:
its ``<inertial>`` stands in the link that the joint moves, the others have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.dom import minidom

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import rigid_groups

from .. import urdf_text
from ..calibration.measured import NORMAL_95
from . import inertia, report
from .procedure import Identified

NOTHING_M = 1e-9


def text_of(found: Identified, when: str) -> str:
    """The URDF's text, each link and joint with its remark."""
    bodies, columns = found.bodies, found.bodies.columns
    figures = report.links(bodies) | (report.joints(bodies) if columns.drives else {})
    viscous, coulomb = (
        columns.drive(kind, bodies.pi) if kind in columns.drives else believed
        for kind, believed in (("viscous", columns.description.damping), ("coulomb", columns.description.friction))
    )
    remarks = {name: _remark(some, when) for name, some in figures.items()}
    return with_bodies(columns.description, bodies.bodies, viscous, coulomb, remarks)


def _remark(figures: dict[str, dict], when: str) -> str:
    sure = ", ".join(f"{name} ± {NORMAL_95 * one['sd']:.2g} {one['unit']}" for name, one in figures.items())
    untold = ", ".join(name for name, one in figures.items() if not one["told"])
    return f"identified {when} from torques, 95 %: {sure}" + (f"; not told, nearly as it was: {untold}" if untold else "")


def with_bodies(
    description: ArmDescription,
    bodies: np.ndarray,
    viscous: np.ndarray,
    coulomb: np.ndarray,
    remarks: Mapping[str, str] | None = None,
) -> str:
    """The URDF with bodies ``bodies`` (n, 10) and friction (n,) [N·m·s/rad, N·m].

    Args:
        remarks: comment for a link or joint, by name.
    """
    document, remarks, groups = minidom.parseString(description.urdf), remarks or {}, rigid_groups(description)

    def put(tag: str, name: str, kind: str, new: str) -> None:
        """Replace the ``kind`` elements of a link or joint by ``new``."""
        (parent,) = (
            one for one in document.documentElement.childNodes if one.nodeName == tag and one.getAttribute("name") == name
        )
        for old in [one for one in parent.childNodes if one.nodeName == kind]:
            parent.removeChild(old)
        for node in minidom.parseString(f"<new>  {new}\n  </new>").documentElement.childNodes:
            parent.appendChild(document.importNode(node, True))

    for joint, pi, damping, friction in zip(description.movable, bodies, viscous, coulomb):
        leader, *others = groups[joint.child]
        body = inertia.body(pi)
        com = np.where(np.abs(body.com) < NOTHING_M, 0.0, body.com)
        put("link", leader, "inertial", urdf_text.inertial(body.mass, com, body.inertia, remarks.get(leader, ""), ".9g", ".9e"))
        for other in others:
            if description.links[other].has_inertial:
                put(
                    "link",
                    other,
                    "inertial",
                    f"<!-- its mass is part of {leader}'s, with which it was identified as one body -->",
                )
        comment = f"  <!-- {remarks[joint.name]} -->" if joint.name in remarks else ""
        put("joint", joint.name, "dynamics", f'<dynamics damping="{damping:.8g}" friction="{friction:.8g}"/>{comment}')
    return document.toxml() + "\n"
