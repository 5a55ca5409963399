"""Run a graph as plain processes: start, watch, and end all of them together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from picker_dynamics.bringup import BoardSpec, Graph, NodeSpec, remove_leftovers
from picker_dynamics.errors import PickerError

POLL_S = 0.1
GRACE_S = 1.2
"""How long a process has to end after SIGINT before it is killed; ``park`` gets PARK_S."""
PARK_S = 20.0


class GraphRunner:
    """The processes of one graph; a context manager that never leaves any of them behind.

    Args:
        graph: what to run.
        quiet: send the nodes' output to a file instead of the terminal; the path is ``log_path``.
        grace_s: how long each process has to end by itself.
    """

    def __init__(self, graph: Graph, *, log_path: str | Path | None = None, grace_s: float = GRACE_S):
        self.graph = graph
        self.grace_s = grace_s
        self.log_path = log_path
        self.processes: dict[str, subprocess.Popen] = {}
        self._log = None

    def __enter__(self) -> GraphRunner:
        self.start()
        return self

    def __exit__(self, *_exception) -> None:
        self.stop()

    def start(self) -> None:
        """Start the board first, then the nodes; each in a process group of its own, so that Ctrl-C reaches us alone."""
        if self.log_path is not None:
            self._log = open(self.log_path, "ab")
        if self.graph.board is not None:
            Path(self.graph.port).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        environment = os.environ | self.graph.environment
        for spec in filter(None, (self.graph.board, *self.graph.nodes)):
            self.processes[_label(spec)] = subprocess.Popen(
                [sys.executable, "-m", spec.module, *_arguments(spec)], env=environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)

    def dead(self) -> tuple[str, int] | None:
        """The first process that has ended, and its exit code."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                return name, process.returncode
        return None

    def wait(self, stopped) -> None:
        """Return when ``stopped()`` is true.

        Raises:
            PickerError: a process ended by itself; all of them are required.
        """
        while not stopped():
            ended = self.dead()
            if ended is not None:
                name, code = ended
                raise PickerError(f"{name} ended by itself with exit code {code}; stopping the others", joint=name, value=code)
            time.sleep(POLL_S)

    def signal(self, name: str, number: int) -> None:
        """Send a signal to one process that still runs."""
        if self.processes[name].poll() is None:
            self.processes[name].send_signal(number)

    def stop(self) -> None:
        """End the hardware node first (it may park the arm), then the others, the board last."""
        nodes = [_label(spec) for spec in self.graph.nodes]
        self._end([name for name in nodes if name.endswith("hardware")])
        self._end([name for name in nodes if not name.endswith("hardware")])
        self._end([name for name in self.processes if name not in nodes])
        if self._log is not None:
            self._log.close()
        remove_leftovers(self.graph)

    def _end(self, names: list[str]) -> None:
        running = [self.processes[name] for name in names if name in self.processes]
        for process in running:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + self.grace_s
        for process in running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _label(spec: NodeSpec | BoardSpec) -> str:
    return "virtual_board" if isinstance(spec, BoardSpec) else "/".join(filter(None, (spec.namespace, spec.name)))


def _arguments(spec: NodeSpec | BoardSpec) -> list[str]:
    return list(spec.arguments) if isinstance(spec, BoardSpec) else spec.ros_arguments()
