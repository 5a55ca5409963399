"""``arm``: the process of one arm: its control loop in a thread, and the nodes ``trajectory_controller``, ``dynamics`` and
``hardware`` as shells of its session on one executor.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback

from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node

from picker_dynamics.controller import parameters
from picker_dynamics.controller.controller import Cycle
from picker_dynamics.errors import PickerError
from picker_dynamics.session.loop_thread import LoopThread
from picker_dynamics.session.running_arm import RunningArm

from .claims import Claim
from .dynamics import Dynamics
from .hardware import Hardware, HardwareAlone, HardwareNode
from .runtime import (
    end_soon,
    exit_code_of,
    listen,
    made,
    own_arguments,
    settings_of,
    shutdown_ros,
    steps,
    take_settings,
    tame_collector,
)
from .trajectory_controller import TrajectoryController

LAST_WORDS_S = 0.3
"""At the end: until answers on their way have been sent."""

WAKE_S = 1.0
"""How often the executor is woken: DDS waits for a moment of the wall clock, and would wait longer where that is set back [s]."""

LOOK_S = 0.1


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
        self.failure: Exception | None = None
        self._follows = False
        self.controller: TrajectoryController | None = None
        try:
            self._make_alone() if alone else self._make()
            for node in self.nodes:
                self.executor.add_node(node)
            self.arm.session.subscribe(self._hear)
        except BaseException:
            self._destroy()
            raise

    def _add(self, node: Node) -> Node:
        self.nodes.append(node)
        return node

    def _make_alone(self) -> None:
        node = made(HardwareAlone)
        self._add(node)
        self._claim = Claim.of(node)
        self.arm: RunningArm = node.arm
        self.hardware = Hardware(node, self.arm, self.executor.wake)

    def _make(self) -> None:
        controller = self._add(made(lambda: _node(parameters.CONTROLLER)))
        self._claim = Claim.of(controller)
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
        Dynamics(nodes[parameters.DYNAMICS], arm)
        self.hardware = Hardware(nodes[parameters.HARDWARE], arm, self.executor.wake)
        self.controller = TrajectoryController(controller, arm, self.executor.wake)

    # -- running -------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until a signal or a failure; then leave the arm as ``on_shutdown`` says.

        Raises:
            Exception: that ended the control loop.
        """
        node = self.hardware.node
        spinner = threading.Thread(target=self._spin, name="ros", daemon=True)
        if isinstance(node, LifecycleNode) and self.arm.settings[parameters.HARDWARE]["autostart"]:
            node.trigger_configure()
        loop = LoopThread(self.arm.session.cycle, self.arm.period_s)
        spinner.start()
        tame_collector()
        try:
            while not self._stop and loop.running and spinner.is_alive():
                time.sleep(LOOK_S)  # a signal ends it at once
        finally:
            self._close(loop, spinner)
        if failure := loop.failure or self.failure:
            raise failure

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
        node.follow()
        self._follows = False

    def _close(self, loop: LoopThread, spinner: threading.Thread) -> None:
        def leave() -> None:
            if loop.running:
                self.arm.leave(lambda: len(self._stop) > 1)

        def last_words() -> None:
            if self.controller is not None:
                self.controller.close()
            until_s = time.monotonic() + LAST_WORDS_S
            while self._waiting and time.monotonic() < until_s and len(self._stop) < 2:
                time.sleep(0.01)

        def end() -> None:
            loop.close()
            self.arm.close()
            with self.arm.session.turn:
                self.hardware.publish_status()
            self._ending.set()
            self.executor.wake()
            spinner.join(1.0)
            self._destroy()

        self.code = steps(leave, last_words, end)

    @property
    def _waiting(self) -> bool:
        """Whether somebody waits for an answer that is on its way."""
        return self.arm.session.gate.settling or (self.controller is not None and self.controller.concluding)

    def _destroy(self) -> None:
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
        process = ArmProcess(stop, alone)
        process.run()
        code = process.code
    except Exception as error:
        if not isinstance(error, PickerError):
            end_soon()
        code = exit_code_of(error)
    finally:
        code = steps(shutdown_ros) or code
    return code


def main(args=None) -> int:
    return serve(args)


def hardware_main(args=None) -> int:
    """Run ``hardware`` without a controller."""
    return serve(args, alone=True)


if __name__ == "__main__":
    sys.exit(main())
