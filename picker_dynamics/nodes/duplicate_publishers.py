"""Duplicate publishers: whether somebody else publishes what one node alone should, and that no two are mixed."""

from __future__ import annotations

import time
from collections.abc import Callable

from trajectory_msgs.msg import JointTrajectory

from picker_dynamics.execution.lease import HeldError, Holder, Kind, Lease

from .diagnostics import sender_in
from .runtime import LATEST, seconds

HEARD_S = 2.0
"""So long after its last reference another publisher counts as one [s]."""


SPEAKS_S = 0.5
"""The sender of a topic that is followed is the only one until it has been silent for this long [s]."""

UNCOUNTED = 2**64 - 1
"""Number of a message where the middleware does not count them."""


def number_of(info) -> int | None:
    """Of a message, as its publisher counts; None where the middleware does not say."""
    number = info["publication_sequence_number"]
    return None if number == UNCOUNTED else number


def sources(node, topic: str) -> list[str]:
    """Full names of the nodes that publish a topic, in order; one that was killed counts for some seconds."""
    found = node.get_publishers_info_by_topic(node.resolve_topic_name(topic))
    return sorted(f"{one.node_namespace.rstrip('/')}/{one.node_name}" for one in found)


class OneSender:
    """Follows one sender of a topic, told by ``header.frame_id`` and by how it counts; others meanwhile are strangers.

    Args:
        topic: of what, in words.
    """

    def __init__(self, topic: str):
        self._topic, self._lease = topic, Lease()
        self._problem, self._said_s = "", -float("inf")

    def hear(self, message, info) -> None:
        """Let a message of the sender that is followed pass; the first to speak is.

        Raises:
            HeldError: it is somebody else's.
        """
        now_s, sender = time.monotonic(), Holder(Kind.STREAM, sender_in(message.header))
        try:
            self._lease.require(sender, (0,), now_s, number_of(info))
        except HeldError as error:
            self._problem, self._said_s = f"{self._topic} come from two senders: {error}", now_s
            raise HeldError(self._problem, subject=self._topic, left_s=error.left_s) from None
        self._lease.grant(sender, (0,), now_s + SPEAKS_S, number_of(info))

    @property
    def problem(self) -> str:
        """What is to be said of strangers that were heard of late; empty: there are none."""
        return self._problem if time.monotonic() - self._said_s < HEARD_S else ""


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
        names = sources(self.node, self.publisher.topic_name)
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
