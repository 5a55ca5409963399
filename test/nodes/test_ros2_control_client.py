"""joint_reference as ros2_control uses it, and the block that makes ros2_control do so."""

from __future__ import annotations

import re
import textwrap
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import yaml
from arm_fixtures import picker
from places import ROOT
from scenarios import streams
from scenarios.bench import HOME
from topic_system import block

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.resources import resource
from picker_dynamics.robot import description


@pytest.mark.long
@pytest.mark.ros
@pytest.mark.parametrize("unset", [float("nan"), 0.0])
def test_nothing_moves_before_a_controller_is_active(client, board, unset):
    streams.ros2_control_moves_nothing_before_a_controller_is_active(client, board, unset)


@pytest.mark.long
@pytest.mark.ros
@pytest.mark.parametrize("threshold", streams.THRESHOLDS)
def test_it_moves_the_arm_whatever_it_holds_back(client, board, threshold):
    streams.ros2_control_moves_the_arm(client, board, threshold)


@pytest.mark.long
@pytest.mark.ros
@pytest.mark.parametrize(
    "scenario",
    [streams.a_goal_takes_the_arm_from_ros2_control, streams.ros2_control_resumes_nothing_after_a_stop],
    ids=lambda scenario: scenario.__name__,
)
def test_who_moves_the_arm(client, board, scenario):
    scenario(client, board)


# -- the files ---------------------------------------------------------------------------------------------


def snippets(kind: str) -> list[str]:
    """Code of that kind in docs/moveit.md."""
    text = (ROOT / "docs/moveit.md").read_text(encoding="utf-8")
    return [textwrap.dedent(found) for found in re.findall(rf"^ *```{kind}\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)]


def test_the_block_streams_every_joint_and_leaves_nothing_to_defaults():
    settings, joints = block()
    assert tuple(joints) == picker().joint_names
    assert settings == {
        "plugin": "joint_state_topic_hardware_interface/JointStateTopicSystem",
        "joint_commands_topic": "arm_controller/joint_reference",
        "joint_states_topic": "joint_states",
        "trigger_joint_command_threshold": "-1",
        "sum_wrapped_joint_states": "false",
    }
    code = re.sub("<!--.*?-->", "", resource("urdf/picker.ros2_control.xacro").read_text(), flags=re.DOTALL)
    assert "initial_value" not in code


def test_the_block_s_file_is_the_picker_for_all_who_read_it(tmp_path):
    xacro = pytest.importorskip("xacro", reason="xacro comes with ROS 2")
    path = tmp_path / "picker.urdf"
    path.write_text(xacro.process_file(str(resource("urdf/picker.ros2_control.xacro"))).toxml())
    made, plain = description.load(path), picker()
    assert made.joint_names == plain.joint_names
    q = np.array(HOME)
    np.testing.assert_allclose(RigidBody(made).gravity(q), RigidBody(plain).gravity(q), rtol=1e-12)


def test_its_controller_names_this_arm_and_no_topic_of_ours():
    config = yaml.safe_load(resource("config/ros2_control.yaml").read_text())
    manager = config["/**/controller_manager"]["ros__parameters"]
    (name,) = set(manager) - {"update_rate"}
    controller = config[f"/**/{name}"]["ros__parameters"]
    assert name not in ("arm_controller", "gripper_controller") and manager["update_rate"] >= 20
    assert tuple(controller["joints"]) == picker().joint_names
    assert {key for key, value in controller["constraints"].items() if isinstance(value, dict)} == set(controller["joints"])
    assert controller["set_last_command_interface_value_as_state_on_activation"] is False


def test_the_planning_groups_in_the_docs_are_the_arm_s():
    (srdf,) = (ET.fromstring(text) for text in snippets("xml"))
    arm = picker()
    links = set(arm.links)
    chain = srdf.find("group[@name='arm']/chain")
    assert (chain.get("base_link"), chain.get("tip_link")) == ("base_link", "tool0")
    assert {one.get(end) for one in srdf.iter("disable_collisions") for end in ("link1", "link2")} <= links
    states = [float(one.get("value")) for one in srdf.iter("joint") if one.get("value")]
    scissor = arm.joint_names.index("scissor")
    assert [min(states), max(states)] == [arm.lower[scissor], arm.upper[scissor]]


def test_the_settings_in_the_docs_name_the_joints_and_stay_within_their_limits():
    made = {key: value for text in snippets("yaml") for key, value in yaml.safe_load(text).items()}
    controllers = made["moveit_simple_controller_manager"]
    joints = [joint for name in controllers["controller_names"] for joint in controllers[name]["joints"]]
    assert tuple(joints) == picker().joint_names == tuple(made["joint_limits"])
    for joint, limit in zip(made["joint_limits"], picker().velocity):
        assert made["joint_limits"][joint]["max_velocity"] < limit
