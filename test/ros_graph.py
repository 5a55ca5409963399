"""Real graphs for the tests: a ROS domain nobody else listens on, the three nodes as processes, a client, a side door."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from arm_fixtures import picker

from picker_dynamics import bringup
from picker_dynamics.runner import GraphRunner
from picker_dynamics.sim.control_socket import BoardControl

BOOT_SILENCE_S = 0.3
"""Of the simulated board; a real Uno takes three times as long, and the tests open its port often."""

BRING_UP_S = 60.0
"""Patience with a graph that takes 4 s on an idle machine."""

DOMAINS = range(1, 100)
DOMAIN_LOCK_PORT = 22_000


@contextlib.contextmanager
def own_domain() -> Iterator[int]:
    """A ROS_DOMAIN_ID that no other test on this machine uses, in the environment; discovery stays on this machine.

    Whoever has bound the domain's port on the loopback owns the domain; the system frees it whatever happens.
    """
    before = {name: os.environ.get(name) for name in ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE")}
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as lock:
        domain = next(number for number in DOMAINS if _bound(lock, DOMAIN_LOCK_PORT + number))
        os.environ.update(ROS_DOMAIN_ID=str(domain), ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
        try:
            yield domain
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


def _bound(lock: socket.socket, port: int) -> bool:
    try:
        lock.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


@dataclasses.dataclass
class Running:
    """A graph that runs: its processes, the simulation's side door, a client, and where the nodes' words go."""

    runner: GraphRunner
    board: BoardControl
    client: object
    log: Path


@contextlib.contextmanager
def running_graph(directory: Path, *, board_arguments=(), **options) -> Iterator[Running]:
    """The whole graph in simulation; ``options`` as for ``bringup.Options``.  What the nodes said is printed at the end."""
    from picker_dynamics.nodes.client import ArmClient

    directory.mkdir(parents=True, exist_ok=True)
    log = directory / "nodes.log"
    made = bringup.graph(bringup.Options(directory=str(directory), **options))
    words = [*made.board.arguments, "--boot-silence", str(BOOT_SILENCE_S), *board_arguments]
    made = dataclasses.replace(made, board=dataclasses.replace(made.board, arguments=words))
    try:
        with GraphRunner(made, log_path=log, grace_s=20.0) as runner, contextlib.ExitStack() as open_doors:
            client = open_doors.enter_context(ArmClient(picker().joint_names, options.get("namespace", "")))
            board = open_doors.enter_context(side_door(made.control, runner))
            yield Running(runner, board, client, log)
    finally:
        print(f"--- {log}\n{log.read_text()}")


def side_door(path: str, runner: GraphRunner) -> BoardControl:
    """The simulation's control socket, once the board has made it."""
    deadline = time.monotonic() + BRING_UP_S
    while not Path(path).exists():
        assert runner.dead() is None and time.monotonic() < deadline, f"no board: {runner.dead()}"
        time.sleep(0.02)
    return BoardControl(path, timeout_s=BRING_UP_S)
