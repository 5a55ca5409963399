"""Inclinometer on a link of an arm at rest: how it lies, and what it reads.

How it lies is told from the URDF's geometry alone: along a line across the axis of the link's joint.  The line runs from there to
the next joint on the way to the tool, to the tool, or to the link's centre of mass where nothing comes after it: not along some
axis of its frame, which is wherever the drawing put it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import Pose, link_poses, sample_poses

LEVEL = 0.01
"""An axis is level that rises by less, as a share: URDFs round their angles."""

RULER_SD, INCLINOMETER_SD = 5e-4, 0.1 * np.pi / 180.0
"""Standard deviation of one reading: ruler [m], inclinometer [rad]."""

ANGLE_SD = RULER_SD / 0.3
"""Of the angle of a joint that bears nothing, told from where the tip is on a ruler, 0.3 m from the axis [rad]."""

SHORTEST = 5e-3
"""A shorter line has no direction that a person could lay an instrument along [m]."""

ALONG_AXIS = 0.5
"""A line of which less than this share is across the joint's axis runs along it."""

UNCLEAR = 0.2
"""A link whose side faces up by less stands upright: which side is its upper one, the way ahead decides."""

LEAST_KG = 5e-4
"""What weighs less is a frame, not a part."""


@dataclass(frozen=True, eq=False)
class Lay:
    """Directions in a link's frame, (3,) unit vectors.

    Attributes:
        axis: of the joint that turns it.
        ahead: along which the distance of the centre of mass counts: the line, or the axis where the link rolls about its length.
        level: along which an inclinometer lies, across the axis; up: across both, the link's upper side.
        start, end: between what that line runs, for a person.
    """

    axis: np.ndarray
    ahead: np.ndarray
    level: np.ndarray
    up: np.ndarray
    start: str
    end: str

    @property
    def laid(self) -> str:
        """How an inclinometer lies on the link, for a person."""
        return f"laid from {self.start} to {self.end}"

    def distance(self, com: np.ndarray) -> float:
        """Distance of a centre of mass (3,) along the line [m]."""
        return float(self.ahead @ com)

    def at(self, com: np.ndarray, distance: float) -> np.ndarray:
        """The centre of mass (3,) [m], moved along the line to a distance [m]."""
        return com + (distance - self.distance(com)) * self.ahead

    def inertia(self, matrix: np.ndarray) -> float:
        """Inertia about the axis [kg·m²], of an inertia matrix (3, 3)."""
        return float(self.axis @ matrix @ self.axis)


def lay(arm: ArmDescription, link: str) -> Lay:
    """The lay of a link; of one that nothing turns, as if the frame's y axis did."""
    path = arm.path_to(link)
    joint = next((one for one in reversed(path) if one.movable and not one.slides), None)
    poses = link_poses(arm, 0.5 * (np.maximum(arm.lower, -np.pi) + np.minimum(arm.upper, np.pi)))
    here = poses[link]
    axis = np.array([0.0, 1.0, 0.0]) if joint is None else _unit(here.rotation.T @ poses[joint.child].rotation @ joint.axis)
    lines = ((name, line - (line @ axis) * axis, float(np.linalg.norm(line))) for name, line in _lines(arm, link, poses))
    clear = [(name, line) for name, line, size in lines if np.linalg.norm(line) >= max(SHORTEST, ALONG_AXIS * size)]
    some = next(one for one in np.eye(3) if abs(one @ axis) < 0.9)
    end, level = clear[0] if clear else ("its far end", some - (some @ axis) * axis)
    level, com = _unit(level), arm.links[link].com
    along = float(com @ axis)
    rolls = abs(along) > max(SHORTEST, float(np.linalg.norm(com - along * axis)))
    ahead = axis if rolls else level
    if ahead @ com < -SHORTEST:
        ahead = -ahead
    up = np.cross(axis, level)
    faces = float(here.rotation[2] @ up)
    if abs(faces) < UNCLEAR:  # it stands upright: leaning ahead is below 90 degrees, leaning back above
        faces = -float((here.rotation @ up)[:2] @ forward(arm, poses))
    up = _unit(up if faces > 0.0 else -up)
    own = bool(path) and path[-1] is joint and not rolls
    return Lay(axis, ahead, level, up, f"{path[-1].name}'s axis" if own else f"the frame of {link}", end)


def _lines(arm: ArmDescription, link: str, poses: Mapping[str, Pose]) -> Iterator[tuple[str, np.ndarray]]:
    """From the link's origin to what comes after it, in its frame [m], the nearest first."""
    here = poses[link]
    on = [one.child for one in arm.path_to(arm.tool)]
    if link in on:
        for joint in arm.path_to(arm.tool)[on.index(link) + 1 :]:
            if joint.movable:
                yield f"{joint.name}'s axis", here.rotation.T @ (poses[joint.child].position - here.position)
        yield f"the tool point ({arm.tool})", here.rotation.T @ (poses[arm.tool].position - here.position)
    yield "its centre of mass", np.asarray(arm.links[link].com, dtype=float)


