"""Files as other people have them: CAD exports, arms with cameras, rounded numbers, YAML of other tools."""

import dataclasses
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from arm_fixtures import picker
from execution_rig import HOME, Rig, goal, moved
from numpy.testing import assert_allclose

from picker_dynamics.bringup.bringup import graph
from picker_dynamics.bringup.options import Options
from picker_dynamics.dynamics.check import check
from picker_dynamics.dynamics.cross_check import sample_states
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import ConfigurationError, DescriptionError, LimitError, PickerError, TrajectoryError
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


def test_the_tip_is_the_palm_where_a_linkage_grips_and_what_is_said_twice_counts_once():
    arm, servos = servo_arm.load(report("linkage_gripper"))
    assert (arm.tool, arm.joint_names) == ("hand", ("lift", "grip"))
    text = Path(report("linkage_gripper")).read_text()
    framed = (
        '<joint name="f" type="fixed"><parent link="hand"/><child link="mid"/><origin xyz="0.13 0 0"/></joint><link name="mid"/>'
    )
    assert description.parse(text.replace("</robot>", framed + "</robot>")).tool == "mid"
    M = Plant(arm, servos, q=np.zeros(2)).mass_matrix(np.zeros(2)) - np.diag([one.armature for one in servos.servos])
    assert_allclose(M, RigidBody(arm).mass_matrix(np.zeros(2)), rtol=1e-9)


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


@pytest.mark.parametrize("written", ["package://other/meshes/part.stl", "package://mine/meshes/part.stl"])
def test_meshes_are_found_whatever_the_package_s_folder_is_called(tmp_path, written):
    """A repository is unpacked as ``mine-main``; a package for MoveIt stands beside the one with the meshes."""
    for name in ("mine-main/urdf", "moveit/config"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("mine-main/meshes", "other/meshes"):
        shutil.copytree(REPORTS / "assets", tmp_path / name)
    path, base = find_mesh(written, tmp_path / "mine-main/urdf")
    assert base == tmp_path / ("other" if "other" in written else "mine-main") and path.is_relative_to(base)
    found = find_mesh(written, tmp_path / "moveit/config")
    assert (found is not None) == ("other" in written)


def test_a_mesh_that_git_lfs_has_not_brought_yet_is_named_with_the_way_out(tmp_path):
    text = Path(report("onshape_mesh")).read_text()
    (tmp_path / "arm.urdf").write_text(text)
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets/part.stl").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 684\n")
    found = [str(one) for one in check(description.load(tmp_path / "arm.urdf"), samples=1).findings]
    assert any("part.stl is a pointer to Git LFS: git lfs pull" in one for one in found)


def test_limits_that_an_exporter_made_up_are_findings_and_the_models_are_compared_at_speeds_that_are_meant():
    arm = description.load(report("exporter_limits"))
    made = check(arm, samples=100)
    assert made.worst < 1e-12 and len([one for one in made.findings if "nothing bounds it" in str(one)]) == 4
    text = Path(report("exporter_limits")).read_text().replace('effort="1000000"', 'effort="-1"', 1)
    with pytest.raises(DescriptionError, match="joint yaw: <limit> effort is -1, must be >= 0: give the motor's stall torque"):
        description.parse(text)


def test_a_rod_whose_smallest_moment_was_rounded_below_0_is_simulated():
    arm = description.load(report("thin_rod"))
    assert np.linalg.eigvalsh(arm.links["rod"].inertia)[0] < 0.0 and not check(arm, samples=10).findings
    servos = assumed_servos(arm)
    M = Plant(arm, servos, q=np.zeros(1)).mass_matrix(np.zeros(1)) - np.diag([one.armature for one in servos.servos])
    assert_allclose(M, RigidBody(arm).mass_matrix(np.zeros(1)), rtol=1e-4)  # its moments have five digits
    text = Path(report("thin_rod")).read_text().replace("-1.0801e-04", "-1.2e-04")
    (found,) = [one for one in check(description.parse(text), samples=10).findings if one.fatal]
    assert "a principal moment is negative" in str(found)


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


@pytest.mark.parametrize("name", ["camera_on_base", "camera_on_post"])
def test_who_starts_an_arm_hears_what_its_tip_is(name, tmp_path):
    assert "the tip is lower" in graph(Options(urdf=report(name), directory=str(tmp_path))).notes


