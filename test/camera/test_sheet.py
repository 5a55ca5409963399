"""What is printed is as large, and where, as the package says it is."""

import re

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from picker_dynamics.camera import sheet
from picker_dynamics.camera.tags import Tag, corners

DPI = 200


def printed(figure) -> np.ndarray:
    """Grey picture of a page."""
    canvas = FigureCanvasAgg(figure)
    figure.set_dpi(DPI)
    canvas.draw()
    return np.array(canvas.buffer_rgba())[..., 0]


def millimetres(pixels: np.ndarray, image: np.ndarray) -> np.ndarray:
    """Places on the page, from its lower left corner."""
    return (np.array([0.0, image.shape[0]]) + (pixels + 0.5) * [1.0, -1.0]) * 25.4 / DPI


def test_the_tag_on_the_base_sheet_is_where_the_base_frame_has_it():
    image = printed(sheet.base_page())
    found = corners(image)
    assert list(found) == [sheet.BASE.tag.number]
    x, y = np.moveaxis(sheet.BASE.corners[:, :2], -1, 0)
    expected = np.array(sheet.ORIGIN_MM) + 1e3 * np.stack([-y, x], axis=-1)  # the page's right is -y, up is x
    assert millimetres(found[0], image) == pytest.approx(expected, abs=0.1)  # a pixel: 0.13 mm
    at = np.array(sheet.ORIGIN_MM) + 1e3 * np.array([-sheet.TOUCH_M[1], sheet.TOUCH_M[0]])
    column, row = np.round((at * [1, -1] + [0, sheet.PAGE_MM[1]]) * DPI / 25.4).astype(int)
    for arm in (image[row - 2 : row + 3, column - 40], image[row - 40, column - 2 : column + 3]):  # both lines of the cross
        assert arm.min() < 200 and arm.max() == 255


def test_the_tags_for_the_hand_have_the_sizes_they_are_labelled_with():
    image = printed(sheet.hand_page())
    for size, middle in zip(sheet.HAND_SIZES_M, (215, 150, 70)):
        half = 0.75e3 * size
        rows = slice(*(np.array([297 - middle - half, 297 - middle + half]) * DPI / 25.4).astype(int))
        found = corners(image[rows])[sheet.HAND]
        edges = np.linalg.norm(found - np.roll(found, 1, axis=0), axis=1) * 25.4 / DPI
        assert edges == pytest.approx(1e3 * Tag(sheet.HAND, size).size_m, abs=0.1)
        assert found[1] - found[0] == pytest.approx([edges[0] * DPI / 25.4, 0.0], abs=1.0)  # its x to the right


def test_the_file_has_two_pages_of_a4(tmp_path):
    sheet.write_sheet(tmp_path / "sheet.pdf")
    data = (tmp_path / "sheet.pdf").read_bytes()
    boxes = re.findall(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", data)
    assert np.array(boxes, dtype=float) == pytest.approx(np.tile([210 / 25.4 * 72, 297 / 25.4 * 72], (2, 1)), abs=0.1)
