"""Two ends in one process: the node under test, by the executor that it has, and another one, by rclpy's own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions
from waiting import until

TURNS = 5
"""Of the other end for each of the node: one request may bring it several messages."""


@contextlib.contextmanager
def ros() -> Iterator[None]:
    """ROS in this process, which keeps its signals."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        yield
    finally:
        rclpy.shutdown()


def wait_sizes(monkeypatch) -> list[int]:
    """How much is waited for, in each wait from now on."""
    sizes, wait_set = [], rclpy_implementation.WaitSet

    def counting(*counts):
        sizes.append(sum(counts[:-1]))  # the last argument is the context
        return wait_set(*counts)

    monkeypatch.setattr(rclpy_implementation, "WaitSet", counting)
    return sizes


def spin_until(condition: Callable[[], object], spin_once: Callable[[], object], other: SingleThreadedExecutor) -> None:
    """Spin both until ``condition()``: the node by ``spin_once``, the other end without waiting."""

    def step() -> None:
        spin_once()
        for _ in range(TURNS):
            other.spin_once(timeout_sec=0.0)

    until(condition, "what the other end waits for", step=step)
