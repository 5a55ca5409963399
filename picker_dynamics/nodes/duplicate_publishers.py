"""Duplicate publishers: whether somebody else publishes references for this arm, too."""

from __future__ import annotations

import time
from collections.abc import Callable

from trajectory_msgs.msg import JointTrajectory

from .runtime import LATEST, seconds

HEARD_S = 2.0
"""So long after its last reference another publisher counts as one [s]."""


class DuplicatePublisherMonitor:
    """Looks for other publishers of a node's reference, and listens to the topic only where there are some.

    One that is there but silent does no harm: DDS keeps those of a process that was killed for some seconds.

    Args:
        publisher: the node's own.
        sent: whether the node has sent a reference with this stamp [s].
        heard: called when another one is heard for the first time.
    """

    def __init__(self, node, publisher, sent: Callable[[float], bool], heard: Callable[[], None]):
        self.node, self.publisher, self.sent, self.heard = node, publisher, sent, heard
        self._ear = None
        self._heard_s = -float("inf")
        self._names = ""

    def look(self) -> str:
        """What is to be said of them; empty if there are none.  Call it about once a second."""
        others = self._others()
        if others and self._ear is None:
            self._ear = self.node.create_subscription(JointTrajectory, self.publisher.topic_name, self._hear, LATEST)
        elif not others and self._ear is not None:
            self.node.destroy_subscription(self._ear)
            self._ear = None
        self._names = ", ".join(others) or self._names
        if time.monotonic() - self._heard_s > HEARD_S:
            return ""
        return f"{self._names} publishes {self.publisher.topic_name} too: two controllers on one arm; holding until one is gone"

    def _others(self) -> list[str]:
        """Full names of the nodes that have such publishers, without this one's own."""
        names = sorted(
            f"{one.node_namespace.rstrip('/')}/{one.node_name}"
            for one in self.node.get_publishers_info_by_topic(self.publisher.topic_name)
        )
        own = self.node.get_fully_qualified_name()
        if own in names:
            names.remove(own)
        return [f"another {name}" if name == own else name for name in names]

    def _hear(self, message: JointTrajectory) -> None:
        if self.sent(seconds(message.header.stamp)):
            return
        now, before = time.monotonic(), self._heard_s
        self._heard_s = now
        if now - before > HEARD_S:
            self.heard()
