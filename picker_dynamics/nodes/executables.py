"""Entry points of the executables: Ctrl-C while modules are loaded, when nothing is open yet, ends them without a traceback."""

from __future__ import annotations

import signal
from collections.abc import Callable
from importlib import import_module

MAINS = {"virtual_board": ("sim.board", "main"), "hardware": ("nodes.arm", "hardware_main")}
"""Module and function of those that are not ``main`` of the node of the executable's name."""


def loaded(executable: str) -> Callable[[], int | None]:
    """Function ``main`` of an executable."""
    module, function = MAINS.get(executable, (f"nodes.{executable}", "main"))
    main: Callable[[], int | None] = getattr(import_module(f"picker_dynamics.{module}"), function)
    return main


def _started(executable: str) -> Callable[[], int | None]:
    def start() -> int | None:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not so behind & in a script
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        return loaded(executable)()

    return start


arm = _started("arm")
dynamics = _started("dynamics")
hardware = _started("hardware")
markers = _started("markers")
virtual_board = _started("virtual_board")
