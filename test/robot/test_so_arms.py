"""SO-100 and SO-101: against the makers' URDFs, which an installed package has, published figures, and LeRobot's calibration."""

import json
import math

import any_arms
import numpy as np
import yaml
from numpy.testing import assert_allclose
from pytest import approx, importorskip, mark, raises

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm, servo_map
from picker_dynamics.robot.kinematic_tree import joint_frames, pose_in, sample_poses, tool_pose

NAMES = ("so100", "so101")
THEIRS = {
    "so101": (np.array([0.0, 0.0, 0.0, 0.0, 0.0486795, 0.0]), np.ones(6), 0.0, ("tool0", "gripper_frame_link"), 1.0),
    "so100": (
        np.array([0.0, 1.8, -math.pi / 2, 1.0 - math.pi / 2, 0.0, 0.0]),
        np.array([-1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        math.pi / 2,
        ("hand", "gripper"),
        0.01,
    ),
}
"""The makers' positions where ours are 0 [rad], which way they count, how their base is turned [rad], the links to compare, and
how far these may be off one another [mm]: ours leaves out 0.2 mm beside the roll axis, which shows twice over all turns."""


def loaded(name: str):
    return servo_arm.load(resource(f"urdf/{name}.urdf"))


@mark.parametrize("name", NAMES)
def test_an_arm_is_the_makers_in_all_poses(name):
    """The hand's place but for where the base's frame is, gravity and inertia."""
    rigid_body = importorskip("picker_dynamics.dynamics.rigid_body", reason="needs Pinocchio")
    ours, theirs = loaded(name)[0], any_arms.arm(name)
    zero, sign, yaw, links, off_mm = THEIRS[name]
    assert ours.joint_names == theirs.joint_names
    q = sample_poses(ours, 100)
    p = zero + sign * q
    turn = np.array([[math.cos(yaw), math.sin(yaw), 0.0], [-math.sin(yaw), math.cos(yaw), 0.0], [0.0, 0.0, 1.0]])
    one, other = (
        pose_in(arm, joint_frames(arm, x), link).position for arm, x, link in zip((ours, theirs), (q, p), links, strict=True)
    )
    assert np.ptp(one - other @ turn, axis=0).max() < 1e-3 * off_mm
    body, peer = rigid_body.RigidBody(ours), rigid_body.RigidBody(theirs)
    gravity, inertia = peer.gravity(p) * sign, sign[:, None] * peer.mass_matrix(p) * sign
    assert_allclose(body.gravity(q), gravity, rtol=0, atol=1e-3 * np.abs(gravity).max())  # lengths to 0.1 mm, of 100 mm
    assert_allclose(body.mass_matrix(q), inertia, rtol=0, atol=1e-3 * np.abs(inertia).max())


def test_it_reaches_as_far_as_sellers_say_and_weighs_what_cad_says():
    """350 mm of reach are told by kits' pages, with the hand forward as at 0; 632 g less the 147 g of the base are the CAD's."""
    arm, _ = loaded("so101")
    assert tool_pose(arm, np.zeros(6)).position == approx([0.3526, 0.0, 0.2289], abs=5e-4)
    assert sum(link.mass for link in arm.links.values()) == approx(0.632 - 0.147, abs=1e-3)


@mark.parametrize("name", NAMES)
@mark.parametrize("grams, median_mm, worst_mm", [(0.0, 29.0, 57.0), (100.0, 47.0, 88.0)])
def test_without_compensation_it_sags_as_owners_complain(name, grams, median_mm, worst_mm):
    """On the servos' springs alone, P gain 16 at 7.4 V, by poses whose tip is above the table and 150 mm or more
    from the pan axis.  The SO-100, of heavier parts, sags a little more.
    """
    rigid_body = importorskip("picker_dynamics.dynamics.rigid_body", reason="needs Pinocchio")
    arm, servos = loaded(name)
    q, body = np.random.default_rng(0).uniform(arm.lower, arm.upper, (3000, arm.n)), rigid_body.RigidBody(arm)
    body = body.with_payload(1e-3 * grams) if grams else body
    tip = tool_pose(arm, q).position
    q = q[(tip[:, 2] > 0.0) & (np.hypot(tip[:, 0], tip[:, 1]) > 0.15)]
    hangs = q.copy()
    for _ in range(30):  # its own torque where it hangs
        hangs = q - body.gravity(hangs) / servos.model.stiffness
    sag_mm = 1e3 * np.linalg.norm(tool_pose(arm, hangs).position - tool_pose(arm, q).position, axis=1)
    share = 1.0 if name == "so101" else 1.06
    assert np.median(sag_mm) == approx(share * median_mm, rel=0.06) and sag_mm.max() == approx(share * worst_mm, rel=0.06)


# -- the servos ------------------------------------------------------------------------------------------------------------

STS = ("STS3215", 7.4, 1.0), ("STS3215-12V", 12.0, 1.0), ("STS3215-191", 7.4, 191 / 345), ("STS3215-147", 7.4, 147 / 345)
BUS = {"board": {"frame_us": 20000, "quantum_us": 0.48828125}, "defaults": {"peak_share": 0.8, "hold_share": 0.6, "direction": 1}}
JOINT = {"id": 7, "zero_deg": 0.0, "rest_rad": 0.0, "home_rad": 0.0}


def made(tmp_path, joint: dict, supply_v: float | None = None, overlay: dict | None = None, joints: tuple[str, ...] = ("lift",)):
    path, over = tmp_path / "servos.yaml", tmp_path / "servos.json"
    board = BUS["board"] | ({} if supply_v is None else {"supply_v": supply_v})
    path.write_text(yaml.safe_dump(BUS | {"board": board, "joints": {name: JOINT | joint for name in joints}}))
    over.write_text(json.dumps(overlay))
    return servo_map.load(path, joints, None if overlay is None else over)


@mark.parametrize("kind, volts, gear", STS)
def test_a_bus_servo_pulls_as_its_motor_and_its_gain_say(kind, volts, gear, tmp_path):
    """K by BAM's fit: kt / R times 0.166 of the voltage for each unit of P and radian; in proportion to gear and voltage."""
    per_p = 0.166 * 1.212 / 2.68 * gear
    for gain, supply_v in ((16, None), (32, None), (16, 0.9 * volts)):
        (servo,) = made(tmp_path, {"type": kind, "p_gain": gain}, supply_v).servos
        assert servo.stiffness == approx(per_p * gain * (supply_v or volts), rel=0.03)
        assert 0.1 < servo.stiffness_sd / servo.stiffness < 0.25 and "stiffness_nm_rad" in servo.unmeasured
    (own,) = made(tmp_path, {"type": kind, "p_gain": 16, "stiffness_nm_rad": 9.5}).servos
    assert own.stiffness == 9.5 and own.model_number == 777 and own.channel == 0
    assert own.deadband == approx(2.0 * math.pi / 4096) and own.pulse_range == approx((-math.pi, math.pi), abs=2e-3)


def tick(servo, angle: float) -> float:
    """What a bus servo counts at a joint angle [rad]: 2048 at the middle of its turn."""
    return 2048 + (servo.zero + servo.direction * angle) / math.tau * 4096


def test_ticks_are_the_horns_angle_and_bound_what_is_sent(tmp_path):
    (servo,) = made(tmp_path, {"type": "STS3215", "ticks": [1024, 3072], "direction": -1, "zero_deg": 9.0}).servos
    assert tick(servo, 0.0) == approx(2048 + 9.0 / 360 * 4096) and tick(servo, math.radians(9.0)) == approx(2048)
    assert servo.pulse_range == approx((math.radians(-81.0), math.radians(99.0)))
    assert servo.to_pulse_us(0.3) == approx(500 + tick(servo, 0.3) * 2000 / 4096)


@mark.parametrize(
    "joint, names, message",
    [
        ({"id": 253}, ("lift",), "lift: id is 253, must be a whole number, 0 to 252"),
        ({"p_gain": 0}, ("lift",), "lift: p_gain is 0, must be a whole number, 1 to 254"),
        ({"ticks": [2000, 5000]}, ("lift",), "lift: ticks is 5000, must be <= 4095"),
        ({"ticks": [3000, 2000]}, ("lift",), "lift: ticks must increase, but 2000 follows 3000"),
        ({"ticks": 4095}, ("lift",), r"lift: ticks is 4095, must be \[least, most\]"),
        ({}, ("lift", "turn"), "turn: id 7 already drives lift"),
    ],
)
def test_what_no_bus_servo_has_is_refused(joint, names, message, tmp_path):
    with raises(ConfigurationError, match=message):
        made(tmp_path, {"type": "STS3215", "p_gain": 16} | joint, joints=names)


def test_servos_of_a_bus_and_of_a_board_do_not_mix(tmp_path):
    content = yaml.safe_load(resource("config/so101.servos.yaml").read_text())
    content["joints"]["elbow_flex"] = {"channel": 9, "rest_rad": 0.0, "home_rad": 0.0}
    (tmp_path / "servos.yaml").write_text(yaml.safe_dump(content))
    with raises(ConfigurationError, match="elbow_flex: id is missing: the servos of an arm are on one bus, or on a servo board"):
        servo_arm.load(resource("urdf/so101.urdf"), tmp_path / "servos.yaml")


# -- LeRobot's calibration ---------------------------------------------------------------------------------------------------

ENTRY = {"id": 3, "drive_mode": 0, "homing_offset": -1391, "range_min": 891, "range_max": 3088}


def calibrated(tmp_path, **changes):
    """The SO-101 with a file in which these joints are otherwise than in the middle of the turn."""
    names = loaded("so101")[0].joint_names
    file = {name: ENTRY | {"id": k + 1, "range_min": 900, "range_max": 3195} for k, name in enumerate(names)}
    for joint, change in changes.items():
        file[joint] |= change
    (tmp_path / "arm.json").write_text(json.dumps(file))
    return servo_arm.load(resource("urdf/so101.urdf"), "", tmp_path / "arm.json")[1]


def test_lerobots_zero_is_the_middle_of_the_range_and_its_grippers_the_closed_end(tmp_path):
    servos = calibrated(
        tmp_path, elbow_flex=ENTRY, gripper={"range_min": 2030, "range_max": 3500}, wrist_roll={"id": 9, "drive_mode": 1}
    )
    elbow, gripper = servos.servos[2], servos.servos[5]
    assert servos.bus_ids == (1, 2, 3, 4, 9, 6) and servos.n == 6
    assert elbow.homing_offset == -1391 and tick(elbow, 0.0) == approx(0.5 * (891 + 3088))
    assert [tick(elbow, end) for end in elbow.pulse_range] == approx([891, 3088])
    assert elbow.direction == 1 and servos.servos[4].direction == -1 and gripper.direction == 1
    assert tick(gripper, gripper.grip.contact) == approx(2030)


@mark.parametrize(
    "change, message",
    [
        ({"elbow_flex": {"range_max": "3088"}}, "elbow_flex: range_max is '3088', must be a finite number"),
        ({"elbow_flex": {"range_max": 800}}, "elbow_flex: ticks must increase, but 800 follows 900"),
        ({"elbow_flex": {"drive_mode": None}}, "elbow_flex: drive_mode is None, must be a finite number"),
        ({"elbow_flex": {"speed": 1}}, "elbow_flex: unknown 'speed'; allowed are id, drive_mode, homing_offset"),
        ({"elbow_flex": {"id": 2}}, "elbow_flex: id 2 already drives shoulder_lift"),
        ({"elbow_flex": {"homing_offset": 9000}}, "elbow_flex: homing_offset is 9000, must be a whole number, -2047 to 2047"),
    ],
)
def test_what_is_no_calibration_is_refused_by_joint_and_key(change, message, tmp_path):
    with raises(ConfigurationError, match=message):
        calibrated(tmp_path, **change)
