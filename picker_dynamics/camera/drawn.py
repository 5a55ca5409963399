"""Pictures of tags, drawn by casting rays: where each corner is in them is known exactly (``Camera.project``).

Light is added up over each pixel, blurred by the lens, and only then made into grey levels by the camera's gamma.  So black
squares look smaller than they are, as in a real camera.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter

from .edges import CELLS
from .pinhole import Camera
from .tags import Placed

WHITE, BLACK, BACKGROUND = 0.85, 0.03, 0.25
"""Light from paper, from print, and from all around, as shares of the brightest."""

MARGIN = 1
"""White around a tag [cells]."""

SAMPLES = 32
"""Rays of a pixel that an edge crosses."""


@dataclass(frozen=True)
class Optics:
    """What happens to light: sigma of the lens's blur [px], gamma, sigma of noise [grey levels], quality of JPEG (0: none)."""

    blur_px: float = 0.7
    gamma: float = 2.2
    noise: float = 2.0
    jpeg: int = 0


def draw(camera: Camera, tags: Sequence[Placed], optics: Optics = Optics(), seed: int | None = 0) -> np.ndarray:
    """Draw a grey picture (height, width), uint8, of tags before an empty wall; what is nearer hides what is behind.

    ``seed``: of the noise.
    """
    light = np.full((camera.height, camera.width), BACKGROUND, dtype=np.float32)
    boxes = []
    for tag in sorted(tags, key=lambda one: -float(np.linalg.norm(one.position - camera.position))):
        box = _box(camera, tag)
        if box is not None:
            boxes.append(box)
            shade, cover = _card(camera, tag, box)
            light[box] += shade - cover * light[box]
    return exposed(light, optics, seed, boxes)


def exposed(light: np.ndarray, optics: Optics, seed: int | None, boxes: Sequence[tuple[slice, ...]] | None = None) -> np.ndarray:
    """Grey levels, uint8, of light (height, width), float32, 0 to 1.

    ``boxes``: outside them nothing is but BACKGROUND.
    """
    reach, power = 1 + int(4.0 * optics.blur_px), np.float32(1.0 / optics.gamma)
    grey = np.full_like(light, 255.0 * BACKGROUND**power)
    for box in [tuple(slice(0, n) for n in light.shape)] if boxes is None else boxes:
        near, wide = _grown(box, reach), _grown(box, 2 * reach)
        crop = tuple(slice(a.start - b.start, a.stop - b.start) for a, b in zip(near, wide))
        grey[near] = 255.0 * gaussian_filter(light[wide], optics.blur_px)[crop] ** power
    if optics.noise > 0.0:
        grey += np.float32(optics.noise) * np.random.default_rng(seed).standard_normal(grey.shape, dtype=np.float32)
    picture = np.clip(np.rint(grey, out=grey), 0.0, 255.0, out=grey).astype(np.uint8)
    if not optics.jpeg:
        return picture
    from .opencv import cv2

    packed = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, optics.jpeg])[1]
    return np.asarray(cv2.imdecode(packed, cv2.IMREAD_GRAYSCALE))


def _box(camera: Camera, tag: Placed) -> tuple[slice, slice] | None:
    """Rows and columns of the picture that a tag's card is in; None where it is not seen."""
    card = (1.0 + 2.0 * MARGIN / CELLS) * tag.tag.corners @ np.asarray(tag.rotation).T + tag.position
    at = camera.project(card)
    if np.isnan(at).any():
        return None
    low = np.clip(np.floor(at.min(axis=0)) - 2, 0, (camera.width, camera.height)).astype(int)
    high = np.clip(np.ceil(at.max(axis=0)) + 3, 0, (camera.width, camera.height)).astype(int)
    return (slice(low[1], high[1]), slice(low[0], high[0])) if (high - low > 1).all() else None


def _grown(box: tuple[slice, ...], by: int) -> tuple[slice, ...]:
    """A box with so many pixels more on each side, where the picture has them."""
    return tuple(slice(max(0, one.start - by), one.stop + by) for one in box)


def _card(camera: Camera, tag: Placed, box: tuple[slice, slice]) -> tuple[np.ndarray, np.ndarray]:
    """Light from a tag's card in each pixel of the box, and the share of the pixel that it covers."""
    origin, turn = (camera.position - tag.position) @ tag.rotation, camera.rotation.T @ tag.rotation
    seen = (np.mgrid[box][::-1] - np.reshape(camera.centre, (2, 1, 1))) / camera.focal
    normal, (k1, k2) = seen, camera.distortion
    for _ in range(6 if k1 or k2 else 0):
        r2 = normal[0] ** 2 + normal[1] ** 2
        normal = seen / (1.0 + r2 * (k1 + k2 * r2))
    x, y, z = np.tensordot(turn[:2].T, normal, 1) + turn[2].reshape(3, 1, 1)
    cells, away = CELLS / tag.tag.size_m, -origin[2] / z
    at = np.stack([(origin[0] + away * x) * cells, -(origin[1] + away * y) * cells]) + (0.5 * CELLS + MARGIN)
    at = at.astype(np.float32)  # (2, height, width) [cells]: right and down from the card's corner
    by_v, by_u = np.asarray(np.gradient(at, axis=(1, 2)))
    table = np.full((CELLS + 2 * MARGIN + 2,) * 2, WHITE, dtype=np.float32)  # the outermost cells are beyond the card
    if origin[2] > 0.0:
        inner = slice(1 + MARGIN, 1 + MARGIN + CELLS)
        table[inner, inner] = np.where(tag.tag.cells, WHITE, BLACK)
    covered = np.zeros_like(table)
    covered[1:-1, 1:-1] = 1.0
    table *= covered

    def looked_up(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        column, row = np.clip(np.floor(places) + 1, 0, len(table) - 1).astype(np.intp)
        return table[row, column], covered[row, column]

    shade, cover = looked_up(at)
    edge = np.any(np.abs(at - np.rint(at)) < 0.5 * (np.abs(by_u) + np.abs(by_v)), axis=0)
    steps = (np.arange(SAMPLES, dtype=np.float32) + 0.5) / SAMPLES
    v = (steps * (SAMPLES * 0.6180339887)) % 1.0  # no two in one row or column
    u, v = steps - 0.5, v - v.mean()
    some, share = looked_up(at[:, edge][..., None] + by_u[:, edge][..., None] * u + by_v[:, edge][..., None] * v)
    shade[edge], cover[edge] = some.mean(axis=1), share.mean(axis=1)
    return shade, cover
