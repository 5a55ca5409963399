"""docs/your_arm.md: its commands run, its answers make an arm, and it explains every message of ``picker check``."""

import re
import shlex
from pathlib import Path

import pytest
from served_arm import Served

from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.arm_design import JOINT

DOC = (Path(__file__).resolve().parents[2] / "docs" / "your_arm.md").read_text(encoding="utf-8")
ANSWERS = re.search(r"```yaml\n(.*?)```", DOC, re.S)[1]
COMMANDS = [shlex.split(line)[1:] for block in re.findall(r"```bash\n(.*?)```", DOC, re.S) for line in block.splitlines() if line]
ALONE = ("new", "check", "weigh", "firmware")
"""Commands that need neither a graph nor a board."""

FIRST_MOVES = ("home", "move", "status")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the reader stands, with the answers on file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.yaml").write_text(ANSWERS, encoding="utf-8")
    return tmp_path


def test_what_needs_no_graph_runs_in_its_order(folder, run_picker):
    for words in COMMANDS:
        if words[0] in ALONE:
            code, _, complaints = run_picker(*words)
            assert code == 0, (words, complaints)
    arm, servos = servo_arm.load(folder / "my_arm" / "my_arm.urdf", folder / "my_arm" / "servos.yaml")
    assert arm.joint_names == ("turn", "lift", "bend", "nod", "gripper")
    assert "PICKER_JOINTS 5" in (folder / "my_arm" / "arm_config.h").read_text()


def test_the_first_moves_run_in_their_order(folder, run_picker):
    run_picker(*COMMANDS[0])
    with Served("my_arm/my_arm.urdf", "my_arm/servos.yaml"):
        for words in COMMANDS:
            if words[0] in FIRST_MOVES:
                code, _, complaints = run_picker(*words)
                assert code == 0, (words, complaints)


def test_every_key_of_a_joint_is_in_its_table():
    for key in JOINT:
        assert key == "material" or re.search(rf"^\|.*`{key}`", DOC, re.M), key
