"""Real graphs for the tests: the nodes as processes in a ROS domain of their own, an operator, and the simulation's side door."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from arm_fixtures import picker
from patient import patient_clients, patiently, with_patience
from waiting import PATIENCE_S, processes_below, until

from benchmarks.domain import own_domain
from benchmarks.ros_operator import Operator
from picker_dynamics import lifeline
from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.runner import GraphRunner
from picker_dynamics.errors import LinkError
from picker_dynamics.robot import servo_arm
from picker_dynamics.sim.control_socket import BoardControl

__all__ = ["BOARD", "Running", "arm_of", "control_socket", "own_domain", "process_tree", "running_graph"]

BOARD = "virtual_board"
STILL = 0.02
"""Speed of the true arm [rad/s] below which it stands."""


@dataclasses.dataclass
class Running:
    """A graph that runs: its processes, an operator, the simulation's side door, and where the nodes' words go."""

    runner: GraphRunner | None
    client: Operator
    board: BoardControl | None
    log: Path

    def stands(self) -> np.ndarray:
        """Wait until the true arm has stood still for a moment; its pose."""
        looks: list[bool] = []

        def still() -> bool:
            looks.append(bool(np.abs(self.board.truth().v).max() < STILL))
            return len(looks) > 8 and all(looks[-8:])

        self.client.until(still, "standstill")
        return self.board.truth().q


@contextlib.contextmanager
def running_nodes(made: bringup.Graph, log: Path, joint_names: Any, namespace: str = "") -> Iterator[Running]:
    """The processes of a graph and an operator; what they said is printed at the end."""
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (
            patient_clients(),
            GraphRunner(with_patience(made), log_path=log, grace_s=PATIENCE_S) as runner,
            Operator(joint_names, namespace) as client,
        ):
            yield Running(runner, client, None, log)
    finally:
        print(f"--- {log}\n{log.read_text()}")


@contextlib.contextmanager
def running_graph(directory: Path, **options: Any) -> Iterator[Running]:
    """The whole graph in simulation, once it holds its arm; ``options`` as for ``bringup.Options``."""
    made = bringup.graph(bringup.Options(directory=str(directory), **options))
    joint_names = servo_arm.read_arm(options.get("urdf", "")).joint_names
    with running_nodes(made, directory / "nodes.log", joint_names, options.get("namespace", "")) as running:
        control = control_socket(directory, alive=lambda: running.runner.dead() is None)
        with side_door(control) as running.board:
            running.client.wait_holding()
            yield running


def control_socket(directory: Path, folder: str = "", alive: Any = lambda: True) -> Path:
    """Where the simulated board of a graph that keeps its files in ``directory`` can be asked, once it is there."""

    def found() -> list[Path]:
        assert alive(), "the graph has ended"
        return list(directory.glob(f"{folder}/control" if folder else "control"))

    return until(found, f"a simulated board in {directory}")[0]


def side_door(control: Path) -> BoardControl:
    """Connection to the simulated board, once it listens."""

    def opened() -> BoardControl | None:
        with contextlib.suppress(LinkError):
            return BoardControl(control, timeout_s=PATIENCE_S)
        return None

    return until(opened, "the simulation's side door")


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
    """An operator and the side door ``control`` to a graph that somebody else has started."""
    with patient_clients(), Operator(picker().joint_names, namespace) as client, side_door(control) as board:
        yield Running(None, client, board, control.parent)


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

    def __exit__(self, *_exception: object) -> None:
        left = process_tree(self.process.pid).values() if self.process.poll() is None else ()
        self.process.kill()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        print(self.said())


# -- what an arm has to do, whoever started it -----------------------------------------------------------


def home_of() -> np.ndarray:
    return np.array(servo_arm.load()[1].home)


def stops_and_resumes_nothing(arm: Running) -> None:
    """emergency_stop in mid-motion: decelerate, hold, latch; reset moves nothing; enable starts from the held pose."""
    client, board = arm.client, arm.board
    client.move(home_of(), 1.0)
    name = client.begin(home_of() + [0.9, 0.0, 0.0, 0.0, 0.0], 30.0)
    client.until(lambda: board.truth().v[0] > 0.02, "motion")
    assert client.switch("emergency_stop").success and "stopped" in client.hardware["message"]
    assert client.ended(name) == "aborted"
    held = arm.stands()
    assert held[0] < home_of()[0] + 0.8 and client.hardware["stop_latched"] == "true"
    assert "stop is latched" in client.switch("enable").message
    assert client.trigger("reset").success
    client.spin(0.3)  # time in which it could resume
    np.testing.assert_allclose(arm.stands(), held, atol=0.01)
    assert "adopted" in client.switch("enable").message
    client.wait_holding()
    np.testing.assert_allclose(arm.stands(), held, atol=0.02)


def two_arms_do_not_disturb_each_other(here: Running, there: Running) -> None:
    """One is stopped and gets a payload while the other finishes its motion and hears nothing of it."""
    goal = home_of() + [0.3, 0.0, 0.0, 0.0, 0.0]
    theirs, mine = there.client.begin(goal, 6.0), here.client.begin(goal, 3.0)
    assert there.client.set_parameter("dynamics", "payload.mass", 0.02) == ""
    assert there.client.switch("emergency_stop").success and there.client.ended(theirs) == "aborted"
    assert here.client.ended(mine) == "done" and theirs not in here.client.outcomes
    assert abs(here.stands()[0] - goal[0]) < 0.03 and there.stands()[0] < goal[0] - 0.02
    assert here.client.hardware["state"] == "active"
