"""Markers for RViz against other people's geometry: SciPy's rotations, MuJoCo's geoms, Pinocchio's torques, our own validator."""

import math
from contextlib import suppress

import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, servos, shipped_arm
from geometry_msgs.msg import InertiaStamped
from ros_arm import NAMES
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import Marker, MarkerArray
from waiting import until

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import ConfigurationError, DescriptionError, InfeasibleError, LimitError, UnreachableError
from picker_dynamics.execution.validator import torque_validator
from picker_dynamics.nodes.markers import Markers
from picker_dynamics.nodes.region import CELL_M, region_of
from picker_dynamics.nodes.runtime import LATCHED, LATEST
from picker_dynamics.nodes.shapes import ARROW_M, GREEN, RED, SKIN_M, YELLOW, ghost, region_markers, scene_markers, torque_markers
from picker_dynamics.resources import resource
from picker_dynamics.robot.kinematic_tree import link_poses, sample_poses
from picker_dynamics.robot.picker_shape import picker_inverse

POSE = np.array([0.4, 1.1, -1.3, 0.3, 0.6])
HOLD = servos().hold_share * servos().stall_torque


def place(marker: Marker) -> list[float]:
    return [marker.pose.position.x, marker.pose.position.y, marker.pose.position.z]


def corners(marker: Marker) -> np.ndarray:
    return np.array([[one.x, one.y, one.z] for one in marker.points])


def at(torque) -> dict[int, Marker]:
    made = torque_markers(picker(), POSE, np.asarray(torque, dtype=float), servos().stall_torque, HOLD)
    return {one.id: one for one in made}


def test_the_ghost_is_where_mujoco_draws_the_arm():
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is an extra")
    keep_visuals = '<mujoco><compiler discardvisual="false" fusestatic="false"/></mujoco></robot>'
    model = mujoco.MjModel.from_xml_string(picker().urdf.replace("</robot>", keep_visuals))
    data = mujoco.MjData(model)
    data.qpos[[model.joint(name).qposadr[0] for name in NAMES]] = POSE
    mujoco.mj_kinematics(model, data)
    visual = np.flatnonzero((model.geom_contype == 0) & (model.geom_conaffinity == 0))
    made = ghost(picker(), POSE)
    assert len(made) == len(visual) == sum(len(link.visuals) for link in picker().links.values())
    for one in made:
        near = visual[np.argmin(np.linalg.norm(data.geom_xpos[visual] - place(one), axis=1))]
        np.testing.assert_allclose(data.geom_xpos[near], place(one), atol=1e-9)
        half, box = model.geom_size[near], one.type == Marker.CUBE
        size = 2.0 * half if box else 2.0 * np.array([half[0], half[0], half[1]])
        np.testing.assert_allclose(np.array([one.scale.x, one.scale.y, one.scale.z]) - 2.0 * SKIN_M, size, atol=1e-9)
        turn = one.pose.orientation
        off = Rotation.from_quat([turn.x, turn.y, turn.z, turn.w]).inv() * Rotation.from_matrix(
            data.geom_xmat[near].reshape(3, 3)
        )
        assert off.magnitude() < 1e-5 if box else abs(off.as_matrix()[2, 2]) == pytest.approx(1.0, abs=1e-9)


def test_each_joint_has_its_ball_its_number_and_the_colour_of_its_share():
    made = at([0.0, 0.43, -0.2, -1e-4, 0.0])
    for j, joint in enumerate(picker().movable):
        np.testing.assert_allclose(place(made[3 * j]), link_poses(picker(), POSE)[joint.child].position)
    texts = [made[3 * j + 1].text for j in (0, 1, 2, 3)]
    assert texts == ["base +0.00 N·m, 0 %", "shoulder +0.43 N·m, 40 %", "elbow -0.20 N·m, 19 %", "wrist +0.00 N·m, 0 %"]
    for share, colour in ((0.0, GREEN), (0.5, YELLOW), (-0.5, YELLOW), (1.0, RED), (-1.5, RED)):
        shown = at([0.0, share * HOLD[1], 0.0, 0.0, 0.0])[3].color
        assert (shown.r, shown.g, shown.b) == pytest.approx(colour)


