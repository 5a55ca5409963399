"""Messages of an arm's topics without ROS: made of plain data, of the types that rosbags has."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from picker_dynamics.errors import MissingDependencyError

JOINT_STATE, TRAJECTORY = "sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory"
STATUS, STRING = "diagnostic_msgs/msg/DiagnosticStatus", "std_msgs/msg/String"

STREAMED = "arm_controller/reference", "joint_commands", "joint_states", "/diagnostics", "/tf"
"""Topics of which a late subscriber does not get the last message."""


def missing(error: ImportError) -> MissingDependencyError:
    """Error to raise where a package of the extra is not installed."""
    return MissingDependencyError(
        f'{error.name} is not installed; recordings need it: pip install "picker_dynamics[record]"', error.name
    )


@cache
def known_types() -> Any:
    """The message types of ROS 2 Jazzy, as rosbags has them.

    Raises:
        MissingDependencyError: rosbags is not installed.
    """
    try:
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise missing(error) from error
    return get_typestore(Stores.ROS2_JAZZY)


def _new(kind: str, **fields: Any) -> Any:
    return known_types().types[kind](**fields)


def header(time_s: float, frame: str = "") -> Any:
    """Header with a stamp [s since 1970]."""
    whole, part = divmod(round(1e9 * time_s), 10**9)
    stamp = _new("builtin_interfaces/msg/Time", sec=whole, nanosec=part)
    return _new("std_msgs/msg/Header", stamp=stamp, frame_id=frame)


def _numbers(values: Sequence[float] | None) -> np.ndarray:
    return np.array([] if values is None else values, dtype=float)


def joint_state(
    time_s: float,
    names: Sequence[str],
    position: Sequence[float] | None,
    velocity: Sequence[float] | None = None,
    effort: Sequence[float] | None = None,
) -> Any:
    """JointState of what is known, (n,) each [rad, rad/s, N·m]."""
    values = dict(zip(("position", "velocity", "effort"), map(_numbers, (position, velocity, effort))))
    return _new(JOINT_STATE, header=header(time_s), name=list(names), **values)


def reference(time_s: float, names: Sequence[str], *vectors: Sequence[float]) -> Any:
    """JointTrajectory of one point: positions, velocities and accelerations, (n,) each."""
    values = dict(zip(("positions", "velocities", "accelerations", "effort"), map(_numbers, (*vectors, *[()] * 4))))
    at_once = _new("builtin_interfaces/msg/Duration", sec=0, nanosec=0)
    point = _new("trajectory_msgs/msg/JointTrajectoryPoint", **values, time_from_start=at_once)
    return _new(TRAJECTORY, header=header(time_s), joint_names=list(names), points=[point])


def text(data: str) -> Any:
    """String."""
    return _new(STRING, data=data)


def status(level: int, name: str, message: str, hardware_id: str, values: Mapping[str, str]) -> Any:
    """DiagnosticStatus of an entry of an arm's report."""
    pairs = [_new("diagnostic_msgs/msg/KeyValue", key=key, value=value) for key, value in values.items()]
    return _new(STATUS, level=level, name=name, message=message, hardware_id=hardware_id, values=pairs)


def diagnostics(entries: Sequence[Mapping[str, Any]]) -> Any:
    """DiagnosticArray of entries, now."""
    return _new("diagnostic_msgs/msg/DiagnosticArray", header=header(time.time()), status=[status(**entry) for entry in entries])


def payload(mass: float, com: Sequence[float], tool: str) -> Any:
    """InertiaStamped of a point mass [kg] at ``com`` (3,) [m] of the frame ``tool``."""
    centre = _new("geometry_msgs/msg/Vector3", **dict(zip("xyz", com)))
    moments = dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), 0.0)
    inertia = _new("geometry_msgs/msg/Inertia", m=mass, com=centre, **moments)
    return _new("geometry_msgs/msg/InertiaStamped", header=header(time.time(), tool), inertia=inertia)


def transforms(time_s: float, frames: Sequence[tuple[str, str]], positions: np.ndarray, turns: np.ndarray) -> Any:
    """TFMessage of ``frames``, parent and child of each: positions (m, 3) [m] and quaternions x, y, z, w (m, 4) in the parent."""
    made = []
    for (parent, child), position, turn in zip(frames, positions.tolist(), turns.tolist()):
        place = _new("geometry_msgs/msg/Vector3", **dict(zip("xyz", position)))
        rotation = _new("geometry_msgs/msg/Quaternion", **dict(zip("xyzw", turn)))
        transform = _new("geometry_msgs/msg/Transform", translation=place, rotation=rotation)
        stamped = {"header": header(time_s, parent), "child_frame_id": child, "transform": transform}
        made.append(_new("geometry_msgs/msg/TransformStamped", **stamped))
    return _new("tf2_msgs/msg/TFMessage", transforms=made)
