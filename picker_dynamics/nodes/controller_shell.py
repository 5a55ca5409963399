"""Controller shell: what topics and actions of the controller have in common: the arm's session, its settings, and stamps."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

from picker_dynamics.controller import parameters
from picker_dynamics.errors import PickerError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.session.running_arm import RunningArm

from .runtime import stamp_clock


class ControllerShell:
    """Shell of an arm's session on ``node``.

    Args:
        wake: wakes the executor, from any thread.
    """

    def __init__(self, node: Node, arm: RunningArm, wake: Callable[[], None]):
        self.node, self.running, self.wake = node, arm, wake
        self.arm, self.session, self.execution = arm.description, arm.session, arm.controller.execution
        self.settings, self.gripper = arm.settings[parameters.CONTROLLER], arm.gripper
        self.stamps = stamp_clock(node, arm.clock)

    def driver_of(self, identifier: str) -> str:
        """The driver whose goal this is; empty: it is anybody's."""
        return self.session.drivers.of_goal(identifier, self.stamps.now_s())

    def complain(self, message: str, error: PickerError | None = None) -> None:
        """Say what is wrong, in line with all that happens."""
        with self.session.turn:
            self.execution.tell(EventKind.PROBLEM, message, error=error)
