"""A servo map that is wrong gets one line that names joint, value and limit."""

import copy

import pytest
import yaml

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.robot import servo_map
from picker_dynamics.robot.servo_map import STIFFNESS_UPPER_BOUND

JOINTS = ("shoulder", "elbow")
GOOD = {
    "board": {"frame_us": 20000, "quantum_us": 0.5},
    "defaults": {
        "pulse_map": [[-90, 500], [90, 2500]],
        "stall_torque_nm": 1.0,
        "no_load_speed_rad_s": 7.0,
        "stiffness_nm_rad": {"value": 20, "measured": False},
        "deadband_us": 4,
        "armature_kg_m2": 0.001,
        "peak_share": 0.8,
        "hold_share": 0.6,
    },
    "joints": {
        "shoulder": {"channel": 3, "direction": 1, "zero_deg": 0, "rest_rad": 0.1, "home_rad": 0.2},
        "elbow": {"channel": 4, "direction": -1, "zero_deg": 5, "rest_rad": 0.3, "home_rad": 0.4},
    },
}


def changed(path, value):
    """GOOD with the entry at the dotted ``path`` set, or removed for ``...``."""
    content = copy.deepcopy(GOOD)
    *parents, last = path.split(".")
    node = content
    for key in parents:
        node = node[key]
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return content


def load(tmp_path, content, overlay=None, joints=JOINTS):
    files = []
    for name, layer in (("servos.yaml", content), ("overlay.yaml", overlay)):
        if layer is not None:
            (tmp_path / name).write_text(layer if isinstance(layer, str) else yaml.safe_dump(layer))
            files.append(tmp_path / name)
    return servo_map.load(files[0], joints, *files[1:])


def refused(tmp_path, content, joint, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        load(tmp_path, content)
    assert caught.value.subject == joint
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["unmeasured", ...])
def test_a_stiffness_nobody_gives_is_the_upper_bound_and_unmeasured(tmp_path, value):
    arm = load(tmp_path, changed("defaults.stiffness_nm_rad", value))
    assert list(arm.model.stiffness) == [STIFFNESS_UPPER_BOUND] * 2
    assert arm.unmeasured == ("shoulder.stiffness_nm_rad", "elbow.stiffness_nm_rad")
    assert arm.assumptions == f"stiffness_nm_rad of {'all joints' if arm.n == 2 else 'shoulder, elbow'}"


def test_a_stiffness_may_say_how_well_it_is_known(tmp_path):
    known = {"value": 20, "measured": True, "sd": 5.0}
    elbow, shoulder = load(tmp_path, changed("joints.elbow.stiffness_nm_rad", known), joints=("elbow", "shoulder")).servos
    assert (elbow.stiffness, elbow.stiffness_sd) == (20.0, 5.0) and "stiffness_nm_rad" not in elbow.unmeasured
    assert shoulder.stiffness_sd is None


def test_an_overlay_wins_over_defaults_and_joints_alike(tmp_path):
    content = changed("joints.elbow.stiffness_nm_rad", 12)
    assert list(load(tmp_path, content).model.stiffness) == [20, 12]
    assert list(load(tmp_path, content, {"defaults": {"stiffness_nm_rad": 10}}).model.stiffness) == [10, 10]
    overlay = {"defaults": {"stiffness_nm_rad": 10}, "joints": {"shoulder": {"stiffness_nm_rad": 11}}}
    arm = load(tmp_path, content, overlay)
    assert list(arm.model.stiffness) == [11, 10] and arm.unmeasured == ()
    assert arm.channels == (3, 4)


@pytest.mark.parametrize(
    "path, value, joint, message",
    [
        ("joints.elbow", ..., "elbow", r"joint elbow is missing; it has shoulder"),
        ("joints.elbow.stiffness_nm_rad", {"value": 20, "measured": True, "sd": 20}, "elbow", r"sd is 20.*must be"),
        ("board.supply", {"adc": 4, "divider": 2.0, "minimum_v": 4.5}, "board", r"supply\.adc is 4, must be one of 0, .* 7"),
        ("defaults.feedback_adc", 1, "elbow", r"elbow: feedback_adc 1 already measures shoulder"),
    ],
)
def test_errors_name_joint_value_and_limit(tmp_path, path, value, joint, message):
    refused(tmp_path, changed(path, value), joint, message)


@pytest.mark.parametrize(
    "key, value, message",
    [
        ("channel", 3, r"channel 3 already drives shoulder"),
        ("pulse_map", [[-90, 399], [90, 2500]], r".* is 399, must be >= 400"),
        ("home_rad", -1.7, r"home_rad is -1\.7, outside"),
        ("grip", {"contact_rad": 1.9, "torque_nm": 1.0}, r"grip leaves no set-points"),
    ],
)
def test_errors_of_a_joint_name_it_and_value_and_limit(tmp_path, key, value, message):
    refused(tmp_path, changed(f"joints.elbow.{key}", value), "elbow", "elbow: " + message)
