"""The arm's URDF with what was found, and how sure it is as a remark at each number.

In the URDF's text other ``<inertial>`` and ``<dynamics>`` elements stand.  A body of several welded links was found as one: its
``<inertial>`` stands in the link that the joint moves, the others have none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from picker_dynamics.errors import DescriptionError
from picker_dynamics.robot.description import ArmDescription, parse
from picker_dynamics.robot.kinematic_tree import rigid_groups

from .. import urdf_text
from ..calibration.measured import NORMAL_95
from . import inertia, report
from .procedure import Identified

_INERTIAL = re.compile(r"[ \t]*<inertial\b.*?</inertial>[ \t]*\n?", re.DOTALL)
_DYNAMICS = re.compile(r"[ \t]*<dynamics\b[^>]*?(?:/>|>.*?</dynamics>)[ \t]*\n?", re.DOTALL)

NOTHING_M = 1e-9

AGREES = 1e-5
"""Largest rounding of what is written, as a share of a body's largest entry of the same unit."""


def text_of(found: Identified, when: str) -> str:
    """The URDF's text, each link and joint with its remark."""
    bodies, columns = found.bodies, found.bodies.columns
    remarks, rows = {}, report.link_rows(bodies)
    for i, joint in enumerate(columns.description.movable):
        own = [row for row in rows if row.name == joint.child]
        half = [NORMAL_95 * row.sd for row in own]
        centre, moments = " ".join(f"{1e3 * x:.2g}" for x in half[1:4]), " ".join(f"{x:.1e}" for x in half[4:])
        untold = ", ".join(row.figure for row in own if not row.told)
        remarks[joint.child] = (
            f"identified {when} from torques, 95 %: mass ± {half[0]:.2g} kg, centre ± {centre} mm, moments ± {moments} kg m2"
            + (f"; not told by the torques, nearly as it was: {untold}" if untold else "")
        )
        if "viscous" in columns.drives:
            damping, friction = (NORMAL_95 * columns.drive(kind, bodies.sd)[i] for kind in ("viscous", "coulomb"))
            remarks[joint.name] = f"identified {when}, 95 %: damping ± {damping:.2g}, friction ± {friction:.2g}"
    viscous, coulomb = (
        columns.drive(kind, bodies.pi) if kind in columns.drives else believed
        for kind, believed in (("viscous", columns.description.damping), ("coulomb", columns.description.friction))
    )
    return with_bodies(columns.description, bodies.bodies, viscous, coulomb, remarks)


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

    Raises:
        DescriptionError: a link or joint that is not found in the text, or text that then says something else.
    """
    text, remarks, source, groups = description.urdf, remarks or {}, description.source, rigid_groups(description)
    for joint, pi, damping, friction in zip(description.movable, bodies, viscous, coulomb):
        leader, *others = groups[joint.child]
        body = inertia.body(pi)
        com = np.where(np.abs(body.com) < NOTHING_M, 0.0, body.com)
        element = urdf_text.inertial(body.mass, com, body.inertia, remarks.get(leader, ""), ".9g", ".9e")
        text = _replaced(text, "link", leader, _INERTIAL, element, source)
        for other in others:
            if description.links[other].has_inertial:
                note = f"<!-- its mass is part of {leader}'s, with which it was identified as one body -->"
                text = _replaced(text, "link", other, _INERTIAL, note, source)
        comment = f"  <!-- {remarks[joint.name]} -->" if joint.name in remarks else ""
        element = f'<dynamics damping="{damping:.8g}" friction="{friction:.8g}"/>{comment}'
        text = _replaced(text, "joint", joint.name, _DYNAMICS, element, source)
    for joint, said, pi in zip(description.movable, inertia.of_description(parse(text, source)), bodies):
        largest = np.repeat([np.abs(part).max() for part in np.split(pi, (1, 4))], (1, 3, 6))
        for entry in np.flatnonzero(np.abs(said - pi) > AGREES * np.maximum(largest, 1e-9)):
            raise DescriptionError(
                f"link {joint.child}: {inertia.NAMES[entry]} would read {said[entry]:g} where {pi[entry]:g} was found: "
                "its text is too unusual to be changed",
                subject=joint.child,
            )
    return text


def _replaced(text: str, tag: str, name: str, inner: re.Pattern, new: str, source: str) -> str:
    """The text with a line ``new`` in place of what ``inner`` finds in the element, or at its end; comments are left alone."""
    inside = urdf_text.element(text, tag, name)
    if inside is None:
        raise DescriptionError(f"{tag} {name}: not found in the text of {source}", subject=name)
    blank, begin, end = inside
    if end < begin:  # it closes itself
        return f"{text[:end]}>\n    {new}\n  </{tag}>{text[begin:]}"
    old = inner.search(blank, begin, end)
    start, stop = old.span() if old else (end, end)
    before = text[:start].rstrip(" \t")
    return f"{before}{'' if before.endswith(chr(10)) else chr(10)}    {new}\n{'' if old else '  '}{text[stop:]}"
