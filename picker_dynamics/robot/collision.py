"""Collision model: shapes of an arm and of what stands about it, and the distance of every pair that may meet.

Shapes are the URDF's collision elements; distances of boxes, cylinders, spheres and convex hulls of meshes are coal's.  How fast
a distance can change is known for each pair: a joint between both moves no point by more than its lever, so that

    |d(q') - d(q)| <= sum_j L_j |q'_j - q_j|,        L_j [m/rad], 1 for a joint that slides.

What that leaves open is computed, and nothing else.  Two shapes of one rigid body, or of bodies with one joint between them, are
no pair; neither are links that an SRDF calls allowed, and shapes that overlap at a pose which the arm's owner calls its own
(home, rest).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError, MissingDependencyError

from .description import FRAME_KG, ArmDescription
from .kinematic_tree import link_poses, rigid_groups
from .model import Array, read_only
from .scene import PAYLOAD, Scene
from .srdf import Allowed
from .urdf_elements import Geometry, Link

try:
    import coal
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        f"collisions are looked at with coal, which is not installed (pip install pin): {error}"
    ) from error

FLOOR = "floor"
"""The plane on which the arm stands."""

UNDRAWN_M = 0.02
"""Radius of a link of which the URDF has no shape at all [m]."""

POINT_M = 1e-6
"""Radius of a point [m]."""

MESH_BYTES = 50_000_000

NEAR_M = 0.1
"""Pairs whose spheres are farther apart than this are not looked at more closely [m]."""


@dataclass(frozen=True, eq=False)
class Body:
    """A shape on a link: its pose there, and the sphere about its centre that holds it."""

    name: str
    link: str
    shape: Any
    rotation: Array
    position: Array
    radius: float

    @property
    def is_plane(self) -> bool:
        """Whether the body is the floor, which no sphere holds."""
        return math.isinf(self.radius)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two bodies that may meet; the first is the one that moves, or hangs farther out."""

    a: Body
    b: Body

    @property
    def names(self) -> tuple[str, str]:
        return self.a.name, self.b.name


Levers: TypeAlias = dict[tuple[Body, str, bool], Array]
"""Of a body against a link, over the floor or not: L, as of ``CollisionModel``."""


class Placed:
    """The bodies' poses along poses (s, n) of the arm: distances of one pair at one of them."""

    def __init__(self, bodies: Sequence[Body], description: ArmDescription, q: Array):
        poses = link_poses(description, q)
        self._number = {body: i for i, body in enumerate(bodies)}
        self._rotations = [np.matmul(poses[body.link].rotation, body.rotation) for body in bodies]
        self._positions = np.stack([poses[body.link].apply(body.position) for body in bodies], axis=1)
        self._radii = np.array([body.radius for body in bodies])
        self._request, self._result = coal.DistanceRequest(), coal.DistanceResult()

    def spheres(self, pairs: Sequence[Pair]) -> Array:
        """Distances, (s, p), of the spheres about both of each pair: never more than those of the shapes [m]."""
        a, b = ([self._number[body] for body in ends] for ends in zip(*((pair.a, pair.b) for pair in pairs)))
        apart = self._positions[:, a] - self._positions[:, b]
        away: Array = np.sqrt(np.einsum("spi,spi->sp", apart, apart)) - self._radii[a] - self._radii[b]
        return away

    def distance(self, pair: Pair, k: int) -> float:
        """Distance of a pair of shapes at pose ``k`` [m]; below 0: how deep one is in the other."""
        a, b = self._number[pair.a], self._number[pair.b]
        at_a = coal.Transform3s(self._rotations[a][k], self._positions[k, a])
        at_b = coal.Transform3s(self._rotations[b][k], self._positions[k, b])
        self._result.clear()
        return float(coal.distance(pair.a.shape, at_a, pair.b.shape, at_b, self._request, self._result))


