"""Running a graph as processes: who is started, who ends whom, and that nobody is left behind.

In `make test`, of running nodes: `picker up --sim` gets ready, and Ctrl-C and SIGTERM end it; only processes show that.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import stand_in
from patient import picker
from ros_graph import BOARD, Up, process_tree
from waiting import PATIENCE_S, until

from picker_dynamics.bringup import runner as runners
from picker_dynamics.bringup.bringup import Graph, Process
from picker_dynamics.bringup.runner import GraphRunner, ProcessEndedError

SUPPORT = str(Path(stand_in.__file__).parent)
UP = "[hardware]: active"

NEVER_S = 1e6
"""What would be killed after so long is this process [s]."""


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
def graph(tmp_path, record, monkeypatch):
    """A graph of stand-ins, by the behaviour of each."""
    monkeypatch.setenv("RECORD", str(record))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (SUPPORT, os.environ.get("PYTHONPATH")))))
    (tmp_path / "arm").mkdir(exist_ok=True)

    def process(name: str, behaviour: str, required: bool = True) -> Process:
        return Process(name, "stand_in", [name, behaviour], required)

    def make(*, arm="polite", markers="polite") -> Graph:
        nodes = (process("arm", arm), process("markers", markers, False))
        return Graph(nodes, process("board", "polite"), str(tmp_path / "arm" / "tty"), str(tmp_path / "arm" / "control"))

    return make


def lines(record: Path) -> list[list[str]]:
    return [line.split() for line in record.read_text().splitlines()] if record.exists() else []


def started(record: Path) -> dict[str, tuple[int, int]]:
    """Name -> (process, its group)."""
    return {words[0]: (int(words[2]), int(words[3])) for words in lines(record) if words[1] == "ready"}


def wait_until_ready(record: Path) -> None:
    until(lambda: len(started(record)) == 3, "three processes")


def gone(processes: dict[str, int]) -> bool:
    return not any(map(alive, processes.values()))


def nobody_left(record: Path) -> bool:
    return gone({name: pid for name, (pid, _) in started(record).items()})


def files(arm: Up) -> list[str]:
    """What is in its folder."""
    return [path.name for path in arm.directory.iterdir()]


def begun(made: Graph, record: Path) -> GraphRunner:
    """It runs, and is to be ended by the test."""
    runner = GraphRunner(made, grace_s=PATIENCE_S)
    runner.start()
    wait_until_ready(record)
    return runner


@contextlib.contextmanager
def running(made: Graph, record: Path, grace_s: float = PATIENCE_S):
    """All processes of a graph; they are ended afterwards."""
    with GraphRunner(made, grace_s=grace_s) as runner:
        wait_until_ready(record)
        yield runner


def test_all_run_in_groups_of_their_own_and_end_in_order(graph, record, capfd):
    with running(graph(), record) as runner:
        assert runner.dead() is None
        processes = started(record)
        assert all(group == pid for pid, group in processes.values()), "Ctrl-C must reach the runner alone"
    ended = [words[0] for words in lines(record) if words[1] == "ends"]
    assert ended == ["arm", "markers", "board"]
    assert nobody_left(record)
    assert "killed" not in capfd.readouterr().err
    assert not Path(runner.graph.port).parent.exists()


def test_one_that_only_shows_something_may_end(graph, record, capfd):
    with running(graph(markers="failing"), record) as runner:
        until(lambda: runner.processes["markers"].poll() is not None, "its end")
        rounds = iter([False, False, False, True])
        runner.wait(lambda: next(rounds))
        assert runner.dead() is None
    assert capfd.readouterr().err.count("markers ended by itself with exit code 3; the others go on") == 1


def test_a_process_that_ends_by_itself_is_named_with_its_exit_code(graph, record):
    with GraphRunner(graph(arm="failing"), grace_s=PATIENCE_S) as runner:
        with pytest.raises(ProcessEndedError, match="arm ended by itself with exit code 3") as caught:
            runner.wait(lambda: False)
        assert (caught.value.subject, caught.value.value) == ("arm", 3)
        wait_until_ready(record)
    assert nobody_left(record)


def test_the_arm_has_time_to_park_unless_hurried(graph, record, capfd):
    runner = begun(graph(arm="parking"), record)
    arm = started(record)["arm"][0]
    ending = threading.Thread(target=runner.stop)
    ending.start()
    time.sleep(2.0 * runners.GRACE_S)
    assert alive(arm) and not any(words[1] == "ends" for words in lines(record)), "it parks, and the others wait"
    runner.hurry()
    ending.join(PATIENCE_S)
    assert not ending.is_alive() and nobody_left(record)
    assert "killed" not in capfd.readouterr().err


def test_a_start_that_fails_half_way_leaves_nobody_behind(graph):
    made = graph()
    runner = GraphRunner(replace(made, nodes=(made.nodes[0], replace(made.nodes[1], arguments=[None]))), grace_s=0.5)
    with pytest.raises(TypeError), runner:
        pytest.fail("it did not start")
    assert len(runner.processes) == 2 and all(process.poll() is not None for process in runner.processes.values())


def test_they_end_with_who_started_them(graph, record):
    made, pid = graph(), os.fork()
    if pid == 0:
        GraphRunner(made).start()
        time.sleep(PATIENCE_S)
        os._exit(0)
    try:
        wait_until_ready(record)
    finally:
        os.kill(pid, signal.SIGKILL)
    assert os.waitpid(pid, 0)[1] & 0x7F == signal.SIGKILL
    until(lambda: nobody_left(record), "their end")
    assert len([words for words in lines(record) if words[1] == "ends"]) == 3, "by themselves"


def test_who_is_stuck_when_its_parent_ends_is_killed():
    """With a limit of 0.1 s instead of half a minute."""
    stuck = "import signal, sys, time; from picker_dynamics.lifeline import end_with_parent; "
    stuck += "signal.signal(signal.SIGTERM, lambda *_: None); end_with_parent(limit_s=0.1); print('ready', flush=True); "
    stuck += "[time.sleep(0.1) for _ in range(600)]"
    start = "import os, subprocess, sys; from picker_dynamics import lifeline; "
    start += "subprocess.run([sys.executable, '-c', sys.argv[1]], env=os.environ | lifeline.children())"
    with subprocess.Popen([sys.executable, "-c", start, stuck], stdout=subprocess.PIPE) as parent:
        assert parent.stdout.readline() == b"ready\n"
        parent.kill()
        assert parent.stdout.read() == b"", "the pipe is closed when the child is gone"


# -- the real thing ------------------------------------------------------------------------------------


@pytest.fixture
def up(domain, tmp_path_factory):
    """Start ``picker up`` and wait for words of it; whatever happens, nothing of it survives the test."""
    with contextlib.ExitStack() as ends:

        def start(*options: str, words: str) -> tuple[Up, dict[str, int]]:
            arm = ends.enter_context(Up(tmp_path_factory.mktemp("up"), *options))
            until(lambda: words in arm.said() or arm.process.poll() is not None, f"{words!r}")
            assert arm.process.poll() is None, arm.said()
            return arm, process_tree(arm.process.pid)

        yield start


@pytest.mark.ros
def test_picker_up_gets_ready_and_a_signal_ends_it_and_all_that_it_started(up):
    arm, mine = up("--sim", words="ready: ")
    assert set(mine) == {BOARD, "arm"}
    said = arm.said()
    assert said.splitlines()[-1] == "ready: try picker home" and "WARN" not in said
    os.killpg(arm.process.pid, signal.SIGINT)
    code, said = arm.ended()
    assert code == 0, said
    assert gone(mine)
    assert "Traceback" not in said and "killed" not in said
    assert files(arm) == ["log"], "no folder is left behind"


@pytest.mark.long
@pytest.mark.ros
@pytest.mark.parametrize("options", [("--namespace", "left"), ("--arm", "rrp")])
def test_a_start_ends_with_what_to_do_next_and_warns_of_nothing(up, options):
    arm, _ = up("--sim", *options, words="ready: ")
    elsewhere = [word for word in ("--namespace", "left") if word in options]
    said = arm.said()
    assert said.splitlines()[-1] == " ".join(("ready: try picker home", *elsewhere)) and "WARN" not in said
    moved = picker("home", *elsewhere)
    assert moved.returncode == 0, moved.stderr
    assert arm.said().count("ready: ") == 1


@pytest.mark.long
@pytest.mark.ros
def test_picker_up_looks_for_a_port_that_is_not_there_until_its_terminal_is_closed(up, tmp_path):
    port = str(tmp_path / "ttyACM7")
    arm, mine = up("--port", port, words=f"no serial port {port}: is the board plugged in?; trying again")
    assert set(mine) == {"arm"}, "it stays alive"
    os.killpg(arm.process.pid, signal.SIGHUP)
    code, said = arm.ended()
    assert code == 0 and gone(mine) and "killed" not in said
