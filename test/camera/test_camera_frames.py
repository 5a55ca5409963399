"""Frames of folders and films; what is no camera, or ends, is one error."""

from itertools import pairwise

import numpy as np
import pytest

from picker_dynamics.camera.frames import Frames
from picker_dynamics.camera.opencv import cv2
from picker_dynamics.errors import CameraError, PictureError

GREY = [np.full((240, 320), level, np.uint8) for level in (50, 100, 150)]


def test_a_folder_is_read_by_number_to_its_end(tmp_path):
    for name, image in zip(("view2.png", "view10.png", "view11.PNG"), GREY):
        cv2.imwrite(str(tmp_path / name), image)
    (tmp_path / "notes.txt").write_text("no picture")
    with Frames(str(tmp_path)) as frames:
        assert frames.lock() == []
        assert [int(image.mean()) for image in frames.burst(3)] == [50, 100, 150]
        with pytest.raises(CameraError, match=r"no more pictures in .* \(3 were read\)"):
            frames.read()


def test_a_colour_picture_comes_out_grey_and_a_file_that_is_no_picture_is_named(tmp_path):
    cv2.imwrite(str(tmp_path / "1.png"), np.full((240, 320, 3), (0, 0, 255), np.uint8))
    (tmp_path / "2.png").write_bytes(b"no picture")
    frames = Frames(str(tmp_path))
    red = frames.read()
    assert red.shape == (240, 320) and red.mean() == pytest.approx(76, abs=1)
    with pytest.raises(PictureError, match=r"2\.png is no picture"):
        frames.read()


def test_what_a_stream_kept_from_before_is_left_out_and_its_end_is_one_error(tmp_path):
    path = tmp_path / "film.avi"
    film = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 30.0, (320, 240))
    for level in range(0, 200, 20):
        film.write(np.full((240, 320, 3), level, np.uint8))
    film.release()
    with Frames(path.as_uri()) as frames:
        assert frames.lock() == ["focus and exposure of a camera behind a URL: lock them there"]
        first = frames.read()
        burst = [first.mean(), *(image.mean() for image in frames.burst(3))]
        assert burst == pytest.approx([0, 120, 140, 160], abs=3) and all(a < b for a, b in pairwise(burst))
        frames.read()
        with pytest.raises(CameraError, match=r"gives no pictures any more, after 10 \(unplugged\?\)"):
            frames.read()


@pytest.mark.parametrize(
    "source, said",
    [("97", "no camera /dev/video97"), ("/dev/video97", "no camera /dev/video97"), ("no/such", "no camera no/such")],
)
def test_no_camera_is_one_error(source, said):
    with pytest.raises(CameraError, match=said):
        Frames(source)


def test_what_opens_and_is_no_camera_and_a_folder_without_pictures_are_one_error(tmp_path, capfd):
    with pytest.raises(CameraError, match="no pictures in"):
        Frames(str(tmp_path))
    (tmp_path / "device").write_text("")
    for source in (str(tmp_path / "device"), "http://127.0.0.1:9/film"):
        with pytest.raises(CameraError, match="gives no pictures"):
            Frames(source)
    assert capfd.readouterr().err == ""


class Device:
    """A webcam of V4L2 that does not let its focus be locked, and is unplugged after 30 frames."""

    frames = 30

    def __init__(self, path, backend):
        self.asked = {cv2.CAP_PROP_EXPOSURE: 157.0}

    def isOpened(self):
        return True

    def get(self, what):
        return self.asked.get(what, 0.0)

    def set(self, what, value):
        self.asked[what] = value
        return what != cv2.CAP_PROP_AUTOFOCUS

    def read(self):
        self.frames -= 1
        return self.frames >= 0, np.full((720, 1280, 3), 30 - self.frames, np.uint8)


def test_a_device_is_locked_where_it_lets_and_says_where_not_and_unplugged_it_is_one_error(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(cv2, "VideoCapture", lambda *about: made.append(Device(*about)) or made[-1])
    (tmp_path / "video0").touch()
    frames = Frames(str(tmp_path / "video0"))
    assert frames.lock() == ["this camera does not let a program lock its focus"]
    asked = made[0].asked
    assert (asked[cv2.CAP_PROP_AUTO_EXPOSURE], asked[cv2.CAP_PROP_EXPOSURE]) == (1, 157.0)
    assert (asked[cv2.CAP_PROP_FRAME_WIDTH], asked[cv2.CAP_PROP_FRAME_HEIGHT]) == (1280, 720)
    assert [int(image.mean()) for image in frames.burst(3)] == [26, 27, 28]  # 20 to settle, five kept from before
    with pytest.raises(CameraError, match=r"video0 gives no pictures any more, after 30 \(unplugged\?\)"):
        frames.burst(3)
