"""Recordings made for tests: messages of an arm, a story of three seconds, files written by us and by others."""

from pathlib import Path

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer

from picker_dynamics.recording import messages, writer
from picker_dynamics.recording.messages import joint_state, reference

STORE = messages.known_types()
NAMES = ("base", "shoulder", "elbow", "wrist", "scissor")
STATES = 150


def status(outcome: str, text: str):
    return messages.status(0, "c", text, "picker", {"outcome": outcome})


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
        said.append(("arm_controller/reference", t - 0.06, reference(t, NAMES, wanted(t))))
        said.append(
            ("joint_commands", t - 0.055, joint_state(t, NAMES, wanted(t) + 0.05, effort=0.5 * np.cos(t - 100.0) * np.ones(5)))
        )
        said.append(("joint_states", t + 0.013, joint_state(t + 0.01, NAMES[::-1], (wanted(t + 0.01) + offset)[::-1])))
    return [(f"{namespace}/{name}", one.__msgtype__, t, one) for name, t, one in sorted(said, key=lambda row: row[1])]


def written_by_us(path: Path, told=None) -> Path:
    """An MCAP file of (topic, type, time, message), default the story."""
    recording = writer.Recording(path)
    for topic, _, t, one in told or story():
        recording.write(topic, one, round(t * 1e9), "status" in topic)
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
