"""A subscription that is looked at when its message is needed, and wakes nobody when one comes."""

from __future__ import annotations

from rclpy.callback_groups import CallbackGroup
from rclpy.qos import QoSProfile


class _Never(CallbackGroup):
    """Its members are never ready: executors leave them out of what they wait for."""

    def can_execute(self, entity) -> bool:
        return False

    def beginning_execution(self, entity) -> bool:
        return False

    def ending_execution(self, entity) -> None:
        """Nothing ever began."""


class Polled:
    """The newest message of a topic.

    Args:
        kind: message type.
        name: topic.
        qos: depth 1 is enough.
    """

    def __init__(self, node, kind, name: str, qos: QoSProfile):
        self._subscription = node.create_subscription(kind, name, lambda _message: None, qos, callback_group=_Never())
        self.newest = None

    def look(self) -> bool:
        """Take what has come into ``newest``; whether there was something."""
        fresh = False
        handle = self._subscription.handle
        with handle:
            while (taken := handle.take_message(self._subscription.msg_type, False)) is not None:
                self.newest, fresh = taken[0], True
        return fresh
