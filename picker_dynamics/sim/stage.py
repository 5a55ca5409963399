"""Pictures of an arm from one side, its shapes as MuJoCo reads them from the URDF: rendered off screen where that runs,
else drawn.

Without perspective, so that a millimetre is as long everywhere.  Nothing is behind the arm: pictures are transparent there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from xml.etree import ElementTree

import numpy as np
from PIL import Image, ImageDraw

from picker_dynamics.robot.description import ArmDescription

from .mujoco_arm import mujoco

AZIMUTH_DEG, ELEVATION_DEG = 108.0, -14.0
"""From where it is looked at: from the arm's right, a little from above."""

MARGIN = 0.04
"""Free on each side, as a share of the picture."""

FINER = 2
"""Pixels of the drawing for each of the picture, along either side: edges become smooth."""

BONE_M, BONE = 0.012, (0.60, 0.63, 0.67, 1.0)
"""Radius [m] and colour of what stands for a link without a shape of its own."""

AMBIENT, DIFFUSE = 0.45, 0.55
"""Light on a face from all around, and from where it is looked from."""

AROUND = 20
"""Faces around a round shape."""

_KINDS = {"box": mujoco.mjtGeom.mjGEOM_BOX, "sphere": mujoco.mjtGeom.mjGEOM_SPHERE, "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE}


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
        render: whether to try MuJoCo's renderer.

    Attributes:
        rendered: whether MuJoCo's renderer runs.
    """

    def __init__(
        self, description: ArmDescription, poses, props: Sequence[Prop] = (), width=400, height=340, *, render: bool = True
    ):
        self._m = _model(description)
        self._d = mujoco.MjData(self._m)
        self._q = [self._m.jnt_qposadr[self._m.joint(name).id] for name in description.joint_names]
        self._size = FINER * width, FINER * height
        self._scene, self._option = mujoco.MjvScene(self._m, self._m.ngeom + 100), mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        self._aim(np.asarray(poses, dtype=float), props)
        self._renderer = _renderer(self._m, *self._size) if render else None

    @property
    def rendered(self) -> bool:
        return self._renderer is not None

    def picture(self, q, props: Sequence[Prop] = ()) -> Image.Image:
        """The arm at ``q`` (n,) [rad or m], and what stands about, on nothing."""
        self._pose(q, props)
        if self._renderer is not None:
            return self._renderer(self._scene).reduce(FINER)
        return self._drawn().reduce(FINER)

    def outline(self, q) -> Image.Image:
        """Outline of an arm at ``q`` (n,) [rad or m]: what it hides, 0 to 255."""
        self._pose(q, ())
        return self._drawn().getchannel("A").reduce(FINER)

    def pixels(self, points) -> np.ndarray:
        """Pixels, (..., 2), at which points (..., 3) [m] are in a picture [px]."""
        return self._pixels(np.asarray(points, dtype=float)) / FINER

    # --- what is looked at ------------------------------------------------------------------------

    def _pose(self, q, props: Sequence[Prop]) -> None:
        self._d.qpos[self._q] = q
        mujoco.mj_kinematics(self._m, self._d)
        visible = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self._m, self._d, self._option, None, self._camera, visible, self._scene)
        for prop in props:
            geom, colour = self._scene.geoms[self._scene.ngeom], np.array([*prop.colour, 1.0], dtype="f4")
            size, at = np.resize(prop.size, 3), np.asarray(prop.at, dtype=float)
            mujoco.mjv_initGeom(geom, _KINDS[prop.kind], size, at, np.eye(3).ravel(), colour)
            self._scene.ngeom += 1

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
        self._camera.lookat = self._axes @ self._middle
        self._camera.azimuth, self._camera.elevation = AZIMUTH_DEG, ELEVATION_DEG
        self._camera.distance = 3.0 * float(np.linalg.norm(high - low))
        self._camera.orthographic, self._m.vis.global_.fovy = 1, height / self._px

    def _pixels(self, points: np.ndarray) -> np.ndarray:
        return (points @ self._axes - self._middle) * self._px + 0.5 * np.array(self._size)

    # --- without a renderer -----------------------------------------------------------------------

    def _drawn(self) -> Image.Image:
        """All faces that look this way, the farthest first."""
        image = Image.new("RGBA", self._size)
        draw, faces, colours = ImageDraw.Draw(image), [], []
        for geom in self._scene.geoms[: self._scene.ngeom]:
            corners = np.asarray(geom.pos) + _faces(geom.type, *map(float, geom.size)) @ np.asarray(geom.mat).reshape(3, 3).T
            normal = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
            length = np.linalg.norm(normal, axis=1)
            towards = -(normal @ self._ahead) / np.where(length > 0.0, length, 1.0)
            seen = towards > 1e-6
            faces.append(corners[seen])
            light = AMBIENT + DIFFUSE * towards[seen, None]
            colours.append(np.clip(255.0 * light * np.asarray(geom.rgba)[:3], 0.0, 255.0))
        corners, shades = np.concatenate(faces), np.concatenate(colours).astype(int)
        for i in np.argsort(-(corners @ self._ahead).mean(axis=1)):
            draw.polygon(self._pixels(corners[i]).ravel().tolist(), fill=(*shades[i].tolist(), 255))
        return image


@lru_cache(1000)
def _faces(kind: int, *size: float) -> np.ndarray:
    """(f, 4, 3) faces of a shape in its own frame, their corners counter-clockwise from outside [m]."""
    geom = mujoco.mjtGeom
    if kind == geom.mjGEOM_BOX:
        side = np.array([[1, -1, -1], [1, 1, -1], [1, 1, 1], [1, -1, 1]], dtype=float)
        sides = [np.roll(side, axis, axis=1) for axis in range(3)]
        return np.array(sides + [-one[::-1] for one in sides]) * size
    if kind == geom.mjGEOM_CYLINDER:
        profile = np.array([[0.0, -size[2]], [size[0], -size[2]], [size[0], size[2]], [0.0, size[2]]])
    elif kind in (geom.mjGEOM_SPHERE, geom.mjGEOM_CAPSULE):
        up = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 8)
        half = size[2] if kind == geom.mjGEOM_CAPSULE else 0.0
        profile = np.stack([size[0] * np.cos(up), size[0] * np.sin(up) + half * np.sign(up)], axis=1)
    else:
        return np.empty((0, 4, 3))
    angle = np.linspace(0.0, 2.0 * np.pi, AROUND + 1)
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
    points = profile[:, None, :1] * ring + np.array([0.0, 0.0, 1.0]) * profile[:, None, 1:]
    return np.stack([points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]], axis=2).reshape(-1, 4, 3)


def _model(description: ArmDescription) -> mujoco.MjModel:
    """MuJoCo's model with what the URDF draws; a link of which nothing is left is drawn from joint to joint.

    Meshes are left out, as their files need not be there, and all shapes where MuJoCo does not take them.
    """
    robot = ElementTree.fromstring(description.urdf)
    for extension in robot.findall("mujoco"):
        robot.remove(extension)
    kept = {"fusestatic": "false", "discardvisual": "false"}  # read with the text: set later they come too late
    ElementTree.SubElement(ElementTree.SubElement(robot, "mujoco"), "compiler", kept)
    _strip(robot, "collision", lambda _: True)
    _strip(robot, "visual", lambda visual: visual.find("geometry/mesh") is not None)
    try:
        return _compiled(robot, description)
    except ValueError:
        _strip(robot, "visual", lambda _: True)
        return _compiled(robot, description)


def _strip(robot: ElementTree.Element, kind: str, which) -> None:
    for link in robot.findall("link"):
        for element in filter(which, link.findall(kind)):
            link.remove(element)


def _compiled(robot: ElementTree.Element, description: ArmDescription) -> mujoco.MjModel:
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(robot, encoding="unicode"))
    drawn = {link.get("name") for link in robot.findall("link") if link.find("visual") is not None}
    for joint in description.joints:
        if joint.parent not in drawn and np.linalg.norm(joint.xyz) > BONE_M:
            ends = [0.0, 0.0, 0.0, *joint.xyz]
            bone = spec.body(joint.parent).add_geom(type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=ends, size=[BONE_M, 0.0, 0.0])
            bone.rgba, bone.mass = BONE, 0.0
    return spec.compile()


def _renderer(model: mujoco.MjModel, width: int, height: int):
    """What makes an image of a scene by MuJoCo's renderer, off screen; None where there is no OpenGL for that."""
    model.vis.global_.offwidth, model.vis.global_.offheight = width, height
    model.vis.quality.offsamples = 0
    model.vis.headlight.ambient, model.vis.headlight.diffuse, model.vis.headlight.specular = AMBIENT, DIFFUSE, 0.0
    try:
        if os.environ.get("MUJOCO_GL"):
            gl = mujoco.GLContext(width, height)
        else:
            from mujoco.egl import GLContext

            gl = GLContext(width, height)
        gl.make_current()
        context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)
    except Exception:  # of many kinds: no library, no driver, one that does not do it
        return None
    window = mujoco.MjrRect(0, 0, width, height)
    colours, depth = np.empty((height, width, 3), "u1"), np.empty((height, width), "f4")

    def render(scene: mujoco.MjvScene, _keep=gl) -> Image.Image:
        mujoco.mjr_render(window, scene, context)
        mujoco.mjr_readPixels(colours, depth, window, context)
        there = (depth < 1.0).astype("u1") * 255
        return Image.fromarray(np.dstack([colours, there])[::-1])

    return render
