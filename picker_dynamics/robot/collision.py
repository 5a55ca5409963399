"""Collision model: shapes of an arm and of what stands about it, and the distance of every pair that may meet.

Shapes are the URDF's collision elements; distances of boxes, cylinders, spheres and convex hulls of meshes are coal's.  How fast
a distance can change is known for each pair: a joint between both moves no point by more than its lever, so that

    |d(q') - d(q)| <= sum_j L_j |q'_j - q_j|,        L_j [m/rad], 1 for a joint that slides.

What that leaves open is computed, and nothing else.  Two shapes of one rigid body, or of bodies with one joint between them, are
no pair; neither are shapes that overlap at a pose which the arm's owner calls its own (home, rest).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError, MissingDependencyError

from .description import FRAME_KG, ArmDescription
from .kinematic_tree import joint_frames
from .meshes import find_mesh
from .model import Array, read_only
from .scene import PAYLOAD, Scene
from .shapes import surface
from .urdf_elements import Geometry, Link

try:
    import coal
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        f'collisions need coal, which is not installed: pip install "picker_dynamics[sim]" ({error})'
    ) from error

FLOOR = "floor"
"""The plane on which the arm stands."""

UNDRAWN_M = 0.02
"""Radius of a link of which the URDF has no shape at all [m]."""

POINT_M = 1e-6
"""Radius of a point [m]."""

LFS = b"version https://git-lfs"
"""What a file begins with that stands for one in Git LFS."""

MESH_BYTES = 50_000_000

VERTICES = 2000
"""Vertices of a mesh, spread over its file, at which what is drawn is compared with collision shapes."""

NEAR_M = 0.1
"""Pairs whose spheres are farther apart than this are not looked at more closely [m]."""


class Body:
    """A shape on a link: which joint moves it, its pose in that joint's frame, and the radius about its centre that holds it."""

    def __init__(self, name: str, link: str, shape: Any, rotation: Array, position: Array, description: ArmDescription):
        shape.computeLocalAABB()
        self.name, self.link, self.shape, self.radius = name, link, shape, float(shape.aabb_radius)
        self.carrier, placed = description.transforms.links[link]
        self.pose = np.eye(4)
        self.pose[:3, :3], self.pose[:3, 3] = rotation, position
        self.pose = placed @ self.pose
        self.is_plane = math.isinf(self.radius)
        self.levers = np.zeros(description.n)
        """How far each joint that moves the body moves a point of it, for a radian or a metre."""
        lever, joint = float(np.linalg.norm(self.pose[:3, 3])) + self.radius, self.carrier
        while joint >= 0:
            one, offset = description.movable[joint], description.transforms.parts[0][joint][:3, 3]
            self.levers[joint] = 1.0 if one.slides else lever
            slide = max(abs(one.lower), abs(one.upper)) if one.slides else 0.0
            lever += float(np.linalg.norm(offset)) + slide
            joint = description.transforms.parents[joint]


class Pair(NamedTuple):
    """Two bodies that may meet; the first is the one that moves, or hangs farther out."""

    a: Body
    b: Body

    @property
    def names(self) -> tuple[str, str]:
        return self.a.name, self.b.name


class Placed:
    """The bodies' poses along poses (s, n) of the arm: distances of one pair at one of them."""

    def __init__(self, bodies: Sequence[Body], description: ArmDescription, q: Array):
        self._number = {body: i for i, body in enumerate(bodies)}
        frames = joint_frames(description, q)[..., [body.carrier for body in bodies], :, :]
        self._poses = frames @ np.array([body.pose for body in bodies])
        self._radii = np.array([body.radius for body in bodies])
        self._request, self._result = coal.DistanceRequest(), coal.DistanceResult()

    def spheres(self, pairs: Sequence[Pair]) -> Array:
        """Distances, (s, p), of the spheres about both of each pair: never more than those of the shapes [m]."""
        a, b = ([self._number[body] for body in ends] for ends in zip(*pairs))
        places = self._poses[..., :3, 3]
        apart = places[:, a] - places[:, b]
        away: Array = np.linalg.norm(apart, axis=-1) - self._radii[a] - self._radii[b]
        return away

    def distance(self, pair: Pair, k: int) -> float:
        """Distance of a pair of shapes at pose ``k`` [m]; below 0: how deep one is in the other."""
        poses = [self._poses[k, self._number[body]] for body in pair]
        at_a, at_b = (coal.Transform3s(pose[:3, :3], pose[:3, 3]) for pose in poses)
        self._result.clear()
        return float(coal.distance(pair.a.shape, at_a, pair.b.shape, at_b, self._request, self._result))


