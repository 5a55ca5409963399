"""Runner of a graph as plain processes: starts, watches and ends all of them together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO

from picker_dynamics import lifeline
from picker_dynamics.errors import PickerError

from .bringup import Graph, local_only, remove_leftovers

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
        self.graph, self.grace_s, self.log_path = graph, grace_s, log_path
        self.processes: dict[str, subprocess.Popen] = {}
        self._specs = {spec.name: spec for spec in filter(None, (graph.board, *graph.nodes, *graph.commands))}
        self._log: BinaryIO | None = None
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
        environment = os.environ | local_only(os.environ) | lifeline.children()
        for name, spec in self._specs.items():
            output = None if spec in self.graph.commands else self._log
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", spec.module, *spec.arguments],
                env=environment,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def dead(self) -> tuple[str, int] | None:
        """The first process that has ended and is required, and its exit code."""
        ended = ((name, process.poll()) for name, process in self.processes.items() if self._specs[name].required)
        return next(((name, code) for name, code in ended if code is not None), None)

    def wait(self, stopped) -> None:
        """Return when ``stopped()`` is true.

        Raises:
            ProcessEndedError: a required process ended by itself.
        """
        while not stopped():
            if (ended := self.dead()) is not None:
                name, code = ended
                raise ProcessEndedError(f"{name} {_how(code)}; stopping the others", name, code)
            for name, process in self.processes.items():
                if name not in self._missed and process.poll() is not None:
                    self._missed.add(name)
                    print(f"{name} {_how(process.returncode)}; the others go on", file=sys.stderr, flush=True)
            time.sleep(POLL_S)

    def hurry(self) -> None:
        """Make a ``stop`` under way wait for nothing: an arm that parks holds.  May be called from a signal handler."""
        self._hurried_s = time.monotonic()
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """End the process of the arm first (it may park), then the others, the board last."""
        arm = {"arm"} & set(self._specs)
        board = {self.graph.board.name} if self.graph.board else set()
        self._end(arm, max(PARK_S, self.grace_s))
        self._end(set(self._specs) - arm - board, self.grace_s)
        self._end(board, self.grace_s)
        if self._log is not None:
            self._log.close()
        remove_leftovers(self.graph)

    def _end(self, names: set[str], grace_s: float) -> None:
        running = {name: self.processes[name] for name in names if name in self.processes}
        for process in running.values():
            process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        while any(process.poll() is None for process in running.values()):
            hurried_s = self._hurried_s
            until_s = begin + grace_s if hurried_s is None else max(begin, hurried_s) + min(grace_s, GRACE_S)
            if time.monotonic() > until_s:
                break
            time.sleep(END_POLL_S)
        for name, process in running.items():
            if process.poll() is None:
                print(f"{name} did not end within {time.monotonic() - begin:.1f} s: killed", file=sys.stderr, flush=True)
                process.kill()
                process.wait()


def _how(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"ended by itself with exit code {code}"
