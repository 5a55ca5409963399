"""A servo map that is wrong gets one line that names joint, value and limit."""

from __future__ import annotations

import copy

import pytest
import yaml

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.robot import servo_map

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


def test_a_good_map_in_the_order_asked(tmp_path):
    arm = load(tmp_path, GOOD, joints=("elbow", "shoulder"))
    assert arm.joint_names == ("elbow", "shoulder") and arm.channels == (4, 3)
    assert arm.frame_s == pytest.approx(0.02) and arm.quantum_us == 0.5
    assert arm.unmeasured == ("elbow.stiffness_nm_rad", "shoulder.stiffness_nm_rad")
    assert list(arm.model.stiffness) == [20, 20]


@pytest.mark.parametrize("value", ["unmeasured", ...])
def test_a_stiffness_nobody_gives_is_the_upper_bound_and_unmeasured(tmp_path, value):
    arm = load(tmp_path, changed("defaults.stiffness_nm_rad", value))
    assert list(arm.model.stiffness) == [servo_map.STIFFNESS_UPPER_BOUND] * 2
    assert arm.unmeasured == ("shoulder.stiffness_nm_rad", "elbow.stiffness_nm_rad")


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
        ("joints.thumb", {}, "thumb", r"unknown 'thumb'; allowed are shoulder, elbow"),
        ("joints.elbow.chanel", 3, "elbow", r"elbow: unknown 'chanel'"),
        ("joints.elbow.channel", 3, "elbow", r"elbow: channel 3 already drives shoulder"),
        ("joints.elbow.channel", 16, "elbow", r"elbow: channel is 16, must be 0 \.\.\. 15"),
        ("joints.elbow.channel", 1.5, "elbow", r"elbow: channel is 1\.5"),
        ("joints.elbow.channel", ..., "elbow", r"elbow: channel is missing"),
        ("joints.elbow.direction", 2, "elbow", r"elbow: direction is 2, must be 1 or -1"),
        ("joints.elbow.direction", True, "elbow", r"elbow: direction is True"),
        ("joints.elbow.pulse_map", [[-90, 500], [0, 400], [90, 2500]], "elbow", r"elbow: .* 400 us follows 500 us"),
        ("joints.elbow.pulse_map", [[90, 500], [-90, 2500]], "elbow", r"elbow: .* -90 deg follows 90 deg"),
        ("joints.elbow.pulse_map", [[-90, 399], [90, 2500]], "elbow", r"elbow: .* is 399, must be >= 400"),
        ("joints.elbow.pulse_map", [[-90, 500], [90, 2601]], "elbow", r"elbow: .* is 2601, must be <= 2600"),
        ("joints.elbow.pulse_map", [[-90, 500]], "elbow", r"elbow: pulse_map is .*two or more"),
        ("joints.elbow.stiffness_nm_rad", -3, "elbow", r"elbow: stiffness_nm_rad is -3, must be > 0"),
        ("joints.elbow.stiffness_nm_rad", 0, "elbow", r"elbow: stiffness_nm_rad is 0, must be > 0"),
        ("joints.elbow.stiffness_nm_rad", "soft", "elbow", r"elbow: stiffness_nm_rad is 'soft', must be a finite number"),
        ("joints.elbow.stiffness_nm_rad", {"value": 20}, "elbow", r"measured is None, must be true or false"),
        ("joints.elbow.stall_torque_nm", float("nan"), "elbow", r"elbow: stall_torque_nm is nan"),
        ("joints.elbow.no_load_speed_rad_s", 0, "elbow", r"elbow: no_load_speed_rad_s is 0"),
        ("joints.elbow.deadband_us", -1, "elbow", r"elbow: deadband_us is -1, must be >= 0"),
        ("joints.elbow.armature_kg_m2", -1e-3, "elbow", r"elbow: armature_kg_m2 is -0\.001, must be >= 0"),
        ("joints.elbow.peak_share", 1.1, "elbow", r"elbow: peak_share is 1\.1, must be <= 1"),
        ("joints.elbow.hold_share", True, "elbow", r"elbow: hold_share is True"),
        ("joints.elbow.rest_rad", 3.0, "elbow", r"elbow: rest_rad is 3\.0, outside its set-points"),
        ("joints.elbow.home_rad", -1.7, "elbow", r"elbow: home_rad is -1\.7, outside"),
        ("joints.elbow.grip", {"contact_rad": 0.0}, "elbow", r"elbow: grip: torque_nm is missing"),
        ("joints.elbow.grip", {"contact_rad": 1.9, "torque_nm": 1.0}, "elbow", r"elbow: grip leaves no set-points"),
        ("board.quantum_us", 0, "board", r"quantum_us is 0, must be > 0"),
        ("board.oscillator_hz", 25, "board", r"board: oscillator_hz is 25, must be >= 2e\+07"),
        ("board.supply", 3, "board", r"board: supply: expected keys and values, found 3"),
        ("board.supply", {"adc": 6, "divider": 2.0}, "board", r"board: supply: minimum_v is missing"),
        ("board.supply", {"adc": 4, "divider": 2.0, "minimum_v": 4.5}, "board", r"supply\.adc is 4, must be one of 0, .* 7"),
        ("board.supply", {"adc": 3, "divider": 0.5, "minimum_v": 4.5}, "board", r"supply\.divider is 0\.5, must be >= 1"),
        ("board.supply", {"adc": 3, "divider": 2.0, "minimum_v": 0}, "board", r"supply\.minimum_v is 0, must be > 0"),
        ("board.supply", {"adc": 3, "ratio": 2.0}, "board", r"board: supply: unknown 'ratio'"),
        ("joints.elbow.feedback_adc", 4, "elbow", r"elbow: feedback_adc is 4, must be one of 0, 1, 2, 3"),
        ("joints.elbow.feedback_adc", "A1", "elbow", r"elbow: feedback_adc is 'A1'"),
        ("defaults.feedback_adc", 1, "elbow", r"elbow: feedback_adc 1 already measures shoulder"),
        ("board.frame_us", ..., None, r"board: frame_us is missing"),
        ("joints", ["shoulder", "elbow"], None, r"joints: expected keys and values"),
    ],
)
def test_errors_name_joint_value_and_limit(tmp_path, path, value, joint, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        load(tmp_path, changed(path, value))
    assert caught.value.subject == joint
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text, message",
    [
        ("board: {frame_us: 20000}\nboard: {frame_us: 10000}\n", "'board' is given twice"),
        ("board: [unclosed", "cannot read servo map"),
        ("", "expected keys and values, found None"),
    ],
)
def test_text_that_is_no_map(tmp_path, text, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        load(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot read servo map"):
        servo_map.load(tmp_path / "none.yaml", JOINTS)


def test_what_the_board_measures(tmp_path):
    """Nothing, where nothing is said; an input that is used twice is refused."""
    arm = load(tmp_path, GOOD)
    assert (arm.oscillator_hz, arm.supply, [servo.feedback_adc for servo in arm.servos]) == (25e6, None, [None, None])
    content = changed("joints.elbow.feedback_adc", 2)
    overlay = {"board": {"oscillator_hz": 25_750_000, "supply": {"adc": 3, "divider": 2.0, "minimum_v": 4.5}}}
    arm = load(tmp_path, content, overlay)
    assert (arm.oscillator_hz, arm.supply) == (25.75e6, servo_map.Supply(3, 2.0, 4.5))
    assert [servo.feedback_adc for servo in arm.servos] == [None, 2]
    overlay["board"]["supply"]["adc"] = 2
    with pytest.raises(ConfigurationError, match="elbow: feedback_adc 2 already measures the supply"):
        load(tmp_path, content, overlay)
