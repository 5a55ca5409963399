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

NET_M, NET = 0.005, 40
"""Meshes of the net over a shape: their size [m], and how many along an edge at the most."""


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


def _half(shape: Geometry) -> Array:
    """Half the edges of the box around a primitive, (3,) [m], its own axes."""
    if shape.kind == "box":
        return np.array(shape.size) / 2.0
    if shape.kind == "cylinder":
        radius, length = shape.size
        return np.array([radius, radius, length / 2.0])
    return np.full(3, shape.size[0])


def corners(shape: Geometry) -> Array:
    """Corners of the box around a primitive, (8, 3) [m], link frame."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    points: Array = shape.xyz + (signs * _half(shape)) @ shape.rotation.T
    return points


def surface(shape: Geometry) -> Array:
    """Points all over a primitive, corners and rims among them, (k, 3) [m], link frame: a net over a cube, rounded off."""
    half = _half(shape)
    counts = 1 + np.clip(2.0 * half / NET_M, 2, NET).astype(int)
    net = np.stack(np.meshgrid(*(np.linspace(-1.0, 1.0, count) for count in counts)), axis=-1).reshape(-1, 3)
    net = net[np.abs(net).max(axis=1) == 1.0]
    if shape.kind != "box":
        around = net[:, : 2 if shape.kind == "cylinder" else 3]
        around *= np.abs(around).max(axis=1, keepdims=True) / np.maximum(np.linalg.norm(around, axis=1, keepdims=True), 1e-9)
    points: Array = shape.xyz + (net * half) @ shape.rotation.T
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
