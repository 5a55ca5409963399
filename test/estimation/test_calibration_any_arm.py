"""Calibration of arms of other shapes: links along any axis, massless frames, joints that slide; truth is the simulated arm."""

import json
from dataclasses import replace

import any_arms
import numpy as np
from pytest import approx, mark, raises

from picker_dynamics.commands import cli
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError
from picker_dynamics.estimation.calibration import evaluate, procedure
from picker_dynamics.estimation.calibration.arm_estimate import ArmEstimate
from picker_dynamics.estimation.calibration.droop_fit import bounds_of
from picker_dynamics.estimation.calibration.droop_model import DroopModel
from picker_dynamics.estimation.calibration.poses import HEIGHT_MIN, candidates, cautious_validator, least_height, sensors
from picker_dynamics.estimation.calibration.readings import Measured
from picker_dynamics.estimation.calibration.servo_figures import ServoFigures, calibrated_servos
from picker_dynamics.estimation.calibration.steps import map as map_step
from picker_dynamics.estimation.calibration.write_back import overlay_text
from picker_dynamics.estimation.payload import DroopScale
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.kinematic_tree import link_poses, sample_poses
from picker_dynamics.robot.servo_map import map_text

DROOP = {
    "four_joint": ("lean", "bend", "nod"),
    "so101": ("shoulder_lift", "elbow_flex", "wrist_flex"),
    "so100": ("shoulder_lift", "elbow_flex", "wrist_flex"),
    "pan_tilt": ("tilt",),
}


def known(name):
    return servo_arm.load(any_arms.urdf(name))


@mark.parametrize("name", DROOP)
def test_an_inclinometer_on_each_link_that_droops_turns_as_differences_say(name):
    """Wherever its joint's axis points in the URDF."""
    arm, servos = known(name)
    assert procedure.gravity_joints(arm, servos) == DROOP[name]
    q = sample_poses(arm, 10)
    for sensor, joint in zip(sensors(arm, DROOP[name]), DROOP[name]):
        rates = sensor.rates(arm, link_poses(arm, q))
        for column, step in enumerate(1e-6 * np.eye(arm.n)):
            turned = sensor.of(link_poses(arm, q + step)) - sensor.of(link_poses(arm, q - step))
            assert rates[:, column] * 2e-6 == approx(np.remainder(turned + np.pi, 2.0 * np.pi) - np.pi, abs=1e-9), joint
        assert np.abs(rates[:, arm.joint_names.index(joint)]) == approx(1.0, abs=1e-3), "its own joint's axis is level"


def test_what_was_found_of_a_rack_is_written_as_its_servo_s_own_figures(tmp_path):
    assumed, overlay = tmp_path / "servos.yaml", tmp_path / "overlay.yaml"
    assumed.write_text(map_text(known("gantry")[1]))
    arm, servos = servo_arm.load(any_arms.urdf("gantry"), assumed)
    found = {"down": ServoFigures(zero=Measured(2e-3, 1e-4), scale=Measured(0.02, 1e-3))}
    made = calibrated_servos(servos, found)
    made = replace(made, servos=(replace(made.servos[0], rest=0.1, home=0.2), *made.servos[1:]))
    overlay.write_text(overlay_text(made, "today", before=servos))
    again = servo_arm.load(any_arms.urdf("gantry"), assumed, overlay)[1]
    for one, other in zip(again.servos, made.servos):
        pulses = np.linspace(one.pulses_us[0], one.pulses_us[-1], 5)
        assert one.to_angle(pulses) == approx(other.to_angle(pulses), abs=1e-6)
        for figure in ("rest", "home", "no_load_speed", "stall_torque", "stiffness", "load_friction", "coulomb", "play"):
            assert getattr(one, figure) == approx(getattr(other, figure), rel=1e-3), figure
    middle = float(np.interp(0.0, servos.servos[2].horn_angles, servos.servos[2].pulses_us))
    assert made.servos[2].to_angle(middle) == approx(servos.servos[2].to_angle(middle) + 2e-3)


@mark.parametrize("name, found", [("panda", (2, 4, 6)), ("xarm7", (2, 4)), ("z1", (2, 3, 4))])
def test_the_elbow_of_an_arm_whose_upper_arm_rolls_droops_where_it_does_not_roll(name, found):
    """Seven joints: with its third at 0 the fourth turns about a level axis, with its third elsewhere it does not."""
    arm, servos = known(name)
    joints = procedure.gravity_joints(arm, servos)
    assert tuple(1 + arm.joint_names.index(joint) for joint in joints) == found
    third = replace(servos.servos[2], home=servos.home[2] + 0.5)
    alone = procedure.gravity_joints(arm, replace(servos, servos=(*servos.servos[:2], third, *servos.servos[3:])))
    assert tuple(1 + arm.joint_names.index(joint) for joint in alone) == (found if name == "z1" else (2,))


def validated(name):
    arm, servos = known(name)
    return ArmEstimate(arm, servos), cautious_validator(RigidBody(arm, servos.armature), servos)


