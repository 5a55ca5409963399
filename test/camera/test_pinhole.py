"""The camera's derivatives are those of its projection, and its frame is OpenCV's."""

import numpy as np
import pytest

from picker_dynamics.camera.pinhole import INTRINSICS, Camera


@pytest.fixture
def camera():
    one = Camera.looking(1280, 720, 1100.0, np.array([0.7, -0.2, 0.3]), np.array([0.1, 0.0, 0.15]))
    return one.moved(np.array([0.02, -0.01, 0.03]), np.zeros(3), np.array([0.0, 7.0, -4.0, -0.12, 0.03]))


def test_what_it_looks_at_is_in_the_middle_and_what_is_above_is_above():
    camera = Camera.looking(1280, 720, 1100.0, np.array([0.7, 0.0, 0.3]), np.array([0.1, 0.0, 0.15]))
    u, above, left = camera.project(np.array([[0.1, 0.0, 0.15], [0.1, 0.0, 0.25], [0.1, -0.1, 0.15]]))
    assert u == pytest.approx([639.5, 359.5])
    assert above[1] < u[1] and left[0] < u[0]  # it looks along -x: -y is to its left
    assert np.isnan(camera.project(np.array([1.0, 0.0, 0.3]))).all()


def test_derivatives_are_those_of_the_projection(camera):
    points, step = np.random.default_rng(1).uniform(-0.15, 0.3, (6, 3)), 1e-6
    _, by_point, by_optics, by_pose = camera.linearised(points)
    for i, way in enumerate(step * np.eye(3)):
        assert by_point[..., i] == pytest.approx(
            (camera.project(points + way) - camera.project(points - way)) / (2 * step), rel=1e-6, abs=1e-4
        )
        zero = np.zeros(3)
        turned = (camera.moved(way, zero).project(points) - camera.moved(-way, zero).project(points)) / (2 * step)
        gone = (camera.moved(zero, way).project(points) - camera.moved(zero, -way).project(points)) / (2 * step)
        assert by_pose[..., i] == pytest.approx(turned, rel=1e-6, abs=1e-3)
        assert by_pose[..., 3 + i] == pytest.approx(gone, rel=1e-6, abs=1e-3)
    for i, change in enumerate(step * np.eye(len(INTRINSICS))):
        other = [camera.moved(np.zeros(3), np.zeros(3), sign * change).project(points) for sign in (1.0, -1.0)]
        assert by_optics[..., i] == pytest.approx((other[0] - other[1]) / (2 * step), rel=1e-5, abs=1e-4)
