"""Process of a graph as data: a node or several, or the simulated board, and the arguments with which it is started."""

from __future__ import annotations

import json
from dataclasses import dataclass

from picker_dynamics.resources import PACKAGE

COMMAND_WAITS_S = 60.0
"""How long a graph may take to come up until a command beside it gives up [s]."""


@dataclass(frozen=True)
class NodeSpec:
    """One ROS node: its executable, parameters, and name, by default the executable's.

    The arm goes on where one that is not ``required`` ends by itself.
    """

    executable: str
    parameters: dict[str, object]
    namespace: str = ""
    params_file: str = ""
    log_level: str = "info"
    package: str = PACKAGE
    node_name: str = ""
    required: bool = True

    @property
    def name(self) -> str:
        return self.node_name or self.executable

    @property
    def module(self) -> str:
        """Python module that runs this node."""
        return f"{PACKAGE}.nodes.{self.executable}"

    @property
    def drives(self) -> bool:
        """Whether the node drives the joints, and so may take its time to end."""
        return self.name == "hardware"

    @property
    def log_rule(self) -> str:
        """Level for this node's logger, which is named after namespace and node; other loggers keep theirs."""
        return f"{'.'.join(filter(None, (*self.namespace.split('/'), self.name)))}:={self.log_level}"

    def ros_arguments(self) -> list[str]:
        """Arguments for a process started without launch."""
        arguments = ["--ros-args", "-r", f"__node:={self.name}", "--log-level", self.log_rule]
        if self.namespace:
            arguments += ["-r", f"__ns:=/{self.namespace.strip('/')}"]
        if self.params_file:
            arguments += ["--params-file", self.params_file]
        for key, value in self.parameters.items():
            arguments += ["-p", f"{key}:={json.dumps(value)}"]
        return arguments


@dataclass(frozen=True)
class TogetherSpec:
    """Nodes that share a process."""

    nodes: tuple[NodeSpec, ...]
    executable: str = "one_process"
    module: str = f"{PACKAGE}.nodes.one_process"
    package: str = PACKAGE
    name: str = "nodes"
    required: bool = True
    drives: bool = True

    @property
    def namespace(self) -> str:
        return self.nodes[0].namespace

    def arguments(self) -> list[str]:
        """Arguments of the process: those of each node behind its name."""
        return [word for spec in self.nodes for word in ("--node", spec.executable, *spec.ros_arguments(), "--")]


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
