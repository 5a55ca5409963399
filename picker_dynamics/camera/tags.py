"""AprilTags (family 36h11) and their corners in pictures.

A tag's frame is at its middle: x to the right and y up as it is printed, z out of the print.  Corners are those of the black
square, the upper left one first, clockwise, as OpenCV returns them; found by OpenCV, placed by ``edges``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from picker_dynamics.errors import PictureError, refuse_if

from .edges import CELLS, refined

SIZES_M = (0.01, 0.3)
"""Edges of the black square that a tag may have [m]."""

Corners = dict[int, np.ndarray]
"""Tag's number -> its corners (4, 2) [px], from the middle of the upper left pixel."""

Detector = Callable[[np.ndarray], Corners]
"""Finds the tags in a grey picture (height, width), uint8; raises PictureError where two have one number."""


@dataclass(frozen=True)
class Tag:
    """A printed tag: its number, and the edge of its black square [m].

    Raises:
        InputError: no such number, or a size that no tag has.
    """

    number: int
    size_m: float

    def __post_init__(self) -> None:
        refuse_if(not 0 <= self.number < 587, f"tag {self.number}: 36h11 has 0 to 586", "number", self.number, 586)
        low, high = SIZES_M
        text = f"tag {self.number} is {self.size_m:g} m wide, must be {low:g} to {high:g} m"
        refuse_if(not low <= self.size_m <= high, text, "size_m", self.size_m, high)

    @property
    def corners(self) -> np.ndarray:
        """(4, 3) in its frame [m]."""
        return 0.5 * self.size_m * np.array([[-1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [-1.0, -1.0, 0.0]])

    @property
    def cells(self) -> np.ndarray:
        """(8, 8), white 1 and black 0, the upper row first."""
        from .opencv import cv2

        return np.asarray(cv2.aruco.generateImageMarker(_family(), self.number, CELLS)) // 255


class Placed(NamedTuple):
    """A tag at a place: rotation (3, 3) and position (3,) [m] of its frame."""

    tag: Tag
    rotation: np.ndarray
    position: np.ndarray

    @property
    def corners(self) -> np.ndarray:
        """(4, 3) [m]."""
        return np.asarray(self.tag.corners @ np.transpose(self.rotation) + self.position)


def corners(image: np.ndarray) -> Corners:
    """Find the tags in a grey picture (height, width), uint8; those that are partly hidden are left out.

    Raises:
        PictureError: two tags have one number.
        MissingDependencyError: OpenCV is not installed.
    """
    found, numbers, _ = _detector().detectMarkers(image)
    numbers = [] if numbers is None else numbers.ravel().tolist()
    for number in numbers:
        if numbers.count(number) > 1:
            raise PictureError(f"two tags have the number {number}: cover one of them", "number", number)
    placed = {number: refined(image, one.reshape(4, 2).astype(float)) for number, one in zip(numbers, found)}
    return {number: places for number, places in placed.items() if places is not None}


@lru_cache(1)
def _family() -> Any:
    from .opencv import cv2

    return cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_APRILTAG_36h11)


@lru_cache(1)
def _detector() -> Any:
    from .opencv import cv2

    parameters = cv2.aruco.DetectorParameters()
    # With AprilTag's search it takes thirty times as long, and ``refined`` comes to the same places.
    parameters.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    return cv2.aruco.ArucoDetector(_family(), parameters)