class CollisionModel:
    """The pairs of one arm and one scene.

    Args:
        description: the arm.
        scene: what stands about it, in the root's frame.
        floor_z: height of the plane that no link may pass [m]; -inf: none.
        poses: (k, n) where the arm is meant to be [rad, m]: shapes of links that overlap there are no pair.
        allowed: pairs of links that may touch, as of ``read_srdf``.

    Attributes:
        pairs: (p,) that may meet.
        lipschitz: (p, n) L, by which a joint changes their distance at the most [m/rad, m/m].
        near: (p,) the least distance of each at ``poses`` [m]; infinite for the scene's and the payload's.
        notes: what is otherwise than the URDF says, for people.

    Raises:
        DescriptionError: a mesh that cannot be read.
    """

    def __init__(
        self, description: ArmDescription, scene: Scene, floor_z: float, poses: ArrayLike, allowed: Allowed = frozenset()
    ):
        self.description, root = description, description.root
        notes: list[str] = []
        links = [body for link in description.links.values() for body in _bodies(link, description, notes)]
        still = [_body(name, root, geometry, description) for name, geometry in scene.items()]
        if floor_z > -math.inf:
            still.append(Body(FLOOR, root, coal.Halfspace(np.array([0.0, 0.0, 1.0]), floor_z), np.eye(3), np.zeros(3), math.inf))
        load = _load(description, np.zeros(3))
        self.bodies = [*links, *still, load]
        known: Levers = {}
        found = [(pair, L) for pair in self._candidates(links, still, load, allowed) if (L := self._levers(pair, known)).any()]
        poses = np.atleast_2d(np.asarray(poses, dtype=float))
        placed, kept, touching = self.placed(poses), [], dict[tuple[str, str], None]()
        for pair, L in found:
            owned = pair.b not in still or pair.b.is_plane
            near = min(placed.distance(pair, k) for k in range(len(poses))) if owned and pair.a is not load else math.inf
            if near > 0.0:
                kept.append((pair, L, near))
            else:
                touching[pair.names] = None
        if touching:
            notes.append("overlap at home or at rest, not looked at: " + ", ".join(f"{a} and {b}" for a, b in touching))
        self.pairs = tuple(pair for pair, _, _ in kept)
        self.lipschitz = read_only(np.array([L for _, L, _ in kept]).reshape(len(kept), description.n))
        self.near = read_only([near for _, _, near in kept])
        self.of_payload = np.array([pair.a is load for pair in self.pairs], dtype=bool)
        self.notes = tuple(notes)

    def carrying(self, com: ArrayLike) -> CollisionModel:
        """The model with what the tool holds between the tool and ``com`` (3,) [m], tool frame."""
        if np.array_equal(self.bodies[-1].position, 0.5 * np.asarray(com, dtype=float)):
            return self
        load, made = _load(self.description, np.array(com, dtype=float)), copy.copy(self)
        made.bodies = [*self.bodies[:-1], load]
        made.pairs = tuple(Pair(load, pair.b) if held else pair for pair, held in zip(self.pairs, self.of_payload.tolist()))
        known: Levers = {}
        levers = [self._levers(pair, known) if pair.a is load else L for pair, L in zip(made.pairs, self.lipschitz)]
        made.lipschitz = read_only(np.array(levers).reshape(self.lipschitz.shape))
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

    # -- what makes a pair -----------------------------------------------------------------------------------

    def _candidates(self, links: list[Body], still: list[Body], load: Body, allowed: Allowed) -> Iterator[Pair]:
        """Links against each other and what stands, the payload against both; farther out first."""
        description = self.description
        groups = {link: leader for leader, members in rigid_groups(description).items() for link in members}
        adjacent = {frozenset((groups[joint.parent], groups[joint.child])) for joint in description.movable}
        moving = [body for body in (*links, load) if groups[body.link] != groups[description.root]]
        for i, body in enumerate(moving):
            others = [one for one in links if groups[one.link] == groups[description.root]]
            for other in (*others, *moving[:i]):
                pair = frozenset((groups[body.link], groups[other.link]))
                if len(pair) > 1 and pair not in adjacent and (body is load or frozenset((body.link, other.link)) not in allowed):
                    yield Pair(body, other)
            yield from (Pair(body, other) for other in still)

    def _levers(self, pair: Pair, known: Levers) -> Array:
        """(n,) L of a pair: of joints that move one and not the other; ``known`` gets those of each, which pairs share."""
        total = np.zeros(self.description.n)
        for body, other in ((pair.a, pair.b), (pair.b, pair.a)):
            key = body, other.link, pair.b.is_plane
            if key not in known:
                known[key] = self._levers_of(*key)
            total += known[key]
        return total

    def _levers_of(self, body: Body, other: str, over_plane: bool) -> Array:
        """(n,) of the joints that move ``body`` and not the link ``other``."""
        description, levers = self.description, np.zeros(self.description.n)
        lever = float(np.linalg.norm(body.position)) + (0.0 if body.is_plane else body.radius)
        for joint in reversed(description.path_to(body.link)):
            if joint.movable and joint not in description.path_to(other) and not (over_plane and self._level(joint.name)):
                levers[description.joint_names.index(joint.name)] = 1.0 if joint.type == "prismatic" else lever
            slide = max(abs(joint.lower), abs(joint.upper)) if joint.type == "prismatic" else 0.0
            lever += float(np.linalg.norm(joint.xyz)) + slide
        return levers

    def _level(self, name: str) -> bool:
        """Whether a joint turns about the vertical, whatever the pose, so that it changes no height."""
        rotation = np.eye(3)
        for joint in self.description.path_to(self.description.joint(name).child):
            rotation = rotation @ joint.rotation
            if joint.name == name:
                return joint.type != "prismatic" and bool(abs((rotation @ joint.axis)[2]) > 1.0 - 1e-12)
            if joint.movable:
                return False
        return False


