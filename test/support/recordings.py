"""Recordings made for tests: messages of rosbags' types, a story of three seconds, files written by us and by others."""

from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from picker_dynamics.recording import definitions, topics, writer

STORE = get_typestore(Stores.ROS2_JAZZY)
NAMES = ("base", "shoulder", "elbow", "wrist", "scissor")
STATES = 150


def message(kind: str, **fields):
    return STORE.types[kind](**fields)


def header(time_s: float, frame: str = ""):
    whole = int(time_s)
    stamp = message("builtin_interfaces/msg/Time", sec=whole, nanosec=round((time_s - whole) * 1e9))
    return message("std_msgs/msg/Header", stamp=stamp, frame_id=frame)


def joint_state(time_s: float, position, effort=(), names=NAMES):
    return message(
        "sensor_msgs/msg/JointState",
        header=header(time_s),
        name=list(names),
        velocity=np.zeros(0),
        position=np.array(position, dtype=float),
        effort=np.array(effort, dtype=float),
    )


def reference(time_s: float, position):
    point = message(
        "trajectory_msgs/msg/JointTrajectoryPoint",
        positions=np.array(position, dtype=float),
        velocities=np.zeros(0),
        accelerations=np.zeros(0),
        effort=np.zeros(0),
        time_from_start=message("builtin_interfaces/msg/Duration", sec=0, nanosec=0),
    )
    return message("trajectory_msgs/msg/JointTrajectory", header=header(time_s), joint_names=list(NAMES), points=[point])


def status(outcome: str, text: str):
    pairs = [message("diagnostic_msgs/msg/KeyValue", key="outcome", value=outcome)]
    return message("diagnostic_msgs/msg/DiagnosticStatus", level=0, name="c", message=text, hardware_id="picker", values=pairs)


def wanted(time_s: float) -> np.ndarray:
    return 0.3 * np.sin(time_s - 100.0 + np.arange(5))


def story(namespace: str = "", offset=0.01) -> list[tuple[str, str, float, object]]:
    """(topic, type, received, message): three seconds in which every joint is ``offset`` beyond its reference."""
    said = [
        ("arm_controller/status", 101.0, status("accepted", "executing")),
        ("arm_controller/status", 102.0, status("refused", "refused: too far")),
    ]
    for k in range(STATES):
        t = 100.0 + 0.02 * k
        said.append(("arm_controller/reference", t - 0.06, reference(t, wanted(t))))
        said.append(("joint_commands", t - 0.055, joint_state(t, wanted(t) + 0.05, 0.5 * np.cos(t - 100.0) * np.ones(5))))
        said.append(("joint_states", t + 0.013, joint_state(t + 0.01, (wanted(t + 0.01) + offset)[::-1], names=NAMES[::-1])))
    kinds = {topic.name: topic.kind for topic in topics.TOPICS}
    return [(f"{namespace}/{name}", kinds[name], t, one) for name, t, one in sorted(said, key=lambda row: row[1])]


def written_by_us(path: Path, told=None, store=STORE, text=definitions.definition) -> Path:
    """An MCAP file of (topic, type, time, message), default the story; ``text``: type -> its definition."""
    recording, channels = writer.Recording(path), {}
    for topic, kind, t, one in told or story():
        if topic not in channels:
            channels[topic] = recording.add_topic(topic, kind, text(kind), latched="status" in topic, depth=1)
        recording.write(channels[topic], bytes(store.serialize_cdr(one, kind)), round(t * 1e9), round(t * 1e9))
    recording.close()
    return path


def written_elsewhere(folder: Path, told, plugin: StoragePlugin) -> Path:
    """A bag in a folder, as ``ros2 bag record`` leaves one."""
    with Writer(folder, version=9, storage_plugin=plugin) as bag:
        channels = {}
        for topic, kind, t, one in told:
            if topic not in channels:
                channels[topic] = bag.add_connection(topic, kind, typestore=STORE)
            bag.write(channels[topic], round(t * 1e9), STORE.serialize_cdr(one, kind))
    return folder
