"""OpenCV where it is installed: imported only by functions that need it."""

from picker_dynamics.errors import MissingDependencyError

try:
    import cv2 as cv2  # others of this room take it from here
except ImportError as error:
    raise MissingDependencyError('the camera needs OpenCV: pip install "picker_dynamics[camera]"', "cv2") from error
