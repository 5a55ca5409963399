"""Client node: a node of a command, spun by a thread of its own."""

from __future__ import annotations

import threading
import uuid

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from .runtime import made
from .transport import joined_ros, leave_ros

PLAIN = {
    "start_parameter_services": False,
    "enable_rosout": False,
    "parameter_overrides": [Parameter("start_type_description_service", value=False)],
}
"""Nobody asks a client for parameters or types: what it does not offer need not be discovered."""

LOOK_S = 0.1


class GraphClient(Node):
    """A node in ``namespace``."""

    def __init__(self, namespace: str = ""):
        with joined_ros():
            made(lambda: super(GraphClient, self).__init__(f"picker_client_{uuid.uuid4().hex[:8]}", namespace=namespace, **PLAIN))
        self._spinner, self._ending, self._thread = SingleThreadedExecutor(), threading.Event(), None
        self._spinner.add_node(self)

    def spin_once(self, longest_s: float) -> None:
        """Take in the next message, if one comes so soon."""
        self._spinner.spin_once(longest_s)

    def spin_beside(self) -> None:
        """Spin in a thread until ``close``."""
        self._thread = threading.Thread(target=self._spin, name="ros", daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        while not self._ending.is_set():
            self._spinner.spin_once(LOOK_S)

    def close(self) -> None:
        """End the node, and ROS with the last one."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
        self._spinner.shutdown()
        self.destroy_node()
        leave_ros()
