"""Lint rules about one link's inertial: could any body have it, and could the body that is drawn?"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..description import ArmDescription, Geometry, Link
from ..model import Array
from .finding import Finding
from .shapes import corners, uniform_body

TRIANGLE_SLACK = 1e-3
"""Share by which principal moments may break the triangle inequality: the rounding of printed numbers."""

GYRATION_SLACK = 1.05
"""Radius of gyration over drawn extent that is still put down to a simplified drawing."""

INERTIA_FACTOR = (1.0 / 50.0, 4.0)
"""Inertia over that of a uniform body of the drawn shape; weight at both ends of a slender link gives 3."""

DENSITY = (20.0, 12000.0)
"""Plausible mean density [kg/m³]: a hollow printed part to lead."""

OUTSIDE = 0.1
"""How far outside of the drawing a centre of mass may be, as a share of the drawing's size."""


def link_findings(description: ArmDescription, name: str) -> Iterator[Finding]:
    """Findings about the ``<inertial>`` of one link."""
    link = description.links[name]
    if not link.has_inertial:
        moves = any(joint.movable for joint in description.path_to(name))
        if moves and (link.visuals or link.collisions):
            yield Finding(name, "inertial", "missing", "the link is drawn and moves, but weighs nothing")
        return
    if name == description.root:
        yield Finding(name, "mass", f"{link.mass:g} kg", "the root never moves; KDL rejects its inertia")
    if link.mass == 0.0:
        if np.any(link.inertia):
            yield Finding(name, "mass", "0 kg", "a body with inertia has mass")
        return
    moments = np.asarray(np.linalg.eigvalsh(link.inertia), dtype=float)
    if moments[0] < -1e-9 * abs(moments[2]):
        yield Finding(name, "inertia", _moments(moments), "a principal moment is negative, which no body has", fatal=True)
        return
    yield from _tensor_findings(link, moments)
    yield from _shape_findings(link)


def _tensor_findings(link: Link, moments: Array) -> Iterator[Finding]:
    """Could any body have this tensor, and is it more than a placeholder?"""
    if np.allclose(moments, 1.0, rtol=1e-9):
        reason = "1.0 on the diagonal is a placeholder; measure it, or compute it from the shape"
        yield Finding(link.name, "inertia", _moments(moments), reason)
    if moments[0] + moments[1] < moments[2] * (1.0 - TRIANGLE_SLACK):
        reason = (
            f"breaks the triangle inequality, {moments[0] + moments[1]:.3g} < {moments[2]:.3g}: "
            "no body has it, and MuJoCo refuses it"
        )
        yield Finding(link.name, "inertia", _moments(moments), reason)


def _shape_findings(link: Link) -> Iterator[Finding]:
    """Mass, centre and inertia against what is drawn; links with a mesh are left out."""
    drawn = (*link.collisions, *link.visuals)
    if not drawn or any(shape.kind == "mesh" for shape in drawn):
        return
    volume, specific = uniform_body(link.collisions or link.visuals)
    density = link.mass / volume
    if not DENSITY[0] <= density <= DENSITY[1]:
        reason = (
            f"{density:.3g} kg/m³ for the {volume * 1e6:.3g} cm³ that are drawn, plausible are {DENSITY[0]:g} to {DENSITY[1]:g}"
        )
        yield Finding(link.name, "mass", f"{link.mass:g} kg", reason)
    points = np.concatenate([corners(shape) for shape in drawn])
    lowest, highest = points.min(axis=0), points.max(axis=0)
    outside = float(np.max(np.maximum(lowest - link.com, link.com - highest)))
    if outside > OUTSIDE * np.max(highest - lowest):
        value = "({:.3g}, {:.3g}, {:.3g}) m".format(*link.com)
        yield Finding(link.name, "centre of mass", value, f"{outside:.3g} m outside of what is drawn")
        return
    yield from _size_findings(link, drawn, link.mass * specific)


def _size_findings(link: Link, drawn: tuple[Geometry, ...], uniform: Array) -> Iterator[Finding]:
    """Is the inertia (about the centre of mass) too large, or much too small, for the drawn size?

    A body that ends r from an axis through its centre of mass has at most the inertia m r² about it.
    """
    moments, axes = np.linalg.eigh(link.inertia)
    arms = np.concatenate([corners(shape) for shape in drawn]) - link.com
    for moment, axis in reversed([*zip(moments, axes.T)]):
        radius = math.sqrt(max(moment, 0.0) / link.mass)
        farthest = float(np.max(np.linalg.norm(np.cross(arms, axis), axis=1)))
        share = float(moment / (axis @ uniform @ axis))
        if radius > GYRATION_SLACK * farthest:
            reason = (
                f"radius of gyration {radius * 1e3:.3g} mm, but nothing is drawn farther than "
                f"{farthest * 1e3:.3g} mm from that axis"
            )
        elif share > INERTIA_FACTOR[1] and moment > 0.5 * moments[2]:  # not about a slender link's own axis
            reason = f"{share:.3g} times that of a uniform body of the drawn shape"
        else:
            continue
        about = "inertia about ({:.2g}, {:.2g}, {:.2g})".format(*np.abs(axis))
        yield Finding(link.name, about, f"{moment:.3g} kg·m²", reason)
        break  # the largest tells enough
    share = float(moments[2] / np.linalg.eigvalsh(uniform)[2])
    if share < INERTIA_FACTOR[0]:
        reason = f"{share:.2g} times that of a uniform body of the drawn shape"
        yield Finding(link.name, "inertia", _moments(moments), reason)


def _moments(moments: Array) -> str:
    return "{:.3g}, {:.3g}, {:.3g} kg·m² (principal)".format(*moments)
