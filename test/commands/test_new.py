"""``picker new``: what it writes passes the check and moves at once; what it is told wrongly is said, and nothing is written."""

import re
import subprocess
import sys

import numpy as np
import pytest
import yaml
from waiting import run

from picker_dynamics import Arm
from picker_dynamics.commands import new

JOINTS = [
    {"name": "turn", "length_mm": 40},
    {"name": "lift", "length_mm": 110, "servo": "DS3218"},
    {"name": "bend", "length_mm": 100, "mass_g": 120},
    {"name": "nod", "length_mm": 40},
]


@pytest.fixture
def make(tmp_path, run_picker):
    """Make the arm tmp_path/NAME of a design; (exit code, output, complaints)."""

    def run(name: str, design) -> tuple[int, str, str]:
        file = tmp_path.with_name(f"{tmp_path.name}.yaml")
        file.write_text(design if isinstance(design, str) else yaml.safe_dump(design))
        return run_picker("new", "--from", str(file), "--", str(tmp_path / name))

    return run


@pytest.fixture
def arm(tmp_path, make):
    """A folder of four joints and a gripper."""
    code, said, complaints = make("own", {"joints": JOINTS, "gripper": {"servo": "MG90S"}})
    assert code == 0 and not complaints
    return tmp_path / "own", said


def test_answers_make_a_folder_that_passes_the_check(arm, run_picker):
    folder, said = arm
    assert {path.name for path in folder.iterdir()} == {"own.urdf", "servos.yaml", "answers.yaml"}
    assert list(folder.parent.iterdir()) == [folder]  # nothing else is left
    assert f"picker up --sim --urdf {folder}/own.urdf --servos {folder}/servos.yaml" in said
    assert re.search(r"lift: at most \d\.\d+ N·m of gravity; hold limit of DS3218 1\.12", said)
    code, said, _ = run_picker("check", str(folder / "own.urdf"), "--strict", "--samples", "50")
    assert code == 0 and "lint: no findings" in said and "models passed" in said


def test_the_arm_moves_in_simulation_as_the_next_commands_say(arm):
    folder, said = arm
    tip = [float(x) for x in re.search(r"--tip (.*)", said)[1].split()]
    with Arm.simulated(folder / "own.urdf", folder / "servos.yaml", real_time=False) as own:
        own.home()
        own.move(tip=tip)
        own.wait(1.0)
        assert np.linalg.norm(own.tip - tip) < 0.004
        own.park()


def test_weak_servos_are_said_with_figures_and_the_arm_is_written_all_the_same(tmp_path, make):
    lift = {"name": "lift", "axis": "y", "length_mm": 300, "mass_g": 900, "servo": "SG90"}
    code, said, _ = make("weak", {"joints": [lift]})
    assert code == 0 and (tmp_path / "weak" / "weak.urdf").is_file()
    assert "too weak: lift" in said


@pytest.mark.parametrize(
    ("name", "design", "message"),
    [
        ("own", {"joints": [{"name": "lift", "length_mm": 0}]}, "joint lift: length_mm is 0, must be >= 1"),
        ("own", {"joints": [JOINTS[0] | {"channel": 3}, JOINTS[1] | {"channel": 3}]}, "lift: channel 3 already"),
        ("2arms", {"joints": JOINTS}, "is not a valid arm name"),
        ("..", {"joints": JOINTS}, "is not a valid arm name"),
    ],
)
def test_what_is_wrong_is_one_message_and_nothing_is_written(name, design, message, tmp_path, make):
    code, _, complaints = make(name, design)
    assert code in (4, 5) and message in complaints and complaints.count("\n") == 1
    assert not list(tmp_path.iterdir())


# -- asking ------------------------------------------------------------------------------------------------


def answering(*answers):
    """What a person types, one line after the other, then nobody is there."""
    lines = iter(answers)

    def ask(question: str) -> str:
        try:
            return next(lines)
        except StopIteration as end:
            raise EOFError from end

    return ask


def test_enter_alone_makes_an_arm_of_four_joints():
    made = new.written("own", new.read_design(new.asked(answering("", *[""] * 7 * 4, ""))))
    assert made.arm.joint_names == ("joint1", "joint2", "joint3", "joint4")
    assert not made.weak


def test_a_joint_that_cannot_be_is_asked_again_with_its_answers_in_brackets(capsys):
    first = ["base", "w", "40", "", "", "80", "MG996R"]
    mended = ["", "z", *[""] * 5]
    second = ["base", "y", "60", "", "30", "aluminium", "SG90"]
    named = ["out", *[""] * 6]
    answers = new.asked(answering("nine", "9", "2", *first, *mended, *second, *named, "MG90S"))
    said = capsys.readouterr().out
    assert said.count("that must be 1 to 7") == 2 and "axis is 'w', must be one of x" in said and "it is taken" in said
    assert answers["joints"][0]["mass_g"] == 80 and answers["joints"][1]["limits_deg"] == [-80.0, 30]
    made = new.written("own", new.read_design(answers))
    assert made.arm.joint_names == ("base", "out", "gripper")
    assert made.arm.movable[0].child == "base_moved_link", "base_link is what stands on the table"
    assert "channel: 0," in made.servos and "channel: 1," in made.servos


def test_answers_that_make_no_arm_are_said(tmp_path, run_picker, monkeypatch):
    """What is wrong shows at the end alone: a link lighter than the servo on it, which the next joint names."""
    typed = ["2", *["", "", "", "", "", "20", ""], *[""] * 7, ""]
    monkeypatch.setattr("builtins.input", answering(*typed))
    code, said, complaints = run_picker("new", str(tmp_path / "own"))
    assert code == 5 and "joint joint1: mass_g is 20, but the MG996R" in complaints and not (tmp_path / "own").exists()
    answers = yaml.safe_load(said.partition("--from:\n")[2])
    answers["joints"][0]["mass_g"] = 80
    (tmp_path / "answers.yaml").write_text(yaml.safe_dump(answers))
    assert run_picker("new", str(tmp_path / "own"), "--from", str(tmp_path / "answers.yaml"))[0] == 0


def test_an_arm_is_made_again_of_its_answers(arm, run_picker):
    folder, _ = arm
    again = folder.with_name("again")
    assert run_picker("new", str(again), "--from", str(folder / "answers.yaml"))[0] == 0
    for name in ("servos.yaml", "{}.urdf"):
        first, second = ((one / name.format(one.name)).read_text() for one in (folder, again))
        assert first.replace("own", "again") == second


def test_nobody_there_is_one_message(tmp_path):
    command = [sys.executable, "-m", "picker_dynamics", "new", str(tmp_path / "own")]
    done = run(*command, stdin=subprocess.DEVNULL)
    assert done.returncode == 5 and "no answer to 'Joints" in done.stderr and "--from FILE" in done.stderr
    assert done.stderr.count("\n") == 1 and not list(tmp_path.iterdir())
