"""Real graphs for the tests: a ROS domain nobody else listens on, the three nodes as processes, a client, a side door."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from arm_fixtures import picker
from diagnostic_msgs.msg import DiagnosticStatus
from patient import BOOT_SILENCE_S, HOST_TIMEOUT_S, with_patience

from benchmarks import domain
from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.runner import GraphRunner
from picker_dynamics.errors import PickerError
from picker_dynamics.nodes.client import ArmClient
from picker_dynamics.nodes.runtime import LATCHED
from picker_dynamics.resources import resource
from picker_dynamics.sim.control_socket import BoardControl

__all__ = [
    "BOOT_SILENCE_S",
    "BRING_UP_S",
    "HOST_TIMEOUT_S",
    "Running",
    "Stalls",
    "own_domain",
    "running_graph",
    "running_hardware",
    "side_door",
]

STALL_S = 0.05
"""A thread that sleeps 10 ms and wakes so late shows that the machine had other things to do."""

ATTEMPTS = 3

BRING_UP_S = 60.0
"""Patience with a graph that takes 4 s on an idle machine."""


@contextlib.contextmanager
def own_domain() -> Iterator[int]:
    """A ROS_DOMAIN_ID that nobody else on this machine uses, in the environment; discovery stays on this machine."""
    with domain.own_domain() as ours:
        yield int(ours["ROS_DOMAIN_ID"])


class Stalls:
    """Evidence that this machine stood still: what a test saw then says nothing about the arm."""

    def __init__(self):
        self.seen: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        before = time.monotonic()
        while not self._over.wait(0.01):
            now = time.monotonic()
            if now - before > STALL_S:
                self.seen.append(f"{now - before:.2f} s without a turn")
            before = now

    def on_hardware(self, message) -> None:
        """Listens to hardware/status: only a machine that is too slow makes these nodes pause."""
        if "commands paused" in message.message or "no answer from the board" in message.message:
            self.seen.append(message.message)

    def __enter__(self) -> Stalls:
        self._thread.start()
        return self

    def __exit__(self, *_exception) -> None:
        self._over.set()
        self._thread.join()


@dataclasses.dataclass
class Running:
    """A graph that runs: its processes, the simulation's side door, a client, and where the nodes' words go."""

    runner: GraphRunner
    board: BoardControl
    client: ArmClient
    log: Path
    stalls: Stalls

    def do(self, scenario: Callable, *arguments) -> None:
        """Carry out a scenario; again, where it failed and the machine had stalled meanwhile."""
        for attempt in range(1, ATTEMPTS + 1):
            before = len(self.stalls.seen)
            try:
                scenario(self.client, self.board, *arguments)
                return
            except (AssertionError, PickerError, pytest.fail.Exception) as error:
                stalls = self.stalls.seen[before:]
                if not stalls or attempt == ATTEMPTS:
                    raise
                print(f"{scenario.__name__}, attempt {attempt}: {error}; the machine stalled: {', '.join(stalls)}")


@contextlib.contextmanager
def running_graph(directory: Path, **options) -> Iterator[Running]:
    """The whole graph in simulation; ``options`` as for ``bringup.Options``.  What the nodes said is printed at the end."""
    directory.mkdir(parents=True, exist_ok=True)
    log = directory / "nodes.log"
    made = with_patience(bringup.graph(bringup.Options(directory=str(directory), **options)))
    try:
        with GraphRunner(made, log_path=log, grace_s=20.0) as runner, contextlib.ExitStack() as open_doors:
            client = open_doors.enter_context(ArmClient(picker().joint_names, options.get("namespace", "")))
            board = open_doors.enter_context(side_door(made.control, runner))
            stalls = open_doors.enter_context(Stalls())
            client.create_subscription(DiagnosticStatus, "hardware/status", stalls.on_hardware, LATCHED)
            try:
                yield Running(runner, board, client, log, stalls)
            finally:
                with contextlib.suppress(PickerError):  # a test has killed the board
                    print(f"the simulation was {board.truth().behind_max_s:.3f} s late at worst")
    finally:
        print(f"--- {log}\n{log.read_text()}")


@contextlib.contextmanager
def running_hardware(port: str, directory: Path, **parameters):
    """The hardware node in namespace ``alone``, on a board that somebody else runs; yields a client and its process."""
    log = directory / "hardware.log"
    overlay = str(resource("config/servos.sim.yaml"))
    node = bringup.NodeSpec("hardware", {"port": port, "servo_overlay": overlay, "autostart": True, **parameters}, "alone")
    try:
        with ArmClient(picker().joint_names, "alone") as client:
            with GraphRunner(bringup.Graph((node,), None, port), log_path=log) as runner:
                yield client, runner.processes["alone/hardware"]
    finally:
        print(f"--- {log}\n{log.read_text()}")


def side_door(path: str, runner: GraphRunner) -> BoardControl:
    """The simulation's control socket, once the board has made it."""
    deadline = time.monotonic() + BRING_UP_S
    while not Path(path).exists():
        assert runner.dead() is None and time.monotonic() < deadline, f"no board: {runner.dead()}"
        time.sleep(0.02)
    return BoardControl(path, timeout_s=BRING_UP_S)
