"""Pictures of a simulated arm as a camera sees it, with tags on its links and before its base: MuJoCo renders them without a
screen (EGL).  Where each corner is in them is known exactly (``tag_corners``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.camera.drawn import BLACK, MARGIN, WHITE, Optics, exposed
from picker_dynamics.camera.edges import CELLS
from picker_dynamics.camera.pinhole import Camera
from picker_dynamics.camera.tags import Placed
from picker_dynamics.errors import InputError, MissingDependencyError
from picker_dynamics.robot.description import ArmDescription

from .mujoco_arm import mujoco
from .stage import visible_spec

TEXELS = 32
"""Texels along a tag's cell; edges of the print are smooth because the texture is, without multisampling."""

THICK_M = 0.002
"""Thickness of a tag's card [m]."""

NEAR_FAR_M = (0.02, 5.0)


class Mounted(NamedTuple):
    """A tag on a link, in the link's frame."""

    link: str
    tag: Placed


class ArmCamera:
    """An arm with tags that a camera looks at.

    Args:
        description: the arm; as it truly is, where its model does not know that.
        tags: on its links, the base's too.
        width, height: of pictures [px].

    Raises:
        InputError: no such link.
        MissingDependencyError: EGL does not run on this machine.
    """

    def __init__(self, description: ArmDescription, tags: Sequence[Mounted], width: int = 1280, height: int = 720):
        self._tags, self._size = tuple(tags), (width, height)
        spec = visible_spec(description)
        look = spec.visual
        look.headlight.ambient, look.headlight.diffuse, look.headlight.specular = [0.7] * 3, [0.3] * 3, [0.0] * 3
        look.quality.offsamples, look.quality.shadowsize = 0, 0
        look.global_.offwidth, look.global_.offheight = width, height
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_PLANE, size=[2, 2, 0.1], pos=[0, 0, -2 * THICK_M], rgba=[0.3, 0.3, 0.3, 1]
        )
        for k, (link, tag) in enumerate(self._tags):
            body = spec.worldbody if link == description.root else spec.body(link)
            if body is None:
                raise InputError(f"the arm has no link {link!r}", "link", link)
            _add_card(spec, body, tag, f"tag_{k}")
        self._m = spec.compile()
        self._d = mujoco.MjData(self._m)
        self._q = [self._m.jnt_qposadr[self._m.joint(name).id] for name in description.joint_names]
        self._bodies = [0 if link == description.root else self._m.body(link).id for link, _ in self._tags]
        try:
            from mujoco.egl import GLContext

            self._gl = GLContext(width, height)
        except Exception as error:  # whatever the driver raises: ImportError, AttributeError, RuntimeError, OpenGL's own
            text = f"pictures of the simulated arm need EGL (Debian: apt install libegl1 libgl1-mesa-dri): {error}"
            raise MissingDependencyError(text, "EGL") from error
        self._gl.make_current()
        self._scene = mujoco.MjvScene(self._m, maxgeom=1000)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 0
        self._context = mujoco.MjrContext(self._m, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)

    def picture(self, q: ArrayLike, camera: Camera, optics: Optics | None = None, seed: int | None = 0) -> np.ndarray:
        """A grey picture (height, width), uint8, of the arm at ``q`` (n,) [rad or m]; ``seed``: of its noise.

        Raises:
            InputError: a camera with distortion, which is not rendered, or with other pictures.
        """
        if any(camera.distortion) or (camera.width, camera.height) != self._size:
            text = f"rendered pictures have no distortion and {self._size[0]} x {self._size[1]} pixels"
            raise InputError(text, "camera", (camera.width, camera.height), self._size)
        self._pose(q)
        mujoco.mjv_updateScene(
            self._m, self._d, mujoco.MjvOption(), None, mujoco.MjvCamera(), mujoco.mjtCatBit.mjCAT_ALL, self._scene
        )
        (width, height), (near, far), (cx, cy) = self._size, NEAR_FAR_M, camera.centre
        px = near / camera.focal
        for eye in self._scene.camera:
            eye.pos, eye.forward, eye.up = camera.position, camera.rotation[:, 2], -camera.rotation[:, 1]
            eye.frustum_center, eye.frustum_width = (0.5 * (width - 1) - cx) * px, 0.5 * width * px
            eye.frustum_top, eye.frustum_bottom = (cy + 0.5) * px, (cy + 0.5 - height) * px
            eye.frustum_near, eye.frustum_far = near, far
        self._gl.make_current()
        view = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(view, self._scene, self._context)
        seen = np.empty((height, width, 3), np.uint8)
        mujoco.mjr_readPixels(seen, None, view, self._context)
        return exposed(seen[::-1, :, 1] / np.float32(255.0), optics or Optics(), seed)

    def tag_corners(self, q: ArrayLike) -> list[np.ndarray]:
        """Corners (4, 3) [m] of each tag, base frame, with the arm at ``q`` (n,) [rad or m]."""
        self._pose(q)
        frames = [(self._d.xmat[body].reshape(3, 3), self._d.xpos[body]) for body in self._bodies]
        return [mount.tag.corners @ turn.T + place for mount, (turn, place) in zip(self._tags, frames)]

    def close(self) -> None:
        self._context.free()
        self._gl.free()

    def _pose(self, q: ArrayLike) -> None:
        self._d.qpos[self._q] = q
        mujoco.mj_kinematics(self._m, self._d)


def _add_card(spec: mujoco.MjSpec, body: mujoco.MjsBody, tag: Placed, name: str) -> None:
    """Fix a card with a tag printed on it to a body: a square with the print, on a white box."""
    cells = np.full((CELLS + 2 * MARGIN,) * 2, WHITE)
    cells[MARGIN:-MARGIN, MARGIN:-MARGIN] = np.where(tag.tag.cells, WHITE, BLACK)
    texels = np.kron(np.rint(255.0 * cells).astype(np.uint8), np.ones((TEXELS, TEXELS), np.uint8))
    side, half = len(texels), 0.5 * len(cells) / CELLS * tag.tag.size_m
    spec.add_texture(
        name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=side, height=side, nchannel=3, data=np.repeat(texels, 3)
    )
    textures = [""] * int(mujoco.mjtTextureRole.mjNTEXROLE)
    textures[int(mujoco.mjtTextureRole.mjTEXROLE_RGB)] = name
    spec.add_material(name=name, textures=textures, emission=1.0, specular=0.0)
    square = [[-half, -half, 0.0], [half, -half, 0.0], [half, half, 0.0], [-half, half, 0.0]]
    spec.add_mesh(
        name=name,
        uservert=np.ravel([*square, [0.0, 0.0, -THICK_M]]),
        userface=[0, 1, 2, 0, 2, 3, 1, 0, 4, 2, 1, 4, 3, 2, 4, 0, 3, 4],
        usertexcoord=np.ravel([[0, 1], [1, 1], [1, 0], [0, 0], [0, 0]]),
    )
    turn = np.empty(4)
    mujoco.mju_mat2Quat(turn, np.ravel(tag.rotation))
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, material=name, pos=tag.position, quat=turn)
