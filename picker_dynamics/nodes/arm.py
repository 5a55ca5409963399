"""``arm``: the process of one arm: its control loop in a thread, and the nodes ``trajectory_controller``, ``dynamics`` and
``hardware`` as shells of its session on one executor.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node

from picker_dynamics.controller import parameters
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.execution.events import Event
from picker_dynamics.session.address import Claim
from picker_dynamics.session.process import Runner, steps
from picker_dynamics.session.report import Report
from picker_dynamics.session.running_arm import RunningArm

from .diagnostics import array
from .dynamics import Dynamics
from .hardware import Hardware, HardwareAlone, HardwareNode
from .runtime import LATCHED, exit_code_of, listen, made, own_arguments, settings_of, shutdown_ros, take_settings
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
    """

    def __init__(self, stop: list[int], alone: bool):
        self._stop, self._ending = stop, threading.Event()
        self.executor = SingleThreadedExecutor()
        self.nodes: list[Node] = []
        self._follows = False
        self.controller: TrajectoryController | None = None
        try:
            self._make_alone() if alone else self._make()
            for node in self.nodes:
                self.executor.add_node(node)
            self.arm.session.subscribe(self._hear)
        except BaseException:
            self.destroy()
            raise

    def _add(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def _make_alone(self) -> None:
        node = made(HardwareAlone)
        self._add(node)
        self._claim = Claim(node.get_namespace())
        self.arm: RunningArm = node.arm
        self.report = Report(self.arm)
        self.hardware = Hardware(node, self.arm, self.report, self.executor.wake)
        self._diagnose({parameters.HARDWARE: node})

    def _make(self) -> None:
        controller = self._add(made(lambda: _node(parameters.CONTROLLER)))
        self._claim = Claim(controller.get_namespace())
        settings = {parameters.CONTROLLER: settings_of(controller, parameters.CONTROLLER)}
        settings[parameters.CONTROLLER].declare(parameters.CONTROL)
        servos = settings[parameters.CONTROLLER]["control"] == "servo"
        nodes = {
            parameters.CONTROLLER: controller,
            parameters.DYNAMICS: self._add(made(lambda: _node(parameters.DYNAMICS))),
            parameters.HARDWARE: self._add(made(HardwareNode if servos else lambda: _node(parameters.HARDWARE))),
        }
        settings |= {part: settings_of(nodes[part], part) for part in parameters.PARTS if part not in settings}
        self.arm = arm = RunningArm(settings)
        for note in arm.notes:
            controller.get_logger().info(note)
        if servos:
            nodes[parameters.HARDWARE].arm = arm
        for part, node in nodes.items():
            take_settings(node, settings[part], arm.session.turn, self.executor.create_task)
        self.report = Report(arm)
        Dynamics(nodes[parameters.DYNAMICS], arm)
        self.hardware = Hardware(nodes[parameters.HARDWARE], arm, self.report, self.executor.wake)
        self.controller = TrajectoryController(controller, arm, self.report, self.executor.wake)
        self._diagnose(nodes)

    def _diagnose(self, nodes: Mapping[str, Node]) -> None:
        """Have each node publish the entries of its part on ``/diagnostics``, where they are made anew."""
        outs = {part: node.create_publisher(DiagnosticArray, "/diagnostics", LATCHED) for part, node in nodes.items()}
        published = [0]

        def hear(_cycle: Cycle) -> None:
            if self.report.version == published[0]:
                return
            published[0] = self.report.version
            for part, out in outs.items():
                out.publish(array(nodes[part], [e for e in self.report.entries.values() if e.name.partition(":")[0] == part]))

        self.arm.session.subscribe(hear)

    # -- running -------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Run until a signal or a failure, then leave the arm as ``on_shutdown`` says; returns the exit code.

        Raises:
            Exception: that ended the control loop.
        """
        node = self.hardware.node
        spinner = threading.Thread(target=self._spin, name="ros", daemon=True)
        runner = Runner(self.arm, self.report, self._claim, self._stop)
        if isinstance(node, LifecycleNode) and self.arm.settings[parameters.HARDWARE]["autostart"]:
            node.trigger_configure()
        spinner.start()
        try:
            runner.run(spinner.is_alive, self._last_words, exit_code_of)
        finally:
            with self.arm.session.turn:
                self.hardware.publish_status()
            self._ending.set()
            self.executor.wake()
            spinner.join(1.0)
            code = steps(self.destroy, code_of=exit_code_of)
        return runner.code or code

    def _spin(self) -> None:
        """Serve ROS; a request that rclpy cannot deal with is logged, the arm goes on."""
        while not self._ending.is_set():
            try:
                self.executor.spin_once()
            except ExternalShutdownException:
                return
            except Exception as error:
                self.nodes[0].get_logger().error(f"a request failed: {type(error).__name__}: {error}")
                traceback.print_exception(error)

    def _hear(self, cycle: Cycle) -> None:
        """Have the lifecycle follow the arm, and wake the executor now and then; called by the control loop."""
        node = self.hardware.node
        if (
            isinstance(node, HardwareNode)
            and {node.lifecycle, self.arm.lifecycle} == {"active", "inactive"}
            and not self._follows
        ):
            self._follows = True
            self.executor.create_task(self._follow, node)
        if cycle.now_s >= getattr(self, "_wake_s", 0.0):
            self._wake_s = cycle.now_s + WAKE_S
            self.executor.wake()

    def _follow(self, node: HardwareNode) -> None:
        try:
            node.follow()
        finally:
            self._follows = False

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
        for node in self.nodes:
            node.destroy_node()
        claim = getattr(self, "_claim", None)
        if claim is not None:
            claim.close()


def _node(name: str) -> Node:
    return Node(name, cli_args=own_arguments(name), automatically_declare_parameters_from_overrides=True)


def serve(args=None, alone: bool = False) -> int:
    """Run an arm's process until SIGINT or SIGTERM; returns the exit code for the shell."""
    stop: list[int] = []
    code = 0
    try:
        listen(args, stop)
        code = ArmProcess(stop, alone).run()
    except Exception as error:
        code = exit_code_of(error)
    finally:
        code = steps(shutdown_ros, code_of=exit_code_of) or code
    return code


def main(args=None) -> int:
    return serve(args)


def hardware_main(args=None) -> int:
    """Run ``hardware`` without a controller."""
    return serve(args, alone=True)


if __name__ == "__main__":
    sys.exit(main())
