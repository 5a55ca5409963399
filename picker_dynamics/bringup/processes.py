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
    package: str = PACKAGE
    required: bool = True

    @property
    def name(self) -> str:
        return self.executable

    @property
    def module(self) -> str:
        """Python module that runs it; of the arm without ROS where rclpy is not installed."""
        if self.executable == "arm" and not ros_is_installed():
            return f"{PACKAGE}.session.process"
        return f"{PACKAGE}.nodes.{self.executable}"

    @property
    def drives(self) -> bool:
        """Whether it drives the joints, and so may take its time to end."""
        return self.executable == "arm"

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

    def arguments(self) -> list[str]:
        """Arguments of the process."""
        return ["--ros-args", *self.ros_arguments()]


@dataclass(frozen=True)
class CommandSpec:
    """A ``picker`` command beside the nodes: a process of its own; the arm goes on without it."""

    name: str
    namespace: str = ""
    words: tuple[str, ...] = ()
    module: str = PACKAGE
    required: bool = False
    drives: bool = False

    def arguments(self) -> list[str]:
        """Arguments of the command, which waits until the graph is there."""
        named = ("--namespace", self.namespace) if self.namespace else ()
        return [self.name, *self.words, "--wait", f"{COMMAND_WAITS_S:g}", *named]


@dataclass(frozen=True)
class BoardSpec:
    """The virtual board: a process of its own, no ROS node."""

    arguments: list[str]
    executable: str = "virtual_board"
    module: str = f"{PACKAGE}.sim.board"
    package: str = PACKAGE
