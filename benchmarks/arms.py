"""Many simulated arms on one machine, a ROS domain each: ``python -m benchmarks.arms --arms 10``.

Each arm is a whole graph, its board included, and holds; what is measured is how regularly it makes its commands (from
``hardware: timing``, once a second), and what all of them take of the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from benchmarks import machine
from benchmarks.domain import own_domain
from benchmarks.machine import CpuMeter
from benchmarks.ros_operator import values_of
from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.runner import GraphRunner
from picker_dynamics.nodes.runtime import LATCHED

READY_S = 120.0
SPACING_S = 1.0
"""Between two bring-ups: all at once would take each other's time."""


class Witness:
    """Listens in one domain."""

    def __init__(self, domain: int):
        self.context, self.state, self.commands, self.missed, self.late = Context(), "", 0, 0, 0
        self.measuring = False
        rclpy.init(context=self.context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
        self.node = Node(f"witness_{domain}", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self.node.create_subscription(DiagnosticStatus, "hardware/status", self._on_status, LATCHED)

    def _on_status(self, message: DiagnosticStatus) -> None:
        self.state = values_of(message)["state"]

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for entry in message.status:
            values = values_of(entry)
            if self.measuring and entry.name == "hardware: timing" and "commands" in values:
                self.commands += int(values["commands"])
                self.missed += int(values["missed"])
                self.late += int(values["late"])

    def spin(self, seconds: float) -> None:
        self.executor.spin_once(timeout_sec=seconds)

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)


def run(arms: int = 10, rate_hz: float = 50.0, seconds: float = 20.0, tell=lambda _text: None) -> dict:
    """Bring up ``arms`` graphs and measure for ``seconds``; for JSON."""
    with ExitStack() as stack:
        witnesses, processes = [], {}
        for number in range(arms):
            environment = stack.enter_context(own_domain())
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=f"picker_arm_{number}_"))