def test_a_pulse_map_that_falls_is_refused_with_the_way_out(tmp_path):
    text = (REPORTS / "three.servos.yaml").read_text()
    for points, turned in (("[[-90, 2400], [0, 1500], [90, 600]]", True), ("[[90, 2400], [-90, 600]]", False)):
        servos = tmp_path / "servos.yaml"
        servos.write_text(text.replace("lift: {", f"lift: {{pulse_map: {points}, "))
        with pytest.raises(ConfigurationError, match=r"lift: pulse_map must increase, but -?\d+ \w+ follows \d+ \w+") as caught:
            servo_arm.load(report("camera_on_base"), servos)
        assert str(caught.value).endswith("direction: -1") == turned


@pytest.mark.parametrize(
    "limit, said",
    [
        ("", "joint yaw has no velocity limit: .*; write <limit velocity=… effort=…>"),
        ('<limit velocity="4"/>', "joint yaw: <limit> has no 'effort': give the motor's stall torque"),
        ('<limit effort="3"/>', "joint yaw: <limit> has no 'velocity': give the motor's no-load speed"),
    ],
)
def test_a_joint_that_turns_without_end_needs_speed_and_effort_and_nothing_else(tmp_path, limit, said):
    text = Path(report("camera_on_base")).read_text().replace("revolute", "continuous", 1)
    limited, urdf = re.compile("<limit[^>]*/>"), tmp_path / "arm.urdf"
    urdf.write_text(limited.sub(limit, text, count=1))
    with pytest.raises(DescriptionError, match=said):
        servo_arm.load(urdf)
    urdf.write_text(limited.sub('<limit velocity="4" effort="3"/>', text, count=1))
    assert servo_arm.load(urdf)[0].movable[0].upper == math.inf


# -- goals and poses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rates", [{}, {"velocities": None, "accelerations": None}])
@pytest.mark.parametrize("turn", [-0.3, -0.04, -0.001])
def test_a_goal_that_is_too_short_is_refused_with_the_shortest_time_that_fits(turn, rates):
    rig, there = Rig(), moved(shoulder=turn)
    with pytest.raises(PickerError, match=r"too short: it lasts 0\.001 s, (shoulder|tip) takes 0\.\d+ s at least") as caught:
        rig.submit(goal(there, times=[1e-3], **rates))
    error = caught.value
    assert (error.value, error.subject) == (1e-3, "tip" if turn == -0.3 else "shoulder")
    assert rig.submit(goal(there, times=[1.001 * error.limit], **rates)).validated.factor == 1.0
    with pytest.raises(PickerError, match="too short"):
        rig.submit(goal(there, times=[error.limit / 10.6], **rates))  # slowed ten times; found to 5 %


@pytest.mark.parametrize("turn", [0.002, 0.1])
@pytest.mark.parametrize("at_s", [0.5, 1.0])
def test_points_of_a_longer_goal_that_follow_one_another_at_once_are_named(turn, at_s):
    path = moved(base=0.2), moved(base=0.2 + turn), moved(base=0.5)
    named = rf"points at {at_s:g} s and {at_s + 1e-3:g} s are 1 ms apart: give them more time"
    with pytest.raises(PickerError, match=named):
        Rig().submit(goal(*path, times=[at_s, at_s + 1e-3, 3.0]))
    assert Rig().submit(goal(*path, times=[at_s, at_s + 1.0, 3.0])) is not None


def test_what_more_time_does_not_help_is_refused_with_its_own_numbers():
    with pytest.raises(LimitError, match=r"scissor reaches 71\.0 deg at 0\.00 s, limit 68\.8 deg"):
        Rig().submit(goal(moved(scissor=1.24 - HOME[4]), times=[1e-3]))


def test_degrees_in_a_goal_are_named():
    turned = goal([30.0, 90.0, -90.0, 0.0, 40.0], times=[2.0])
    with pytest.raises(LimitError, match=r"elbow reaches -5156\.6 deg at 2\.00 s, .* \(-90 rad: are degrees meant\?\)"):
        Rig().submit(turned)
    with pytest.raises(LimitError, match="elbow at .*are degrees meant"):
        parse(turned, picker().joint_names, picker().position_units).require_within(picker(), HOME)
    with pytest.raises(LimitError, match="limit 68.8 deg$"):
        Rig().submit(goal(moved(scissor=3.8), times=[2.0]))


