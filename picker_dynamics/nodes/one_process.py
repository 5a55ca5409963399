"""``one_process``: runs the nodes of an arm as threads of one process, where many arms share a machine.

    one_process --node trajectory_controller --ros-args -p rate_hz:=50.0 -- --node dynamics -- --node hardware --

Behind each ``--node`` stand its name and its own arguments.  Together the nodes are one participant of DDS, which hands
messages over without sending them; at 50 Hz they take two thirds of what they take apart.  Each has a thread, so stop is served
while another one computes.  Where one ends, all end: the hardware first, it may be parking.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module

from picker_dynamics.errors import InputError, PickerError

from .executor import FocusedExecutor
from .runtime import (
    close,
    end_soon,
    exit_code_of,
    is_running,
    listen,
    made,
    require_known_parameters,
    shutdown_ros,
    steps,
    tame_collector,
)

NODES = {
    "trajectory_controller": "TrajectoryController",
    "dynamics": "Dynamics",
    "torque_control": "TorqueControl",
    "hardware": "Hardware",
    "torque_arm_sim": "TorqueArmSim",
}
"""Module and class."""

MARK = "--node"

SWITCH_S = 0.001
"""How long a thread may compute while another one waits for Python [s]."""

LOOK_S = 0.1
"""How often it is looked whether a signal came [s]."""


def split(words: list[str]) -> list[tuple[str, list[str]]]:
    """Names and arguments of the nodes.

    Raises:
        InputError: no node, or one that does not exist.
    """
    groups: list[tuple[str, list[str]]] = []
    for number, word in enumerate(words):
        if word == MARK:
            groups.append((words[number + 1] if number + 1 < len(words) else "", []))
        elif groups and words[number - 1] != MARK:
            groups[-1][1].append(word)
        elif not groups:
            raise InputError(f"one_process: {word!r} stands before the first {MARK}", value=word)
    if not groups:
        raise InputError(f"one_process: no node is named, for example {MARK} hardware")
    for name, _ in groups:
        if name not in NODES:
            raise InputError(f"one_process: no node {name!r}; there are {', '.join(NODES)}", subject=MARK, value=name)
    return groups


def log_levels(words: list[str]) -> list[str]:
    """Arguments of a node that are about logging: that is the process's, not a node's."""
    pairs = zip(words, words[1:])
    return [word for pair in pairs if pair[0] == "--log-level" for word in pair]


class Spun(threading.Thread):
    """A node and the thread that spins it until it fails or is told to end.

    Args:
        node: made already.
        over: called when it spins no longer.
        hurried: whether the last word must be short.
    """

    def __init__(self, node, over: Callable[[], None], hurried: Callable[[], bool]):
        super().__init__(name=node.get_name())
        self._node, self._executor, self._over, self._hurried = node, FocusedExecutor(node), over, hurried
        self._ending = threading.Event()
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            while not self._ending.is_set() and is_running(self._node):
                self._executor.spin_once()
            self.error = getattr(self._node, "failure", None)
        except Exception as error:  # told by end(), in the thread that decides
            self.error = error
        self._over()

    def end(self) -> int:
        """Let the node end; its exit code."""
        self._ending.set()
        if self.ident is not None:  # else another node could not be made, and this one never began
            self.join()
        code = close(self._node, self._executor, self._hurried)
        return code if self.error is None else exit_code_of(self.error)


def main(args=None) -> int:
    """Spin all nodes until SIGINT or SIGTERM, or until one of them ends; the exit code is that of the first that failed."""
    stop: list[int] = []
    news, code = threading.Event(), 0
    spun: list[Spun] = []
    try:
        groups = split(sys.argv[1:] if args is None else args)
        sys.setswitchinterval(SWITCH_S)
        listen(["--ros-args", *(word for _, words in groups for word in log_levels(words))], stop)
        for name, words in groups:
            kind = getattr(import_module(f"picker_dynamics.nodes.{name}"), NODES[name])
            node = made(partial(kind, cli_args=words))
            spun.append(Spun(node, news.set, lambda: len(stop) > 1))
            require_known_parameters(node)
        tame_collector()
        for one in spun:
            one.start()
        while not (stop or news.wait(LOOK_S)):  # a signal may come while this thread has the event's lock: it sets none
            pass
    except Exception as error:
        if not isinstance(error, PickerError):
            end_soon()
        code = exit_code_of(error)
    finally:
        for one in reversed(spun):
            code = one.end() or code
        code = steps(shutdown_ros) or code
    return code


if __name__ == "__main__":
    sys.exit(main())
