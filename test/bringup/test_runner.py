"""Running a graph as processes: who is started, who ends whom, and that nobody is left behind."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from ros_graph import own_domain

from picker_dynamics.bringup import runner as runners
from picker_dynamics.bringup.bringup import BoardSpec, Graph, NodeSpec
from picker_dynamics.bringup.runner import GraphRunner, ProcessEndedError

HERE = str(Path(__file__).resolve().parent)
PICKER = str(Path(sys.executable).with_name("picker"))
PATIENCE_S = 60.0
UP = r"\[hardware\]: (active|fault 2 HOST_LOST)"
"""It runs: holding, or, where this machine has starved it for a quarter of a second, with a board that holds by itself."""


@dataclasses.dataclass(frozen=True)
class StandIn(NodeSpec):
    """A node whose process is ``stand_in``."""

    behaviour: str = "polite"

    @property
    def module(self) -> str:
        return "stand_in"

    def ros_arguments(self) -> list[str]:
        if self.behaviour == "impossible":
            raise OSError("no such thing")
        return [self.name, self.behaviour]


def wait_until(condition, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def record(tmp_path):
    return tmp_path / "record"


@pytest.fixture
def graph(tmp_path, record):
    """A graph of stand-ins, by the behaviour of each."""

    def make(*, board="polite", controller="polite", dynamics="polite", hardware="polite") -> Graph:
        nodes = tuple(
            StandIn(name, {}, behaviour=behaviour)
            for name, behaviour in (("trajectory_controller", controller), ("dynamics", dynamics), ("hardware", hardware))
        )
        path = os.pathsep.join(filter(None, (HERE, os.environ.get("PYTHONPATH"))))
        return Graph(
            nodes,
            BoardSpec(["board", board], module="stand_in"),
            str(tmp_path / "arm" / "tty"),
            str(tmp_path / "arm" / "control"),
            {"RECORD": str(record), "PYTHONPATH": path},
        )

    return make


def lines(record: Path) -> list[list[str]]:
    return [line.split() for line in record.read_text().splitlines()] if record.exists() else []


def started(record: Path) -> dict[str, tuple[int, int]]:
    """Name -> (process, its group)."""
    return {words[0]: (int(words[2]), int(words[3])) for words in lines(record) if words[1] == "ready"}


def all_ready(record: Path):
    return lambda: len(started(record)) == 4


def test_all_run_in_groups_of_their_own_and_end_in_order(graph, record, capfd):
    with GraphRunner(graph(), grace_s=PATIENCE_S) as runner:
        wait_until(all_ready(record), "four processes")
        assert runner.dead() is None
        processes = started(record)
        assert all(group == pid for pid, group in processes.values()), "Ctrl-C must reach the runner alone"
        assert Path(runner.graph.port).parent.stat().st_mode & 0o077 == 0, "nobody else opens the port"
    ended = [words[0] for words in lines(record) if words[1] == "ends"]
    assert ended[0] == "hardware" and ended[-1] == "board" and len(ended) == 4
    assert not any(alive(pid) for pid, _ in processes.values())
    assert "killed" not in capfd.readouterr().err
    assert not Path(runner.graph.port).parent.exists()


def test_one_that_only_shows_something_may_end(graph, record, capfd):
    made = graph()
    made = dataclasses.replace(made, nodes=(*made.nodes, StandIn("markers", {}, behaviour="failing", required=False)))
    with GraphRunner(made, grace_s=PATIENCE_S) as runner:
        wait_until(lambda: len(started(record)) >= 4 and runner.processes["markers"].poll() is not None, "its end")
        rounds = iter([False, False, False, True])
        runner.wait(lambda: next(rounds))
        assert runner.dead() is None
    assert capfd.readouterr().err.count("markers ended by itself with exit code 3; the others go on") == 1


def test_a_process_that_ends_by_itself_is_named_with_its_exit_code(graph, record):
    with GraphRunner(graph(dynamics="failing"), grace_s=PATIENCE_S) as runner:
        with pytest.raises(ProcessEndedError, match="dynamics ended by itself with exit code 3") as caught:
            runner.wait(lambda: False)
        assert (caught.value.subject, caught.value.value) == ("dynamics", 3)
        wait_until(all_ready(record), "four processes")
    assert not any(alive(pid) for pid, _ in started(record).values())


def test_a_process_that_was_killed_is_named_with_the_signal(graph, record):
    with GraphRunner(graph(), grace_s=PATIENCE_S) as runner:
        wait_until(all_ready(record), "four processes")
        os.kill(started(record)["trajectory_controller"][0], signal.SIGKILL)
        with pytest.raises(ProcessEndedError, match="trajectory_controller was ended by signal 9"):
            runner.wait(lambda: False)


def test_waiting_ends_when_told(graph, record):
    with GraphRunner(graph(), grace_s=PATIENCE_S) as runner:
        wait_until(all_ready(record), "four processes")
        asked = []
        runner.wait(lambda: asked.append(1) or len(asked) == 3)
        assert runner.dead() is None


def test_who_does_not_end_is_killed_and_named(graph, record, capfd):
    with GraphRunner(graph(board="stubborn"), grace_s=0.2):
        wait_until(all_ready(record), "four processes")
    assert not any(alive(pid) for pid, _ in started(record).values())
    said = capfd.readouterr().err
    assert "virtual_board did not end within" in said and "hardware" not in said


def test_the_hardware_node_has_time_to_park_unless_hurried(graph, record, capfd):
    runner = GraphRunner(graph(hardware="parking"), grace_s=PATIENCE_S)
    runner.start()
    wait_until(all_ready(record), "four processes")
    hardware = started(record)["hardware"][0]
    ending = threading.Thread(target=runner.stop)
    ending.start()
    time.sleep(2.0 * runners.GRACE_S)
    assert alive(hardware) and not any(words[1] == "ends" for words in lines(record)), "it parks, and the others wait"
    runner.hurry()
    ending.join(PATIENCE_S)
    assert not ending.is_alive() and not any(alive(pid) for pid, _ in started(record).values())
    assert "killed" not in capfd.readouterr().err


def test_a_hardware_node_that_hangs_is_killed_once_hurried(graph, record, capfd):
    runner = GraphRunner(graph(hardware="stubborn"), grace_s=PATIENCE_S)
    runner.start()
    wait_until(all_ready(record), "four processes")
    runner.hurry()
    runner.stop()
    assert not any(alive(pid) for pid, _ in started(record).values())
    assert "hardware did not end within" in capfd.readouterr().err


def test_a_start_that_fails_half_way_leaves_nobody_behind(graph, record):
    runner = GraphRunner(graph(hardware="impossible"), grace_s=0.5)
    with pytest.raises(OSError, match="no such thing"), runner:
        pytest.fail("it did not start")
    assert len(runner.processes) == 3 and all(process.poll() is not None for process in runner.processes.values())


def test_a_killed_board_leaves_no_files_and_other_peoples_files_stay(graph, record):
    made = graph(board="stubborn")
    folder = Path(made.port).parent
    folder.mkdir()
    others = folder / "notes"
    others.write_text("mine")
    with GraphRunner(made, grace_s=0.2):
        wait_until(all_ready(record), "four processes")
        for path in (made.port, made.control, f"{made.port}.lock"):
            Path(path).touch()
    assert [path.name for path in folder.iterdir()] == ["notes"]


def test_output_goes_to_a_file_if_asked(graph, record, tmp_path):
    log = tmp_path / "log"
    made = graph()
    broken = dataclasses.replace(made, nodes=(dataclasses.replace(made.nodes[0], behaviour="unknown"), *made.nodes[1:]))
    with GraphRunner(broken, log_path=log, grace_s=PATIENCE_S) as runner, pytest.raises(ProcessEndedError):
        runner.wait(lambda: False)
    assert "KeyError: 'unknown'" in log.read_text()


# -- the real thing ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def domain():
    with own_domain() as domain:
        yield domain


def children(pid: int) -> dict[str, int]:
    """Executable or module -> process, of everything that ``pid`` has started."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1]) if entry.name.isdigit() else 0
            if parent == pid:
                words = (entry / "cmdline").read_text().split("\0")
                found[words[words.index("-m") + 1].rpartition(".")[2]] = int(entry.name)
        except (OSError, ValueError):  # gone meanwhile, or not started yet
            continue
    return found


