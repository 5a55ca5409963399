"""Run `picker` or `ros2` in this process, forgiving a busy machine: patient.py picker up --sim."""

import contextlib
import dataclasses
import functools
import importlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from waiting import PATIENCE_S, run

from picker_dynamics import lifeline
from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.runner import GraphRunner

BOOT_SILENCE_S = 0.3
"""Of the simulated board; a real Uno takes three times as long, and the tests open its port often."""

HOST_TIMEOUT_S = 10.0
"""Of the simulated board, which is 0.25 s by default: a busy machine is no lost host."""

COMMANDS = {"picker": "picker_dynamics.__main__", "ros2": "ros2cli.cli"}
"""Where a process of each begins."""


def with_patience(made: bringup.Graph) -> bringup.Graph:
    """The same graph, its simulated board with the times above."""
    if made.board is None:
        return made
    words = [*made.board.arguments, "--boot-silence", str(BOOT_SILENCE_S), "--host-timeout", str(HOST_TIMEOUT_S)]
    return dataclasses.replace(made, board=dataclasses.replace(made.board, arguments=words))


@contextlib.contextmanager
def patience() -> Iterator[None]:
    """Graphs that are made meanwhile, and who runs them, forgive a busy machine."""
    plain = bringup.graph
    with (
        mock.patch.object(bringup, "graph", lambda *arguments, **options: with_patience(plain(*arguments, **options))),
        mock.patch.object(GraphRunner, "__init__", functools.partialmethod(GraphRunner.__init__, grace_s=PATIENCE_S)),
    ):
        yield


@contextlib.contextmanager
def patient_clients() -> Iterator[None]:
    """Meanwhile clients of running arms wait longer than a person would, for answers and for a word of the arm."""
    with (
        mock.patch("picker_dynamics.session.remote.ANSWER_S", PATIENCE_S),
        mock.patch("picker_dynamics.session.session.SILENT_S", PATIENCE_S),
    ):
        yield


def patiently(*words: str) -> list[str]:
    """`picker` or `ros2` with its arguments, as the command of a process."""
    return [sys.executable, str(Path(__file__)), *words]


def picker(*words: str) -> subprocess.CompletedProcess:
    """`picker` with its arguments, as a person would type it in this process's ROS domain."""
    return run(*patiently("picker", *words))


if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    lifeline.end_with_parent(signal.SIGINT)  # where who starts it wants that
    with patience(), patient_clients():
        sys.exit(importlib.import_module(COMMANDS[sys.argv[0]]).main())