# -- shapes ------------------------------------------------------------------------------------------------------------


def _bodies(link: Link, description: ArmDescription, notes: list[str]) -> Iterator[Body]:
    """The collision shapes of a link; where it has none what is drawn, or a capsule along it."""
    if link.collisions or link.visuals:
        if not link.collisions and link.name != description.root:
            notes.append(f"{link.name} has no collision shape: what is drawn of it counts")
        for geometry in link.collisions or (link.visuals if link.name != description.root else ()):
            yield _body(link.name, link.name, geometry, description)
    elif link.mass > FRAME_KG and link.name != description.root:
        ends = [joint.xyz for joint in description.joints if joint.parent == link.name]
        end = max((*ends, 2.0 * link.com), key=lambda place: float(np.linalg.norm(place)))
        notes.append(f"{link.name} has no shape: a capsule of {1e3 * UNDRAWN_M:g} mm radius along it counts")
        length = float(np.linalg.norm(end))
        shape = coal.Capsule(UNDRAWN_M, length)
        yield Body(link.name, link.name, shape, _z_along(end), 0.5 * end, UNDRAWN_M + 0.5 * length)


def _load(description: ArmDescription, com: Array) -> Body:
    """What the tool holds, without its thickness: a point, or, where its centre is away from the tool, the line to there."""
    length = float(np.linalg.norm(com))
    shape = coal.Capsule(POINT_M, length) if length else coal.Sphere(POINT_M)
    return Body(PAYLOAD, description.tool, shape, _z_along(com), 0.5 * com, POINT_M + 0.5 * length)


def _body(name: str, link: str, geometry: Geometry, description: ArmDescription) -> Body:
    position, size = geometry.xyz, geometry.size
    if geometry.kind == "mesh":
        hull, centre, radius = _hull(geometry, description, f"link {link}")
        return Body(name, link, hull, geometry.rotation, position + geometry.rotation @ centre, radius)
    if geometry.kind == "box":
        return Body(name, link, coal.Box(*size), geometry.rotation, position, 0.5 * float(np.linalg.norm(size)))
    if geometry.kind == "sphere":
        return Body(name, link, coal.Sphere(*size), geometry.rotation, position, size[0])
    return Body(name, link, coal.Cylinder(*size), geometry.rotation, position, math.hypot(size[0], 0.5 * size[1]))


def _hull(geometry: Geometry, description: ArmDescription, where: str) -> tuple[Any, Array, float]:
    """Convex hull of a mesh, about the middle of its box; that middle, and how far the mesh reaches from there [m]."""
    path = _mesh_file(str(geometry.filename), description.source, where)
    try:
        if path.stat().st_size > MESH_BYTES:
            raise DescriptionError(
                f"{where}: mesh {path} is too large: at most {MESH_BYTES} bytes are taken", where, limit=MESH_BYTES
            )
        points = coal.MeshLoader().load(str(path), np.array(geometry.size)).vertices()
        centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
        cloud = coal.StdVec_Vec3s()
        cloud.extend(points - centre)
        hull = coal.Convex.convexHull(cloud, True, "Qt")
    except (OSError, ValueError, RuntimeError) as failure:
        raise DescriptionError(f"{where}: mesh {path}: {' '.join(str(failure).split())}", where, str(path)) from failure
    return hull, centre, float(np.linalg.norm(points - centre, axis=-1).max())


def _mesh_file(filename: str, source: str, where: str) -> Path:
    """The file of a mesh: package://NAME/..., below a folder NAME that holds the URDF; file://...; or beside the URDF."""
    scheme, _, rest = filename.rpartition("://")
    folder = Path(source).absolute().parent
    if scheme == "package":
        package = rest.partition("/")[0]
        tried = [up.parent / rest for up in (folder, *folder.parents) if up.name == package]
    else:
        tried = [folder / rest]
    for path in tried:
        if path.is_file():
            return path
    raise DescriptionError(
        f"{where}: no file of the mesh {filename} (package:// is looked for above the URDF, {source})", where, filename
    )


def _z_along(axis: Array) -> Array:
    """A rotation that turns z to ``axis`` (3,)."""
    z = axis / (np.linalg.norm(axis) or 1.0) if axis.any() else np.array([0.0, 0.0, 1.0])
    x = np.cross(z, np.eye(3)[int(np.abs(z).argmin())])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
