"""Files as other people have them: CAD exports, arms with cameras, rounded numbers, YAML of other tools."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from picker_dynamics.dynamics.check import check
from picker_dynamics.dynamics.cross_check import sample_states
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import DescriptionError, TrajectoryError
from picker_dynamics.execution.goal import Goal, parse
from picker_dynamics.robot import description, servo_arm
from picker_dynamics.robot.assumed_servos import assumed_servos
from picker_dynamics.robot.meshes import find_mesh
from picker_dynamics.sim.plant import Plant

REPORTS = Path(__file__).parents[1] / "data/reports"


def report(name: str) -> str:
    return str(REPORTS / f"{name}.urdf")


@pytest.mark.parametrize("limit", ["0", "1e-6"])
def test_models_of_an_arm_without_speeds_are_compared_in_motion(limit):
    text = Path(report("velocity_zero")).read_text().replace('velocity="0"', f'velocity="{limit}"')
    arm = description.parse(text)
    assert np.abs(sample_states(arm, 100)[1]).max() > 0.5
    made = check(arm, samples=100)
    assert made.worst < 1e-12 and any("it cannot be driven: joint yaw has a velocity limit of" in note for note in made.notes)


@pytest.mark.parametrize("name, servos", [("velocity_zero", "three"), ("six_velocity_zero", "six"), ("velocity_zero", "")])
def test_an_arm_without_speeds_is_not_driven_whatever_its_servos_are(name, servos):
    with pytest.raises(DescriptionError, match=r"joint (yaw|j1) has a velocity limit of 0 rad/s: .* of at least 0.001 rad/s"):
        servo_arm.load(report(name), REPORTS / f"{servos}.servos.yaml" if servos else "")


@pytest.mark.parametrize("name", ["camera_on_base", "camera_on_post"])
def test_the_tool_is_the_leaf_that_most_joints_move(name):
    assert servo_arm.read_arm(report(name)).tool == "lower"
    text = Path(report(name)).read_text()
    assert description.parse(re.sub(r"\bcamera\b", "tool0", text)).tool == "tool0"


def test_bounds_of_a_continuous_joint_are_a_finding():
    (found,) = check(description.load(report("cont_with_bounds")), samples=10).findings
    assert "position limits of joint yaw is -1.2 to 1.2 rad: a continuous joint turns without end" in str(found)


def test_blanks_before_the_declaration_and_quaternions_are_read_as_others_read_them():
    for name in ("leading_blank", "quat"):
        assert check(description.load(report(name)), samples=50).passed()
    text = Path(report("quat")).read_text()
    for wrong, said in (("0 0 0 0", r"quat_xyzw is \(0, 0, 0, 0\)"), ("0 0 1", "3 numbers, not 4")):
        with pytest.raises(DescriptionError, match=said):
            description.parse(re.sub('quat_xyzw="[^"]*"', f'quat_xyzw="{wrong}"', text))
    with pytest.raises(DescriptionError, match="both rpy and quat_xyzw"):
        description.parse(text.replace("quat_xyzw", 'rpy="0 0 0" quat_xyzw'))


@pytest.mark.parametrize(
    "written",
    [
        "package://assets/part.stl",
        "package://of_an_arm/assets/part.stl",
        "model://of_an_arm/assets/part.stl",
        "package://of%20an/../assets/part.stl",
        "assets/PART.STL",
        "file://Assets/part.stl",
    ],
)
def test_meshes_are_found_as_exporters_name_them(tmp_path, written):
    folder = tmp_path / "of_an_arm"
    (folder / "of an").mkdir(parents=True)
    shutil.copytree(REPORTS / "assets", folder / "assets")
    path, base = find_mesh(written, folder)
    assert path.resolve() == (folder / "assets/part.stl").resolve() and base == folder
    assert find_mesh("package://assets/other.stl", folder) is None


@pytest.mark.parametrize("digits", [4, 6, 9, 15])
def test_a_flat_plate_whose_moments_were_rounded_is_simulated(digits):
    """A + B = C of a plate; printed with few digits C is larger.  Its dynamics are the printed ones, to that rounding."""
    least, middle = 1.0416666666666666e-05, 2.6041666666666667e-05
    printed = [f"{x:.{digits - 1}e}" for x in (least, middle, least + middle)]
    text = Path(report("flat_plate")).read_text()
    for old, new in zip(("1.04167e-05", "2.60417e-05", "3.64585e-05"), printed):
        text = text.replace(old, new)
    arm = description.parse(text)
    servos = assumed_servos(arm)
    for q in ([0.0, 0.0], [0.4, 1.1]):
        M = Plant(arm, servos, q=np.array(q)).mass_matrix(q) - np.diag([one.armature for one in servos.servos])
        assert_allclose(M, RigidBody(arm).mass_matrix(q), atol=10.0 ** (1 - digits) * 4e-5 + 1e-15)


def test_a_plate_beyond_rounding_stays_refused_with_the_lint_s_sentence():
    text = Path(report("flat_plate")).read_text().replace("3.64585e-05", "3.8e-05")
    arm = description.parse(text, "plate.urdf")
    with pytest.raises(DescriptionError, match=r"link plate: .*triangle inequality.*picker check plate.urdf"):
        Plant(arm, assumed_servos(arm), q=np.zeros(2))


def test_links_without_inertial_are_refused_with_the_lint_s_sentence():
    arm = description.load(report("no_inertial"))
    servos = servo_arm.load(report("camera_on_base"))[1]
    with pytest.raises(DescriptionError, match=r"link post: mass driven by joint yaw is 0 kg: .*picker check"):
        Plant(arm, servos, q=np.zeros(3))


def test_numbers_in_yaml_are_what_yaml_1_2_says():
    _, servos = servo_arm.load(report("camera_on_base"), REPORTS / "scientific.servos.yaml")
    assert {one.armature for one in servos.servos} == {1e-4}


def test_what_planners_leave_of_speed_at_the_end_is_rest():
    def goal(speed: float) -> Goal:
        return Goal(("a", "b"), [2.0], [[0.1, 0.2]], [[speed, 0.0]])

    for speed in (4e-7, -1e-3):
        assert not parse(goal(speed), ("a", "b")).velocities[-1].any()
    with pytest.raises(TrajectoryError, match="last point: a still moves at"):
        parse(goal(0.1), ("a", "b"))


@pytest.mark.parametrize("name", ["camera_on_base", "flat_plate"])
def test_assumed_poses_keep_what_servos_give_away_from_limits(name):
    arm, servos = servo_arm.load(report(name))
    for pose in (servos.home, servos.rest):
        assert np.minimum(pose - arm.lower, arm.upper - pose).min() >= 0.1 - 1e-12
    assert math.isfinite(float(np.sum(servos.rest)))
