"""Pinhole camera with radial distortion, and its derivatives (Hartley and Zisserman, Multiple View Geometry, 6.1 and 7.4).

    p_c = R^T (p - t),      (x, y) = p_c,xy / p_c,z,      d = 1 + k1 r^2 + k2 r^4,      (u, v) = f d (x, y) + (cx, cy)

The camera's frame is OpenCV's: x to the right of the picture, y down, z ahead.  Pixels count from the middle of the upper left
one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.spatial.transform import Rotation

INTRINSICS = ("log_f", "cx", "cy", "k1", "k2")
"""What the optics are described by, in the order of derivatives."""


@dataclass(frozen=True, eq=False)
class Camera:
    """Camera at a place.

    Args:
        width, height: of its pictures [px].
        focal: f [px].
        centre: (cx, cy) [px].
        distortion: k1, k2.
        rotation: (3, 3) of its frame in the frame of the points.
        position: (3,) there [m].
    """

    width: int
    height: int
    focal: float
    centre: tuple[float, float]
    distortion: tuple[float, float] = (0.0, 0.0)
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))

    @classmethod
    def looking(
        cls,
        width: int,
        height: int,
        focal: float,
        position: np.ndarray,
        target: np.ndarray,
        up: tuple[float, ...] = (0.0, 0.0, 1.0),
    ) -> Camera:
        """A camera at ``position`` that looks at ``target`` (3,) [m], its picture's upper edge towards ``up``."""
        ahead = np.subtract(target, position) / np.linalg.norm(np.subtract(target, position))
        right = np.cross(ahead, up) / np.linalg.norm(np.cross(ahead, up))
        rotation = np.stack([right, np.cross(ahead, right), ahead], axis=-1)
        middle = 0.5 * (width - 1), 0.5 * (height - 1)
        return cls(width, height, focal, middle, rotation=rotation, position=np.asarray(position, dtype=float))

    def project(self, points: np.ndarray) -> np.ndarray:
        """Pixels (..., 2) of points (..., 3) [m]; NaN behind the camera."""
        away = (np.asarray(points, dtype=float) - self.position) @ self.rotation
        z = away[..., 2:]
        normal, (k1, k2) = away[..., :2] / np.where(z > 1e-6, z, np.nan), self.distortion
        r2 = (normal**2).sum(axis=-1, keepdims=True)
        pixels: np.ndarray = self.focal * (1.0 + k1 * r2 + k2 * r2**2) * normal + self.centre
        return pixels

    def linearised(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Pixels (..., 2), and their derivatives by the point (..., 2, 3) [px/m], by ``INTRINSICS`` (..., 2, 5) and by the
        camera's pose (..., 2, 6): its turn about the axes of the points' frame [rad], then its way along them [m]."""
        away = np.asarray(points, dtype=float) - self.position
        x, y, z = np.moveaxis(away @ self.rotation, -1, 0)
        z = np.where(z > 1e-6, z, np.nan)
        normal, (k1, k2) = np.stack([x / z, y / z], axis=-1), self.distortion
        r2 = (normal**2).sum(axis=-1)[..., None]
        d = 1.0 + k1 * r2 + k2 * r2**2
        off = self.focal * d * normal
        by_normal = self.focal * (
            d[..., None] * np.eye(2) + 2.0 * (k1 + 2.0 * k2 * r2)[..., None] * normal[..., None] * normal[..., None, :]
        )
        zero, one = np.zeros_like(z), 1.0 / z
        inside = np.stack([np.stack([one, zero, -normal[..., 0] / z], -1), np.stack([zero, one, -normal[..., 1] / z], -1)], -2)
        by_point = by_normal @ inside @ self.rotation.T
        ones = np.broadcast_to(np.eye(2), (*z.shape, 2, 2))
        by_optics = np.concatenate(
            [off[..., None], ones, (self.focal * normal * r2)[..., None], (self.focal * normal * r2**2)[..., None]], -1
        )
        by_pose = np.concatenate([by_point @ skew(away), -by_point], axis=-1)
        return off + self.centre, by_point, by_optics, by_pose

    def moved(self, turn: np.ndarray, way: np.ndarray, optics: np.ndarray | None = None) -> Camera:
        """The camera turned by a rotation vector (3,) [rad] and moved by ``way`` (3,) [m] in the points' frame; ``optics``: (5,)
        changes of ``INTRINSICS``."""
        change = np.zeros(5) if optics is None else optics
        return replace(
            self,
            focal=self.focal * float(np.exp(change[0])),
            centre=(self.centre[0] + float(change[1]), self.centre[1] + float(change[2])),
            distortion=(self.distortion[0] + float(change[3]), self.distortion[1] + float(change[4])),
            rotation=Rotation.from_rotvec(turn).as_matrix() @ self.rotation,
            position=self.position + way,
        )


def skew(vectors: np.ndarray) -> np.ndarray:
    """Matrices (..., 3, 3) of the cross products with vectors (..., 3)."""
    x, y, z = np.moveaxis(np.asarray(vectors, dtype=float), -1, 0)
    zero = np.zeros_like(x)
    return np.stack([np.stack([zero, -z, y], -1), np.stack([z, zero, -x], -1), np.stack([-y, x, zero], -1)], -2)
