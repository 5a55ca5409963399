"""Topics that are recorded of an arm, below its namespace (or, with a slash, of the whole system) and their types."""

from __future__ import annotations

from typing import NamedTuple


class Topic(NamedTuple):
    """Name, type, and whether whoever comes later still gets the last message."""

    name: str
    kind: str
    latched: bool = False


TOPICS = (
    Topic("arm_controller/joint_trajectory", "trajectory_msgs/msg/JointTrajectory"),
    Topic("arm_controller/joint_reference", "sensor_msgs/msg/JointState"),
    Topic("arm_controller/reference", "trajectory_msgs/msg/JointTrajectory"),
    Topic("arm_controller/controller_state", "control_msgs/msg/JointTrajectoryControllerState"),
    Topic("arm_controller/arm", "std_msgs/msg/String", True),
    Topic("arm_controller/status", "diagnostic_msgs/msg/DiagnosticStatus", True),
    Topic("joint_commands", "sensor_msgs/msg/JointState"),
    Topic("joint_states", "sensor_msgs/msg/JointState"),
    Topic("payload", "geometry_msgs/msg/InertiaStamped", True),
    Topic("hardware/status", "diagnostic_msgs/msg/DiagnosticStatus", True),
    Topic("robot_description", "std_msgs/msg/String", True),
    Topic("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray"),
)