@pytest.mark.parametrize("torque", [0.3, -0.3])
def test_the_arrow_lies_along_the_axis_by_the_right_hand_rule_and_is_longer_for_more(torque):
    for j, joint in enumerate(picker().movable):
        tail, tip = corners(at(torque * np.eye(5)[j])[3 * j + 2])
        pose = link_poses(picker(), POSE)[joint.child]
        np.testing.assert_array_equal(tail, pose.position)
        share = torque / servos().stall_torque[j]
        np.testing.assert_allclose(tip - tail, share * ARROW_M * (pose.rotation @ joint.axis), atol=1e-12)
    assert np.linalg.norm(np.diff(corners(at([0, 40 * torque, 0, 0, 0])[5]), axis=0)) == pytest.approx(ARROW_M), (
        "none beyond stall"
    )
    assert 5 not in at([0.0, 0.01, 0.0, 0.0, 0.0])


# -- the region --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[0.0, 0.1])
def loaded(request):
    """Pinocchio's model with a payload, and the region from the equations by hand."""
    analytic_model = lagrangian.analytic_model(picker(), armature=servos().armature).with_payload(request.param)
    return rigid_body(request.param), region_of(picker(), analytic_model, HOLD)


def least_share(model, cell) -> float:
    """The least that any pose asks at that place, by the inverse kinematics of goals and by Pinocchio."""
    poses = []
    for pitch in np.arange(-math.pi, math.pi, math.radians(3.0)):
        for elbow in (-2.0, 2.0):
            with suppress(UnreachableError):
                poses.append(
                    picker_inverse(picker(), [cell[0], 0.0, cell[1]], pitch, [0.0, -0.5 * elbow, elbow, -0.5 * elbow, 0.0])
                )
    ahead = np.array([q for q in poses if abs(q[0]) < 1e-6])
    return float((np.abs(model.gravity(ahead)) / HOLD).max(axis=1).min()) if len(ahead) else math.inf


def test_its_shares_are_those_of_the_best_pose_and_the_validator_agrees(loaded):
    model, region = loaded
    offsets = 0.5 * CELL_M * np.array([[0, 0], [-1, -1], [-1, 1], [1, -1], [1, 1]])
    for k in np.random.default_rng(1).choice(len(region.centres), 2, replace=False):
        within = [least_share(model, region.centres[k] + offset) for offset in offsets]
        assert min(within) - 0.02 <= region.share[k] <= within[0] + 0.08, region.centres[k]
    validator, allowed, refused = torque_validator(model, servos()), 0, 0
    for q in sample_poses(picker(), 400, seed=2) * [0.0, 1.0, 1.0, 1.0, 1.0]:
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


def test_the_region_turns_with_the_base_grows_with_the_load_and_is_not_drawn_where_all_can_be_held():
    arm, model = picker(), lagrangian.analytic_model(picker())
    light, heavy = (region_of(arm, model.with_payload(mass), HOLD) for mass in (0.0, 0.2))
    assert 0 < (light.share > 1.0).sum() < (heavy.share > 1.0).sum()
    (drawn,) = region_markers(arm, light)
    assert len(drawn.points) == (light.share > 1.0).sum() == len(drawn.colors)
    for base in (0.0, 0.9):
        poses = link_poses(arm, np.array([base, 0.05, 0.0, 0.0, 0.0]))
        pose = poses[drawn.header.frame_id]
        world = pose.position + corners(drawn) @ pose.rotation.T
        assert np.linalg.norm(world - poses["tool0"].position, axis=1).min() < CELL_M
    assert region_markers(arm, region_of(arm, model, 10.0 * HOLD, cell_m=0.05)) == []
    rrp = shipped_arm("rrp").description
    with pytest.raises(DescriptionError, match="shape"):
        region_of(rrp, lagrangian.analytic_model(rrp), rrp.effort)


