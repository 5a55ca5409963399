"""Process of a graph as data: a node or several, or the simulated board, and the arguments with which it is started."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec

from picker_dynamics.resources import PACKAGE

COMMAND_WAITS_S = 60.0
"""How long a graph may take to come up until a command beside it gives up [s]."""


def ros_is_installed() -> bool:
    """Whether rclpy is there, so that an arm can have nodes."""
    return find_spec("rclpy") is not None


@dataclass(frozen=True)
class NodeSpec:
    """A process with ROS nodes: its executable, and the parameters of each of its nodes by that one's name.

    The arm goes on where one that is not ``required`` ends by itself.
    """

    executable: str
    parameters: dict[str, dict[str, object]]
    namespace: str = ""
    params_file: str = ""
    log_level: str = "info"
    required: bool = True

    @property
    def name(self) -> str:
        """Name of the process in this graph."""
        return "/".join(filter(None, (self.namespace, self.executable)))

    @property
    def module(self) -> str:
        """Python module that runs it; of the arm without ROS where rclpy is not installed."""
        if self.executable == "arm" and not ros_is_installed():
            return f"{PACKAGE}.session.process"
        return f"{PACKAGE}.nodes.{self.executable}"

    def ros_arguments(self) -> list[str]:
        """ROS arguments, without ``--ros-args``; loggers that are named after other nodes keep their level."""
        arguments: list[str] = []
        for node in self.parameters:
            logger = ".".join(filter(None, (*self.namespace.split("/"), node)))
            arguments += ["--log-level", f"{logger}:={self.log_level}"]
        if self.namespace:
            arguments += ["-r", f"__ns:=/{self.namespace.strip('/')}"]
        if self.params_file:
            arguments += ["--params-file", self.params_file]
        for node, values in self.parameters.items():
            for key, value in values.items():
                arguments += ["-p", f"{node}:{key}:={json.dumps(value)}"]
        return arguments

    @property
    def arguments(self) -> list[str]:
        """Arguments of the process."""
        return ["--ros-args", *self.ros_arguments()]


@dataclass(frozen=True)
class PlainSpec:
    """A process without ROS arguments: the simulated board, or a ``picker`` command beside the arm, which goes on without it."""

    name: str
    module: str
    arguments: list[str]
    required: bool = False


def command(name: str, namespace: str = "", *words: str) -> PlainSpec:
    """A ``picker`` command, which waits until the arm is there."""
    named = ("--namespace", namespace) if namespace else ()
    arguments = [name, *words, "--wait", f"{COMMAND_WAITS_S:g}", *named]
    return PlainSpec("/".join(filter(None, (namespace, name))), PACKAGE, arguments)