class CollisionModel:
    """The pairs of one arm and one scene.

    Args:
        description: the arm.
        scene: what stands about it, in the root's frame.
        floor_z: height of the plane that no link may pass [m]; -inf: none.
        poses: (k, n) where the arm is meant to be [rad, m]: shapes of links that overlap there are no pair.

    Attributes:
        pairs: (p,) that may meet.
        lipschitz: (p, n) L, by which a joint changes their distance at the most [m/rad, m/m].
        near: (p,) the least distance of each at ``poses`` [m]; infinite for the scene's and the payload's.
        notes: what is otherwise than the URDF says, for people.

    Raises:
        DescriptionError: a mesh that cannot be read.
    """

    def __init__(self, description: ArmDescription, scene: Scene, floor_z: float, poses: ArrayLike):
        self.description, root, notes = description, description.root, list[str]()
        links = [body for link in description.links.values() for body in _bodies(link, description, notes)]
        still = [_body(name, root, geometry, description) for name, geometry in scene.items()]
        if floor_z > -math.inf:
            plane = coal.Halfspace(np.array([0.0, 0.0, 1.0]), floor_z)
            still.append(Body(FLOOR, root, plane, np.eye(3), np.zeros(3), description))
        load = _load(description, np.zeros(3))
        self.bodies = [*links, *still, load]
        poses = np.atleast_2d(np.asarray(poses, dtype=float))
        placed, kept, touching = self.placed(poses), [], dict[tuple[str, str], None]()
        for pair in _candidates(description, links, still, load):
            if not (levers := self._levers(pair)).any():
                continue
            owned = (pair.b not in still or pair.b.is_plane) and pair.a is not load
            near = min(placed.distance(pair, k) for k in range(len(poses))) if owned else math.inf
            if near > 0.0:
                kept.append((pair, levers, near))
            else:
                touching[pair.names] = None
        if touching:
            notes.append("overlap at home or at rest, not looked at: " + ", ".join(f"{a} and {b}" for a, b in touching))
        self.pairs = tuple(pair for pair, _, _ in kept)
        self.lipschitz = read_only(np.array([levers for _, levers, _ in kept]).reshape(len(kept), description.n))
        self.near = read_only([near for _, _, near in kept])
        self.of_payload = np.array([pair.a is load for pair in self.pairs], dtype=bool)
        self.notes = tuple(notes)

    def carrying(self, com: ArrayLike) -> CollisionModel:
        """The model with what the tool holds between the tool and ``com`` (3,) [m], tool frame."""
        load, made = _load(self.description, np.array(com, dtype=float)), copy.copy(self)
        if np.array_equal(self.bodies[-1].pose[:3, 3], load.pose[:3, 3]):
            return self
        made.bodies = [*self.bodies[:-1], load]
        made.pairs = tuple(Pair(load, pair.b) if held else pair for pair, held in zip(self.pairs, self.of_payload.tolist()))
        made.lipschitz = read_only(np.array([self._levers(pair) for pair in made.pairs]).reshape(self.lipschitz.shape))
        return made

    def placed(self, q: Array) -> Placed:
        """The bodies along poses (s, n) [rad, m]."""
        return Placed(self.bodies, self.description, q)

    def distances(self, q: ArrayLike) -> Array:
        """Distances, (p,), of every pair at the pose ``q`` (n,) [m]; of those far apart no more than a bound below."""
        placed = self.placed(np.asarray(q, dtype=float)[None])
        distances: Array = placed.spheres(self.pairs)[0]
        for p in np.flatnonzero(distances <= NEAR_M).tolist():
            distances[p] = placed.distance(self.pairs[p], 0)
        return distances

    def _levers(self, pair: Pair) -> Array:
        """(n,) L of a pair: of joints that move one and not the other; those that turn about the vertical change no height."""
        a, b = (self.description.transforms.carries[body.carrier] for body in pair)
        levers: Array = np.where(a & ~b, pair.a.levers, 0.0) + np.where(b & ~a, pair.b.levers, 0.0)
        if pair.b.is_plane:
            transforms, axes = self.description.transforms, self.description.axes[..., None]
            upright = np.abs((transforms.parts[0][:, :3, :3] @ axes)[:, 2, 0]) > 1.0 - 1e-12
            levers[upright & ~self.description.slides & (np.array(transforms.parents) < 0)] = 0.0
        return levers


def _candidates(description: ArmDescription, links: list[Body], still: list[Body], load: Body) -> Iterator[Pair]:
    """Links against each other and what stands, the payload against both; farther out first."""
    parents = description.transforms.parents
    moving, fixed = [body for body in (*links, load) if body.carrier >= 0], [body for body in links if body.carrier < 0]
    for i, body in enumerate(moving):
        for other in (*fixed, *moving[:i]):
            a, b = body.carrier, other.carrier
            adjacent = a == b or parents[a] == b or (b >= 0 and parents[b] == a)
            if not adjacent:
                yield Pair(body, other)
        yield from (Pair(body, other) for other in still)


# -- shapes ------------------------------------------------------------------------------------------------------------


