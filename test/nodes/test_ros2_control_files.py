"""The files by which ros2_control and MoveIt use the arm: the block, its controllers, and what MoveIt includes."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import yaml
from arm_fixtures import picker

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.execution.validator import MAX_STRETCH, TIP_SPEED
from picker_dynamics.resources import resource
from picker_dynamics.robot import description


def test_the_block_streams_every_joint_and_leaves_nothing_to_defaults():
    text = resource("urdf/picker.ros2_control.xacro").read_text()
    root, xacro = ET.fromstring(text), "{http://www.ros.org/wiki/xacro}"
    defaults = {f"$(arg {one.get('name')})": one.get("default") for one in root.iter(f"{xacro}arg")}
    made = root.find("ros2_control")
    assert [one.get("joint") for one in made.iter(f"{xacro}streamed")] == list(picker().joint_names)
    assert {one.get("name", one.tag): defaults.get(one.text, one.text) for one in made.find("hardware")} == {
        "plugin": "joint_state_topic_hardware_interface/JointStateTopicSystem",
        "joint_commands_topic": "arm_controller/joint_reference",
        "joint_states_topic": "joint_states",
        "trigger_joint_command_threshold": "-1",
        "sum_wrapped_joint_states": "false",
    }
    assert "initial_value" not in re.sub("<!--.*?-->", "", text, flags=re.DOTALL)


def test_the_block_s_file_is_the_picker_for_all_who_read_it(tmp_path):
    xacro = pytest.importorskip("xacro", reason="xacro comes with ROS 2")
    path = tmp_path / "picker.urdf"
    path.write_text(xacro.process_file(str(resource("urdf/picker.ros2_control.xacro"))).toxml())
    made, q = description.load(path), np.full(5, 0.3)
    assert made.joint_names == picker().joint_names
    np.testing.assert_allclose(RigidBody(made).gravity(q), RigidBody(picker()).gravity(q), rtol=1e-12)


def test_its_controller_names_this_arm_and_no_topic_of_ours():
    config = yaml.safe_load(resource("config/ros2_control.yaml").read_text())
    manager = config["/**/controller_manager"]["ros__parameters"]
    (name,) = set(manager) - {"update_rate"}
    assert name not in ("arm_controller", "gripper_controller")
    assert tuple(config[f"/**/{name}"]["ros__parameters"]["joints"]) == picker().joint_names


def moveit(name: str):
    """A file of the example configuration."""
    return yaml.safe_load(resource(f"config/moveit/{name}.yaml").read_text())


def test_groups_of_the_moveit_configuration_are_the_arm_s():
    srdf, arm = ET.fromstring(resource("config/moveit/picker.srdf").read_text()), picker()
    chain, scissor = srdf.find("group[@name='arm']/chain"), arm.joint_names.index("scissor")
    assert srdf.get("name") == arm.name
    assert (chain.get("base_link"), chain.get("tip_link")) == ("base_link", "tool0")
    assert {one.get(end) for one in srdf.iter("disable_collisions") for end in ("link1", "link2")} <= set(arm.links)
    states = [float(one.get("value")) for one in srdf.iter("joint") if one.get("value")]
    assert [min(states), max(states)] == [arm.lower[scissor], arm.upper[scissor]]
    groups = {one.get("name") for one in srdf.iter("group")}
    assert {"arm"} == set(moveit("kinematics")) and {"arm", "gripper"} == groups <= set(moveit("ompl_planning"))


def test_settings_of_the_moveit_configuration_are_the_arm_s():
    arm, made = picker(), moveit("moveit_controllers")
    controllers = made["moveit_simple_controller_manager"]
    joints = [joint for name in controllers["controller_names"] for joint in controllers[name]["joints"]]
    limits = moveit("joint_limits")["joint_limits"]
    assert tuple(joints) == arm.joint_names == tuple(limits)
    assert all(limits[name]["max_velocity"] < limit for name, limit in zip(joints, arm.velocity))
    actions = {f"{name}/{controllers[name]['action_ns']}" for name in controllers["controller_names"]}
    assert actions == {"arm_controller/follow_joint_trajectory", "gripper_controller/gripper_cmd"}
    assert moveit("pilz_cartesian_limits")["cartesian_limits"]["max_trans_vel"] == TIP_SPEED


def test_moveit_does_not_cancel_what_the_arm_slows():
    """It did after 3 times the plan and 1 s, while motions are slowed up to ten times."""
    assert MAX_STRETCH > 3.0
    assert moveit("moveit_controllers")["trajectory_execution"]["execution_duration_monitoring"] is False
