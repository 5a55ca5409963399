"""Entry points of the executables: Ctrl-C while modules are loaded, when nothing is open yet, ends them without a traceback."""

from __future__ import annotations

import signal
from functools import partial
from importlib import import_module

MAINS = {
    "arm": ("nodes.arm", "main"),
    "dynamics": ("nodes.dynamics", "main"),
    "hardware": ("nodes.arm", "hardware_main"),
    "markers": ("nodes.markers", "main"),
    "virtual_board": ("sim.board", "main"),
}
"""Module and function of each executable."""


def _start(module: str, function: str) -> int | None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not so behind & in a script
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    code: int | None = getattr(import_module(f"picker_dynamics.{module}"), function)()
    return code


arm, dynamics, hardware, markers, virtual_board = (partial(_start, *one) for one in MAINS.values())
