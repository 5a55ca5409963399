"""Shapes for RViz against other people's geometry: SciPy's rotations, MuJoCo's geoms, Pinocchio's torques, our own validator."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, servos, shipped_arm
from scipy.spatial.transform import Rotation

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import ConfigurationError, DescriptionError, InfeasibleError, LimitError, UnreachableError
from picker_dynamics.execution.validator import torque_validator
from picker_dynamics.nodes.marker_shapes.ghost import SKIN_M, ghost_shapes
from picker_dynamics.nodes.marker_shapes.region import CELL_M, region_of, region_shapes
from picker_dynamics.nodes.marker_shapes.scene import scene_shapes
from picker_dynamics.nodes.marker_shapes.shapes import GREEN, RED, YELLOW, quaternion_of, rotation_of, traffic_light
from picker_dynamics.nodes.marker_shapes.torques import ARC_RADIUS_M, BALL_M, STALL_ARROW_M, torque_shapes
from picker_dynamics.resources import resource
from picker_dynamics.robot.kinematic_tree import link_poses, sample_poses
from picker_dynamics.robot.kinematics import PickerKinematics

POSE = np.array([0.4, 1.1, -1.3, 0.3, 0.6])
ZERO = np.zeros(5)


def hold_limit() -> np.ndarray:
    return servos().hold_share * servos().stall_torque


def shapes_at(torque, q=POSE):
    return {
        shape.index: shape
        for shape in torque_shapes(picker(), q, np.asarray(torque, dtype=float), servos().stall_torque, hold_limit())
    }


# -- colours and turns -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "colour"), [(-1.0, GREEN), (0.0, GREEN), (0.5, YELLOW), (1.0, RED), (7.0, RED)])
def test_traffic_light_passes_through_yellow_and_stays_red(share, colour):
    assert traffic_light(share, 0.4) == pytest.approx((*colour, 0.4))


def test_quaternions_are_scipys_also_of_half_turns():
    rotations = [*Rotation.random(200, random_state=0), *Rotation.from_rotvec(np.pi * np.eye(3)), Rotation.identity()]
    for rotation in rotations:
        found = np.array(quaternion_of(rotation.as_matrix()))
        np.testing.assert_allclose(rotation_of(found), rotation.as_matrix(), atol=1e-12)
        assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-12) and found[3] >= 0.0
        np.testing.assert_allclose(Rotation.from_quat(found).as_matrix(), rotation.as_matrix(), atol=1e-12)


# -- the ghost ---------------------------------------------------------------------------------------------------


def test_the_ghost_is_where_mujoco_draws_the_arm():
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is an extra")
    keep_visuals = '<mujoco><compiler discardvisual="false" fusestatic="false"/></mujoco></robot>'
    model = mujoco.MjModel.from_xml_string(picker().urdf.replace("</robot>", keep_visuals))
    data = mujoco.MjData(model)
    data.qpos[[model.joint(name).qposadr[0] for name in picker().joint_names]] = POSE
    mujoco.mj_kinematics(model, data)
    visual = np.flatnonzero((model.geom_contype == 0) & (model.geom_conaffinity == 0))
    ghost = ghost_shapes(picker(), POSE)
    assert len(ghost) == len(visual) == sum(len(link.visuals) for link in picker().links.values())
    for shape in ghost:
        near = visual[np.argmin(np.linalg.norm(data.geom_xpos[visual] - shape.position, axis=1))]
        np.testing.assert_allclose(data.geom_xpos[near], shape.position, atol=1e-9)
        half = model.geom_size[near]
        size = 2.0 * half if shape.kind == "box" else 2.0 * np.array([half[0], half[0], half[1]])
        np.testing.assert_allclose(np.array(shape.size) - 2.0 * SKIN_M, size, atol=1e-9)
        turn = Rotation.from_quat(shape.quaternion).inv() * Rotation.from_matrix(data.geom_xmat[near].reshape(3, 3))
        if shape.kind == "box":
            assert turn.magnitude() < 1e-5
        else:
            assert abs(turn.as_matrix()[2, 2]) == pytest.approx(1.0, abs=1e-9)


# -- torques -----------------------------------------------------------------------------------------------------


def test_each_joint_has_its_ball_and_number_where_it_is():
    shapes = shapes_at([0.0, 0.43, -0.2, 0.0, 0.0])
    poses = link_poses(picker(), POSE)
    for j, joint in enumerate(picker().movable):
        np.testing.assert_allclose(shapes[4 * j].position, poses[joint.child].position)
        assert shapes[4 * j].size == (BALL_M,) * 3
    assert shapes[5].text == "shoulder +0.43 N·m, 40 %" and shapes[9].text == "elbow -0.20 N·m, 19 %"
    assert shapes[1].text == "base +0.00 N·m, 0 %"


def test_colours_follow_the_torque_that_may_be_held():
    limit = float(hold_limit()[1])
    for torque, colour in ((0.0, GREEN), (0.5 * limit, YELLOW), (-0.5 * limit, YELLOW), (limit, RED), (-1.5 * limit, RED)):
        assert shapes_at([0.0, torque, 0.0, 0.0, 0.0])[4].colour[:3] == pytest.approx(colour)


@pytest.mark.parametrize("torque", [0.3, -0.3])
def test_the_arrow_turns_as_the_torque_does(torque):
    """The work of the torque along the arc is positive: turning the joint that way is what it does."""
    for j, joint in enumerate(picker().movable):
        values = np.zeros(5)
        values[j] = torque
        arc = shapes_at(values)[4 * j + 2].points
        pose = link_poses(picker(), POSE)[joint.child]
        arms_of_force = arc - pose.position
        np.testing.assert_allclose(np.linalg.norm(arms_of_force, axis=1), ARC_RADIUS_M)
        turned = np.cross(arms_of_force[:-1], np.diff(arc, axis=0)) @ (pose.rotation @ joint.axis)
        assert (np.sign(turned) == np.sign(torque)).all()
        np.testing.assert_array_equal(shapes_at(values)[4 * j + 3].points, arc[-2:])


def test_a_longer_arc_for_more_torque_and_none_for_next_to_nothing():
    lengths = [np.linalg.norm(np.diff(shapes_at([0, tau, 0, 0, 0])[6].points, axis=0), axis=1).sum() for tau in (0.2, 0.4, 0.8)]
    assert lengths == pytest.approx([lengths[0], 2 * lengths[0], 4 * lengths[0]], rel=0.01)
    assert not {6, 7} & set(shapes_at([0.0, 0.01, 0.0, 0.0, 0.0]))
    stall = shapes_at([0.0, 5.0, 0.0, 0.0, 0.0])[6].points
    np.testing.assert_allclose(stall, shapes_at([0.0, servos().stall_torque[1], 0.0, 0.0, 0.0])[6].points)


def test_a_force_is_a_straight_arrow_along_its_joint():
    arm = shipped_arm("rrp")
    q = np.array([0.3, 1.0, 0.4])
    force = np.array([0.0, 0.0, -0.5 * arm.description.effort[2]])
    shapes = {shape.index: shape for shape in torque_shapes(arm.description, q, force, arm.description.effort, arm.hold_limit)}
    tail, tip = shapes[11].points
    ahead = link_poses(arm.description, q + [0.0, 0.0, 0.1])[
        "link3" if "link3" in arm.description.links else arm.description.movable[2].child
    ].position
    direction = (ahead - tail) / 0.1
    np.testing.assert_allclose(tip - tail, -0.5 * STALL_ARROW_M * direction, atol=1e-9)
    assert " N, 50 %" in shapes[9].text and 10 not in shapes


def test_nothing_says_minus_zero():
    assert shapes_at([0.0, 0.0, 0.0, -1e-4, 0.0])[13].text == "wrist +0.00 N·m, 0 %"


# -- the region --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[0.0, 0.1])
def loaded(request):
    """Payload, Pinocchio's model with it, and the region from the equations by hand."""
    analytic_model = lagrangian.analytic_model(picker(), armature=servos().armature).with_payload(request.param)
    return rigid_body(request.param), region_of(picker(), analytic_model, hold_limit())