def test_berries_hang_below_their_stems_and_a_wrong_scene_is_one_line(tmp_path):
    *berries, tray = scene_markers(resource("config/demo.yaml"), "base_link")
    assert len(berries) == 3 and tray.type == Marker.CUBE
    np.testing.assert_allclose(np.array(place(berries[0])) + [0.0, 0.0, berries[0].scale.x / 2], [0.26, 0.08, 0.17])
    assert tray.pose.position.z - tray.scale.z / 2 >= 0.0 and tray.pose.position.z < 0.11
    path = tmp_path / "scene.yaml"
    for text in ("", "berries: 3", "berries: [{at_m: [1, 2]}]\ntray: {at_m: [0, 0, 0]}", "a: ["):
        path.write_text(text)
        with pytest.raises(ConfigurationError, match="scene.yaml") as caught:
            scene_markers(path, "base_link")
        assert "\n" not in str(caught.value)


# -- the node ----------------------------------------------------------------------------------------------------


@pytest.mark.ros
def test_the_node_shows_what_is_fresh_by_name_while_somebody_looks_and_the_region_for_each_payload(domain, monkeypatch):
    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    monkeypatch.setattr("picker_dynamics.nodes.markers.TF_S", 0.0)
    rclpy.init(args=["--ros-args", "-r", "__ns:=/left"])
    executor = SingleThreadedExecutor()
    try:
        node, arm = Markers(), rclpy.create_node("arm", namespace="left")
        for one in (node, arm):
            executor.add_node(one)
        state = JointState(name=list(NAMES), position=POSE.tolist())
        node.on_state(state)
        node.every_period()
        assert node.fixed_due, "nobody looks"
        shown: list[MarkerArray] = []
        fixed: list[MarkerArray] = []
        arm.create_subscription(MarkerArray, "markers", shown.append, LATEST)
        arm.create_subscription(MarkerArray, "markers/fixed", fixed.append, LATCHED)

        def of(group: str) -> list[Marker]:
            return [one for one in shown[-1].markers if one.ns == group] if shown else []

        def step(*calls) -> None:
            for call, message in ((node.on_state, state), *calls):
                call(message)
            node.every_period()
            for _ in range(4):
                executor.spin_once(0.01)

        until(lambda: of("torque") and fixed, "markers", step=step)
        texts = [one.text.split(",")[0] for one in of("torque") if one.text]
        held = rigid_body().gravity(POSE)
        assert texts == [f"{name} {round(tau, 2) + 0.0:+.2f} N·m" for name, tau in zip(NAMES, held)] and not of("reference")
        assert {one.header.frame_id for one in shown[-1].markers} == {"left/base_link"}
        reference = JointTrajectory(joint_names=list(NAMES[::-1]), points=[JointTrajectoryPoint(positions=POSE[::-1].tolist())])
        command = [0.0, 0.43, 0.0, 0.0, 0.0]
        said = (node.on_reference, reference), (lambda effort: node.keep("joint_commands", NAMES, effort), command)
        until(
            lambda: of("reference") and any("shoulder +0.43" in one.text for one in of("torque")),
            "both",
            step=lambda: step(*said),
        )
        np.testing.assert_allclose(
            [place(one) for one in of("reference")], [place(one) for one in ghost(picker(), POSE)], atol=1e-12
        )
        until(lambda: not of("reference"), "what nobody says any more goes", step=step)
        first, *rest = fixed[-1].markers
        (region,) = (one for one in rest if one.ns == "cannot be held")
        assert first.action == Marker.DELETEALL and sum(one.ns == "scene" for one in rest) == 4
        assert region.header.frame_id == "left/turret" and region.frame_locked
        heavier = InertiaStamped()
        heavier.inertia.m = 0.1
        node.on_payload(heavier)
        until(lambda: len(fixed) > 1, "the region anew", step=step)
        assert max(len(one.points) for one in fixed[1].markers) > len(region.points)
    finally:
        executor.shutdown()
        rclpy.try_shutdown()
