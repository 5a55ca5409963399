"""Pictures in which tags cannot be measured are refused with the reason."""

import numpy as np
import pytest
from drawn_tags import camera, placed

from picker_dynamics.camera.drawn import Optics, draw
from picker_dynamics.camera.edges import sharpness
from picker_dynamics.camera.judged import BLUR_PX, at_rest, judged
from picker_dynamics.camera.tags import corners
from picker_dynamics.errors import PictureError

HAND = placed(1, 0.04, [0.0, 0.0, 0.75])
GOOD = draw(camera(), [HAND])


def halves(image: np.ndarray, times: int) -> np.ndarray:
    return np.ascontiguousarray(image[::times, ::times])


@pytest.mark.parametrize(
    "image, said",
    [
        (halves(GOOD, 8), "the picture has 160 x 90 pixels, at least 320 x 240 are needed"),
        (np.zeros_like(GOOD), "no tag is seen: the picture is black"),
        (np.full_like(GOOD, 255), "no tag is seen: the picture is over-exposed"),
        (GOOD[:, ::-1].copy(), "no tag is seen: the picture is mirrored"),
        (draw(camera(), [HAND], Optics(blur_px=6.0)), "no tag is seen: the picture is blurred"),
        (draw(camera(), []), "no tag is seen: printed, whole in the picture"),
        (draw(camera(), [placed(1, 0.04, [0.0, 0.0, 2.0])], Optics(0.3, 1.0, 0.0)), "tag 1 is 22 px small, at least 24"),
        (draw(camera(), [HAND], Optics(blur_px=1.8)), r"tag 1 is blurred by 1\.\d px, at most 1.4"),
        (GOOD // 8 + 20, r"tag 1: white is \d+ grey levels above black, at least 30"),
    ],
)
def test_a_picture_that_cannot_be_measured_is_refused_with_the_reason(image, said):
    with pytest.raises(PictureError, match=said):
        judged(image)


def test_a_good_picture_is_taken_and_what_is_wanted_is_looked_for():
    assert judged(GOOD, [1])[1] == pytest.approx(corners(GOOD)[1])
    with pytest.raises(PictureError, match=r"tag 0 is not seen \(seen: 1\)"):
        judged(GOOD, [0, 1])


@pytest.mark.parametrize("tag", [HAND, placed(0, 0.08, [0.05, 0.0, 0.7], (0.5, 0.2, 0.8))])
def test_the_blur_of_edges_is_measured(tag):
    """A pixel's own width, and that of what is between two, add to the lens's blur."""
    for sigma in (0.5, 1.0, 1.4):
        image = draw(camera(), [tag], Optics(sigma, 1.0))
        assert sharpness(image, corners(image)[tag.tag.number])[0] == pytest.approx(np.hypot(sigma, 0.5), rel=0.25)
    assert sharpness(GOOD, corners(GOOD)[1])[0] < 0.8 * BLUR_PX


def test_a_burst_at_rest_is_averaged_and_one_that_moves_is_refused():
    frames = [draw(camera(), [HAND], seed=seed) for seed in range(3)]
    mean = at_rest(frames)[1]
    assert mean == pytest.approx(np.mean([corners(frame)[1] for frame in frames], axis=0))
    moving = [draw(camera(), [placed(1, 0.04, [x, 0.0, 0.75])], seed=3) for x in (0.0, 0.001, 0.002)]
    with pytest.raises(PictureError, match=r"tag 1 moved by 1\.\d px between frames, at most 0.5 are allowed: not at rest"):
        at_rest(moving)
    other = draw(camera(), [placed(2, 0.04, [0.0, 0.0, 0.75])])
    with pytest.raises(PictureError, match="no tag is seen in all frames"):
        at_rest([frames[0], other])