def forward(arm: ArmDescription, poses: Mapping[str, Pose]) -> np.ndarray:
    """Horizontal way, (2,), from the first joint to the tool; the root's x axis where the tool is right above."""
    away = (poses[arm.tool].position - poses[arm.movable[0].child].position)[:2]
    return away if np.linalg.norm(away) > 10.0 * SHORTEST else np.array([1.0, 0.0])


def _unit(vector: np.ndarray) -> np.ndarray:
    """Rounded, so that a line along an axis of the frame is exactly that."""
    unit: np.ndarray = np.round(vector / np.linalg.norm(vector), 9) + 0.0
    return unit


@dataclass(frozen=True)
class Inclinometer:
    """Inclinometer on a link of an arm at rest, along the link's direction ``ahead``, by default its x axis.

    It reads the angle of that above the horizontal, told from the direction ``up`` too, across it in the plane in which the link
    turns: a link that leans back beyond the vertical is above pi/2.
    """

    link: str
    ahead: tuple[float, ...] = (1.0, 0.0, 0.0)
    up: tuple[float, ...] = (0.0, 0.0, 1.0)
    sd = INCLINOMETER_SD

    @property
    def name(self) -> str:
        """What it is on."""
        return self.link

    def of(self, poses: Mapping[str, Pose]) -> np.ndarray:
        """The reading without error [rad], (...), within ±pi, with the links at ``poses``."""
        rises = poses[self.link].rotation[..., 2, :]
        return np.arctan2(rises @ self.ahead, rises @ self.up)

    def rates(self, description: ArmDescription, poses: Mapping[str, Pose]) -> np.ndarray:
        """Derivatives, (..., n), of the reading by the joint positions: d(ahead, up)/dq = a × (ahead, up)."""
        axes, path = joint_axes(description, poses), description.path_to(self.link)
        ahead, up = (poses[self.link].rotation @ np.asarray(direction) for direction in (self.ahead, self.up))
        rising, turning = (np.cross(axes, direction[..., None, :])[..., 2] for direction in (ahead, up))
        sine, cosine = ahead[..., 2, None], up[..., 2, None]
        turned = np.array([float(joint in path and not joint.slides) for joint in description.movable])
        rates: np.ndarray = turned * (cosine * rising - sine * turning) / (sine**2 + cosine**2)
        return rates


@dataclass(frozen=True)
class Encoder:
    """Servo that measures its ``joint`` in steps of ``step`` [rad]."""

    joint: str
    step: float

    @property
    def sd(self) -> float:
        """Standard deviation of one reading [rad]."""
        return self.step / math.sqrt(12.0)

    @property
    def name(self) -> str:
        """What it is on."""
        return self.joint


HAND, SHEET = "hand", "sheet"
"""Tags that a camera sees: on the last link that turns before the gripper, and on the sheet under the base."""


@dataclass(frozen=True)
class Corner:
    """One coordinate of a tag's corner in the picture, over a focal length [rad].

    Args:
        tag: ``HAND`` or ``SHEET``.
        corner: 0 to 3.
        coordinate: 0 for u, 1 for v.
        sd: standard deviation of one reading [rad].
    """

    tag: str
    corner: int
    coordinate: int
    sd: float

    @property
    def name(self) -> str:
        """What is seen."""
        return f"corner {self.corner} of the tag on the {self.tag}"


Sensor: TypeAlias = Inclinometer | Encoder | Corner


def inclinometer_on(description: ArmDescription, link: str) -> Inclinometer:
    """An inclinometer on a link as it lies there (``Lay``)."""
    along = lay(description, link)
    return Inclinometer(link, tuple(along.level.tolist()), tuple(along.up.tolist()))


def joint_axes(description: ArmDescription, poses: Mapping[str, Pose]) -> np.ndarray:
    """Direction of each joint's axis in the root frame, (..., n, 3); poses of a batch alike."""
    axes = np.broadcast_arrays(*(poses[joint.child].rotation @ joint.axis for joint in description.movable))
    return np.stack(axes, axis=-2)


def level_joints(description: ArmDescription, home: np.ndarray | None = None) -> tuple[str, ...]:
    """Joints that turn about an axis which is level in every pose: an inclinometer tells how far.

    Args:
        home: (n,) [rad or m] where all others stay; None: none of them stays anywhere.
    """
    poses, found = sample_poses(description, 64), []
    q = poses if home is None else np.tile(np.asarray(home, dtype=float), (64, 1))
    for column, joint in enumerate(description.movable):  # from the base outwards: an axis is turned by those before it
        axes = joint_axes(description, link_poses(description, q))
        if not joint.slides and np.abs(axes[:, column, 2]).max() < LEVEL:
            found.append(joint.name)
            q[:, column] = poses[:, column]
    return tuple(found)
