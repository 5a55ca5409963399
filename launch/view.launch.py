"""Look at an arm without any hardware: `ros2 launch picker_dynamics view.launch.py`.

Model, a slider for each joint, and RViz, which shows the torque that holds each pose, and where the tip cannot be held.
"""

import os
from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, SetEnvironmentVariable, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackagePrefix

from picker_dynamics import lifeline
from picker_dynamics.bringup import bringup, rviz_config
from picker_dynamics.bringup.options import Options, switch
from picker_dynamics.errors import MissingDependencyError
from picker_dynamics.resources import PACKAGE
from picker_dynamics.robot import description

ARGUMENTS = (
    ("arm", "", "an arm of config/arms.yaml, for example rrp; empty: the picker"),
    ("urdf", "", "URDF of the arm; empty: the picker's"),
    ("arms", "", "a file like config/arms.yaml that has the arm, torque-controlled, of arm or urdf"),
    ("servos", "", "servo map; empty: config/servos.yaml"),
    ("servo_overlay", "", "file with differences from the servo map, for example a calibration"),
    ("namespace", "", "ROS namespace; two arms side by side need two"),
    ("params_file", "", "ROS parameter file; empty: config/picker.yaml"),
    ("sliders", "true", "false: joint_states come from elsewhere, for example from a bag"),
    ("rviz", "true", "false: show it with something else"),
)
SWITCHES = ("sliders", "rviz")


def processes(context):
    """What is to run, as launch actions; whatever may be wrong is found before anything starts."""
    chosen = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS if name not in SWITCHES}
    sliders, rviz = (switch(name, LaunchConfiguration(name).perform(context)) for name in SWITCHES)
    options = Options(markers=True, **chosen)
    wanted = (("robot_state_publisher", True), ("joint_state_publisher_gui", sliders), ("rviz2", rviz))
    for package in (package for package, needed in wanted if needed):
        try:
            FindPackagePrefix(package).perform(context)
        except LookupError:
            raise MissingDependencyError(f"package {package} is not installed: run rosdep install") from None
    graph = bringup.view_graph(options)
    actions = [SetEnvironmentVariable(*one) for one in bringup.local_only(os.environ).items()]
    actions += [
        Node(
            package=PACKAGE,
            executable=spec.name,
            output="screen",
            ros_arguments=spec.arguments[1:],
            additional_env=lifeline.children(),
        )
        for spec in graph.nodes
    ]
    text = Path(options.urdf_path).read_text(encoding="utf-8")
    parameters = {"robot_description": ParameterValue(text, value_type=str), "frame_prefix": options.frame_prefix}
    actions.append(_tool("robot_state_publisher", options, parameters=[parameters]))
    if sliders:
        actions.append(_tool("joint_state_publisher_gui", options, on_exit=Shutdown(reason="the sliders were closed")))
    if rviz:
        config = rviz_config.configuration(description.load(options.urdf_path).root, options.frame_prefix)
        actions.append(_tool("rviz2", options, arguments=["-d", str(config)], on_exit=Shutdown(reason="RViz was closed")))
    return actions


def _tool(name, options, **more):
    where = {"namespace": options.namespace, "exec_name": name, "prefix": lifeline.command_prefix()}
    return Node(package=name, executable=name, output="log", **where, **more)


def generate_launch_description():
    """Declare the arguments; what they mean is decided when their values are known."""
    declared = [DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS]
    return LaunchDescription([*declared, OpaqueFunction(function=processes)])
