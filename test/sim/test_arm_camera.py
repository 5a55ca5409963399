"""Rendered pictures of an arm: tags are found where the camera's projection has them, and not where the arm hides them."""

import numpy as np
import pytest
from arm_fixtures import picker

from picker_dynamics.camera import sheet
from picker_dynamics.camera.drawn import Optics
from picker_dynamics.camera.pinhole import Camera
from picker_dynamics.camera.tags import Placed, Tag, corners
from picker_dynamics.errors import InputError, MissingDependencyError
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.sim.arm_camera import ArmCamera, Mounted

ON_THE_RIGHT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Of a tag that looks along -y, its x along the link."""

TAGS = (
    Mounted("base_link", sheet.BASE),
    Mounted("hand", Placed(Tag(sheet.HAND, 0.04), ON_THE_RIGHT, np.array([0.04, -0.016, 0.0]))),
)
LEFT_OF_IT = Camera.looking(1280, 720, 1108.5, np.array([0.1, -0.65, 0.35]), np.array([0.2, 0.0, 0.12]))
POSES = np.array([[0.0, 0.6, -0.9, 0.1, 0.0], [0.3, 0.9, -1.2, -0.2, 0.5], [-0.4, 0.4, -0.6, 0.3, 0.0]])


@pytest.fixture(scope="module")
def view():
    try:
        made = ArmCamera(picker(), TAGS)
    except MissingDependencyError as error:
        pytest.skip(str(error))
    yield made
    made.close()


@pytest.mark.parametrize("centre", [(639.5, 359.5), (660.0, 340.0)])
def test_tags_of_a_moving_arm_are_found_where_its_kinematics_have_them(view, centre):
    camera = Camera(1280, 720, 1108.5, centre, rotation=LEFT_OF_IT.rotation, position=LEFT_OF_IT.position)
    for q in POSES:
        found = corners(view.picture(q, camera, Optics(gamma=1.0)))
        assert sorted(found) == [0, 1]
        for number, truth in enumerate(view.tag_corners(q)):
            assert found[number] == pytest.approx(camera.project(truth), abs=0.15)  # 0.05 rms, along rows 0.1
        hand = view.tag_corners(q)[1]
        along = (hand[1] - hand[0]) / 0.04  # from the tag's middle to the tool: 40 mm along the hand, 16 beside
        beside = np.cross(along, (hand[0] - hand[3]) / 0.04)
        assert hand.mean(axis=0) + 0.04 * along - 0.016 * beside == pytest.approx(ChainKinematics(picker()).forward(q), abs=1e-6)


def test_the_arm_hides_its_tags(view):
    from_above = Camera.looking(1280, 720, 1108.5, np.array([0.16, 0.11, 0.9]), sheet.BASE.position)
    over_the_tag = np.array([0.6, 0.6, -1.2, 0.3, 0.0])
    assert 0 in corners(view.picture(POSES[2], from_above)) and 0 not in corners(view.picture(over_the_tag, from_above))
    other_side = Camera.looking(1280, 720, 1108.5, np.array([0.2, 0.65, 0.4]), np.array([0.2, 0.0, 0.12]))
    assert 1 not in corners(view.picture(POSES[0], other_side))


def test_what_cannot_be_rendered_is_refused(view):
    with pytest.raises(InputError, match="no distortion and 1280 x 720 pixels"):
        view.picture(POSES[0], Camera(1280, 720, 1108.5, (639.5, 359.5), (0.1, 0.0)))
    with pytest.raises(InputError, match="the arm has no link 'claw'"):
        ArmCamera(picker(), [Mounted("claw", TAGS[1].tag)])


def test_without_egl_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mujoco.egl", None)
    with pytest.raises(MissingDependencyError, match=r"need EGL \(Debian: apt install libegl1"):
        ArmCamera(picker(), TAGS)
