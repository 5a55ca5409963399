"""Servos that are assumed where nobody names any, and those of sliding joints; judged by Pinocchio's gravity."""

import math
from dataclasses import replace

import any_arms
import numpy as np
from numpy.testing import assert_allclose
from pytest import approx, importorskip, mark, raises
from small_urdfs import broken

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.execution.validator import torque_validator
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.assumed_servos import GIVE_RAD, PINION_M
from picker_dynamics.robot.kinematic_tree import FrameHeights, sample_poses
from picker_dynamics.robot.servo_map import map_text

SERVOS = any_arms.urdf("four_joint").with_suffix(".servos.yaml")


@mark.parametrize("name", any_arms.NAMES)
def test_assumed_servos_fit_the_arm(name):
    """Twice gravity over other poses than those they were chosen by: it may be a little larger there, by 15 % at the most."""
    rigid_body = importorskip("picker_dynamics.dynamics.rigid_body", reason="needs Pinocchio")
    arm, servos = servo_arm.load(any_arms.urdf(name))
    model = rigid_body.RigidBody(arm, servos.armature)
    largest = np.abs(model.gravity(sample_poses(arm, 300, seed=77))).max(axis=0)
    assert (servos.stall_torque >= 2.0 / 1.15 * largest).all()
    lever = np.where(np.array(arm.position_units) == "m", PINION_M, 1.0)
    assert_allclose(servos.stall_torque / servos.model.stiffness, GIVE_RAD * lever)
    swing = np.sqrt(servos.model.stiffness * model.mass_matrix(servos.home).diagonal())
    assert (servos.model.damping / (2.0 * swing) > 0.25).all()
    assert (servos.no_load_speed <= 1.5 * arm.velocity).all() and (servos.no_load_speed > 0.3 * arm.velocity).all()
    assert (servos.setpoint_lower < np.maximum(arm.lower, -math.pi)).all()
    assert (servos.setpoint_upper > np.minimum(arm.upper, math.pi)).all()
    assert servos.model.load_friction == approx(0.4)
    validator, heights = torque_validator(model, servos), FrameHeights(arm)
    for pose in (servos.home, servos.rest):
        assert (pose >= arm.lower).all() and (pose <= arm.upper).all()
        validator.require_holdable(pose)
    way = servos.home + np.linspace(0.0, 1.0, 50)[:, None] * (servos.rest - servos.home)
    assert heights(way)[:, heights.varies].min(initial=0.0) > -0.01
    assert servos == servo_arm.load(any_arms.urdf(name))[1]


@mark.parametrize("name", any_arms.OWN)
def test_assumed_servos_come_back_from_their_text(name, tmp_path):
    """To the digits that are written; friction and play are the simulation's, as of any map that has none."""
    assumed, path = servo_arm.load(any_arms.urdf(name))[1], tmp_path / "servos.yaml"
    path.write_text(map_text(assumed))
    back = servo_arm.load(any_arms.urdf(name), path, "typical")[1]
    assert (back.frame_s, back.quantum_us) == approx((assumed.frame_s, assumed.quantum_us))
    for one, other in zip(assumed.servos, back.servos):
        given, found = (vars(replace(servo, grip=None)) for servo in (one, other))
        for key in (key for key in given if key not in ("grip", "pulse_map")):
            numbers = isinstance(given[key], (float, tuple)) and given[key] != ()
            assert found[key] == (approx(given[key], rel=1e-3, abs=1e-6) if numbers else given[key]), key


def test_what_an_own_map_leaves_open_is_as_in_simulated_servos():
    arm, servos = servo_arm.load(any_arms.urdf("four_joint"), SERVOS, "typical")
    bare = servo_arm.load(any_arms.urdf("four_joint"), SERVOS)[1]
    assert bare.model.frictionless and servos.model.load_friction == approx(0.4)
    assert servos.model.coulomb == approx(0.02 * servos.stall_torque)
    assert_allclose(servos.model.stiffness, bare.model.stiffness)  # the map's own: nothing is put in its place
    assert arm.joint_names == servos.joint_names


def written(tmp_path, *changes):
    text = SERVOS.read_text()
    path = tmp_path / "servos.yaml"
    path.write_text(broken(*changes, text=text))
    return path


@mark.parametrize(
    "change, message",
    [
        ((", pinion_mm: 15.0, rest_m: 0.001, home_m: 0.015", ", rest_rad: 0.0, home_rad: 0.0"), "grasp: the joint slides"),
        (("rest_rad: 0.1, home_rad: 0.2", "pinion_mm: 9, rest_m: 0.0, home_m: 0.0"), "nod: the joint turns"),
        (("rest_m: 0.001, ", ""), "grasp: rest_m is missing"),
        (("pinion_mm: 15.0", "pinion_mm: 0"), "grasp: pinion_mm is 0, must be > 0"),
        (("  nod:", "  not:"), "unknown 'not'"),
    ],
)
def test_maps_that_do_not_fit_the_joints_are_refused_by_name(tmp_path, change, message):
    with raises(ConfigurationError, match=message):
        servo_arm.load(any_arms.urdf("four_joint"), written(tmp_path, change))
