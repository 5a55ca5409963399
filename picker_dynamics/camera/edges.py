"""Edges of tags in pictures: where they are, to a fiftieth of a pixel, and how sharp they are.

OpenCV's corners are up to 0.6 px off where edges run along rows or columns of the picture.  Here each edge is looked at
across in many places, where the grey level rises is its place there, and corners are where lines through these places meet.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import map_coordinates

CELLS = 8
"""Cells along the black square of a tag, its border included."""

ALONG = np.linspace(0.1, 0.9, 24)
"""Where an edge is looked at, as shares of it; at its ends the next one blurs it."""

ACROSS = np.linspace(-1.0, 1.0, 41)

REACH_PX, REACH_CELLS, SHARP_CELLS = 2.5, 0.75, 0.9
"""How far to either side of an edge: for its place, the smaller; for its sharpness."""

STRAIGHT_PX = 0.4
"""Rms by which places of an edge may be off a line: 0.2 in noise and blur, 0.9 where something hides a part of it."""

ROUNDS = 3


def refined(image: np.ndarray, places: np.ndarray) -> np.ndarray | None:
    """Corners (4, 2) [px] of a tag in a grey picture, from rough ones in OpenCV's order; None of a tag that is partly hidden."""
    for _ in range(ROUNDS):
        reach = np.minimum(REACH_CELLS * _lengths(places) / CELLS, REACH_PX)
        rise = np.maximum(np.diff(_profiles(image, places, reach)), 0.0) ** 1.5  # less of noise, and of what is beside
        middle = reach[:, None] * (rise @ (0.5 * (ACROSS[1:] + ACROSS[:-1]))) / np.maximum(rise.sum(axis=-1), 1e-9)
        slope, at_start = np.polyfit(ALONG, middle.T, 1)
        way, out = _ways(places)
        start, end = places + at_start[:, None] * out, places + way + (at_start + slope)[:, None] * out
        line = np.cross(np.pad(start, ((0, 0), (0, 1)), constant_values=1.0), np.pad(end, ((0, 0), (0, 1)), constant_values=1.0))
        meet = np.cross(np.roll(line, 1, axis=0), line)
        places = meet[:, :2] / meet[:, 2:]
    off = middle - at_start[:, None] - slope[:, None] * ALONG
    return places if np.sqrt((off**2).mean(axis=1)).max() < STRAIGHT_PX else None


def sharpness(image: np.ndarray, places: np.ndarray) -> tuple[float, float]:
    """Sigma [px] of the least sharp edge of a tag with corners ``places`` (4, 2) [px], and the least grey levels across one."""
    reach = SHARP_CELLS * _lengths(places) / CELLS  # within the border's cell and the margin's
    mean = _profiles(image, places, reach).mean(axis=1)
    contrast = np.ptp(mean, axis=1)
    slope = np.diff(mean).max(axis=1) / (reach * (ACROSS[1] - ACROSS[0]))
    return float((contrast / np.maximum(slope, 1e-6)).max() / np.sqrt(2.0 * np.pi)), float(contrast.min())


def _ways(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From each corner to the next, (4, 2) [px]; and out of the tag there, of length 1."""
    way = np.roll(places, -1, axis=0) - places
    return way, np.stack([way[:, 1], -way[:, 0]], axis=-1) / _lengths(places)[:, None]


def _lengths(places: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(np.roll(places, -1, axis=0) - places, axis=1))


def _profiles(image: np.ndarray, places: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Grey levels (4, along, across) of each edge, from ``reach`` (4,) [px] within the tag to as far beyond."""
    way, out = (one[:, None, None] for one in _ways(places))
    points = places[:, None, None] + ALONG[:, None, None] * way + ACROSS[:, None] * reach[:, None, None, None] * out
    columns, rows = np.moveaxis(points, -1, 0)
    return np.asarray(map_coordinates(image, [rows, columns], output=float, order=1, mode="nearest"))
