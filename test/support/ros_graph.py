"""Real graphs for the tests: the nodes as processes in a ROS domain of their own, a client, and the simulation's side door."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from arm_fixtures import picker
from patient import patient_clients, patiently, with_patience
from ros_client.client import ArmClient
from scenarios import motions
from scenarios.bench import wait_until_up
from waiting import PATIENCE_S, processes_below, until

from benchmarks.domain import own_domain
from picker_dynamics import lifeline
from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.runner import GraphRunner, ProcessEndedError
from picker_dynamics.errors import PickerError
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.sim.control_socket import BoardControl

__all__ = ["BOARD", "Running", "Started", "connected", "own_domain", "picker_up", "process_tree", "running_graph"]

BOARD = "virtual_board"
OVERLAY = str(resource("config/servos.sim.yaml"))


@dataclasses.dataclass
class Running:
    """A graph that runs: its processes, a client, the simulation's side door, and where the nodes' words go."""

    runner: GraphRunner | None
    client: ArmClient
    board: BoardControl | None
    log: Path


@contextlib.contextmanager
def running_nodes(made: bringup.Graph, log: Path, joint_names, namespace: str = "") -> Iterator[Running]:
    """The processes of a graph and a client; what they said is printed at the end."""
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (
            patient_clients(),
            GraphRunner(with_patience(made), log_path=log, grace_s=PATIENCE_S) as runner,
            connected(joint_names, namespace) as client,
        ):
            yield Running(runner, client, None, log)
    finally:
        print(f"--- {log}\n{log.read_text()}")


@contextlib.contextmanager
def connected(joint_names, namespace: str = "") -> Iterator[ArmClient]:
    """A client, in the domain that the environment names: a context left over from another test would be in another one."""
    with ArmClient(joint_names, namespace) as client:
        assert client.context.get_domain_id() == int(os.environ.get("ROS_DOMAIN_ID", "0"))
        yield client


@contextlib.contextmanager
def running_graph(directory: Path, **options) -> Iterator[Running]:
    """The whole graph in simulation; ``options`` as for ``bringup.Options``."""
    made = bringup.graph(bringup.Options(directory=str(directory), **options))
    joint_names = servo_arm.read_arm(options.get("urdf", "")).joint_names
    with running_nodes(made, directory / "nodes.log", joint_names, options.get("namespace", "")) as running:
        control = control_socket(directory, alive=lambda: running.runner.dead() is None)
        with BoardControl(control, timeout_s=PATIENCE_S) as running.board:
            yield running
            with contextlib.suppress(PickerError):  # a test has killed the board
                print(f"the simulation was {running.board.truth().behind_max_s:.3f} s late at worst")


@contextlib.contextmanager
def holding_graph(directory: Path, **options) -> Iterator[Running]:
    """The whole graph in simulation, once it holds its arm."""
    with running_graph(directory, **options) as running:
        motions.comes_up_holding(running.client, running.board)
        yield running


@contextlib.contextmanager
def running_hardware(port: str, directory: Path, **parameters):
    """The hardware node in namespace ``alone``, on a board that somebody else runs; yields a client and its process."""
    node = bringup.NodeSpec("hardware", {"port": port, "servo_overlay": OVERLAY, "autostart": True, **parameters}, "alone")
    with running_nodes(bringup.Graph((node,), None, port), directory / "hardware.log", picker().joint_names, "alone") as running:
        yield running.client, running.runner.processes["alone/hardware"]


def control_socket(directory: Path, folder: str = "", alive=lambda: True) -> Path:
    """Where the simulated board of a graph that keeps its files in ``directory`` can be asked, once it is there."""

    def found() -> list[Path]:
        assert alive(), "the graph has ended"
        return list(directory.glob(f"{folder}/control" if folder else "control"))

    return until(found, f"a simulated board in {directory}")[0]


# -- a graph as somebody else's process tree: `picker up` or `ros2 launch` -------------------------------


def folder_of(namespace: str = "") -> str:
    """Pattern of the folder that `picker up` and `ros2 launch` make for the board of an arm."""
    return f"picker_{namespace or 'arm'}_*"


def process_tree(pid: int) -> dict[str, int]:
    """Name -> process, of all that ``pid`` has started, directly or not; as the executables in lib/ are named."""
    found = {}
    for below in processes_below(pid):
        with contextlib.suppress(OSError):  # gone meanwhile
            found[_name(Path(f"/proc/{below}/cmdline").read_text().split("\0"))] = below
    found.pop("", None)  # one that has ended, and nobody has asked how
    return found


def _name(words: list[str]) -> str:
    module = words[words.index("-m") + 1] if "-m" in words else ""
    script = next((word for word in words if "/lib/picker_dynamics/" in word), words[0])
    name = module.rpartition(".")[2] or Path(script).name
    return BOARD if name == "board" else name


@contextlib.contextmanager
def arm_of(control: Path, namespace: str = "") -> Iterator[Running]:
    """A client and the side door ``control`` to a graph that somebody else has started."""
    with (
        patient_clients(),
        connected(picker().joint_names, namespace) as client,
        BoardControl(control, timeout_s=PATIENCE_S) as board,
    ):
        yield Running(None, client, board, control.parent)


class Started:
    """The graph below one process; see ``scenarios.graphs.StartedGraph``.

    Args:
        pid: of the process.
        running: its arm.
        failure: exit code that it shall have where one of its own dies.
        ended: waits for its end; (exit code, what it said).
    """

    def __init__(self, pid: int, running: Running, failure: int, ended):
        self.client, self.board, self.failure, self.ended = running.client, running.board, failure, ended
        self._processes = process_tree(pid)

    def kill(self, name: str) -> None:
        os.kill(self._processes[name], signal.SIGKILL)

    def survivors(self) -> list[str]:
        return [name for name, pid in self._processes.items() if Path(f"/proc/{pid}").exists()]


class Up:
    """`picker up` in a session of its own, as in a terminal; a context manager: nothing of it survives that.

    Nor the tests' process.
    """

    def __init__(self, directory: Path, *options: str):
        self.directory, self.log = directory, directory / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                patiently("picker", "up", *options),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | lifeline.children() | {"TMPDIR": str(directory)},
            )

    def said(self) -> str:
        return self.log.read_text()

    def ended(self) -> tuple[int, str]:
        """Exit code, and all that it said."""
        return self.process.wait(PATIENCE_S), self.said()

    def __enter__(self) -> Up:
        return self

    def __exit__(self, *_exception) -> None:
        left = process_tree(self.process.pid).values() if self.process.poll() is None else ()
        self.process.kill()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        print(self.said())


@contextlib.contextmanager
def picker_up(directory: Path) -> Iterator[Started]:
    """`picker up --sim`, holding."""
    with Up(directory, "--sim") as up:
        control = control_socket(directory, folder_of(), alive=lambda: up.process.poll() is None)
        with arm_of(control) as running:
            wait_until_up(running.client)
            yield Started(up.process.pid, running, ProcessEndedError.exit_code, up.ended)
