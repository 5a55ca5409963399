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
            file = Path(folder) / "rate.yaml"
            file.write_text(f"/**/trajectory_controller: {{ros__parameters: {{rate_hz: {rate_hz}}}}}")
            graph = bringup.graph(bringup.Options(directory=folder, params_file=str(file)))
            runner = stack.enter_context(GraphRunner(graph, log_path=Path(folder) / "nodes.log"))
            witness = Witness(int(environment["ROS_DOMAIN_ID"]))
            stack.callback(witness.close)
            witnesses.append(witness)
            processes |= {f"{number} {name}": process.pid for name, process in runner.processes.items()}
            tell(f"arms: {number + 1} of {arms}")
            _wait(witnesses, lambda: False, SPACING_S)
        if not _wait(witnesses, lambda: all(one.state == "active" for one in witnesses), READY_S):
            raise RuntimeError(f"not every arm came up: {[one.state for one in witnesses]}")
        _wait(witnesses, lambda: False, 3.0)
        for one in witnesses:
            one.measuring = True
        cpu = CpuMeter(processes)
        _wait(witnesses, lambda: False, seconds)
        shares = cpu.shares()
    per_arm = [{"commands": one.commands, "missed": one.missed, "late": one.late} for one in witnesses]
    commands, missed = (sum(one[key] for one in per_arm) for key in ("commands", "missed"))
    return {
        "arms": arms,
        "rate_hz": rate_hz,
        "seconds": seconds,
        "machine": machine.facts(),
        "per_arm": per_arm,
        "commands": commands,
        "missed_percent": round(100.0 * missed / max(commands, 1), 2),
        "worst_arm_missed_percent": round(max(100.0 * one["missed"] / max(one["commands"], 1) for one in per_arm), 2),
        "late": sum(one["late"] for one in per_arm),
        "cpu_percent_per_arm": {
            kind: round(sum(share for name, share in shares.items() if name.endswith(kind)) / arms, 1)
            for kind in ("virtual_board", "arm")
        },
        "cpu_percent_others": round(shares["others"], 1),
    }


def _wait(witnesses: list[Witness], condition, seconds: float) -> bool:
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s and not condition():
        for one in witnesses:
            one.spin(0.0)
        time.sleep(0.05)
    return condition()


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arms", description=__doc__.splitlines()[0])
    parser.add_argument("--arms", type=int, default=10)
    parser.add_argument("--rate", type=float, default=50.0, metavar="HZ")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args(arguments)
    print(
        json.dumps(
            run(options.arms, options.rate, options.seconds, lambda text: print(text, file=sys.stderr, flush=True)), indent=2
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
