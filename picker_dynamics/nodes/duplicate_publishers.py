"""Duplicate publishers: whether somebody else publishes what one node alone should, and that no two are mixed."""

from __future__ import annotations

import time
from collections.abc import Callable

from trajectory_msgs.msg import JointTrajectory

from picker_dynamics.execution.lease import LEAP, HeldError, Holder, Kind, Lease

from .diagnostics import sender_in
from .runtime import LATCHED, LATEST, hear_stream, seconds, steady_timer

HEARD_S = 2.0
"""So long after its last reference another publisher counts as one [s]."""


SPEAKS_S = 0.5
"""The sender of a topic that is followed is the only one until it has been silent for this long [s]."""

FORGOTTEN_S = 20.0
"""So long DDS keeps the publishers of a process that was killed [s]."""

LOOK_S = 0.1
"""How often is looked whether a second publisher of a latched topic is gone [s]."""

ONE = "one arm, one sender"

UNCOUNTED = 2**64 - 1
"""Number of a message where the middleware does not count them."""


def number_of(info) -> int | None:
    """Number of a message, as its publisher counts; None where the middleware does not say."""
    number = info["publication_sequence_number"]
    return None if number == UNCOUNTED else number


def sources(node, topic: str) -> list[str]:
    """Full names of the nodes that publish a topic, in order; one that was killed counts for some seconds."""
    found = node.get_publishers_info_by_topic(node.resolve_topic_name(topic))
    return sorted(f"{one.node_namespace.rstrip('/')}/{one.node_name}" for one in found)


class Alone:
    """Watch over a topic: whether it has one publisher, looked at now and then.

    Args:
        topic: as the node calls it.
    """

    def __init__(self, node, topic: str):
        self._node, self._topic = node, node.resolve_topic_name(topic)
        self._looked_s, self._alone = -float("inf"), False

    def __call__(self) -> bool:
        now_s = time.monotonic()
        if now_s - self._looked_s > LOOK_S:
            self._looked_s, self._alone = now_s, self._node.count_publishers(self._topic) <= 1
        return self._alone


class OneSender:
    """Follows one sender of a topic, told by ``header.frame_id`` and by how it counts; others meanwhile are strangers.

    The sender that is expected comes before all others, also after it was silent; one of another name is followed where nobody
    else publishes the topic, and until the expected one speaks.

    Args:
        topic: of what, in words.
        expected: name of the node that should be the sender; empty: whoever speaks first.
        alone: whether the topic has one publisher.
    """

    def __init__(self, topic: str, expected: str = "", alone: Callable[[], bool] = lambda: True):
        self._topic, self._lease, self._expected, self._alone = topic, Lease(), expected, alone
        self._problem, self._said_s, self._followed = "", -float("inf"), ""

    def hear(self, message, info) -> None:
        """Let a message of the sender that is followed pass.

        Raises:
            HeldError: it is somebody else's; the words stay the same as long as the senders do.
        """
        now_s, name = time.monotonic(), sender_in(message.header)
        sender = Holder(Kind.STREAM, name)
        if self._expected and name == self._expected != self._followed:
            self._lease.end_all()
        try:
            self._lease.require(sender, (0,), now_s, number_of(info))
        except HeldError as error:
            raise self._refusal(self._followed, name, now_s, error.left_s) from None
        if self._expected and name != self._expected and not self._lease.has(sender, now_s) and not self._alone():
            raise self._refusal(self._expected, name, now_s, SPEAKS_S)
        self._lease.grant(sender, (0,), now_s + SPEAKS_S, number_of(info))
        self._followed = name

    def _refusal(self, followed: str, other: str, now_s: float, left_s: float) -> HeldError:
        if not self.problem:
            first, other = followed or "one without a name", other or "one without a name"
            other = f"another {followed}".rstrip() if other == first else other
            self._problem = f"{self._topic} come from two senders: {first} and {other}; {ONE}"
        self._said_s = now_s
        return HeldError(self._problem, subject=self._topic, left_s=left_s)

    @property
    def problem(self) -> str:
        """Remark on strangers that were heard of late; empty: there are none."""
        return self._problem if time.monotonic() - self._said_s < HEARD_S else ""


class OnePublisher:
    """Hears a latched topic of one node: once another one publishes it too nothing of it is taken, until one of them is gone.

    Its messages are too rare to tell senders by their silence, and the publishers that there are come by name: one that was
    killed counts for some seconds, beside the one of its own name that has taken its place.  A message that does not count on
    from the last one is not taken either: the topic is heard anew then, and whoever is there says its last word again.

    Args:
        take: called with each message.
        say: called with ``problem`` whenever that changes; by default it is logged.

    Attributes:
        problem: who publishes it beside whom; empty: there is one.
    """

    def __init__(self, node, kind, topic: str, take: Callable, say: Callable[[str], None] | None = None):
        self._node, self._kind, self._topic, self._take = node, kind, topic, take
        self._say = say or self._log
        self._number: int | None = None
        self._broke_s, self._namesakes = -float("inf"), False
        self._ear = self._timer = None
        self.problem = ""
        self._listen()

    def _listen(self) -> None:
        if self._ear is not None:
            self._node.destroy_subscription(self._ear)
        self._number = None
        self._ear = hear_stream(self._node, self._kind, self._topic, self._hear, LATCHED)

    def _hear(self, message, info) -> None:
        if self.problem:
            return
        number, last = number_of(info), self._number
        broken = number is not None and last is not None and not last < number <= last + LEAP
        now_s = time.monotonic()
        self._namesakes = broken and now_s - self._broke_s < FORGOTTEN_S  # one that was started anew breaks off only once
        if names := self._duplicates():
            self.problem = f"{self._topic} is published by {' and '.join(names)}: {ONE}; holding until one is gone"
            self._timer = steady_timer(self._node, LOOK_S, self._look)
            self._say(self.problem)
        elif broken:
            self._broke_s = now_s
            self._listen()
        else:
            self._number = number
            self._take(message)

    def _duplicates(self) -> list[str]:
        """Names of the publishers, where there is more than one that may speak."""
        names = sources(self._node, self._topic)
        return names if len(names if self._namesakes else set(names)) > 1 else []

    def _look(self) -> None:
        """Whether all but one are gone."""
        if self._duplicates():
            return
        self._node.destroy_timer(self._timer)
        self.problem, self._broke_s = "", -float("inf")
        self._listen()
        self._say("")

    def _log(self, problem: str) -> None:
        if problem:
            self._node.get_logger().error(problem)


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
        """Remark on other publishers of the topic; empty if there are none.  Call it about once a second."""
        others = self._others()
        if others and self._ear is None:
            self._ear = hear_stream(self.node, JointTrajectory, self.publisher.topic_name, self._hear, LATEST)
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

    def _hear(self, message: JointTrajectory, _info: dict) -> None:
        if self.sent(seconds(message.header.stamp)):
            return
        now, before = time.monotonic(), self._heard_s
        self._heard_s = now
        if now - before > HEARD_S:
            self.heard()
