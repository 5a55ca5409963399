"""Paced executor, for nodes that look a few times a second however often messages come, and topics that wake nobody."""

from __future__ import annotations

import time

from rclpy.callback_groups import CallbackGroup
from rclpy.executors import ShutdownException, SingleThreadedExecutor, TimeoutException
from rclpy.qos import QoSProfile

MOST_CALLBACKS = 100
"""In one turn of a node, so that a flood of messages cannot keep it from its work."""


class PacedExecutor(SingleThreadedExecutor):
    """Spins ``node``, which has ``period_s`` [s] and ``every_period()``, however often messages come.

    A subscription of depth 1 has the newest message by then, and those in between were dropped by DDS at no cost in Python.
    """

    def __init__(self, node):
        super().__init__(context=node.context)
        self._node = node
        self._next_s = time.monotonic()
        self.add_node(node)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Sleep until the next turn, and take it."""
        time.sleep(max(self._next_s - time.monotonic(), 0.0))
        self._next_s = max(self._next_s + self._node.period_s, time.monotonic())
        for _ in range(MOST_CALLBACKS):
            try:
                handler, _, _ = self.wait_for_ready_callbacks(0.0)
            except (ShutdownException, TimeoutException):
                break
            handler()
            handler.result()  # raises what the callback raised
        self._node.every_period()


class _Never(CallbackGroup):
    """Its members are never ready: executors leave them out of what they wait for."""

    def can_execute(self, entity) -> bool:
        return False

    def beginning_execution(self, entity) -> bool:
        return False

    def ending_execution(self, entity) -> None:
        """Nothing ever began."""


class Polled:
    """The newest message of a topic, looked at when it is needed.

    Args:
        kind: message type.
        name: topic.
        qos: depth 1 is enough.
        raw: messages as bytes: a tenth of the cost, where not much of them matters.
    """

    def __init__(self, node, kind, name: str, qos: QoSProfile, raw: bool = False):
        self._raw = raw
        self._subscription = node.create_subscription(kind, name, lambda _message: None, qos, callback_group=_Never(), raw=raw)
        self.newest = self.info = None

    def take(self) -> list:
        """Messages that have come, each with its info, the oldest first."""
        handle, came = self._subscription.handle, []
        with handle:
            while (taken := handle.take_message(self._subscription.msg_type, self._raw)) is not None:
                came.append(taken)
        return came

    def look(self) -> bool:
        """Take what has come into ``newest``; whether there was something."""
        came = self.take()
        if came:
            self.newest, self.info = came[-1]
        return bool(came)
