"""Grey frames of a webcam (V4L2), of a URL, or of a folder of pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics.errors import CameraError, PictureError

PICTURES = (".bmp", ".jpeg", ".jpg", ".pgm", ".png")

BUFFERED = 5
"""Frames that a device may have kept from before they are asked for."""

SETTLES = 20
"""Frames after which automatic exposure and focus are where they stay."""


class Frames:
    """Frames from a source, closed by ``with``.

    Args:
        source: number or path of a V4L2 device ("0", "/dev/video0"), a URL, or a folder of pictures, taken by name.
        width, height: asked of a device [px]; it may give others.

    Raises:
        CameraError: there is none.
        MissingDependencyError: OpenCV is not installed.
    """

    def __init__(self, source: str, width: int = 1280, height: int = 720):
        from .opencv import cv2

        self._cv2, self.source, self._read = cv2, source, 0
        self._pictures: Iterator[Path] | None = None
        self._capture: Any = None
        if Path(source).is_dir():
            found = [path for path in Path(source).iterdir() if path.suffix.lower() in PICTURES]
            if not found:
                raise CameraError(f"no pictures in {source} ({', '.join(PICTURES)})", "camera", source)
            self._pictures = iter(sorted(found, key=_by_number))
            return
        if "://" in source:
            self._capture = cv2.VideoCapture(source)
        else:
            device = Path(f"/dev/video{source}" if source.isdecimal() else source)
            if not device.exists():
                there = ", ".join(map(str, sorted(device.parent.glob("video*")))) if device.parent.name == "dev" else ""
                raise CameraError(f"no camera {device} (cameras: {there or 'none'})", "camera", source)
            self._capture = cv2.VideoCapture(str(device), cv2.CAP_V4L2)
            for what, value in (
                (cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*"MJPG")),  # uncompressed, USB 2 has no 30 frames of 720p a second
                (cv2.CAP_PROP_FRAME_WIDTH, width),
                (cv2.CAP_PROP_FRAME_HEIGHT, height),
                (cv2.CAP_PROP_BUFFERSIZE, 1),
            ):
                self._capture.set(what, value)
        if not self._capture.isOpened():
            raise CameraError(f"camera {source} gives no pictures (wrong address, or used by another program?)", "camera", source)

    def lock(self) -> list[str]:
        """Lock focus and exposure where they are by now; what the device does not let be locked, in words."""
        if self._capture is None or "://" in self.source:
            return [] if self._capture is None else ["focus and exposure of a camera behind a URL: lock them there"]
        for _ in range(SETTLES):
            self.read()
        cv2, capture = self._cv2, self._capture
        open_ones = []
        for name, automatic, by_hand, value in (
            ("focus", cv2.CAP_PROP_AUTOFOCUS, 0, cv2.CAP_PROP_FOCUS),
            ("exposure", cv2.CAP_PROP_AUTO_EXPOSURE, 1, cv2.CAP_PROP_EXPOSURE),  # 1: manual, of V4L2
        ):
            settled = capture.get(value)
            if not capture.set(automatic, by_hand):
                open_ones.append(f"this camera does not let a program lock its {name}")
            elif settled > 0:
                capture.set(value, settled)
        return open_ones

    def read(self) -> np.ndarray:
        """The next frame, (height, width), uint8.

        Raises:
            CameraError: there is no next one.
            PictureError: a file that is no picture.
        """
        if self._pictures is not None:
            path = next(self._pictures, None)
            if path is None:
                raise CameraError(f"no more pictures in {self.source} ({self._read} were read)", "camera", self._read)
            image = self._cv2.imread(str(path), self._cv2.IMREAD_GRAYSCALE)
            if image is None:
                raise PictureError(f"{path} is no picture", "camera", str(path))
        else:
            there, image = self._capture.read()
            if not there:
                text = f"camera {self.source} gives no pictures any more, after {self._read} (unplugged?)"
                raise CameraError(text, "camera", self._read)
            if image.ndim == 3:
                image = self._cv2.cvtColor(image, self._cv2.COLOR_BGR2GRAY)
        self._read += 1
        return np.asarray(image)

    def burst(self, frames: int = 3) -> list[np.ndarray]:
        """Frames from now on: what a device kept from before is left out.

        Raises:
            CameraError, PictureError: as ``read``.
        """
        if self._capture is not None:
            for _ in range(BUFFERED):
                self.read()
        return [self.read() for _ in range(frames)]

    def close(self) -> None:
        if self._capture is not None:
            self._capture.release()

    def __enter__(self) -> Frames:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _by_number(path: Path) -> list[tuple[int, str]]:
    """Sorts view2 before view10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", path.name)]
