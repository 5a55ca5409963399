"""Bring the arm up: `ros2 launch picker_dynamics picker.launch.py hardware:=sim`.

Reads the same graph as `picker up` (picker_dynamics/bringup/bringup.py) and adds robot_state_publisher and, on request, RViz.
"""

import os
import sys
from functools import partial
from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction, SetEnvironmentVariable
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import ExecutableInPackage, FindPackagePrefix

from picker_dynamics import lifeline
from picker_dynamics.bringup import bringup, rviz_config
from picker_dynamics.bringup.options import Options, switch
from picker_dynamics.bringup.runner import PARK_S
from picker_dynamics.errors import ConfigurationError, MissingDependencyError, PickerError
from picker_dynamics.resources import PACKAGE
from picker_dynamics.robot import description
from picker_dynamics.session import address

ARGUMENTS = (
    ("hardware", "sim", "sim (virtual board and arm) or serial"),
    ("board", "virtual", "with hardware:=sim, virtual (the firmware's model) or avr (the real firmware on a simulated Uno)"),
    ("servo", "typical", "with hardware:=sim, what the servos are like: typical (friction and play) or ideal"),
    ("port", "", "serial port of the board, for example /dev/ttyACM0; needed with hardware:=serial"),
    ("arm", "", "an arm of config/arms.yaml, for example rrp (simulated, torque-controlled); empty: the picker"),
    ("urdf", "", "URDF of the arm; empty: the picker's"),
    ("arms", "", "a file like config/arms.yaml that has the arm, torque-controlled, of arm or urdf"),
    ("servos", "", "servo map; empty: config/servos.yaml"),
    ("servo_overlay", "", "file with differences from the servo map, for example a calibration"),
    ("namespace", "", "ROS namespace; two arms side by side need two"),
    ("compensation", "", "none, gravity or full; empty: as the parameter file says"),
    ("payload_mass", "", "mass at the tool [kg]; empty: as the parameter file says"),
    ("on_shutdown", "", "what the arm does at the end: hold, park or relax; empty: as the parameter file says"),
    ("params_file", "", "ROS parameter file; empty: config/picker.yaml"),
    ("scene", "", "what stands about the arm, as config/scene.yaml: no motion may hit it, or the arm itself"),
    ("collision", "false", "true: the same without a scene: the arm itself and its floor"),
    ("pick", "false", "true: also pick as a camera node says, on the topics pick and place"),
    ("cameras", "", "for pick: file with hand-eye transforms, as config/cameras.yaml"),
    ("log_level", "info", "of the nodes: debug, info, warn, error"),
    ("view_web", "false", "true: also show the arm in the browser, on a page of this machine"),
    ("rviz", "false", "true: start RViz too, and the node that publishes markers for it"),
)

SWITCHES = ("rviz", "collision", "view_web", "pick")


def processes(context):
    """The graph's processes as launch actions; what only shows things is not required.

    Whatever may be wrong has to be found here: an action that fails when others of this list have been started already
    ends the launch and leaves them running, a hardware node among them.
    """
    chosen = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS if name not in SWITCHES}
    rviz, collision, view, pick = (switch(name, LaunchConfiguration(name).perform(context)) for name in SWITCHES)
    mass = _number("payload_mass", chosen.pop("payload_mass"))
    options = Options(payload_mass=mass, markers=rviz, collision=collision, view=view, pick=pick, **chosen)
    _require("robot_state_publisher", *(["rviz2"] if rviz else []), context=context)
    address.require_free(options.namespace)
    graph = bringup.graph(options)  # last, because it makes a folder
    actions = [SetEnvironmentVariable(*one) for one in bringup.local_only(os.environ).items()]
    if graph.board is not None:
        actions.append(_board(graph))
    actions += [_node(spec) for spec in graph.nodes]
    actions += [_command(spec) for spec in graph.commands]
    actions.append(_state_publisher(options))
    if rviz:
        actions.append(_rviz(options))
    return actions


def _node(spec):
    # A Ctrl-C reaches all processes at once; whoever is still busy after sigterm_timeout (parking, say) is hurried.
    how = {
        "sigterm_timeout": str(PARK_S),
        "output": "screen",
        "on_exit": _ended if spec.required else None,
        "additional_env": lifeline.children(),
    }
    return Node(package=PACKAGE, executable=spec.name, ros_arguments=spec.arguments[1:], **how)


def _command(spec):
    return ExecuteProcess(
        cmd=[sys.executable, "-m", spec.module, *spec.arguments],
        name=spec.name,
        output="screen",
        additional_env=lifeline.children(),
    )


def _board(graph):
    # No Node: it would get ROS arguments.
    return ExecuteProcess(
        cmd=[ExecutableInPackage(graph.board.name, PACKAGE), *graph.board.arguments],
        name=graph.board.name,
        sigterm_timeout=str(PARK_S),
        output="screen",
        additional_env=lifeline.children(),
        on_exit=partial(_ended, graph=graph),
    )


def _state_publisher(options):
    text = Path(options.urdf_path).read_text(encoding="utf-8")
    parameters = {"robot_description": ParameterValue(text, value_type=str), "frame_prefix": options.frame_prefix}
    return Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=options.namespace,
        parameters=[parameters],
        exec_name="robot_state_publisher",
        prefix=lifeline.command_prefix(),
        output="log",
        respawn=True,  # the arm goes on without it: planners and displays wait until it is back
        respawn_delay=1.0,
    )


def _rviz(options):
    config = rviz_config.configuration(description.load(options.urdf_path).root, options.frame_prefix)
    return Node(
        package="rviz2",
        executable="rviz2",
        namespace=options.namespace,
        arguments=["-d", str(config)],
        exec_name="rviz2",
        prefix=lifeline.command_prefix(),
        output="log",
    )


def _ended(event, context, graph=None):
    """End the launch, with exit code 1, when a process ends by itself; remove what the board leaves behind."""
    if graph is not None:
        bringup.remove_leftovers(graph)
    if not context.is_shutdown:
        raise PickerError(f"{event.process_name} ended by itself with exit code {event.returncode}; stopping the others")


def _require(*packages, context):
    for package in packages:
        try:
            FindPackagePrefix(package).perform(context)
        except LookupError:
            raise MissingDependencyError(f"package {package} is not installed: run rosdep install") from None


def _number(name, text):
    try:
        return float(text) if text else None
    except ValueError:
        raise ConfigurationError(f"{name} is {text!r}, must be a number", subject=name, value=text) from None


def generate_launch_description():
    """Declare the arguments; what they mean is decided when their values are known."""
    declared = [DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS]
    return LaunchDescription([*declared, OpaqueFunction(function=processes)])
