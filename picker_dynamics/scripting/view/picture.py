"""Picture of an arm for the page: its links with their shapes and colours, its joints with their limits, all as plain JSON.

A link without a visual shape shows its collision shapes, one without either, or whose meshes are missing, a ball where it begins
and a rod to each joint that it bears: a stick figure.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from picker_dynamics.errors import DescriptionError
from picker_dynamics.files.formats import parse_xml
from picker_dynamics.robot.description import ArmDescription, Geometry, Joint, Link
from picker_dynamics.robot.meshes import find_mesh
from picker_dynamics.robot.model import Array

from ..equipment import Equipment

GREY = (0.78, 0.79, 0.80, 1.0)
ROD_M = 0.012
"""Radius of what stands for a link that nobody drew [m]."""

BALL_M = 1.6 * ROD_M
"""Radius of the ball where such a link begins [m]."""

MESHES = (".stl", ".obj", ".dae")


def picture(known: Equipment, folder: str | Path = "") -> dict[str, Any]:
    """The arm as the page draws it; SI units, poses as 4 x 4 matrices, row by row.

    Args:
        folder: as of ``mesh_file``.
    """
    arm, limits = known.description, known.limits
    colours, meshes = colours_of(arm), mesh_names(arm)
    missing = {name for number, name in enumerate(meshes) if mesh_file(arm, number, folder) is None}
    vectors = {name: getattr(arm, name) for name in ("lower", "upper", "velocity")}
    vectors |= {"stall": limits.full, "peak": limits.peak, "hold": limits.hold, "home": known.home, "rest": known.rest}
    return {
        "name": arm.name,
        "root": arm.root,
        "tool": arm.tool,
        "gripper": known.gripper is not None,
        "links": {
            name: [_shape(one, colour, meshes) for one, colour in _shapes(arm, link, colours, missing)]
            for name, link in arm.links.items()
        },
        "missing": sorted(missing),
        "joints": [_joint(joint) for joint in arm.joints],
        "moving": [
            {
                "name": name,
                "unit": unit,
                "effort_unit": effort_unit,
                **{what: _finite(vector[j]) for what, vector in vectors.items()},
            }
            for j, (name, unit, effort_unit) in enumerate(zip(arm.joint_names, arm.position_units, arm.effort_units))
        ],
    }


def mesh_names(arm: ArmDescription) -> tuple[str, ...]:
    """File names of the meshes that the URDF has, each once, in its order: pages ask for them by number."""
    drawn = (one for link in arm.links.values() for one in (link.visuals or link.collisions))
    return tuple(dict.fromkeys(str(one.filename) for one in drawn if one.kind == "mesh"))


def mesh_file(arm: ArmDescription, number: int, folder: str | Path = "") -> Path | None:
    """The file of a mesh: ``package://NAME/...`` below a folder NAME in which the URDF lies, or beside the URDF; never
    anything outside these folders, and nothing but meshes.

    Args:
        folder: of the URDF, where the description does not know it.
    """
    names = mesh_names(arm)
    found = find_mesh(names[number], Path(folder or Path(arm.source).parent)) if 0 <= number < len(names) else None
    if found is None or found[0].suffix.lower() not in MESHES or not found[0].resolve().is_relative_to(found[1]):
        return None
    return found[0].resolve()


def colours_of(arm: ArmDescription) -> dict[str, list[list[float] | None]]:
    """Colour (red, green, blue, opacity) of each visual shape of each link, None where the URDF gives none."""
    robot = parse_xml(arm.urdf, arm.source, DescriptionError)
    named = {one.get("name"): one for one in robot.findall("material")}

    def colour(visual: Element) -> list[float] | None:
        material = visual.find("material")
        if material is not None and material.find("color") is None:
            material = named.get(material.get("name"))
        try:
            values = [float(word) for word in (material.find("color").get("rgba") or "").split()]  # type: ignore[union-attr]
        except (AttributeError, ValueError):
            return None
        return np.clip(values, 0.0, 1.0).tolist() if len(values) == 4 else None

    return {str(link.get("name")): [colour(one) for one in link.findall("visual")] for link in robot.findall("link")}


def _shapes(arm: ArmDescription, link: Link, colours: dict[str, list[Any]], missing: set[str]) -> Iterator[tuple[Geometry, Any]]:
    def there(one: Geometry) -> bool:
        return one.kind != "mesh" or str(one.filename) not in missing

    drawn = [(one, colour or GREY) for one, colour in zip(link.visuals, colours.get(link.name, [])) if there(one)]
    if not drawn and (link.visuals or link.name != arm.root):
        drawn = [(one, GREY) for one in link.collisions if there(one)]
        if not drawn:
            if link.visuals or link.mass:
                yield Geometry("sphere", (BALL_M,), np.zeros(3), np.eye(3)), GREY
            for joint in arm.joints:
                if joint.parent == link.name and (length := float(np.linalg.norm(joint.xyz))) > ROD_M:
                    yield Geometry("cylinder", (ROD_M, length), 0.5 * joint.xyz, _along(joint.xyz)), GREY
    yield from drawn


def _along(axis: Array) -> Array:
    """A rotation that turns z to ``axis`` (3,)."""
    return np.asarray(Rotation.align_vectors([axis], [[0.0, 0.0, 1.0]])[0].as_matrix())


def _shape(one: Geometry, colour: tuple[float, ...], meshes: tuple[str, ...]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "kind": one.kind,
        "size": list(one.size),
        "pose": _pose(one.rotation, one.xyz),
        "colour": list(colour),
    }
    if one.kind == "mesh":
        file = Path(str(one.filename))
        made |= {"mesh": meshes.index(str(one.filename)), "suffix": file.suffix.lower(), "file": file.name}
    return made


def _joint(joint: Joint) -> dict[str, Any]:
    return {
        **{name: getattr(joint, name) for name in ("name", "parent", "child")},
        "type": joint.type if joint.movable else "fixed",
        "pose": _pose(joint.rotation, joint.xyz),
        "axis": joint.axis.tolist(),
    }


def _pose(rotation: Array, xyz: Array) -> list[float]:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, xyz
    return [round(float(value), 9) for value in matrix.ravel()]


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
