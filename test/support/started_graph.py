"""A graph as somebody else's process tree, `picker up` or `ros2 launch`: what it started, by name, and its side door."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from arm_fixtures import picker
from diagnostic_msgs.msg import DiagnosticStatus
from ros_graph import BRING_UP_S, Running, Stalls
from scenarios.bench import Commands

from picker_dynamics.bringup.runner import ProcessEndedError
from picker_dynamics.nodes.client import ArmClient
from picker_dynamics.nodes.runtime import LATCHED
from picker_dynamics.sim.control_socket import BoardControl

BOARD = "virtual_board"
ENDING_S = 60.0
"""Patience with the end of a graph: the hardware node alone may take 20 s."""


def process_tree(pid: int) -> dict[str, int]:
    """Name -> process, of all that ``pid`` has started, directly or not; as the executables in lib/ are named."""
    parents, words = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # gone meanwhile
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(entry.name)] = int(parent)
                words[int(entry.name)] = (entry / "cmdline").read_text().split("\0")
    below, found = {pid}, {}
    while more := {one for one, parent in parents.items() if parent in below} - below:
        below |= more
        found |= {_name(words[one]): one for one in more}
    return found


def _name(words: list[str]) -> str:
    module = words[words.index("-m") + 1] if "-m" in words else ""
    script = next((word for word in words if "/lib/picker_dynamics/" in word), words[0])
    name = module.rpartition(".")[2] or Path(script).name
    return BOARD if name == "board" else name


def control_socket(directory: Path, folder: str = "picker_*", alive=lambda: True) -> Path:
    """Where the simulated board of a graph that keeps its files in ``directory`` can be asked, once it is there."""
    deadline = time.monotonic() + BRING_UP_S
    while not (found := list(directory.glob(f"{folder}/control"))):
        assert alive() and time.monotonic() < deadline, f"no simulated board in {directory}"
        time.sleep(0.02)
    return found[0]


def wait_until_up(client: ArmClient) -> None:
    """All three nodes do their part: the arm is held, and set-points are sent."""
    client.wait_holding(BRING_UP_S)
    with Commands(client):
        pass


def patiently(*words: str) -> list[str]:
    """`picker` or `ros2` with its arguments, as a command; its board forgives a busy machine."""
    return [sys.executable, str(Path(__file__).with_name("patient.py")), *words]


@contextlib.contextmanager
def connected(path: Path, namespace: str = "") -> Iterator[Running]:
    """A client and the side door at ``path`` to a graph that somebody else has started."""
    with contextlib.ExitStack() as doors:
        client = doors.enter_context(ArmClient(picker().joint_names, namespace))
        board = doors.enter_context(BoardControl(path, timeout_s=BRING_UP_S))
        stalls = doors.enter_context(Stalls())
        client.create_subscription(DiagnosticStatus, "hardware/status", stalls.on_hardware, LATCHED)
        yield Running(None, board, client, path.parent, stalls)


class Started:
    """The graph below one process; see ``scenarios.graphs.StartedGraph``.

    Args:
        pid: of the process.
        running: its arm.
        failure: exit code that it shall have where one of its own dies.
        ended: waits for its end; (exit code, what it said).
    """

    def __init__(self, pid: int, running: Running, failure: int, ended):
        self.board, self.do, self.failure, self.ended = running.board, running.do, failure, ended
        self._processes = process_tree(pid)

    def kill(self, name: str) -> None:
        os.kill(self._processes[name], signal.SIGKILL)

    def survivors(self) -> list[str]:
        return [name for name, pid in self._processes.items() if Path(f"/proc/{pid}").exists()]


@contextlib.contextmanager
def picker_up(directory: Path) -> Iterator[Started]:
    """`picker up --sim` in a session of its own; nothing of it survives."""
    log = directory / "log"
    with open(log, "wb") as output:
        process = subprocess.Popen(
            patiently("picker", "up", "--sim"),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=os.environ | {"TMPDIR": str(directory)},
        )
    try:
        with connected(control_socket(directory, alive=lambda: process.poll() is None)) as running:
            wait_until_up(running.client)
            yield Started(process.pid, running, ProcessEndedError.exit_code, lambda: (process.wait(ENDING_S), log.read_text()))
    finally:
        left = process_tree(process.pid).values() if process.poll() is None else ()
        process.kill()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        process.wait()
        print(log.read_text())