def least_share(model, cell) -> float:
    """The least that any pose asks at that place, by the inverse kinematics of goals and by Pinocchio."""
    kinematics, least = PickerKinematics(picker()), math.inf
    for pitch in np.arange(-math.pi, math.pi, math.radians(1.0)):
        for elbow in (-2.0, 2.0):
            with suppress(UnreachableError):
                q = kinematics.inverse([cell[0], 0.0, cell[1]], pitch, [0.0, -0.5 * elbow, elbow, -0.5 * elbow, 0.0])
                least = min(least, float((np.abs(model.gravity(q)) / hold_limit()).max()) if abs(q[0]) < 1e-6 else math.inf)
    return least


def test_its_shares_are_those_of_the_best_pose(loaded):
    model, region = loaded
    for k in np.random.default_rng(1).choice(len(region.centres), 10, replace=False):
        truth = least_share(model, region.centres[k])
        assert truth <= region.share[k] + 1e-9 and region.share[k] <= truth + 0.08, region.centres[k]
        assert abs(truth - 1.0) < 0.04 or (truth > 1.0) == (region.share[k] > 1.0), region.centres[k]


def test_what_is_outside_can_be_held_and_the_gate_agrees(loaded):
    model, region = loaded
    validator = torque_validator(model, servos())
    allowed = refused = 0
    for q in sample_poses(picker(), 400, seed=2):
        q = q * [0.0, 1.0, 1.0, 1.0, 1.0]
        x, _, z = model.forward_kinematics(q)
        cell = int(np.argmin(np.hypot(*(region.centres - [x, z]).T)))
        try:
            validator.require_holdable(q)
        except InfeasibleError:
            refused += 1
        except LimitError:
            continue  # its pulses end before: the region is of torques
        else:
            allowed += 1
            assert region.share[cell] <= 1.05  # a cell's edge is half a cell from its centre
    assert allowed > 50 and refused > 50