def test_a_goal_without_a_time_is_refused_with_joint_jump_and_way_out():
    with pytest.raises(
        TrajectoryError, match="shoulder would jump by 17.2 deg, limit 2.9 deg: give it time to get there"
    ) as caught:
        Rig().submit(goal(moved(shoulder=-0.3), times=[0.0]))
    assert (caught.value.subject, caught.value.limit) == ("shoulder", 0.05)


def held(beyond: float) -> Rig:
    """The picker at home, which is so far beyond the shoulder's limit [rad]."""
    arm = picker()
    joints = tuple(dataclasses.replace(one, lower=HOME[1] + beyond) if one.name == "shoulder" else one for one in arm.joints)
    rig = Rig(description=dataclasses.replace(arm, joints=joints))
    rig.tick(5)
    return rig


def test_a_pose_that_is_held_a_hair_beyond_a_limit_is_none_of_its_faults():
    rig = held(0.0122)
    assert not rig.problems and rig.submit(goal(moved(shoulder=0.1))) is not None
    rig.to_rest()
    with pytest.raises(LimitError, match="shoulder"):
        rig.submit(goal(HOME))
    streamed = held(0.0122)
    streamed.feed([HOME] * 100)
    assert not streamed.problems and abs(streamed.newest.q[1] - HOME[1] - 0.0122) < 1e-6, "it comes to the limit, and holds"
    with pytest.raises(LimitError, match="shoulder reaches"):
        streamed.push(HOME - [0.0, 0.011, 0.0, 0.0, 0.0])


def test_a_pose_that_is_held_beyond_what_servos_give_is_a_problem():
    (said,) = held(0.2).problems
    assert said == "the pose that is held is beyond the present limits: shoulder reaches 80.2 deg, limit 91.7 deg"


@pytest.mark.parametrize("name", ["camera_on_base", "flat_plate"])
def test_assumed_poses_keep_what_servos_give_away_from_limits(name):
    arm, servos = servo_arm.load(report(name))
    for pose in (servos.home, servos.rest):
        assert np.minimum(pose - arm.lower, arm.upper - pose).min() >= 0.1 - 1e-12
    assert math.isfinite(float(np.sum(servos.rest)))


def test_the_assumed_rest_and_the_way_there_come_no_nearer_to_the_arm_than_home_or_30_mm():
    collision = pytest.importorskip("picker_dynamics.robot.collision", reason="needs coal")
    arm, servos = servo_arm.load(report("folding"))
    model = collision.CollisionModel(arm, {}, -math.inf, [servos.home])
    own = ~model.of_payload
    assert model.near[own].min() > 0.03 and np.abs(servos.rest - servos.home).max() > 0.5
    for q in np.linspace(servos.home, servos.rest, 60):
        assert model.distances(q)[own].min() > 0.025  # between the poses that were looked at it may be a little less


@pytest.mark.parametrize(
    "kind, limit, said",
    [
        (
            "revolute",
            '<limit lower="-3" upper="3" effort="0" velocity="3"/>',
            "an effort limit of 0 N·m: write the motor's stall",
        ),
        ("continuous", "", "no velocity limit"),
    ],
)
def test_check_and_who_starts_an_arm_say_what_servos_cannot_be_assumed_for(tmp_path, kind, limit, said):
    text, urdf = Path(report("folding")).read_text().replace("revolute", kind, 1), tmp_path / "arm.urdf"
    urdf.write_text(re.sub("<limit[^>]*/>", limit, text, count=1))
    with pytest.raises(DescriptionError, match=f"^joint yaw has {said}.*, or a servo map$") as caught:
        servo_arm.load(urdf)
    assert f"it cannot be driven: {caught.value}" in check(description.load(urdf), samples=10).notes


def test_a_xacro_property_that_nothing_uses_changes_nothing():
    text, xacro = Path(report("folding")).read_text(), 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    spare = text.replace('<robot name="folding">', f'<robot name="folding" {xacro}><xacro:property name="width" value=".2"/>')
    assert check(description.parse(spare), samples=10).passed()
    Plant(arm := description.parse(spare), assumed_servos(arm), q=np.zeros(arm.n))
    with pytest.raises(DescriptionError, match="expand them first"):
        description.parse(spare.replace('effort="9"', 'effort="${width}"', 1))
