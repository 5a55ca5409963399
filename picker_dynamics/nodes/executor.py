"""Paced executor, for nodes that look a few times a second however often messages come."""

from __future__ import annotations

import time

from rclpy.executors import ShutdownException, SingleThreadedExecutor, TimeoutException

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
