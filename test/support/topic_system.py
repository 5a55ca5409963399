"""ros2_control as joint_reference sees it: JointStateTopicSystem below a joint_trajectory_controller, at the manager's rate.

Behaviour as in ros-controls/topic_based_hardware_interfaces 1.1.0 (JointStateTopicSystem::read and write) and, where
``unset`` is 0.0, PickNikRobotics/topic_based_ros2_control 0.3.0; joint_trajectory_controller of Jazzy for activation.
"""

from __future__ import annotations

import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable

import numpy as np
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState

from picker_dynamics.resources import resource

KEEP_ALIVE = -1.0
"""Threshold with which every command is sent, changed or not."""


def block() -> tuple[dict[str, str], list[str]]:
    """Parameters of the hardware and joints in urdf/picker.ros2_control.xacro, its arguments at their defaults."""
    root = ET.parse(resource("urdf/picker.ros2_control.xacro")).getroot()
    xacro = "{http://www.ros.org/wiki/xacro}"
    defaults = {f"$(arg {one.get('name')})": one.get("default") for one in root.iter(f"{xacro}arg")}
    made = root.find("ros2_control")
    values = {one.get("name", one.tag): defaults.get(one.text, one.text) for one in made.find("hardware")}
    return values, [one.get("joint") for one in made.iter(f"{xacro}streamed")]


class TopicSystem(Node):
    """Reads states, lets its controller write commands, and publishes them, until it is left; a context manager.

    Args:
        names: of the joints, in the order of the <ros2_control> block.
        threshold: trigger_joint_command_threshold [rad]: commands nearer to the state, summed over the joints, are not sent.
        unset: value of a command before a controller wrote one: NaN, or 0.0 in the older package.
        rate_hz: update_rate of the controller_manager.
    """

    def __init__(self, names, *, threshold: float = 1e-5, unset: float = np.nan, rate_hz: float = 100.0, namespace: str = ""):
        super().__init__("picker_system", namespace=namespace)
        self.names, self.threshold, self.period_s = tuple(names), threshold, 1.0 / rate_hz
        self.state, self.command = np.full(len(names), unset), np.full(len(names), unset)
        self.turns = self.sent = self.held_back = 0
        self._controller: Callable[[float], np.ndarray] | None = None
        self._changes = threading.Lock()
        self._latest: JointState | None = None
        settings, _ = block()
        self._out = self.create_publisher(JointState, settings["joint_commands_topic"], QoSProfile(depth=1))
        self.create_subscription(JointState, settings["joint_states_topic"], self._keep, qos_profile_sensor_data)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> TopicSystem:
        self._thread.start()
        return self

    def __exit__(self, *_exception) -> None:
        self._over.set()
        self._thread.join()
        self.destroy_node()

    def listeners(self) -> int:
        """How many hear the commands."""
        return self._out.get_subscription_count()

    # -- the controller ------------------------------------------------------------------------------------

    def activate(self) -> None:
        """Hold the state that was read last, as set_last_command_interface_value_as_state_on_activation: false does."""
        with self._changes:
            held = self.command = self.state.copy()
            self._controller = lambda _time_s: held

    def deactivate(self) -> None:
        """Nobody writes commands any more; the last ones stay."""
        with self._changes:
            self._controller = None

    def follow(self, path: Callable[[float], np.ndarray]) -> None:
        """Command ``path(t)`` [rad], t [s] from now."""
        begin_s = time.monotonic()
        with self._changes:
            self._controller = lambda time_s: path(time_s - begin_s)

    def swing(self, joint: str, amount: float, duration_s: float) -> None:
        """Move one joint by ``amount`` [rad] from the last command, smoothly, and hold there."""
        start, index = self.command.copy(), self.names.index(joint)

        def path(time_s: float) -> np.ndarray:
            s = min(max(time_s / duration_s, 0.0), 1.0)
            target = start.copy()
            target[index] += amount * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
            return target

        self.follow(path)

    # -- the manager's loop --------------------------------------------------------------------------------

    def _keep(self, message: JointState) -> None:
        self._latest = message

    def _run(self) -> None:
        executor = SingleThreadedExecutor(context=self.context)
        executor.add_node(self)
        due_s = time.monotonic()
        while not self._over.is_set():
            for _ in range(qos_profile_sensor_data.depth):
                executor.spin_once(timeout_sec=0.0)
            self._read()
            with self._changes:
                if self._controller is not None:
                    self.command = np.array(self._controller(time.monotonic()))
            self._write()
            self.turns += 1
            due_s = max(due_s + self.period_s, time.monotonic())
            self._over.wait(due_s - time.monotonic())
        executor.remove_node(self)
        executor.shutdown()

    def _read(self) -> None:
        for index, name in enumerate(self._latest.name if self._latest else ()):
            if name in self.names and np.isfinite(self._latest.position[index]):
                self.state[self.names.index(name)] = self._latest.position[index]

    def _write(self) -> None:
        if np.abs(self.state - self.command).sum() <= self.threshold:  # never true of NaN, which is sent
            self.held_back += 1
            return
        self._out.publish(JointState(header=self._header(), name=list(self.names), position=self.command.tolist()))
        self.sent += 1

    def _header(self):
        header = JointState().header
        header.stamp = self.get_clock().now().to_msg()
        return header
