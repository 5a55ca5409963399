"""Places that a camera saw, in the arm's base frame: hand-eye transforms, age, and what cannot be used."""

import numpy as np
from arm_fixtures import picker, servos
from numpy.testing import assert_allclose
from pytest import mark, raises

from picker_dynamics.errors import ConfigurationError, InputError
from picker_dynamics.resources import resource
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.sighting import FIXED, Sighting, read_cameras

ARM, HOME, NOW = picker(), np.array(servos().home), 1000.0


def nobody(frame, _time_s):
    raise InputError(f"nobody knows {frame}")


def in_base(frame="base_link", place=(0.2, 0.1, 0.1), *, stamp_s=NOW, rotation=FIXED, cameras=None, q=HOME, look_up=nobody):
    seen = Sighting(frame, stamp_s, np.array(place, dtype=float), rotation)
    return seen.in_base(ARM, cameras or {}, NOW, lambda _time_s: q, look_up)


def test_cameras_beside_the_arm_and_on_its_hand():
    """The optical axis is z: what is 0.3 m ahead of the camera on the hand is 0.3 m ahead of the hand."""
    cameras = read_cameras(resource("config/cameras.yaml"), ARM)
    eye = cameras["camera_optical_frame"][1]
    assert_allclose(in_base("camera_optical_frame", (0.0, 0.0, 0.30), cameras=cameras)[0], [0.35, 0.0, 0.15], atol=1e-12)
    assert_allclose(eye.rotation[:, 2], [0.0, 0.0, -1.0], atol=1e-12)
    hand = link_poses(ARM, HOME)["hand"]
    ahead, _ = in_base("hand_camera_optical_frame", (0.0, 0.0, 0.3), cameras=cameras)
    assert_allclose(ahead, hand.apply([0.3, 0.0, 0.04]), atol=1e-12)
    assert_allclose(in_base("hand", (0.1, 0.0, 0.0))[0], hand.apply([0.1, 0.0, 0.0]), atol=1e-12)


@mark.parametrize(
    "changes, said",
    [
        ({"stamp_s": NOW - 2.5}, "2.5 s old, at most 2 s"),
        ({"stamp_s": NOW + 3.0}, "3.0 s ahead of now"),
        ({"frame": "moon"}, "nobody knows moon"),
        ({"frame": "hand", "q": None}, "the pose of hand at the time of the target is unknown"),
    ],
)
def test_what_cannot_be_used_is_one_clear_answer(changes, said):
    with raises(InputError, match=said):
        in_base(**changes)


@mark.parametrize(
    "text, said",
    [
        ("camera: {eye: {at_m: [0, 0, 0]}}\n", "unknown 'camera'"),
        ("cameras: {eye: {rpy_deg: [0, 0, 0]}}\n", "at_m is missing"),
        ("cameras: {eye: {at_m: [0, 0, 0], parent: moon}}\n", "parent is 'moon', must be one of base_link"),
    ],
)
def test_a_damaged_file_is_one_clear_error(tmp_path, text, said):
    path = tmp_path / "cameras.yaml"
    path.write_text(text)
    with raises(ConfigurationError, match=said) as caught:
        read_cameras(path, ARM)
    assert "\n" not in str(caught.value)