class Up:
    """``picker up`` in a session of its own, as in a terminal."""

    def __init__(self, directory: Path, *options: str):
        self.directory = directory
        self.log = directory / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [PICKER, "up", *options],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"TMPDIR": str(directory)},
            )

    def said(self) -> str:
        return self.log.read_text()

    def wait_for(self, pattern: str) -> None:
        wait_until(lambda: re.search(pattern, self.said()) or self.process.poll() is not None, f"{pattern!r}")
        assert self.process.poll() is None, self.said()

    def __enter__(self) -> Up:
        return self

    def __exit__(self, *_exception) -> None:
        if self.process.poll() is None:
            mine = children(self.process.pid)
            self.process.kill()
            for pid in mine.values():
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        print(self.said())


@pytest.fixture
def up(domain, tmp_path_factory):
    """Start ``picker up``; whatever happens, nothing of it survives the test."""
    running = []

    def start(*options: str) -> Up:
        running.append(Up(tmp_path_factory.mktemp("up"), *options))
        return running[-1]

    yield start
    for one in running:
        with one:
            pass


@pytest.mark.ros
def test_ctrl_c_ends_picker_up_and_all_that_it_started(up):
    running = up("--sim")
    running.wait_for(UP)
    mine = children(running.process.pid)
    assert set(mine) == {"board", "trajectory_controller", "dynamics", "hardware"}
    os.killpg(running.process.pid, signal.SIGINT)
    assert running.process.wait(PATIENCE_S) == 0, running.said()
    assert not any(alive(pid) for pid in mine.values())
    assert "Traceback" not in running.said() and "killed" not in running.said()
    assert [path.name for path in running.directory.iterdir()] == ["log"], "no folder is left behind"


@pytest.mark.ros
def test_picker_up_ends_with_its_own_code_when_the_board_dies(up):
    running = up("--sim")
    running.wait_for(UP)
    mine = children(running.process.pid)
    os.kill(mine["board"], signal.SIGKILL)
    assert running.process.wait(PATIENCE_S) == ProcessEndedError.exit_code == 12
    said = running.said()
    assert "error: virtual_board was ended by signal 9; stopping the others" in said
    assert not any(alive(pid) for pid in mine.values()) and "Traceback" not in said
    assert [path.name for path in running.directory.iterdir()] == ["log"]


@pytest.mark.ros
def test_picker_up_looks_for_a_port_that_is_not_there_until_its_terminal_is_closed(up, tmp_path):
    running = up("--port", str(tmp_path / "ttyACM7"))
    running.wait_for(re.escape(f"no serial port {tmp_path / 'ttyACM7'}: is the board plugged in?; trying again"))
    mine = children(running.process.pid)
    assert set(mine) == {"trajectory_controller", "dynamics", "hardware"}, "it stays alive"
    os.killpg(running.process.pid, signal.SIGHUP)
    assert running.process.wait(PATIENCE_S) == 0
    assert not any(alive(pid) for pid in mine.values()) and "killed" not in running.said()
