"""Pictures of an arm from one side, its shapes as MuJoCo reads them from the URDF, drawn face by face.

Without perspective, so that a millimetre is as long everywhere.  Nothing is behind the arm: pictures are transparent there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image, ImageDraw

from picker_dynamics.robot.description import ArmDescription

from .mujoco_arm import mujoco

AZIMUTH_DEG, ELEVATION_DEG = 108.0, -14.0
"""From where it is looked at: from the arm's right, a little from above."""

MARGIN = 0.04
"""Free on each side, as a share of the picture."""

FINER = 2
"""Pixels of the drawing for each of the picture, along either side: edges become smooth."""

AMBIENT, DIFFUSE = 0.45, 0.55
"""Light on a face from all around, and from where it is looked from."""

AROUND = 20
"""Faces around a round shape."""

_KINDS = {kind: int(getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}")) for kind in ("box", "sphere", "capsule")}


@dataclass(frozen=True, eq=False)
class Prop:
    """Prop that stands about: a ``box`` (half edges), ``sphere`` (radius) or ``capsule`` (radius, half length along z) [m]."""

    kind: str
    size: tuple[float, ...]
    at: Sequence[float]
    colour: tuple[float, float, float]


class Stage:
    """An arm that is looked at.

    Args:
        description: the arm.
        poses: (k, n) that are to be in the picture [rad or m].
        props: that are to be in it too.
        width, height: of a picture [px].
    """

    def __init__(
        self, description: ArmDescription, poses: ArrayLike, props: Sequence[Prop] = (), width: int = 400, height: int = 340
    ):
        self._m = visible_spec(description).compile()
        self._d = mujoco.MjData(self._m)
        self._q = [self._m.jnt_qposadr[self._m.joint(name).id] for name in description.joint_names]
        self._size = FINER * width, FINER * height
        self._aim(np.asarray(poses, dtype=float), props)

    def picture(self, q: ArrayLike, props: Sequence[Prop] = ()) -> Image.Image:
        """The arm at ``q`` (n,) [rad or m], and what stands about, on nothing."""
        image = Image.new("RGBA", self._size)
        draw, faces, colours = ImageDraw.Draw(image), [], []
        for kind, size, at, axes, colour in self._shapes(q, props):
            corners = np.asarray(at) + _faces(kind, *map(float, size)) @ axes.T
            normal = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
            length = np.linalg.norm(normal, axis=1)
            towards = -(normal @ self._ahead) / np.where(length > 0.0, length, 1.0)
            seen = towards > 1e-6
            faces.append(corners[seen])
            light = AMBIENT + DIFFUSE * towards[seen, None]
            colours.append(np.clip(255.0 * light * colour[:3], 0.0, 255.0))
        corners, shades = np.concatenate(faces), np.concatenate(colours).astype(int)
        places = FINER * self.pixels(corners)
        for i in np.argsort(-(corners @ self._ahead).mean(axis=1)):
            draw.polygon(places[i].ravel().tolist(), fill=(*shades[i].tolist(), 255))
        return image.reduce(FINER)

    def outline(self, q: ArrayLike) -> Image.Image:
        """Outline of an arm at ``q`` (n,) [rad or m]: what it hides, 0 to 255."""
        return self.picture(q).getchannel("A")

    def pixels(self, points: ArrayLike) -> np.ndarray:
        """Pixels, (..., 2), at which points (..., 3) [m] are in a picture [px]."""
        at: np.ndarray = (np.asarray(points, dtype=float) @ self._axes - self._middle) * self._px + 0.5 * np.array(self._size)
        return at / FINER

    # --- what is looked at ------------------------------------------------------------------------

    def _shapes(self, q: ArrayLike, props: Sequence[Prop]) -> list[tuple[Any, ...]]:
        """Kind, size, place, axes and colour of each shape, with the arm at ``q``."""
        self._d.qpos[self._q] = q
        mujoco.mj_kinematics(self._m, self._d)
        m, d = self._m, self._d
        arm = zip(m.geom_type.tolist(), m.geom_size.tolist(), d.geom_xpos, d.geom_xmat.reshape(-1, 3, 3), m.geom_rgba)
        return [*arm, *((_KINDS[prop.kind], prop.size, prop.at, np.eye(3), np.array(prop.colour)) for prop in props)]

    def _aim(self, poses: np.ndarray, props: Sequence[Prop]) -> None:
        """So that everything is in the picture, as large as it can be."""
        azimuth, elevation = np.radians([AZIMUTH_DEG, ELEVATION_DEG])
        self._ahead = np.array([*(np.cos(elevation) * np.array([np.cos(azimuth), np.sin(azimuth)])), np.sin(elevation)])
        right = np.cross(self._ahead, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        self._axes = np.stack([right, -np.cross(right, self._ahead)], axis=1)  # (3, 2): to the right, down
        corners = [(np.asarray(prop.at), np.linalg.norm(prop.size)) for prop in props]
        for q in poses:
            self._d.qpos[self._q] = q
            mujoco.mj_kinematics(self._m, self._d)
            corners += zip(self._d.geom_xpos.copy(), self._m.geom_rbound)
        places = np.array([place for place, _ in corners]) @ self._axes
        beyond = np.array([radius for _, radius in corners])[:, None]
        low, high = (places - beyond).min(axis=0), (places + beyond).max(axis=0)
        width, height = self._size
        self._px = (1.0 - 2.0 * MARGIN) * min(width / (high - low)[0], height / (high - low)[1])
        self._middle = 0.5 * (low + high)


@lru_cache(1000)
def _faces(kind: int, *size: float) -> np.ndarray:
    """(f, 4, 3) faces of a shape in its own frame, their corners counter-clockwise from outside [m]."""
    geom = mujoco.mjtGeom
    if kind == geom.mjGEOM_BOX:
        side = np.array([[1, -1, -1], [1, 1, -1], [1, 1, 1], [1, -1, 1]], dtype=float)
        sides = [np.roll(side, axis, axis=1) for axis in range(3)]
        return np.array(sides + [-one[::-1] for one in sides]) * size
    if kind == geom.mjGEOM_CYLINDER:
        profile = np.array([[0.0, -size[1]], [size[0], -size[1]], [size[0], size[1]], [0.0, size[1]]])
    elif kind in (geom.mjGEOM_SPHERE, geom.mjGEOM_CAPSULE):
        up = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 8)
        half = size[1] if kind == geom.mjGEOM_CAPSULE else 0.0
        profile = np.stack([size[0] * np.cos(up), size[0] * np.sin(up) + half * np.sign(up)], axis=1)
    else:
        return np.empty((0, 4, 3))
    angle = np.linspace(0.0, 2.0 * np.pi, AROUND + 1)
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
    points = profile[:, None, :1] * ring + np.array([0.0, 0.0, 1.0]) * profile[:, None, 1:]
    return np.stack([points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]], axis=2).reshape(-1, 4, 3)


def visible_spec(description: ArmDescription) -> mujoco.MjSpec:
    """What MuJoCo's model is made of, with what the URDF draws, its collision shapes left out."""
    robot = ElementTree.fromstring(description.urdf)
    for extension in robot.findall("mujoco"):
        robot.remove(extension)
    kept = {"fusestatic": "false", "discardvisual": "false"}  # read with the text: set later they come too late
    ElementTree.SubElement(ElementTree.SubElement(robot, "mujoco"), "compiler", kept)
    for link in robot.findall("link"):
        for element in link.findall("collision"):
            link.remove(element)
    return mujoco.MjSpec.from_string(ElementTree.tostring(robot, encoding="unicode"))
