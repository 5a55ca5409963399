"""URDF of identified parameters: the given text with other ``<inertial>`` and ``<dynamics>`` elements,
and how sure each number is.

A body of several welded links was found as one: its ``<inertial>`` stands in the link that the joint moves, the others have none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from picker_dynamics.errors import DescriptionError
from picker_dynamics.robot.description import ArmDescription, parse
from picker_dynamics.robot.kinematic_tree import rigid_groups

from ..urdf_text import element, inertial
from .inertia import NAMES, of_description
from .inertia import body as body_of

_INERTIAL = re.compile(r"[ \t]*<inertial\b.*?</inertial>[ \t]*\n?", re.DOTALL)
_DYNAMICS = re.compile(r"[ \t]*<dynamics\b[^>]*?(?:/>|>.*?</dynamics>)[ \t]*\n?", re.DOTALL)

NOTHING_M = 1e-9

AGREES = 1e-5
"""Largest rounding of what is written, as a share of a body's largest entry of the same unit."""


def urdf_text(
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
    text, remarks = description.urdf, dict(remarks or {})
    groups = rigid_groups(description)
    for joint, pi, damping, friction in zip(description.movable, bodies, viscous, coulomb):
        leader, *others = groups[joint.child]
        text = _replaced(text, "link", leader, _INERTIAL, _inertial(pi, remarks.get(leader, "")), description.source)
        for other in others:
            if description.links[other].has_inertial:
                note = f"    <!-- its mass is part of {leader}'s, with which it was identified as one body -->\n"
                text = _replaced(text, "link", other, _INERTIAL, note, description.source)
        comment = f"  <!-- {remarks[joint.name]} -->" if joint.name in remarks else ""
        dynamics = f'    <dynamics damping="{damping:.8g}" friction="{friction:.8g}"/>{comment}\n'
        text = _replaced(text, "joint", joint.name, _DYNAMICS, dynamics, description.source)
    _require_said(parse(text, description.source), bodies)
    return text


def _inertial(pi: np.ndarray, remark: str) -> str:
    body = body_of(pi)
    com = np.where(np.abs(body.com) < NOTHING_M, 0.0, body.com)
    return f"    {inertial(body.mass, com, body.inertia, remark, '.9g', '.9e')}\n"


def _replaced(text: str, tag: str, name: str, inner: re.Pattern, new: str, source: str) -> str:
    """The text with ``new`` in place of what ``inner`` finds in the element, or at its end; comments are left alone."""
    inside = element(text, tag, name)
    if inside is None:
        raise DescriptionError(f"{tag} {name}: not found in the text of {source}", subject=name)
    blank, begin, end = inside
    if end < begin:
        return f"{text[:end]}>\n{new}  </{tag}>{text[begin:]}"
    old = inner.search(blank, begin, end)
    if old is None:
        line = blank.rfind("\n", begin, end) + 1
        if line and not blank[line:end].strip():
            return text[:line] + new + text[line:]
        return f"{text[:end]}\n{new}  {text[end:]}"
    lead = "" if old.start() == 0 or text[old.start() - 1] == "\n" else "\n"
    return text[: old.start()] + lead + new + text[old.end() :]


def _require_said(written: ArmDescription, bodies: np.ndarray) -> None:
    said = of_description(written)
    sizes = np.repeat(
        [np.abs(bodies[:, :1]).max(axis=1), np.abs(bodies[:, 1:4]).max(axis=1), np.abs(bodies[:, 4:]).max(axis=1)],
        (1, 3, 6),
        axis=0,
    ).T
    off = np.abs(said - bodies) - AGREES * np.maximum(sizes, 1e-9)
    if off.max() > 0.0:
        body, entry = np.unravel_index(int(off.argmax()), off.shape)
        joint = written.movable[body]
        raise DescriptionError(
            f"link {joint.child}: {NAMES[entry]} would read {said[body, entry]:g} where "
            f"{bodies[body, entry]:g} was found: its text is too unusual to be changed",
            subject=joint.child,
        )
