"""Collision check: no motion takes a link, or what the tool holds, closer to another link, the floor or the scene than a margin.

    d_p(q) >= margin + min(sum_j L_pj dq_j, tip uncertainty) + half of what d_p may change between two samples

with dq what the servos' angles are uncertain by (``tip_uncertainty``), and L by which a joint changes that distance at the most
(``robot/collision.py``).  Samples are so close that no point moves more than ``MAX_STEP_M`` against the other shape from one to
the next; those that a distance known before or nearby answers for are not computed.  A goal may take an arm that
is closer already away, not closer; streams and jogs are refused there.  Links may be as close as they are at home and at rest.

The floor alone is looked at by points, not shapes: the tool's frame and the origin of every joint.  A link's belly, a cable, or
what the tool holds may be lower.  A goal may take an arm that is below already up, not deeper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import FrameHeights, height_changers
from picker_dynamics.robot.model import Array, DynamicsModel, checked_number
from picker_dynamics.robot.scene import PAYLOAD, Scene, payload_radius
from picker_dynamics.robot.servo_map import ServoMap

from .checks import BLOCK, SampledMotion, Usage
from .tip_uncertainty import angle_uncertainty

if TYPE_CHECKING:
    from picker_dynamics.robot.collision import CollisionModel


OFF = -math.inf
"""The height of no floor."""

TOLERANCE_M, STATE_TOLERANCE_M = 1e-4, 1e-3
"""How far below the floor a motion may be, and one sample of a stream: rounding of what was computed, of pulses and messages."""

ON_PLANE_M = 1e-3
"""A joint whose axis is no higher than this above a plane lies in it."""

SHARE_PER_M = 1e3
"""By how much a motion's share grows with its depth [1/m]: of several ways that are all below, the least deep one is the best."""


@dataclass(frozen=True, eq=False)
class FloorCheck:
    """Height of the tool and of the joints: none may be below ``floor_z``; no slowing mends that.

    Args:
        description: the arm.
        floor_z: height of the floor in the root's frame [m]; ``OFF``: there is none.
        deceleration: with which a stream is brought to rest [rad/s²]: a sample has to leave room for that.

    Raises:
        InputError: a height that is no number, or above everything.
    """

    description: ArmDescription
    floor_z: float = 0.0
    deceleration: float = 4.0

    def __post_init__(self) -> None:
        if math.isnan(self.floor_z) or self.floor_z == math.inf:
            raise InputError(
                f"floor_z is {self.floor_z} m, must be a height, or -inf where there is no floor", "floor_z", self.floor_z
            )

    @cached_property
    def heights(self) -> FrameHeights:
        return FrameHeights(self.description)

    def worst(self, motion: SampledMotion) -> Usage:
        """Usage where the motion is deepest below the floor, or below where it begins."""
        heights, one_state = self.heights, motion.trajectory is None
        z = heights(motion.stopping(self.deceleration) if one_state else motion.q)
        allowed = np.full(z.shape[1], self.floor_z) if one_state else np.minimum(self.floor_z, z[0])
        below = heights.varies & (allowed - z > (STATE_TOLERANCE_M if one_state else TOLERANCE_M))
        depth = np.where(below, self.floor_z - z, 0.0)
        deepest = depth.max(axis=0)
        j = int((deepest > deepest.max() - TOLERANCE_M).argmax())  # the tool, where a joint is in the same place
        k, name = int(depth[:, j].argmax()), heights.names[j]
        at, share = (0 if one_state else k), 1.0 + SHARE_PER_M * float(depth[k, j])
        text = f"{name} would be {1e3 * depth[k, j]:.0f} mm below the floor (floor_z {self.floor_z:.3f} m){motion.when(at)}"
        return Usage(share, name, float(z[k, j]), self.floor_z, float(motion.times[at]), text)

    @property
    def touching(self) -> FloorCheck:
        return self


def standing_floor(description: ArmDescription, rest: ArrayLike) -> tuple[float, str]:
    """Height of the floor of an arm that nobody says one for [m], or ``OFF`` with the reason.

    An arm stands on the plane of its root where at its rest pose ``rest`` (n,) the tool and every joint are above it, and no axis
    that raises or lowers anything lies in it.  Others hang, or are drawn about an axis in that plane: links are below by design.
    """
    heights, q = FrameHeights(description), np.asarray(rest, dtype=float)
    at_rest, raising = dict(zip(heights.names, heights(q).tolist())), height_changers(heights, q)
    for name, z in at_rest.items():
        if z < -TOLERANCE_M or (name in raising and z <= ON_PLANE_M):
            where = "below" if z < -TOLERANCE_M else "in"
            return OFF, f"{name} is {where} the plane of {description.root} where the arm rests"
    return 0.0, ""


