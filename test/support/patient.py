"""Run `picker` or `ros2` in this process, with a simulated board that forgives a busy machine: patient.py picker up --sim."""

from __future__ import annotations

import dataclasses
import importlib
import sys

from picker_dynamics.bringup import bringup

BOOT_SILENCE_S = 0.3
"""Of the simulated board; a real Uno takes three times as long, and the tests open its port often."""

HOST_TIMEOUT_S = 5.0
"""Of the simulated board, which is 0.25 s by default: a busy machine is no lost host."""

COMMANDS = {"picker": "picker_dynamics.commands.cli", "ros2": "ros2cli.cli"}


def with_patience(made: bringup.Graph) -> bringup.Graph:
    """The same graph, its simulated board with the times above."""
    if made.board is None:
        return made
    words = [*made.board.arguments, "--boot-silence", str(BOOT_SILENCE_S), "--host-timeout", str(HOST_TIMEOUT_S)]
    return dataclasses.replace(made, board=dataclasses.replace(made.board, arguments=words))


def make_all_patient():
    """Let whoever asks ``bringup`` for a graph from now on get one with patience; returns what undoes it."""
    plain = bringup.graph
    bringup.graph = lambda *arguments, **options: with_patience(plain(*arguments, **options))
    return lambda: setattr(bringup, "graph", plain)


if __name__ == "__main__":
    sys.argv, sys.path = sys.argv[1:], sys.path[1:]  # as its own executable would have them
    make_all_patient()
    sys.exit(importlib.import_module(COMMANDS[sys.argv[0]]).main())
