"""launch/picker.launch.py and view.launch.py: their arguments, what they start, and how they end.

launch and launch_ros come with ROS 2 and are not on PyPI.  Without them the arguments and the board's part in a Ctrl-C
are tested.  With them the file is run, scripts standing in for the nodes; and, where the package is installed too,
with the real nodes and the simulated arm.
"""

import ast
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from places import ROOT
from waiting import PATIENCE_S, until

from picker_dynamics.bringup.bringup import Options
from picker_dynamics.resources import resource
from picker_dynamics.session.address import Claim

SUPPORT = str(ROOT / "test/support")
STARTED = {"arm", "virtual_board", "robot_state_publisher"}
SHOWING = {"markers", "rviz2"}
PICKER, VIEW = "launch/picker.launch.py", "launch/view.launch.py"
VIEWED = {*SHOWING, "robot_state_publisher", "joint_state_publisher_gui"}

RUN = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from patient import patience
arguments = [word.split(":=") for word in sys.argv[2:]]
service = LaunchService(noninteractive=True)
service.include_launch_description(LaunchDescription([
    IncludeLaunchDescription(PythonLaunchDescriptionSource(sys.argv[1]), launch_arguments=arguments)]))
with patience():
    sys.exit(service.run())
"""

STAND_IN = f"""#!{sys.executable}
import json, os, signal, sys, time
name = os.path.basename(sys.argv[0])
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
record = os.path.join(os.environ["RECORDS"], name)
with open(record + ".part", "w") as file:
    json.dump({{"arguments": sys.argv[1:], "range": os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE")}}, file)
os.rename(record + ".part", record)
time.sleep(300)
"""


def interrupted(process: subprocess.Popen) -> str:
    """End it as Ctrl-C does; what it said."""
    process.send_signal(signal.SIGINT)
    return ended(process)


def ended(process: subprocess.Popen, code: int = 0) -> str:
    """Wait for its end; what it said."""
    said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code, said
    return said


# -- without launch ------------------------------------------------------------------------------------------


def arguments_of(file: str) -> dict[str, tuple[str, str]]:
    """Argument -> (default, description), read without importing the file."""
    tree = ast.parse(resource(file).read_text(encoding="utf-8"))
    table = next(node.value for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "ARGUMENTS")
    return {name: (default, text) for name, default, text in ast.literal_eval(table)}


@pytest.mark.parametrize(
    ("file", "switches"),
    [
        (PICKER, {"rviz": "false", "collision": "false", "view_web": "false", "pick": "false"}),
        (VIEW, {"rviz": "true", "sliders": "true"}),
    ],
)
def test_arguments_are_the_options_of_the_graph_with_their_defaults(file, switches):
    options = {field.name: field.default or "" for field in dataclasses.fields(Options)}
    found = arguments_of(file)
    assert set(found) - set(switches) <= set(options)
    for name, (default, text) in found.items():
        assert text and default == (switches | {key: options[key] for key in options if key not in switches})[name]


# -- with launch, scripts in place of nodes ----------------------------------------------------------------


@pytest.fixture
def prefix(tmp_path) -> Path:
    """An ament prefix in which scripts stand in for the executables."""
    pytest.importorskip("launch_ros.actions", reason="launch and launch_ros come with ROS 2, not from PyPI")
    packages = {
        "picker_dynamics": ("arm", "markers", "virtual_board"),
        "robot_state_publisher": ("robot_state_publisher",),
        "rviz2": ("rviz2",),
        "joint_state_publisher_gui": ("joint_state_publisher_gui",),
    }
    for package, executables in packages.items():
        marker = tmp_path / "share/ament_index/resource_index/packages" / package
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
        (tmp_path / "lib" / package).mkdir(parents=True)
        for name in executables:
            stand_in(tmp_path / "lib" / package / name)
    (tmp_path / "records").mkdir()
    return tmp_path


def stand_in(script: Path) -> None:
    script.write_text(STAND_IN)
    script.chmod(0o755)


def environment(folder: Path, **more: str) -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if key != "ROS_AUTOMATIC_DISCOVERY_RANGE"}
    path = os.pathsep.join(filter(None, (str(ROOT), SUPPORT, os.environ.get("PYTHONPATH"))))
    return inherited | {"PYTHONPATH": path, "ROS_LOG_DIR": str(folder), "TMPDIR": str(folder)} | more


@contextmanager
def launched(env: dict[str, str], *words: str, file: str = PICKER):
    """The launch file as a process; it and all it started are gone afterwards."""
    command = [sys.executable, "-c", RUN, str(resource(file)), *words]
    process = subprocess.Popen(
        command,
        env=env,
        cwd=env["TMPDIR"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def stand_ins(prefix: Path, **more: str) -> dict[str, str]:
    return environment(prefix, AMENT_PREFIX_PATH=str(prefix), RECORDS=str(prefix / "records"), **more)


def records(prefix: Path) -> dict[str, dict]:
    return {path.name: json.loads(path.read_text()) for path in (prefix / "records").iterdir() if not path.suffix}


def wait_for(prefix: Path, names: set[str]) -> None:
    until(lambda: set(records(prefix)) == names, lambda: f"start of {names}, not {set(records(prefix))},")


def parameters(command: list[str], node: str = "**") -> dict[str, object]:
    """What a command line says for a node of its process in the end: its files, the last one wins, then its ``-p``."""
    files = [after for word, after in pairwise(command) if word == "--params-file"]
    given = [
        after.removeprefix(f"{node}:").split(":=")
        for word, after in pairwise(command)
        if (word, after[: len(node)]) == ("-p", node)
    ]
    return {
        key: value
        for file in files
        for whose, section in yaml.safe_load(Path(file).read_text()).items()
        for key, value in section["ros__parameters"].items()
        if whose.split("/")[-1] in ("**", node)
    } | {name: json.loads(value) for name, value in given}


def test_one_process_per_spec_with_what_was_chosen_and_ctrl_c_ends_them(prefix):
    chosen = ("namespace:=left", "on_shutdown:=park", "collision:=true")
    with launched(stand_ins(prefix), *chosen) as process:
        wait_for(prefix, STARTED)
        found = {name: record["arguments"] for name, record in records(prefix).items()}
        interrupted(process)
    arm = found["arm"]
    hardware = parameters(arm, "hardware")
    assert "__ns:=/left" in arm and parameters(arm, "trajectory_controller")["collision.enabled"] is True
    assert hardware["on_shutdown"] == "park" and hardware["autostart"] is True and hardware["state_rate_hz"] == 50.0
    board = found["virtual_board"]
    assert hardware["port"] == board[board.index("--link") + 1] and "--ros-args" not in board
    publisher = parameters(found["robot_state_publisher"])
    assert publisher["frame_prefix"] == "left/" and publisher["robot_description"] == resource("urdf/picker.urdf").read_text()
    assert {record["range"] for record in records(prefix).values()} == {"LOCALHOST"}
    assert not Path(hardware["port"]).parent.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hardware:=serial"], "hardware is serial, but no port is given"),
        (["payload_mass:=7", "rviz:=true"], "payload_mass is 7 kg, must be <= 5"),
        (["rviz:=maybe"], "rviz is 'maybe', must be true or false"),
        (["namespace:=taken"], "the arm of namespace /taken in ROS domain"),
    ],
)
def test_a_bad_argument_gets_one_error_and_starts_nothing(prefix, words, said):
    with closing(Claim("taken")), launched(stand_ins(prefix), *words) as process:
        errors = [line for line in ended(process, 1).splitlines() if "ERROR" in line]
    assert len(errors) == 1 and said in errors[0]
    time.sleep(0.3)
    assert records(prefix) == {}


# -- the view --------------------------------------------------------------------------------------------------


def test_the_view_starts_model_sliders_markers_and_rviz_in_the_namespace(prefix):
    with launched(stand_ins(prefix), "namespace:=left", "arm:=rrp", file=VIEW) as process:
        wait_for(prefix, VIEWED)
        found = {name: record["arguments"] for name, record in records(prefix).items()}
        interrupted(process)
    assert all("__ns:=/left" in command for command in found.values())
    assert (
        parameters(found["markers"], "markers")["arm"] == "rrp"
        and parameters(found["robot_state_publisher"])["frame_prefix"] == "left/"
    )
    assert parameters(found["robot_state_publisher"])["robot_description"] == resource("urdf/rrp.urdf").read_text()