MARGIN_M, LARGEST_MARGIN_M = 0.005, 0.2
"""Distance that is kept beside what is uncertain, where nobody says another, and the largest that is taken [m]."""

MAX_STEP_M = 0.005
"""How far a point may move from one sample to the next, seen from the other shape [m]."""

WORSE_M = 0.001
"""What comes less closer than this than what was found already is not looked for [m]."""

UNCERTAIN_AT = 8
"""Poses along a motion at which the uncertainty of the angles is computed."""


@dataclass(frozen=True, eq=False)
class CollisionCheck:
    """Distance of every pair of shapes that may meet; no slowing mends that.

    Args:
        collision: the pairs.
        margin_m: distance that is kept [m].
        servos: whose stated uncertainty is kept besides; None: joints are measured.
        droops: nothing makes up for the servos' springs (compensation ``none``): what they give way counts too.
        deceleration: with which a stream is brought to rest [rad/s²].

    Raises:
        InputError: a margin that is negative or too large.
    """

    collision: CollisionModel
    margin_m: float = MARGIN_M
    servos: ServoMap | None = None
    droops: bool = False
    deceleration: float = 4.0
    _known: list[tuple[CollisionModel, Array, Array]] = field(default_factory=list, repr=False)
    _carried: list[CollisionModel] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        margin = checked_number("collision.margin", self.margin_m, "m", least=0.0)
        text = f"collision.margin is {margin:g} m, at most {LARGEST_MARGIN_M:g}"
        refuse_if(margin > LARGEST_MARGIN_M, text, "collision.margin", margin, LARGEST_MARGIN_M)

    def worst(self, motion: SampledMotion) -> Usage:
        """Usage where a pair lacks most of the distance that it has to keep, at least that with which the motion begins."""
        model, one_state = self._carrying(motion.model), motion.trajectory is None
        q, times = (motion.stopping(self.deceleration), np.zeros(3)) if one_state else (motion.q, motion.times)
        keep = self.kept(motion, one_state)
        clear = Usage(1.0, "tip", self.margin_m, self.margin_m, 0.0, "clear of everything")
        if not len(keep) or self._is_far(model, q, keep):
            return clear
        if not one_state:
            q, times = _refined(q, times, model.lipschitz)
        begins = self._distances(model, q[0])
        need = np.minimum(keep + 0.5 * _steps(q, model.lipschitz).max(axis=0, initial=0.0), model.near)
        need = need - STATE_TOLERANCE_M if one_state else np.minimum(need, begins) - TOLERANCE_M
        worst = 0.0, 0, 0.0, 0
        for k in range(0, len(q), BLOCK):
            worst = _look(model, q[k : k + BLOCK], k, q[0], begins, need, worst)
        lacks, p, distance, sample = worst
        if not lacks:
            return clear
        pair, kept = model.pairs[p], float(keep[p])
        if pair.a.name == PAYLOAD:
            distance, kept = (x - payload_radius(motion.model.payload_mass) for x in (distance, kept))
        (which, other), time_s = pair.names, float(times[sample])
        pose_m = float(model.near[p])
        near = f"come within {1e3 * distance:.0f} mm of {other}"
        if distance <= 0.0:
            near = f"hit {other}, {-1e3 * distance:.0f} mm deep"
        when = "" if one_state else f" at {time_s:.2f} s"
        beside = kept - self.margin_m
        margin = [f"{1e3 * self.margin_m:.0f} mm (collision.margin)"] if self.margin_m else []
        margin += [f"{1e3 * beside:.0f} mm that the tip is uncertain by"] if beside >= 5e-4 else []
        if pose_m < kept:
            kept, margin = pose_m, [f"{1e3 * pose_m:.1f} mm, as at home or at rest"]
        text = f"{which} would {near}{when}" + ("; kept are " + " and ".join(margin) if margin else "")
        return Usage(1.0 + SHARE_PER_M * lacks, which, distance, kept, time_s, text)

    @property
    def touching(self) -> CollisionCheck:
        return replace(self, margin_m=0.0)

    def kept(self, motion: SampledMotion, one_state: bool) -> Array:
        """Distance that each pair has to keep, (p,) [m]; a single state, which no motion may come near, the bare margin."""
        model = motion.model
        collision = self._carrying(model)
        kept = np.full(len(collision.pairs), self.margin_m)
        if self.servos is not None and not one_state:
            q = motion.q[:: max(1, len(motion.q) // UNCERTAIN_AT)]
            angles = angle_uncertainty(model, self.servos, q)
            if self.droops:
                angles = angles + np.abs(model.gravity(q)) / self.servos.model.stiffness
            tip = np.einsum("sj,sj->s", np.linalg.norm(model.jacobian(q), axis=-2), angles)
            kept += np.minimum(collision.lipschitz @ angles.max(axis=0), tip.max())
        holds = model.payload_mass > 0.0
        kept[collision.of_payload] += payload_radius(model.payload_mass) if holds else -math.inf
        return kept

    # -- how -------------------------------------------------------------------------------------------------

    def _carrying(self, model: DynamicsModel) -> CollisionModel:
        """The pairs with what ``model`` carries where it carries it."""
        last = self._carried[0] if self._carried else self.collision
        made = last.carrying(model.payload_com) if model.payload_mass else last
        if made is not last:
            self._carried[:] = [made]
        return made

    def _known_of(self, model: CollisionModel) -> tuple[Array, Array] | None:
        """The pose (n,) that was looked at last, and the distances (p,) there."""
        known = self._known[0] if self._known else None  # other threads check too
        return None if known is None or known[0] is not model else known[1:]

    def _is_far(self, model: CollisionModel, q: Array, keep: Array) -> bool:
        """Whether the distances that are known answer for all of the way (s, n)."""
        known = self._known_of(model)
        if known is None:
            return False
        pose, distances = known
        low = (distances - np.abs(q - pose) @ model.lipschitz.T).min(axis=0)
        need = keep + 0.5 * _steps(q, model.lipschitz).max(axis=0, initial=0.0)
        return bool((low >= need).all())

    def _distances(self, model: CollisionModel, q: Array) -> Array:
        """(p,) of all pairs at the pose ``q`` (n,), of those far apart a bound below [m]; they are the known ones from now on."""
        known = self._known_of(model)
        if known is None or not np.array_equal(known[0], q):
            known = q.copy(), model.distances(q)
            self._known[:] = [(model, *known)]
        return known[1]


def collision_check(
    description: ArmDescription, scene: Scene, floor_z: float, poses: ArrayLike, *, margin_m: float = MARGIN_M, **options: Any
) -> CollisionCheck:
    """The check of an arm about which ``scene`` stands; from the first one on, coal is in memory.

    Args:
        floor_z, poses: as of ``CollisionModel``.
        options: as of ``CollisionCheck``.

    Raises:
        InputError, DescriptionError: as those.
        MissingDependencyError: coal is not installed.
    """
    from picker_dynamics.robot.collision import CollisionModel

    return CollisionCheck(CollisionModel(description, scene, floor_z, poses), margin_m, **options)


_Lack = tuple[float, int, float, int]
"""By how much a pair lacks the distance that it has to keep, which, how near it is, and at which sample."""


def _look(model: CollisionModel, q: Array, offset: int, begin: Array, begins: Array, need: Array, worst: _Lack) -> _Lack:
    """Look along ``q`` (s, n) for what lacks more than ``worst``, with the distances ``begins`` (p,) at ``begin``.

    A distance answers for as much of the way as it is larger than needed; once one was found that lacks, than that one.
    """
    unsure = begins - np.abs(q - begin) @ model.lipschitz.T < need
    rows, columns = np.flatnonzero(unsure.any(axis=1)), np.flatnonzero(unsure.any(axis=0))
    if not len(rows):
        return worst
    placed, way = model.placed(q[rows]), np.vstack([np.zeros(len(need)), np.cumsum(_steps(q, model.lipschitz), axis=0)])[rows]
    unsure = unsure[np.ix_(rows, columns)] & (placed.spheres([model.pairs[p] for p in columns]) < need[columns])
    for p, column in zip(columns.tolist(), unsure.T):
        todo, i = np.flatnonzero(column), 0
        ways = way[todo, p]
        while i < len(todo):
            distance = placed.distance(model.pairs[p], int(todo[i]))
            lacks = float(need[p]) - distance
            if lacks > worst[0]:
                worst = lacks, p, distance, offset + int(rows[todo[i]])
            ahead = worst[0] - lacks + (WORSE_M if worst[0] else 0.0)
            i = max(i + 1, int(ways.searchsorted(ways[i] + ahead, "right")))
    return worst


def _steps(q: Array, lipschitz: Array) -> Array:
    """(s - 1, p) by how much each distance may change from one pose (s, n) to the next [m]."""
    steps: Array = np.abs(np.diff(q, axis=0)) @ lipschitz.T
    return steps


def _refined(q: Array, times: Array, lipschitz: Array) -> tuple[Array, Array]:
    """The way (s, n), (s,) with as many samples more that no distance changes by more than ``MAX_STEP_M`` between two."""
    parts = np.ceil(_steps(q, lipschitz).max(axis=1, initial=0.0) / MAX_STEP_M).astype(int)
    if not (parts > 1).any():
        return q, times
    at = np.append(np.concatenate([k + np.arange(n) / n for k, n in enumerate(np.maximum(parts, 1).tolist())]), len(q) - 1.0)
    index = np.arange(len(q))
    return np.column_stack([np.interp(at, index, column) for column in q.T]), np.interp(at, index, times)
