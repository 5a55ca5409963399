"""OpenCV where it is installed: imported only by functions that need it."""

import os

from picker_dynamics.errors import MissingDependencyError

os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")  # what fails is said by errors of ours
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")

try:
    import cv2 as cv2  # others of this room take it from here
except ImportError as error:
    raise MissingDependencyError('the camera needs OpenCV: pip install "picker_dynamics[camera]"', "cv2") from error
