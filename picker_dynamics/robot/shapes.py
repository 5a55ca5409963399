"""Volume, extent and inertia of the boxes, cylinders and spheres that a URDF draws.

What a body of that shape and uniform density would weigh and resist; the linter compares the URDF's inertials
with it.  Meshes are left out: their size is in another file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .description import Geometry
from .model import Array


def volume(shape: Geometry) -> float:
    """Volume of a primitive [m³]."""
    if shape.kind == "box":
        return math.prod(shape.size)
    if shape.kind == "cylinder":
        radius, length = shape.size
        return math.pi * radius**2 * length
    return 4.0 / 3.0 * math.pi * shape.size[0] ** 3


def specific_inertia(shape: Geometry) -> Array:
    """Inertia per mass of a uniform primitive about its centre, (3, 3) [m²], link axes."""
    if shape.kind == "box":
        x, y, z = np.square(shape.size)
        diagonal = np.array([y + z, x + z, x + y]) / 12.0
    elif shape.kind == "cylinder":
        radius, length = shape.size
        across = (3.0 * radius**2 + length**2) / 12.0
        diagonal = np.array([across, across, radius**2 / 2.0])
    else:
        diagonal = np.full(3, 0.4 * shape.size[0] ** 2)
    inertia: Array = shape.rotation @ np.diag(diagonal) @ shape.rotation.T
    return inertia


def corners(shape: Geometry) -> Array:
    """Corners of the box around a primitive, (8, 3) [m], link frame."""
    if shape.kind == "box":
        half = np.array(shape.size) / 2.0
    elif shape.kind == "cylinder":
        radius, length = shape.size
        half = np.array([radius, radius, length / 2.0])
    else:
        half = np.full(3, shape.size[0])
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    points: Array = shape.xyz + (signs * half) @ shape.rotation.T
    return points


def composed(masses: Sequence[float] | Array, shapes: Sequence[Geometry]) -> tuple[Array, Array]:
    """Centre (3,) [m] of uniform primitives with these masses, link frame, and their inertia about it (3, 3) [kg·m²]."""
    centre = np.asarray(masses) @ np.array([shape.xyz for shape in shapes]) / np.sum(masses)
    inertia = np.zeros((3, 3))
    for mass, shape in zip(masses, shapes):
        d = shape.xyz - centre
        inertia += mass * (specific_inertia(shape) + (d @ d) * np.eye(3) - np.outer(d, d))
    return centre, inertia


def uniform_body(shapes: Sequence[Geometry]) -> tuple[float, Array]:
    """Volume [m³] and inertia per mass about the centre (3, 3) [m²] of primitives of one density, overlaps counted twice."""
    volumes = np.array([volume(shape) for shape in shapes])
    return float(volumes.sum()), composed(volumes, shapes)[1] / volumes.sum()
