"""``arm``: the process of one arm: its control loop in a thread, and the nodes ``trajectory_controller``, ``dynamics`` and
``hardware`` as shells of its session on one executor.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from picker_dynamics.controller import parameters
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.execution.events import Event
from picker_dynamics.session import process
from picker_dynamics.session.address import Claim
from picker_dynamics.session.report import Report
from picker_dynamics.session.running_arm import RunningArm

from .diagnostics import array
from .dynamics import Dynamics
from .hardware import Hardware
from .hardware_node import HardwareAlone, HardwareNode
from .node_parameters import settings_of, take_settings
from .runtime import LATCHED, exit_code_of, listen, made, own_arguments, shutdown_ros
from .trajectory_controller import TrajectoryController

LAST_WORDS_S = 0.3
"""At the end: until answers on their way have been sent."""

WAKE_S = 1.0
"""How often the executor is woken: DDS waits for a moment of the wall clock, and would wait longer where that is set back [s]."""


class ArmProcess:
    """Executor and control loop of an arm's nodes; made after ROS has started.

    Args:
        stop: numbers of the signals that have come; the second one hurries.
        alone: ``hardware`` without a controller.
        how: ``clock`` and ``open_port`` as for ``RunningArm``.
    """

    def __init__(self, stop: list[int], alone: bool, **how: Any):
        self._stop, self._ending = stop, threading.Event()
        self.executor = SingleThreadedExecutor()
        self.nodes: dict[str, Node] = {}
        self.controller: TrajectoryController | None = None
        self._claim: Claim | None = None
        self._published, self._wake_s, self._follows = 0, 0.0, False
        try:
            self.arm: RunningArm = (
                self._add(parameters.HARDWARE, partial(HardwareAlone, **how)).arm if alone else self._arm(**how)
            )
            self.report = Report(self.arm)
            if not alone:
                Dynamics(self.nodes[parameters.DYNAMICS], self.arm)
            self.hardware = Hardware(self.nodes[parameters.HARDWARE], self.arm, self.report, self.executor.wake)
            if not alone:
                shell = self.nodes[parameters.CONTROLLER], self.arm, self.report, self.executor.wake
                self.controller = TrajectoryController(*shell)
            self._diagnostics_out = {
                part: node.create_publisher(DiagnosticArray, "/diagnostics", LATCHED) for part, node in self.nodes.items()
            }
            for node in self.nodes.values():
                self.executor.add_node(node)
            self.arm.session.subscribe(self._hear)
        except BaseException:
            self.destroy()
            raise

    def _add(self, part: str, make: Callable[[], Node]) -> Node:
        node = self.nodes[part] = made(make)
        if self._claim is None:
            self._claim = Claim(node.get_namespace())
        return node

    def _arm(self, **how: Any) -> RunningArm:
        controller = self._add(parameters.CONTROLLER, partial(_node, parameters.CONTROLLER))
        settings = {parameters.CONTROLLER: settings_of(controller, parameters.CONTROLLER)}
        settings[parameters.CONTROLLER].declare(parameters.CONTROL)
        servos = settings[parameters.CONTROLLER]["control"] == "servo"
        for part in (parameters.DYNAMICS, parameters.HARDWARE):
            lifecycle = part == parameters.HARDWARE and servos
            settings[part] = settings_of(self._add(part, HardwareNode if lifecycle else partial(_node, part)), part)
        arm = RunningArm(settings, **how)
        for note in arm.notes:
            controller.get_logger().info(note)
        if isinstance(hardware := self.nodes[parameters.HARDWARE], HardwareNode):
            hardware.arm = arm
        for part, node in self.nodes.items():
            take_settings(node, settings[part], arm.session.turn, self.executor.create_task)
        return arm

    # -- running -------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until a signal or a failure, then leave the arm as ``on_shutdown`` says.

        Raises:
            Exception: that ended the control loop, or failed at the end.
        """
        spinner = threading.Thread(target=self._spin, name="ros", daemon=True)
        assert self._claim is not None
        node = self.nodes[parameters.HARDWARE]
        if isinstance(node, HardwareNode) and self.arm.settings[parameters.HARDWARE]["autostart"]:
            node.trigger_configure()
        spinner.start()
        try:
            process.run(self.arm, self.report, self._claim, self._stop, spinner.is_alive, self._last_words)
        finally:
            with self.arm.session.turn:
                self.hardware.publish_status()
            self._ending.set()
            self.executor.wake()
            spinner.join(1.0)
            self.destroy()

    def _spin(self) -> None:
        """Serve ROS; a request that rclpy cannot deal with is logged, the arm goes on."""
        while not self._ending.is_set():
            try:
                self.executor.spin_once()
            except ExternalShutdownException:
                return
            except Exception as error:
                self.nodes[parameters.HARDWARE].get_logger().error(f"a request failed: {type(error).__name__}: {error}")
                traceback.print_exception(error)

    def _hear(self, cycle: Cycle) -> None:
        """Publish news on ``/diagnostics``, have the lifecycle follow the arm, wake the executor; called by the control loop."""
        if self.report.version != self._published:
            self._published = self.report.version
            for part, out in self._diagnostics_out.items():
                own = [one for one in self.report.entries.values() if one.name.partition(":")[0] == part]
                out.publish(array(self.nodes[part], own))
        node = self.nodes[parameters.HARDWARE]
        if isinstance(node, HardwareNode) and {node.lifecycle, self.arm.lifecycle} == {"active", "inactive"}:
            if not self._follows:
                self._follows = True
                self.executor.create_task(node.follow)
        else:
            self._follows = False
        if cycle.now_s >= self._wake_s:
            self._wake_s = cycle.now_s + WAKE_S
            self.executor.wake()

    def _last_words(self, events: Sequence[Event]) -> None:
        if self.controller is not None:
            self.controller.publish(events)
        until_s = time.monotonic() + LAST_WORDS_S
        while self._waiting and time.monotonic() < until_s and len(self._stop) < 2:
            time.sleep(0.01)

    @property
    def _waiting(self) -> bool:
        """Whether somebody waits for an answer that is on its way."""
        return self.arm.session.gate.settling or (self.controller is not None and self.controller.concluding)

    def destroy(self) -> None:
        self.executor.shutdown()
        for node in self.nodes.values():
            node.destroy_node()
        if self._claim is not None:
            self._claim.close()


def _node(name: str) -> Node:
    return Node(name, cli_args=own_arguments(name), automatically_declare_parameters_from_overrides=True)


def main(args=None, alone: bool = False) -> int:
    """Run an arm's process until SIGINT or SIGTERM; returns the exit code for the shell."""
    stop: list[int] = []
    code = 0
    try:
        with ExitStack() as at_the_end:
            at_the_end.callback(shutdown_ros)
            listen(args, stop)
            ArmProcess(stop, alone).run()
    except Exception as error:
        code = exit_code_of(error)
    return code


hardware_main = partial(main, alone=True)
"""``hardware`` without a controller."""

if __name__ == "__main__":
    sys.exit(main())
