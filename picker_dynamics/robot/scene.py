"""Scene: boxes, cylinders and spheres that stand about the arm, as a file says, within bounds.

    frame: base_link              # the only frame there is; may be left out
    shapes:
      crate: {box_m: [0.20, 0.30, 0.10], at_m: [0.30, 0.0, 0.05], rpy_deg: [0, 0, 30]}     # edges
      post: {cylinder_m: [0.01, 0.40], at_m: [0.10, 0.25, 0.20]}                           # radius, length along its z
      lamp: {sphere_m: 0.04, at_m: [0.0, 0.2, 0.5]}                                        # radius

``at_m`` is the place of the centre.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics.errors import NAME_MAX, ConfigurationError, shown
from picker_dynamics.files.fields import mapping, number
from picker_dynamics.files.formats import read_yaml

from .model import Array, read_only
from .urdf_elements import Geometry, rotation_from_rpy

Scene = Mapping[str, Geometry]
"""Shapes by name, posed in the frame of the arm's root."""

MAX_SHAPES = 200

LARGEST_M = 10.0
"""Largest size of a shape, and how far away its centre may be [m]."""

PAYLOAD = "payload"
"""What the tool holds, as refusals call it."""

PAYLOAD_DENSITY = 950.0
"""Of what the tool holds, a berry [kg/m³]."""

PLACED = "at_m", "rpy_deg"
"""Keys of an entry's place, and of how it is turned."""

_SIZES = {"box": 3, "cylinder": 2, "sphere": 1}


def payload_radius(mass: float) -> float:
    """Radius of the ball about the tool [m] that holds a berry of that mass [kg] in any orientation: its diameter."""
    return 2.0 * float(np.cbrt(0.75 * mass / (math.pi * PAYLOAD_DENSITY)))


def read_scene(path: str | Path, root: str) -> Scene:
    """The shapes of a scene file.

    Args:
        root: frame of the arm's root, in which they stand.

    Raises:
        ConfigurationError: no such file, an unknown frame or key, a size that is none, a place that is too far.
    """
    raw = mapping(read_yaml(path, "scene", ConfigurationError), f"scene {path}", ("frame", "shapes"))
    require_frame(raw.get("frame", root), root, f"scene {path}")
    shapes = mapping(raw.get("shapes") or {}, f"scene {path}: shapes")
    require_few(len(shapes), f"scene {path}")
    return {name: _shape(name, entry, f"scene {path}: {shown(name, 40)}") for name, entry in shapes.items()}


def require_frame(frame: object, root: str, where: str) -> None:
    """Raise a ConfigurationError where shapes are not given in the frame of the arm's root."""
    if frame != root:
        raise ConfigurationError(
            f"{where}: frame is {shown(repr(frame), 60)}, must be {root}: shapes stand where the arm does", "frame", frame
        )


def require_few(count: int, where: str) -> None:
    """Raise a ConfigurationError where a scene has too many shapes."""
    if count > MAX_SHAPES:
        raise ConfigurationError(f"{where} has {count} shapes, at most {MAX_SHAPES} are taken", "shapes", count, MAX_SHAPES)


def scene_shape(name: str, kind: str, size: Any, at: Any, rotation: Any, where: str) -> Geometry:
    """Shape of a scene, checked.

    Args:
        kind: box, cylinder or sphere.
        size: edges; radius and length; radius [m].
        at: (3,) place of its centre [m].
        rotation: (3, 3).
        where: beginning of the error's text.

    Raises:
        ConfigurationError: a name that is none, a size that is not above 0, values that are no numbers or too large.
    """
    if not name or len(name) > NAME_MAX:
        raise ConfigurationError(f"{where}: a shape's name has {len(name)} characters, must be 1 to {NAME_MAX}", "shapes")
    sizes, place = _numbers(name, f"{kind}_m", size, _SIZES[kind], where), _numbers(name, "at_m", at, 3, where)
    if min(sizes) <= 0.0:
        raise ConfigurationError(f"{where}: {kind}_m has {min(sizes):g} m, must be above 0", name, min(sizes), 0.0)
    return Geometry(kind, tuple(sizes), read_only(place), read_only(rotation))


def _shape(name: str, entry: Any, where: str) -> Geometry:
    kinds = {f"{kind}_m": kind for kind in _SIZES}
    entry = mapping(entry, where, (*kinds, *PLACED), name)
    given = [key for key in kinds if key in entry]
    if len(given) != 1:
        raise ConfigurationError(f"{where}: must have one of {', '.join(kinds)}", name, given)
    kind, (at, turn) = kinds[given[0]], read_placed(name, entry, tuple(kinds), where)
    return scene_shape(name, kind, entry[given[0]], at, rotation_from_rpy(turn), where)


def read_placed(name: str, entry: Any, others: tuple[str, ...], where: str) -> tuple[list[float], Array]:
    """``at_m`` (3,) [m] and ``rpy_deg`` as (3,) [rad] of an entry of a file that may have ``others`` besides.

    Raises:
        ConfigurationError: an unknown key, no place, values that are no numbers or too large.
    """
    entry = mapping(entry, where, (*others, *PLACED), name)
    if "at_m" not in entry:
        raise ConfigurationError(f"{where}: at_m is missing: the place of its centre", name)
    turn = _numbers(name, "rpy_deg", entry.get("rpy_deg", [0, 0, 0]), 3, where, 360.0)
    return _numbers(name, "at_m", entry["at_m"], 3, where), np.radians(turn)


def _numbers(name: str, key: str, value: Any, count: int, where: str, most: float = LARGEST_M) -> list[float]:
    values = [value] if count == 1 and not isinstance(value, (list, tuple)) else value
    if not isinstance(values, (list, tuple, np.ndarray)) or len(values) != count:
        raise ConfigurationError(f"{where}: {key} is {shown(repr(value), 60)}, must be {count} numbers", name, value)
    return [number(one, f"{where}: {key}", (-most, True, most), name) for one in values]
