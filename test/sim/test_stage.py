"""Pictures of an arm: what is drawn is where the arm is."""

import numpy as np
import pytest
from arm_fixtures import picker, servos
from numpy.testing import assert_allclose

from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.sim.stage import MARGIN, Prop, Stage

ARM, HOME = picker(), np.array(servos().home)
REACHING = np.array([0.3, 0.8, -0.8, -0.2, 0.6])
POSES = [HOME, REACHING]
BERRY = Prop("sphere", (0.01,), (0.26, -0.08, 0.3), (0.9, 0.1, 0.1))


@pytest.fixture(scope="module")
def stage():
    return Stage(ARM, POSES, [BERRY])


def seen(image) -> np.ndarray:
    """(rows, columns) that are not empty."""
    return np.asarray(image.getchannel("A") if image.mode == "RGBA" else image) > 127


def test_the_hand_is_drawn_where_kinematics_have_it_and_the_berry_where_it_hangs(stage):
    for q in POSES:
        column, row = stage.pixels(ChainKinematics(ARM).forward(q)).round().astype(int)
        assert seen(stage.outline(q))[row, column]
    column, row = stage.pixels(BERRY.at).round().astype(int)
    red, green, blue, there = stage.picture(HOME, [BERRY]).getpixel((column, row))
    assert there == 255 and red > 4 * max(green, blue)
    assert not seen(stage.picture(HOME))[row, column]


def test_everything_is_in_the_picture_and_fills_it(stage):
    covered = np.any([seen(stage.picture(q, [BERRY])) for q in POSES], axis=0)
    rows, columns = np.flatnonzero(covered.any(axis=1)), np.flatnonzero(covered.any(axis=0))
    for used, whole in ((rows, covered.shape[0]), (columns, covered.shape[1])):
        assert used[0] >= 0.9 * MARGIN * whole and used[-1] <= (1.0 - 0.9 * MARGIN) * whole
    assert max(np.ptp(rows) / covered.shape[0], np.ptp(columns) / covered.shape[1]) > 0.8


def test_a_millimetre_is_as_long_everywhere(stage):
    """Upwards by the cosine of the elevation from which it is looked at."""
    a, b, c = stage.pixels([[0.0, 0.0, 0.0], [0.3, 0.2, 0.0], [0.3, 0.2, 0.1]])
    d = stage.pixels([0.0, 0.0, 0.1])
    assert_allclose(d - a, c - b, atol=1e-9)
    assert d[1] < a[1] and abs(d[0] - a[0]) < 1e-9
