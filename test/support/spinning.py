"""Two ends in one process: the node under test, by the executor that it has, and another one, by rclpy's own."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.executors import SingleThreadedExecutor
from waiting import until

TURNS = 5
"""Of the other end for each of the node: one request may bring it several messages."""


def spin_until(condition: Callable[[], object], spin_once: Callable[[], object], other: SingleThreadedExecutor) -> None:
    """Spin both until ``condition()``: the node by ``spin_once``, the other end without waiting."""

    def step() -> None:
        spin_once()
        for _ in range(TURNS):
            other.spin_once(timeout_sec=0.0)

    until(condition, "what the other end waits for", step=step)
