"""Loop meter: rate, jitter and latency of the control loop, from the stamps of references and the arrivals of commands."""

from __future__ import annotations

import time

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from .runtime import LATEST, seconds


class LoopMeter:
    """Listens on a node that somebody else spins.

    Period and jitter come from the references' own stamps (when the controller's timer fired), latency from the
    command's arrival here against the moment at which its reference was made; it includes one delivery.
    """

    def __init__(self, node: Node, lead_s: float = 0.06):
        self.lead_s = lead_s
        self._stamps: list[float] = []
        self._latencies: list[float] = []
        node.create_subscription(JointTrajectory, "arm_controller/reference", self._on_reference, LATEST)
        node.create_subscription(JointState, "joint_commands", self._on_command, LATEST)

    def _on_reference(self, message: JointTrajectory) -> None:
        self._stamps.append(seconds(message.header.stamp))

    def _on_command(self, message: JointState) -> None:
        self._latencies.append(time.time() - (seconds(message.header.stamp) - self.lead_s))

    def summary(self) -> dict:
        """Rate [Hz], p99 of |period - nominal| and of the latency [ms], and periods longer than 1.5 nominal ones."""
        periods = np.diff(np.sort(self._stamps))
        if periods.size < 10 or len(self._latencies) < 10:
            return {"rate_hz": None, "jitter_p99_ms": None, "latency_p99_ms": None, "missed": None}
        nominal = float(np.median(periods))
        near = periods[periods < 1.5 * nominal]
        return {
            "rate_hz": round(1.0 / nominal, 2),
            "jitter_p99_ms": round(1e3 * float(np.percentile(np.abs(near - nominal), 99)), 3),
            "latency_p99_ms": round(1e3 * float(np.percentile(self._latencies, 99)), 3),
            "missed": int((periods > 1.5 * nominal).sum()),
        }