def _bodies(link: Link, description: ArmDescription, notes: list[str]) -> Iterator[Body]:
    """The collision shapes of a link; where it has none what is drawn, or a capsule along it; nothing of a bare root."""
    yield from (_body(link.name, link.name, geometry, description) for geometry in link.solid)
    if link.visuals and not link.collisions:
        notes.append(f"{link.name} has no collision shape: what is drawn of it counts")
    elif not link.solid and link.name != description.root and link.mass > FRAME_KG:
        ends = [joint.xyz for joint in description.joints if joint.parent == link.name]
        end = max((*ends, 2.0 * link.com), key=lambda place: float(np.linalg.norm(place)))
        notes.append(f"{link.name} has no shape: a capsule of {1e3 * UNDRAWN_M:g} mm radius along it counts")
        shape = coal.Capsule(UNDRAWN_M, float(np.linalg.norm(end)))
        yield Body(link.name, link.name, shape, _z_along(end), 0.5 * end, description)


def _load(description: ArmDescription, com: Array) -> Body:
    """What the tool holds, without its thickness: a point, or, where its centre is away from the tool, the line to there."""
    shape = coal.Capsule(POINT_M, float(np.linalg.norm(com)))
    return Body(PAYLOAD, description.tool, shape, _z_along(com), 0.5 * com, description)


def drawn_outside(description: ArmDescription, link: Link) -> tuple[float, Array]:
    """How far what is drawn of a link sticks out of its collision shapes [m], and where, (3,) [m], link frame.

    By points: all over boxes, cylinders and spheres (``shapes.surface``), corners of the hull and vertices of meshes.  0 of
    a link without collision shapes.

    Raises:
        DescriptionError: a mesh that cannot be read.
    """
    worst, request, result, point = (0.0, np.zeros(3)), coal.DistanceRequest(), coal.DistanceResult(), coal.Sphere(POINT_M)

    def distance(place: Array, shape: Any, at: Any) -> float:
        result.clear()
        return float(coal.distance(point, coal.Transform3s(np.eye(3), place), shape, at, request, result))

    solids = []
    for geometry in link.solid:
        shape, position, _ = _shape(geometry, description, link.name)
        solids.append((shape, coal.Transform3s(geometry.rotation, position)))
    covered = [geometry.figures for geometry in link.solid]
    for geometry in (one for one in link.visuals if one.figures not in covered):
        points = surface(geometry) if geometry.kind != "mesh" else _shape(geometry, description, link.name)[2]
        away = [min(distance(place, *solid) for solid in solids) for place in points]
        k = int(np.argmax(away))
        worst = max(worst, (away[k], points[k]), key=lambda one: one[0])
    return worst


def _body(name: str, link: str, geometry: Geometry, description: ArmDescription) -> Body:
    shape, position, _ = _shape(geometry, description, link)
    return Body(name, link, shape, geometry.rotation, position, description)


def _shape(geometry: Geometry, description: ArmDescription, link: str) -> tuple[Any, Array, Array]:
    """coal's shape, its place (3,) [m] in the link's frame, and of a mesh points of it, (k, 3) [m], there."""
    if geometry.kind == "mesh":
        shape, centre, vertices = _hull(geometry, description, f"link {link}")
        points = np.concatenate([shape.points() + centre, vertices[:: 1 + len(vertices) // VERTICES]])
        return shape, geometry.xyz + geometry.rotation @ centre, geometry.xyz + points @ geometry.rotation.T
    shape = {"box": coal.Box, "sphere": coal.Sphere, "cylinder": coal.Cylinder}[geometry.kind](*geometry.size)
    return shape, geometry.xyz, np.empty((0, 3))


def _hull(geometry: Geometry, description: ArmDescription, where: str) -> tuple[Any, Array, Array]:
    """Convex hull of a mesh, about the middle of its box, that middle, and the mesh's vertices (k, 3)."""
    found = find_mesh(str(geometry.filename), Path(description.source).absolute().parent)
    if found is None:
        text = f"{where}: no file of the mesh {geometry.filename} (package:// is looked for about the URDF, {description.source})"
        raise DescriptionError(text, where, str(geometry.filename))
    path = found[0]
    try:
        if path.stat().st_size > MESH_BYTES:
            raise DescriptionError(
                f"{where}: mesh {path} is too large: at most {MESH_BYTES} bytes are taken", where, limit=MESH_BYTES
            )
        with path.open("rb") as file:
            if file.read(len(LFS)) == LFS:
                raise DescriptionError(f"{where}: mesh {path} is a pointer to Git LFS: git lfs pull", where, str(path))
        points = coal.MeshLoader().load(str(path), np.array(geometry.size)).vertices()
        centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
        cloud = coal.StdVec_Vec3s()
        cloud.extend(points - centre)
        hull = coal.Convex.convexHull(cloud, True, "Qt")
    except (OSError, ValueError, RuntimeError) as failure:
        raise DescriptionError(f"{where}: mesh {path}: {' '.join(str(failure).split())}", where, str(path)) from failure
    return hull, centre, points


def _z_along(axis: Array) -> Array:
    """A rotation that turns z to ``axis`` (3,)."""
    z = axis / (np.linalg.norm(axis) or 1.0) if axis.any() else np.array([0.0, 0.0, 1.0])
    x = np.cross(z, np.eye(3)[int(np.abs(z).argmin())])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
