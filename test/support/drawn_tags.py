"""A camera of 720p, 60 degrees wide, and tags before it."""

import numpy as np
from scipy.spatial.transform import Rotation

from picker_dynamics.camera.pinhole import Camera
from picker_dynamics.camera.tags import Placed, Tag


def camera(**changed) -> Camera:
    return Camera(**{"width": 1280, "height": 720, "focal": 1108.5, "centre": (639.5, 359.5)} | changed)


def placed(number: int, size_m: float, position, turn=(0.0, 0.0, 0.0)) -> Placed:
    """A tag that faces the camera, but for ``turn`` [rad]; in the camera's frame."""
    return Placed(Tag(number, size_m), np.diag([1.0, -1.0, -1.0]) @ Rotation.from_rotvec(turn).as_matrix(), np.array(position))
