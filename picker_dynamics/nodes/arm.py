"""``arm``: the process of one arm: its control loop in a thread, and the nodes ``trajectory_controller``, ``dynamics`` and
``hardware`` as shells of its session on one executor.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Sequence
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from picker_dynamics.controller import parameters
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.controller.settings import Settings, given
from picker_dynamics.execution.events import Event
from picker_dynamics.session import process
from picker_dynamics.session.address import Claim
from picker_dynamics.session.report import Report
from picker_dynamics.session.running_arm import RunningArm

from .dynamics import Dynamics
from .hardware import Hardware
from .hardware_node import HardwareNode
from .node_parameters import settings_of, take_settings
from .runtime import LATCHED, array, made, node_arguments, ros_process
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
            self.arm = self._arm(alone, **how)
            self.report = Report(self.arm)
            shared = self.arm, self.report, self.executor.wake
            if not alone:
                Dynamics(self.nodes[parameters.DYNAMICS], self.arm)
            self.hardware = Hardware(self.nodes[parameters.HARDWARE], *shared)
            if not alone:
                self.controller = TrajectoryController(self.nodes[parameters.CONTROLLER], *shared)
                self._offer_interfaces(self.controller)
            self._diagnostics_out = {
                part: node.create_publisher(DiagnosticArray, "/diagnostics", LATCHED) for part, node in self.nodes.items()
            }
            for node in self.nodes.values():
                self.executor.add_node(node)
            self.arm.session.subscribe(self._hear)
        except BaseException:
            self.destroy()
            raise

    def _offer_interfaces(self, controller: TrajectoryController) -> None:
        """Offer actions and ``controller_state`` where their types are installed."""
        try:
            from .actions import ControlInterfaces
        except ModuleNotFoundError as missing:
            if not (missing.name or "").startswith("control_msgs"):
                raise
            controller.node.get_logger().info("control_msgs is not installed: goals come by topic, there are no actions")
            return
        made = controller.interfaces = ControlInterfaces(controller)
        self.arm.session.watched = lambda: made.heard

    def _arm(self, alone: bool, **how: Any) -> RunningArm:
        """Make the nodes, and the arm by their parameters; of ``hardware`` alone all parts have which arm it is from that."""
        settings: dict[str, Settings] = {}
        for part in (parameters.HARDWARE,) if alone else parameters.PARTS:
            lifecycle = part == parameters.HARDWARE and (alone or settings[parameters.CONTROLLER]["control"] == "servo")
            node = self.nodes[part] = made(HardwareNode if lifecycle else partial(Node, **node_arguments(part)))
            self._claim = self._claim or Claim(node.get_namespace())
            settings[part] = settings_of(node, part)
            settings[part].declare(*([parameters.CONTROL] if part == parameters.CONTROLLER else []))
        if alone:
            settings[parameters.HARDWARE].declare(*parameters.SERVO_ARM)
            same = given({one.name: settings[parameters.HARDWARE][one.name] for one in parameters.SERVO_ARM})
            settings = {part: Settings(part, same) for part in parameters.PARTS} | settings
        arm = RunningArm(settings, passive=alone, **how)
        if isinstance(hardware := self.nodes[parameters.HARDWARE], HardwareNode):
            hardware.arm = arm
        for part, node in self.nodes.items():
            take_settings(node, settings[part], arm.session.turn, self.executor.create_task)
        for note in () if alone else arm.notes:
            self.nodes[parameters.CONTROLLER].get_logger().info(note)
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
            self.controller.close(events)
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


def main(args=None, alone: bool = False) -> int:
    """Run an arm's process until SIGINT or SIGTERM; returns the exit code for the shell."""
    return ros_process(lambda stop: ArmProcess(stop, alone).run(), args)


hardware_main = partial(main, alone=True)
"""``hardware`` without a controller."""

if __name__ == "__main__":
    sys.exit(main())
