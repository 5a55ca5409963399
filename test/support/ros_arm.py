"""The nodes of one arm in this process, on virtual time: its board in memory, the true arm on it, and a node of who operates it.

Each step is a cycle of the control loop, 10 ms of the board, and what ROS has brought meanwhile.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import rclpy
import waiting
from arm_fixtures import picker
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from benchmarks.ros_operator import values_of
from picker_dynamics.board.stamp_clock import StampClock
from picker_dynamics.controller.simulated import VirtualTime
from picker_dynamics.execution.planning import at_once
from picker_dynamics.nodes import arm as arm_process
from picker_dynamics.nodes.runtime import OUTCOMES, to_stamp
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.sim.board_in_memory import BoardInMemory
from picker_dynamics.sim.plant import Plant

OVERLAY = str(resource("config/servos.ideal.yaml"))
_, SERVOS = servo_arm.load("", "", OVERLAY)
NAMES = picker().joint_names
HOME, REST = np.array(SERVOS.home), np.array(SERVOS.rest)
PERIOD_S, SPINS = 0.01, 3
BEGAN_S = 1_700_000_000.0
"""Wall clock where virtual time is 0 [s since 1970]."""


class RosArm:
    """Process and operator; use ``ros_arm``.

    Attributes:
        wall_s: how far the wall clock was set ahead [s].
    """

    def __init__(self, alone: bool, torque: bool):
        self.wall_s = 0.0
        self.plant = None if torque else Plant(picker(), SERVOS, q=HOME)
        self.board = VirtualTime() if torque else BoardInMemory(self.plant, SERVOS, found=HOME.tolist())
        stamps = partial(StampClock, wall=lambda: BEGAN_S + self.board.now() + self.wall_s)
        how: dict[str, Any] = {"clock": self.board} | ({} if torque else {"open_port": self.board.open})
        with (
            mock.patch("picker_dynamics.nodes.runtime.StampClock", stamps),
            mock.patch("picker_dynamics.session.running_arm.Worker", _Inline),
        ):
            self.process = arm_process.ArmProcess([], alone, **how)
        self.arm, self.node = self.process.arm, self.process.hardware.node
        self.session, self.outputs, self.execution = self.arm.session, self.arm.outputs, self.arm.controller.execution
        if not torque:
            self.arm.connection = _Connection(self)
            self.board.on_arrival = self.outputs.link.poll
        self.operator = Node("operator", namespace=self.node.get_namespace())
        self.process.executor.add_node(self.operator)
        self.status = self.hear(DiagnosticStatus, "arm_controller/status", OUTCOMES)

    def close(self) -> None:
        self.arm.close()
        self.operator.destroy_node()
        self.process.destroy()

    # -- time ----------------------------------------------------------------------------------------------

    def step(self) -> None:
        self.session.cycle()
        self.board.run(PERIOD_S)
        for _ in range(SPINS):
            self.process.executor.spin_once(0.0)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / PERIOD_S)):
            self.step()

    def until(self, condition: Callable[[], Any], what: str = "what was waited for") -> Any:
        said = lambda: f"{what}: {self.outputs.problem}; {[one.message for one in self.status[-3:]]}"  # noqa: E731
        return waiting.until(condition, said, step=self.step)

    def active(self) -> RosArm:
        """Connected, and its outputs adopted."""
        if self.plant is not None:
            self.arm.configure()
        self.session.enable(at_rest_pose=self.plant is None)
        self.until(lambda: self.execution.phase.value == "holding", "an arm that holds")
        return self

    # -- the operator --------------------------------------------------------------------------------------

    def hear(self, kind: Any, topic: str, qos: Any = 10) -> list[Any]:
        """What comes by a topic from now on."""
        heard: list[Any] = []
        self.operator.create_subscription(kind, topic, heard.append, qos)
        return heard

    @contextlib.contextmanager
    def hearing(self, kind: Any, topic: str, qos: Any = 10) -> Iterator[list[Any]]:
        """What comes by a topic meanwhile."""
        heard: list[Any] = []
        subscription = self.operator.create_subscription(kind, topic, heard.append, qos)
        try:
            yield heard
        finally:
            self.operator.destroy_subscription(subscription)

    def publisher(self, kind: Any, topic: str, qos: Any = 10) -> Any:
        """A publisher that somebody hears."""
        made = self.operator.create_publisher(kind, topic, qos)
        self.until(made.get_subscription_count, f"a listener of {topic}")
        return made

    def begin(self, kind: Any, name: str, request: Any) -> Any:
        """Ask for a service; the future of its answer."""
        client = self.operator.create_client(kind, name)
        self.until(client.service_is_ready, f"service {name}")
        return client.call_async(request)

    def call(self, kind: Any, name: str, request: Any) -> Any:
        """Answer of a service."""
        future = self.begin(kind, name, request)
        self.until(future.done, f"an answer of {name}")
        return future.result()

    def said(self, goal: str, *outcomes: str) -> DiagnosticStatus:
        """Wait for one of these outcomes of a goal; what was said of it."""

        def found() -> list[DiagnosticStatus]:
            return [one for one in self.status if (values := values_of(one))["goal"] == goal and values["outcome"] in outcomes]

        return self.until(found, f"{outcomes} of {goal}")[-1]


class _Inline:
    """Worker whose work is done at once."""

    def __call__(self, work: Callable[..., Any], *arguments: object) -> Any:
        return at_once(partial(work, *arguments))

    def close(self, wait: bool = False) -> None:
        """Nothing runs."""


class _Connection:
    """Connection to the board in memory, made at once: virtual time has no threads."""

    def __init__(self, arm: RosArm):
        self._arm, self.session, self.wanted, self.failure = arm, arm.outputs, False, None

    def open(self) -> None:
        self.wanted = True
        self._arm.outputs.connect()

    def look(self) -> None:
        if self.wanted and self._arm.outputs.state.value == "offline" and self._arm.board.plugged:
            self._arm.outputs.connect()

    def close(self) -> None:
        self.wanted = False
        self._arm.outputs.disconnect()


@contextlib.contextmanager
def ros_arm(parameters: dict[str, Any] | None = None, alone: bool = False, namespace: str = "") -> Iterator[RosArm]:
    """An arm in the ROS domain of the environment; ``parameters`` by NODE:NAME, or by NAME for all nodes."""
    given = {"servo_overlay": OVERLAY} | (parameters or {})
    torque = given.get("control") == "torque"
    if torque:
        del given["servo_overlay"]
    words = [word for name, value in given.items() for word in ("-p", f"{name}:={value}")]
    rclpy.init(args=["--ros-args", *(("-r", f"__ns:=/{namespace}") if namespace else ()), *words])
    try:
        made = RosArm(alone, torque)
        try:
            yield made
        finally:
            made.close()
    finally:
        rclpy.try_shutdown()


def moved(q: np.ndarray = HOME, **by: float) -> np.ndarray:
    """A pose by some joints [rad] away from ``q``."""
    target = np.array(q, dtype=float)
    for joint, amount in by.items():
        target[NAMES.index(joint)] += amount
    return target


def goal(*targets: Any, times: Any = (1.0,), names: Any = NAMES, name: str = "", **fields: Any) -> JointTrajectory:
    """A goal as a message, at rest at every point; ``fields`` of its points."""
    message = JointTrajectory(joint_names=list(names))
    message.header.frame_id = name
    for time_s, target in zip(times, targets):
        point = JointTrajectoryPoint(positions=[float(angle) for angle in target])
        point.velocities = point.accelerations = [0.0] * len(target)
        for field, values in fields.items():
            setattr(point, field, values)
        to_stamp(point.time_from_start, time_s)
        message.points.append(point)
    return message
