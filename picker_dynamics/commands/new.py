"""``picker new NAME``: an arm of one's own from a few questions, as a folder of URDF, servo map and answers."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.arm_design import (
    AXES,
    DENSITY,
    LIMITS_DEG,
    MOST_JOINTS,
    PRESET,
    TOOL,
    Part,
    Written,
    read_design,
    read_joint,
    written,
)
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.servo_file import servo_types

QUESTIONS = {
    "name": ("name", "joint{}"),
    "axis": (f"axis ({', '.join(AXES)})", "y"),
    "length_mm": ("length of its link, to the next joint [mm]", 100),
    "lower": ("lower limit [deg]", LIMITS_DEG[0]),
    "upper": ("upper limit [deg]", LIMITS_DEG[1]),
    "heavy": (f"mass of the link with the next servo on it [g], or a material ({', '.join(DENSITY)})", PRESET["material"]),
    "servo": ("servo ({})", PRESET["servo"]),
}
"""What is asked of each joint, and what stands in brackets."""

FIRST = {"axis": "z", "length_mm": 40}
"""Other brackets of the first joint."""


def add_parser(commands) -> None:
    """Register ``new``."""
    parser = commands.add_parser(
        "new", help="create an arm: asks for joints, lengths, masses and servos, writes URDF and servo map"
    )
    parser.add_argument("name", metavar="NAME", help="name of the arm, or path of its new folder")
    parser.add_argument(
        "--from", dest="source", default="", metavar="FILE", help="answers as YAML (docs/your_arm.md) instead of questions"
    )


def run(options) -> int:
    """Write the folder, and say what is in it and what comes next; returns the exit code."""
    folder = Path(options.name)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,60}", folder.name):
        raise InputError(f"{folder.name!r} is not a valid arm name: a letter, then letters, digits or _", "NAME", folder.name)
    if os.path.lexists(folder):
        raise InputError(f"{folder} exists, and nothing is overwritten: take another name, or remove it", "NAME", str(folder))
    answers = read_yaml(options.source, "answers", InputError) if options.source else asked()
    try:
        made = written(folder.name, read_design(answers))
    except PickerError:
        if not options.source:
            print(f"the answers, for a file of --from:\n{_text(answers)}")
        raise
    _write(folder, made, answers)
    print("\n".join(_said(folder, made)))
    return 0


def asked(ask: Callable[[str], str] | None = None) -> dict[str, Any]:
    """Answers of a person, ``input`` by default; Enter takes what stands in brackets.

    A joint that cannot be is asked for again, with its answers in brackets.

    Raises:
        InputError: nobody answers.
    """
    ask, before, joints = ask or input, list[Part](), []

    def answer(question: str, preset: object) -> Any:
        try:
            text = ask(f"{question} [{preset}]: ").strip()
            return _value(text) if text else preset
        except EOFError as error:
            text = f"no answer to {question.strip()!r}: give --from FILE (docs/your_arm.md)"
            raise InputError(text, question.strip()) from error

    print("Joints from the base outwards; Enter takes what is in brackets.  At 0 the arm stands upright, z is up, x is forward.")
    while (count := answer("Joints, without a gripper", 4)) not in range(1, MOST_JOINTS + 1):
        print(f"  that must be 1 to {MOST_JOINTS}")
    kinds = ", ".join(servo_types())
    for number in range(count):
        print(f"Joint {number + 1}")
        joint: dict[str, Any] = {key: preset for key, (_, preset) in QUESTIONS.items()} | ({} if number else FIRST)
        joint["name"] = joint["name"].format(number + 1)
        while len(before) == number:
            for key, (text, _) in QUESTIONS.items():
                joint[key] = answer(f"  {text.format(kinds)}", joint[key])
            made = {key: value for key, value in joint.items() if key not in ("lower", "upper", "heavy")}
            made["limits_deg"] = [joint["lower"], joint["upper"]]
            made["material" if joint["heavy"] in DENSITY else "mass_g"] = joint["heavy"]
            try:
                before.append(read_joint(made, PRESET, before))
                joints.append(made)
            except PickerError as error:
                print(f"  {error}")
    return {"joints": joints, "gripper": answer(f"Servo of a gripper ({kinds}, or none)", "none")}


def _value(text: str) -> Any:
    """A number where it is one, else the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _text(answers: dict) -> str:
    return yaml.safe_dump(answers, default_flow_style=None, sort_keys=False, width=130)


def _write(folder: Path, made: Written, answers: dict) -> None:
    """Write all files, once they were read back as the arm will be."""
    files = {f"{folder.name}.urdf": made.urdf, "servos.yaml": made.servos, "answers.yaml": _text(answers)}
    with tempfile.TemporaryDirectory() as scratch:
        for file, text in files.items():
            Path(scratch, file).write_text(text, encoding="utf-8")
        servo_arm.load(Path(scratch, f"{folder.name}.urdf"), Path(scratch, "servos.yaml"))
        shutil.copytree(scratch, folder)
    folder.chmod(0o755)


def _said(folder: Path, made: Written) -> list[str]:
    """What was written, what the servos bear, and what comes next, with a place for the tip that this arm can reach."""
    urdf = folder / f"{folder.name}.urdf"
    too_weak = f"too weak: {', '.join(made.weak)}. Motions that need more are refused; take stronger servos, or lighter links"
    tip = link_poses(made.arm, made.home + 0.2 * (made.rest - made.home))[TOOL].position
    return [
        f"{folder}/: {folder.name}.urdf, servos.yaml, answers.yaml",
        *(f"{'! ' if 'too weak' in load else '  '}{load}" for load in made.loads),
        *([too_weak] if made.weak else []),
        "",
        "next:",
        f"  picker check {urdf}",
        f"  picker up --sim --urdf {urdf} --servos {folder / 'servos.yaml'}",
        "in a second terminal, while that runs:",
        "  picker home",
        f"  picker move --tip {' '.join(f'{x:.3f}' for x in tip)}",
        "  picker status",
        "  picker park",
    ]
