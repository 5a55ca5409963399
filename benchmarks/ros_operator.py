"""Operator of an arm that runs, in plain rclpy: sends goals, calls services, and hears what becomes of it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from picker_dynamics.nodes.runtime import LATCHED, LATEST, OUTCOMES, prepare_transport, to_stamp

PATIENCE_S = 60.0
SPIN_S = 0.02


def values_of(message: DiagnosticStatus) -> dict[str, str]:
    """The key-value pairs of a status."""
    return {pair.key: pair.value for pair in message.values}


class Operator(Node):
    """Operator of one arm; a context manager, which starts ROS where it does not run.

    Args:
        joint_names: of the arm, in its order.
        alive: an error that names what has ended, or None.

    Attributes:
        hardware, controller: facts that came last, with ``message``.
        outcomes: facts that came last of each goal, by its name.
        state, desired: (n,) newest state and reference [rad or m]; None: nothing has come.
    """

    def __init__(self, joint_names: Sequence[str], namespace: str = "", alive: Callable[[], object] = lambda: None):
        self._started = not rclpy.ok()
        if self._started:
            prepare_transport()
            rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
        super().__init__(f"operator_{uuid.uuid4().hex[:8]}", namespace=namespace)
        self.joint_names, self.alive = tuple(joint_names), alive
        self.hardware: dict[str, str] = {}
        self.controller: dict[str, str] = {}
        self.outcomes: dict[str, dict[str, str]] = {}
        self.state: np.ndarray | None = None
        self.desired: np.ndarray | None = None
        self._offered: dict[str, Any] = {}
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self)
        self.goals = self.create_publisher(JointTrajectory, "arm_controller/joint_trajectory", 10)
        self.create_subscription(DiagnosticStatus, "arm_controller/status", self.on_controller, OUTCOMES)
        self.create_subscription(DiagnosticStatus, "hardware/status", self.on_hardware, LATCHED)
        self.hear_motion()

    def hear_motion(self) -> None:
        """Take in joint states and references as they come."""
        self.create_subscription(JointState, "joint_states", self.on_state, 10)
        self.create_subscription(JointTrajectory, "arm_controller/reference", self.on_reference, LATEST)

    def __exit__(self, *_exception: object) -> None:
        self._executor.shutdown()
        self.destroy_node()
        if self._started:
            rclpy.try_shutdown()

    def __enter__(self):
        return self

    # -- what is heard -------------------------------------------------------------------------------------

    def on_controller(self, message: DiagnosticStatus) -> None:
        self.controller = {**values_of(message), "message": message.message}
        if goal := self.controller.get("goal"):
            self.outcomes[goal] = self.controller

    def on_hardware(self, message: DiagnosticStatus) -> None:
        self.hardware = {**values_of(message), "message": message.message}

    def on_state(self, message: JointState) -> None:
        self.state = self._ordered(message.name, message.position)

    def on_reference(self, message: JointTrajectory) -> None:
        self.desired = self._ordered(message.joint_names, message.points[0].positions)

    def _ordered(self, names: Sequence[str], values: Sequence[float]) -> np.ndarray:
        return np.array([values[list(names).index(name)] for name in self.joint_names])

    @contextmanager
    def hearing(self, kind: Any, topic: str, qos: Any = 10) -> Iterator[list[Any]]:
        """The messages of a topic that come meanwhile."""
        heard: list[Any] = []
        subscription = self.create_subscription(kind, topic, heard.append, qos)
        try:
            yield heard
        finally:
            self.destroy_subscription(subscription)

    # -- waiting -------------------------------------------------------------------------------------------

    def spin_once(self, longest_s: float = SPIN_S) -> None:
        self._executor.spin_once(longest_s)

    def spin(self, duration_s: float) -> None:
        """Take in what comes for so long."""
        until_s = time.monotonic() + duration_s
        while time.monotonic() < until_s:
            self.spin_once()

    def until(self, condition: Callable[[], Any], what: str, timeout_s: float = PATIENCE_S) -> Any:
        """Wait until ``condition()``; returns what it was.

        Raises:
            RuntimeError: it takes too long, or what ``alive`` names has ended.
        """
        until_s = time.monotonic() + timeout_s
        while not (found := condition()):
            ended = self.alive()
            if ended or time.monotonic() > until_s:
                raise RuntimeError(
                    f"{what} did not happen; {ended or ''} hardware: {self.hardware}; controller: {self.controller}"
                )
            self.spin_once()
        return found

    def holding(self) -> bool:
        """Whether the arm is enabled and at rest."""
        return self.controller.get("phase") == "holding" and self.hardware.get("state") == "active"

    def wait_holding(self) -> None:
        """Wait until the arm is enabled and at rest, and hears goals."""
        self.until(lambda: self.holding() and self.goals.get_subscription_count(), "an arm that holds")

    def reference(self) -> np.ndarray:
        """Pose (n,) [rad or m] that the arm is to hold now."""
        self.desired = None
        self.until(lambda: self.desired is not None, "a reference")
        assert self.desired is not None
        return self.desired

    # -- asking --------------------------------------------------------------------------------------------

    def call(self, kind: Any, name: str, request: Any) -> Any:
        """Answer of a service."""
        client = self._offered.get(name) or self._offered.setdefault(name, self.create_client(kind, name))
        self.until(client.service_is_ready, f"service {name}")
        future = client.call_async(request)
        self.until(future.done, f"an answer of {name}")
        return future.result()

    def switch(self, name: str, on: bool = True) -> Any:
        """Answer of a service that switches something on or off."""
        return self.call(SetBool, name, SetBool.Request(data=on))

    def trigger(self, name: str) -> Any:
        return self.call(Trigger, name, Trigger.Request())

    def set_parameter(self, node: str, name: str, value: Any) -> str:
        """Set a parameter; returns why it is refused, '' where it is not."""
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        (result,) = self.call(SetParameters, f"{node}/set_parameters", request).results
        return "" if result.successful else result.reason or "refused"

    def message(self, q: Any, duration_s: float) -> JointTrajectory:
        """A goal at rest at ``q`` (n,) [rad or m] after ``duration_s`` [s]."""
        still = [0.0] * len(self.joint_names)
        point = JointTrajectoryPoint(positions=np.asarray(q).tolist(), velocities=still, accelerations=still)
        to_stamp(point.time_from_start, duration_s)
        return JointTrajectory(joint_names=list(self.joint_names), points=[point])

    def begin(self, q: Any, duration_s: float) -> str:
        """Send a goal and wait for the first word about it; returns its name."""
        message = self.message(q, duration_s)
        name = message.header.frame_id = uuid.uuid4().hex
        self.goals.publish(message)
        self.until(lambda: name in self.outcomes, "an answer to a goal")
        return name

    def ended(self, name: str) -> str:
        """Wait until a goal has ended; returns its outcome."""
        self.until(lambda: self.outcomes[name]["outcome"] != "accepted", "the end of a goal")
        return self.outcomes[name]["outcome"]

    def move(self, q: Any, duration_s: float) -> None:
        """Move to rest at ``q`` and wait until the arm is there."""
        self.wait_holding()
        if (outcome := self.ended(self.begin(q, duration_s))) != "done":
            raise RuntimeError(f"the motion is {outcome}: {self.controller['message']}")
