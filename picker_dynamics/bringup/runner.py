"""Runner of a graph as plain processes: starts, watches and ends all of them together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from picker_dynamics import lifeline
from picker_dynamics.errors import PickerError

from .bringup import BoardSpec, CommandSpec, Graph, NodeSpec, remove_leftovers

POLL_S, END_POLL_S = 0.1, 0.01
GRACE_S = 1.2
"""How long a process has to end after SIGTERM before it is killed.  (SIGINT would do, but a Python that is still
starting answers it with a traceback.)"""
PARK_S = 20.0
"""How long the process of the arm has, which may be parking it."""


class ProcessEndedError(PickerError):
    """A process of the graph ended by itself."""

    exit_code = 12


class GraphRunner:
    """The processes of one graph; a context manager that never leaves any of them behind.

    Args:
        graph: what to run.
        log_path: file for the output of all processes but the commands, which tell a person something; default: this terminal.
        grace_s: how long each process has to end by itself; that of the arm has at least PARK_S.
    """

    def __init__(self, graph: Graph, *, log_path: str | Path | None = None, grace_s: float = GRACE_S):
        self.graph = graph
        self.grace_s = grace_s
        self.log_path = log_path
        self.processes: dict[str, subprocess.Popen] = {}
        self._log = None
        self._hurried_s: float | None = None
        self._missed: set[str] = set()

    def __enter__(self) -> GraphRunner:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_exception) -> None:
        self.stop()

    def start(self) -> None:
        """Start the board first, then the nodes; each in a process group of its own, so that Ctrl-C reaches us alone."""
        if self.log_path is not None:
            self._log = open(self.log_path, "ab")
        environment = os.environ | self.graph.environment | lifeline.children()
        for spec in filter(None, (self.graph.board, *self.graph.processes)):
            output = None if isinstance(spec, CommandSpec) else self._log
            self.processes[_label(spec)] = subprocess.Popen(
                [sys.executable, "-m", spec.module, *_arguments(spec)],
                env=environment,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def dead(self) -> tuple[str, int] | None:
        """The first process that has ended and is required, and its exit code."""
        for name, process in self.processes.items():
            if process.poll() is not None and name not in self._optional():
                return name, process.returncode
        return None

    def _optional(self) -> set[str]:
        return {_label(spec) for spec in self.graph.processes if not spec.required}

    def _say_what_is_missed(self) -> None:
        """Once for each process that has ended without being required."""
        for name in self._optional() - self._missed:
            if name in self.processes and self.processes[name].poll() is not None:
                self._missed.add(name)
                print(f"{name} {_how(self.processes[name].returncode)}; the others go on", file=sys.stderr, flush=True)

    def wait(self, stopped) -> None:
        """Return when ``stopped()`` is true.

        Raises:
            ProcessEndedError: a required process ended by itself.
        """
        while not stopped():
            ended = self.dead()
            if ended is not None:
                name, code = ended
                raise ProcessEndedError(f"{name} {_how(code)}; stopping the others", subject=name, value=code)
            self._say_what_is_missed()
            time.sleep(POLL_S)

    def signal(self, name: str, number: int) -> None:
        """Send a signal to one process that still runs."""
        if self.processes[name].poll() is None:
            self.processes[name].send_signal(number)

    def hurry(self) -> None:
        """Make a ``stop`` under way wait for nothing: an arm that parks holds.  May be called from a signal handler."""
        self._hurried_s = time.monotonic()
        for name in self.processes:
            self.signal(name, signal.SIGTERM)

    def stop(self) -> None:
        """End the process of the arm first (it may park), then the others, the board last."""
        nodes = {_label(spec): spec for spec in self.graph.processes}
        self._end([name for name, spec in nodes.items() if spec.drives], max(PARK_S, self.grace_s))
        self._end([name for name, spec in nodes.items() if not spec.drives], self.grace_s)
        self._end([name for name in self.processes if name not in nodes], self.grace_s)
        if self._log is not None:
            self._log.close()
        remove_leftovers(self.graph)

    def _end(self, names: list[str], grace_s: float) -> None:
        running = [name for name in names if name in self.processes]
        for name in running:
            self.signal(name, signal.SIGTERM)
        begin = time.monotonic()
        while any(self.processes[name].poll() is None for name in running):
            hurried = self._hurried_s is not None
            until_s = max(begin, self._hurried_s) + min(grace_s, GRACE_S) if hurried else begin + grace_s
            if time.monotonic() > until_s:
                break
            time.sleep(END_POLL_S)
        for name in running:
            if self.processes[name].poll() is None:
                print(f"{name} did not end within {time.monotonic() - begin:.1f} s: killed", file=sys.stderr, flush=True)
                self.processes[name].kill()
                self.processes[name].wait()


def _how(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"ended by itself with exit code {code}"


def _label(spec: NodeSpec | CommandSpec | BoardSpec) -> str:
    return "virtual_board" if isinstance(spec, BoardSpec) else "/".join(filter(None, (spec.namespace, spec.name)))


def _arguments(spec: NodeSpec | CommandSpec | BoardSpec) -> list[str]:
    return list(spec.arguments) if isinstance(spec, BoardSpec) else spec.arguments()