def test_each_joint_of_an_arm_that_home_asks_much_of_is_mapped_across_its_range():
    """xarm7's elbow bears home only just, which must not shut joints into the few angles that make it lighter."""
    estimate, validator = validated("xarm7")
    start = np.array(estimate.servos.rest)
    for column in range(estimate.description.n):
        lower, upper = estimate.description.lower[column], estimate.description.upper[column]
        angles = []
        for share in (0.0, 1.0):
            start = map_step.held_place(validator, estimate, column, share, start)
            validator.require_holdable(start)
            angles.append(start[column])
        assert angles[1] - angles[0] > 0.3 * (upper - lower)


def test_an_arm_that_hangs_is_mapped_and_has_poses_below_its_root(tmp_path):
    """Upside down under a ceiling: its tool is never above the plane that it hangs from."""
    ceiling = """<link name="ceiling"/>
  <joint name="mount" type="fixed"><parent link="ceiling"/><child link="stand"/><origin rpy="3.14159265 0 0"/></joint>
  <link name="stand">"""
    path = tmp_path / "hanging.urdf"
    path.write_text(any_arms.urdf("four_joint").read_text().replace('<link name="stand">', ceiling))
    arm, servos = servo_arm.load(path, any_arms.urdf("four_joint").with_suffix(".servos.yaml"))
    estimate, validator = ArmEstimate(arm, servos), cautious_validator(RigidBody(arm, servos.armature), servos)
    for column in range(arm.n):
        place = map_step.held_place(validator, estimate, column, 0.5, servos.rest)
        assert validator.model.forward_kinematics(place)[2] < 0.0
    assert least_height(arm, servos) == -np.inf and least_height(*known("four_joint")) == HEIGHT_MIN
    model = DroopModel(arm, servos, DROOP["four_joint"])
    seen = sensors(arm, DROOP["four_joint"])
    assert len(candidates(model, validator, seen, count=20, seed=0)) == 20
    ends = [path.end for path in evaluate.usual_paths(arm, servos, 4)]
    assert len(ends) == 4 and (validator.model.forward_kinematics(ends)[:, 2] < 0.0).all(), "what the result is told by"


@mark.parametrize("name", [*DROOP, "kinova", "panda"])
def test_what_is_assumed_of_servos_however_strong_lies_within_the_bounds_of_the_fit(name):
    arm, servos = known(name)
    model = DroopModel(arm, servos, procedure.gravity_joints(arm, servos))
    lower, upper = bounds_of(model)
    assert (lower < model.prior[0]).all() and (model.prior[0] < upper).all()


@mark.long
def test_an_arm_of_which_every_joint_slides_gets_zeros_and_scales(tmp_path, capsys, few_poses):
    words = ["calibrate", "--simulated", "--json", "--settle", "1.5", "--urdf", str(any_arms.urdf("gantry"))]
    assert cli.main([*words, "--out", str(tmp_path)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["hold_mm"]["after"]["median"] < report["hold_mm"]["before"]["median"]
    assert set(report["joints"]) == set(known("gantry")[0].joint_names)
    for entries in report["joints"].values():
        assert set(entries) == {"zero_m", "scale"}, "nothing tells a spring"
        assert entries["zero_m"]["found"] == approx(entries["zero_m"]["truth"], abs=3.0 * entries["zero_m"]["sd"])


def test_a_real_arm_needs_its_servo_map(tmp_path):
    words = ["calibrate", "--port", "/dev/null", "--urdf", str(any_arms.urdf("so101")), "--out", str(tmp_path / "a")]
    assert cli.main(words) == 5 and not (tmp_path / "a").exists()


@mark.long
@mark.parametrize("name", ["pan_tilt", "four_joint", "ur5", "panda"])
def test_an_arm_is_rehearsed_to_the_end_and_what_was_found_goes_together(name, tmp_path, capsys, few_poses):
    """With servos that were assumed, and are put on file, or its own; the simulated arm's are off by up to 15 %."""
    urdf = any_arms.urdf(name)
    own = urdf.with_suffix(".servos.yaml") if name == "four_joint" else tmp_path / "servos.assumed.yaml"
    words = ["--servos", str(own)] if name == "four_joint" else []
    code = cli.main(
        ["calibrate", "--simulated", *words, "--json", "--settle", "1.5", "--urdf", str(urdf), "--out", str(tmp_path)]
    )
    said = capsys.readouterr()
    assert code == 0, said.err
    report = json.loads(said.out)
    hold = report["hold_mm"]
    assert hold["after"]["median"] < 0.5 * hold["before"]["median"]
    assert hold["after"]["median"] < report["tip_uncertainty_95_mm"] + hold["floor"]["median"], "as well as it says"
    assert cli.main(["check", str(tmp_path / "arm.urdf"), "--samples", "20"]) == 0
    given, servos = servo_arm.load(urdf, own)
    made, found = servo_arm.load(tmp_path / "arm.urdf", own, tmp_path / "servos.calibrated.yaml")
    assert made.joint_names == given.joint_names and (found.model.stiffness != servos.model.stiffness).any()
    assert all(one.mass == given.links[link].mass for link, one in made.links.items())
    if name == "ur5":  # its wrist bears too little to tell
        with raises(InputError, match=r"wrist_1_joint is known to \d\d% only, at most 50% .* calibrate first, best by camera"):
            DroopScale(made, found)
