"""Tags in drawn pictures are found where the camera's projection has them."""

import numpy as np
import pytest
from drawn_tags import camera, placed
from waiting import python

from picker_dynamics.camera.drawn import Optics, draw
from picker_dynamics.camera.pinhole import Camera
from picker_dynamics.camera.tags import Placed, Tag, corners
from picker_dynamics.errors import InputError, PictureError

LINEAR = Optics(gamma=1.0, noise=0.0)


def off(view: Camera, tags: list[Placed], optics: Optics, seed: int = 0) -> np.ndarray:
    """(k, 4, 2) by how much the corners found are beside those projected [px]."""
    found = corners(draw(view, tags, optics, seed))
    assert sorted(found) == [one.tag.number for one in tags]
    return np.array([found[one.tag.number] - view.project(one.corners) for one in tags])


@pytest.mark.parametrize("distortion", [(0.0, 0.0), (-0.15, 0.03)])
def test_corners_are_found_in_their_order_a_fiftieth_of_a_pixel_from_where_they_are(distortion):
    rng = np.random.default_rng(3)
    errors = []
    for _ in range(6):
        tags = [
            placed(k, size, [x, *rng.uniform(-0.1, 0.1, 1), 0.75], (*rng.uniform(-0.5, 0.5, 2), rng.uniform(-3.0, 3.0)))
            for k, size, x in ((0, 0.06, -0.2), (1, 0.04, 0.0), (7, 0.03, 0.2))
        ]
        errors.append(off(camera(distortion=distortion), tags, LINEAR))
    errors = np.array(errors)
    assert np.sqrt((errors**2).mean(axis=(0, 2, 3))) == pytest.approx(0.0, abs=0.04)
    assert errors.mean(axis=(0, 1, 2)) == pytest.approx(0.0, abs=0.02)  # a lens bends edges by that much


@pytest.mark.parametrize("roll", [0.0, 0.01, 0.5 * np.pi + 0.02])
def test_edges_along_rows_and_columns_are_no_worse_than_a_tenth_of_a_pixel(roll):
    """OpenCV's own corners are up to 0.6 px beside the tag's there."""
    rng = np.random.default_rng(4)
    tags = [placed(k, 0.04, [x, *rng.uniform(-0.1, 0.1, 1), 0.75], (0.0, 0.0, roll)) for k, x in enumerate((-0.2, 0.0, 0.2))]
    assert off(camera(), tags, LINEAR) == pytest.approx(0.0, abs=0.1)


def test_blur_and_gamma_shrink_the_black_square_by_a_third_of_a_pixel_an_edge():
    tag = placed(1, 0.04, [0.03, -0.02, 0.75], (0.2, 0.3, 0.4))
    true = camera().project(tag.corners)
    sides = []
    for optics in (LINEAR, Optics()):
        found = true + off(camera(), [tag], optics)[0]
        sides.append(np.linalg.norm(found - np.roll(found, 1, axis=0), axis=1).mean())
    assert (sides[0] - sides[1]) / 2 == pytest.approx(0.36, abs=0.06)


def test_a_nearer_tag_hides_one_behind_and_a_tag_from_behind_is_a_blank_card():
    behind, before = placed(0, 0.08, [0.0, 0.0, 0.8]), placed(1, 0.04, [0.0, 0.0, 0.6])
    for tags in ([behind, before], [before, behind]):
        assert list(corners(draw(camera(), tags))) == [1]
    turned = before._replace(rotation=np.eye(3))
    assert not corners(draw(camera(), [turned]))
    assert not corners(draw(camera(), [before._replace(position=np.array([0.0, 0.0, -0.6]))]))


def test_a_tag_with_something_before_one_of_its_corners_is_left_out():
    tag = placed(1, 0.08, [0.0, 0.0, 0.75])
    image = draw(camera(), [tag], LINEAR)
    column, row = np.rint(camera().project(tag.corners)[1]).astype(int)
    for width, seen in ((0, [1]), (5, [1]), (10, [])):  # five pixels at a corner are not looked at
        hidden = image.copy()
        hidden[row - 20 : row + width, column - width :] = 100
        assert list(corners(hidden if width else image)) == seen


def test_noise_is_the_seeds_own_and_jpeg_keeps_the_corners():
    tag = placed(1, 0.04, [0.0, 0.0, 0.6])
    one, same, other = (draw(camera(), [tag], seed=seed) for seed in (1, 1, 2))
    assert (one == same).all() and (one != other).any()
    assert off(camera(), [tag], Optics(jpeg=90)) == pytest.approx(off(camera(), [tag], Optics()), abs=0.2)


def test_two_tags_with_one_number_are_refused():
    two = [placed(1, 0.04, [x, 0.0, 0.6]) for x in (-0.1, 0.1)]
    with pytest.raises(PictureError, match="two tags have the number 1"):
        corners(draw(camera(), two))


@pytest.mark.parametrize("number, size_m, said", [(587, 0.04, "0 to 586"), (1, 4.0, "4 m wide, must be 0.01 to 0.3 m")])
def test_a_tag_that_is_none_is_refused(number, size_m, said):
    with pytest.raises(InputError, match=said):
        Tag(number, size_m)


def test_without_opencv_the_message_says_what_to_install(monkeypatch):
    script = "import sys, numpy; sys.modules['cv2'] = None; from picker_dynamics.camera import tags; "
    done = python("-c", script + "tags.corners(numpy.zeros((480, 640), numpy.uint8))")
    assert done.stderr.splitlines()[-1].endswith('the camera needs OpenCV: pip install "picker_dynamics[camera]"')