def test_more_load_excludes_more():
    model = lagrangian.analytic_model(picker())
    counts = [len(region_of(picker(), model.with_payload(mass), hold_limit()).excluded) for mass in (0.0, 0.05, 0.2)]
    assert 0 < counts[0] < counts[1] < counts[2]


def test_nothing_is_drawn_where_everything_can_be_held():
    region = region_of(picker(), lagrangian.analytic_model(picker()), 10.0 * hold_limit(), cell_m=0.05)
    assert len(region.centres) > 50 and region_shapes(picker(), region) == []


@pytest.mark.parametrize("base", [0.0, 0.9])
def test_it_turns_with_the_base_and_covers_the_tip_of_a_stretched_arm(base):
    region = region_of(picker(), lagrangian.analytic_model(picker()), hold_limit())
    (shape,) = region_shapes(picker(), region)
    q = np.array([base, 0.05, 0.0, 0.0, 0.0])
    pose = link_poses(picker(), q)[shape.frame]
    world = pose.position + shape.points @ pose.rotation.T
    centres = world.reshape(-1, 6, 3).mean(axis=1)
    assert np.linalg.norm(centres - link_poses(picker(), q)["tool0"].position, axis=1).min() < CELL_M
    assert len(shape.points) == 6 * len(region.excluded) == len(shape.colours)
    np.testing.assert_allclose(shape.points[:, 1], 0.0, atol=1e-12)


def test_only_an_arm_of_the_pickers_shape_has_a_region():
    arm = shipped_arm("rrp").description
    with pytest.raises(DescriptionError, match="shape"):
        region_of(arm, lagrangian.analytic_model(arm), arm.effort)


# -- the scene ---------------------------------------------------------------------------------------------------


def test_berries_hang_below_their_stems_as_big_as_they_weigh():
    *berries, tray = scene_shapes(resource("config/demo.yaml"), "base_link")
    assert len(berries) == 3 and tray.kind == "box"
    diameter = berries[0].size[0]
    assert math.pi / 6.0 * diameter**3 * 950.0 == pytest.approx(0.025)
    np.testing.assert_allclose(berries[0].position + [0.0, 0.0, diameter / 2], [0.26, 0.08, 0.17])
    assert tray.position[2] - tray.size[2] / 2 >= 0.0 and tray.position[2] < 0.11


@pytest.mark.parametrize(
    "text",
    [
        "",
        "berries: 3",
        "berries: [{at_m: [1, 2]}]\ntray: {at_m: [0, 0, 0]}\npayload_kg: 0.1",
        "a: [",
        "berries: []\ntray: {at_m: [0, 0, 0]}\npayload_kg: -1",
        "berries: [{at_m: [0, .nan, 0]}]\ntray: {at_m: [0, 0, 0]}\npayload_kg: 0.1",
    ],
)
def test_a_scene_that_is_wrong_is_one_clear_error(tmp_path, text):
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=r"scene.yaml: ") as caught:
        scene_shapes(path, "base_link")
    assert "\n" not in str(caught.value)


def test_a_scene_that_is_missing_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="nowhere.yaml"):
        scene_shapes(tmp_path / "nowhere.yaml", "base_link")
