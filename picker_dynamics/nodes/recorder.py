"""Recorder: a node that hands every message of an arm's topics, unopened, to a recording."""

from __future__ import annotations

import importlib
import time

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from picker_dynamics.errors import RecordingError
from picker_dynamics.recording.definitions import definition
from picker_dynamics.recording.topics import TOPICS, Topic
from picker_dynamics.recording.writer import Recording

from .runtime import steady_timer

DEPTH = 1000
"""Messages that wait while the disk is busy."""

FLUSH_S = 1.0
SILENCE_S = 5.0


class Recorder(Node):
    """Recorder of a graph: one subscription for each topic whose type is installed.

    Attributes:
        finished: the time asked for is over.
        failure: why it cannot go on.
    """

    def __init__(self, recording: Recording, namespace: str = "", duration_s: float | None = None):
        super().__init__(f"picker_recorder_{time.time_ns() % 10**8:08d}", namespace=namespace)
        self.recording, self.duration_s = recording, duration_s
        self.begun_s, self.finished = time.monotonic(), False
        self.failure: RecordingError | None = None
        self.counts: dict[str, int] = {}
        for topic in TOPICS:
            self.listen(topic)
        steady_timer(self, FLUSH_S, self.on_flush)
        steady_timer(self, SILENCE_S, self.on_silence)
        if duration_s is not None:
            steady_timer(self, duration_s, self.on_end)
        print(f"recording to {recording.path}; Ctrl-C ends", flush=True)

    def listen(self, topic: Topic) -> None:
        package, _, name = topic.kind.partition("/msg/")
        try:
            kind = getattr(importlib.import_module(f"{package}.msg"), name)
        except ImportError:  # control_msgs, where it is not installed: then nobody here publishes it either
            return
        durability = DurabilityPolicy.TRANSIENT_LOCAL if topic.latched else DurabilityPolicy.VOLATILE
        qos = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE, durability=durability)
        full = self.resolve_topic_name(topic.name)
        channel: list[int] = []

        def take(data: bytes, info: dict) -> None:
            try:
                if not channel:
                    channel.append(
                        self.recording.add_topic(
                            full, topic.kind, definition(topic.kind), latched=topic.latched, depth=1 if topic.latched else 10
                        )
                    )
                self.recording.write(channel[0], data, info["received_timestamp"], info["source_timestamp"])
            except RecordingError as error:
                self.failure = self.failure or error
                return
            self.counts[topic.name] = self.counts.get(topic.name, 0) + 1

        self.create_subscription(kind, topic.name, take, qos, raw=True)

    def on_flush(self) -> None:
        try:
            self.recording.flush()
        except RecordingError as error:
            self.failure = error

    def on_silence(self) -> None:
        if not self.counts:
            print("nothing heard yet (is 'picker up' running, in this namespace and ROS_DOMAIN_ID?)", flush=True)

    def on_end(self) -> None:
        self.finished = True

    def summary(self) -> str:
        """Summary in one line: what is in the file."""
        taken = ", ".join(f"{name} {count}" for name, count in self.counts.items()) or "nothing"
        return f"{self.recording.path}: {self.recording.messages} messages in {time.monotonic() - self.begun_s:.1f} s: {taken}"
