"""``picker new NAME``: an arm of one's own from a few questions, as a folder of URDF, servo map and answers."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from picker_dynamics.errors import InputError, PickerError, refuse_if
from picker_dynamics.estimation.calibration.readings import mass
from picker_dynamics.files.fields import mapping
from picker_dynamics.files.formats import parse_yaml, read_yaml
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.arm_design import (
    AXES,
    DENSITY,
    LIMITS_DEG,
    MOST_JOINTS,
    PRESET,
    Part,
    read_design,
    read_joint,
    why_no_name,
)
from picker_dynamics.robot.arm_writer import TOOL, Written, written
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.servo_file import CHANNELS
from picker_dynamics.robot.servo_types import servo_types

from . import options as shared

EXAMPLE = "name: lift, axis: y, length_mm: 120, limits_deg: [-80, 80], servo: DS3218, channel: 1"


def add_parser(commands) -> None:
    """Register ``new``."""
    parser = commands.add_parser(
        "new", help="an arm of your own: asks for joints, lengths, masses and servos, and writes its files"
    )
    parser.add_argument("name", metavar="NAME", help="of the arm; with a path in front, where its folder is made")
    parser.add_argument(
        "--from", dest="source", default="", metavar="FILE", help="answers as YAML (docs/your_arm.md); asks nothing"
    )
    parser.add_argument(
        "--joint", action="append", default=[], metavar="TEXT", help=f"one joint, from the base outwards, for example '{EXAMPLE}'"
    )
    parser.add_argument(
        "--gripper", default=None, metavar="TEXT", help="a gripper, for example 'servo: MG90S, open_deg: 50', or none"
    )
    parser.add_argument("--servo", default=None, metavar="TYPE", help="of every joint that names none (default MG996R)")
    parser.add_argument("--material", default=None, help=f"of links without mass_g: {', '.join(DENSITY)} (default printed)")
    parser.add_argument("--supply-v", type=shared.ANY, default=None, metavar="V", help="of the servos (default 6)")
    parser.set_defaults(run=run)


def run(options) -> int:
    """Write the folder, and say what is in it and what comes next; returns the exit code."""
    folder = Path(options.name)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,60}", folder.name):
        raise InputError(f"{folder.name!r} is not a valid arm name: a letter, then letters, digits or _", "NAME", folder.name)
    if os.path.lexists(folder):
        raise InputError(f"{folder} exists, and nothing is overwritten: take another name, or remove it", "NAME", str(folder))
    answers = _answers(options)
    try:
        made = written(folder.name, read_design(answers))
    except PickerError as error:
        if options.source or options.joint:
            raise
        raise _kept(error, folder, answers) from error
    _write(folder, made, answers)
    print("\n".join(_said(folder, made)))
    return 0


def _answers(options) -> dict:
    """The design as keys and values: of a file, of options, or of a person who is asked."""
    own = {key: getattr(options, key) for key in ("servo", "material", "supply_v") if getattr(options, key) is not None}
    given = own | ({} if options.gripper is None else {"gripper": _inline("--gripper", options.gripper)})
    if options.source:
        if options.joint:
            raise InputError("--from has the joints: leave --joint away", subject="--joint")
        values = read_yaml(options.source, "answers", InputError)
        return mapping(values, options.source, subject="--from", error=InputError) | given
    if options.joint:
        return given | {"joints": [_inline("--joint", text) for text in options.joint]}
    return asked(given)


def _inline(option: str, text: str):
    """What a text such as ``name: lift, axis: y`` says."""
    return "none" if text.strip() in ("", "none") else parse_yaml("{" + text + "}", f"{option} {text!r}", InputError)


# -- asking ----------------------------------------------------------------------------------------------------------------


def asked(given: dict, ask: Callable[[str], str] | None = None) -> dict:
    """Answers of a person, ``input`` by default; Enter takes what stands in brackets, what cannot be is said and asked again.

    Raises:
        InputError: nobody answers.
    """
    question = Questions(ask or input)
    print("Joints from the base outwards; Enter takes what is in brackets.  At 0 the arm stands upright, z is up, x is forward.")
    top, joints, before = PRESET | given, [], list[Part]()
    for number in range(question("Joints, without a gripper", 4, whole(1, MOST_JOINTS))):
        while True:
            print(f"Joint {number + 1}")
            joint = _joint(question, number, top, before)
            try:
                before.append(read_joint(joint, top, before))
            except PickerError as error:
                print(f"  {error}")
                continue
            joints.append(joint)
            break
    if "gripper" not in given:
        kinds = tuple(servo_types())
        servo = question(f"Servo of a gripper ({', '.join(kinds)}, or none)", "none", one_of("none", *kinds))
        given = given | {"gripper": servo if servo == "none" else {"servo": servo, "channel": _free(before)}}
    return given | {"joints": joints}


def _joint(question: Questions, number: int, top: dict, before: list[Part]) -> dict:
    """Answers about one joint, as a design has them."""

    def name(text: str) -> str:
        if why := why_no_name(text, before):
            raise InputError(why)
        return text

    def channel(text: str) -> int:
        drives = {part.channel: part.name for part in before}
        if (value := whole(0, CHANNELS - 1)(text)) in drives:
            raise InputError(f"it already drives {drives[value]}")
        return value

    joint = {"name": question("  name", f"joint{number + 1}", name)}
    slides = question("  does it turn or slide", "turn", one_of("turn", "slide")) == "slide"
    unit, limits = ("mm", (0, 40)) if slides else ("deg", LIMITS_DEG)
    material, kinds = top["material"], tuple(servo_types())
    for key, text, preset, read in (
        ("axis", "axis (x, y, z)", "y" if number or slides else "z", one_of(*AXES)),
        ("length_mm", "length of its link, to the next joint [mm]", 100 if number else 40, decimal),
        ("lower", f"lower limit [{unit}]", f"{limits[0]:g}", decimal),
        ("upper", f"upper limit [{unit}]", f"{limits[1]:g}", decimal),
        ("weight", "mass of the link with the next servo on it [g], or a material", material, weight),
        ("servo", f"servo ({', '.join(kinds)})", top["servo"], one_of(*kinds)),
        ("channel", "channel of the board", _free(before), channel),
    ):
        joint[key] = question(f"  {text}", preset, read)
    heavy = joint.pop("weight")
    joint |= {"material": heavy} if heavy in DENSITY else {"mass_g": heavy}
    joint[f"limits_{unit}"] = [joint.pop("lower"), joint.pop("upper")]
    return joint | {"type": "prismatic" if slides else "revolute"}


def _free(before: list[Part]) -> int:
    return next(number for number in range(CHANNELS) if number not in {part.channel for part in before})


class Questions:
    """Asks a person, with ``ask``, until an answer can be read."""

    def __init__(self, ask: Callable[[str], str]):
        self._ask = ask

    def __call__(self, question: str, preset: object, read: Callable[[str], Any]) -> Any:
        while True:
            try:
                return read(self._ask(f"{question} [{preset}]: ").strip() or str(preset))
            except InputError as error:
                print(f"  {error}")
            except EOFError as error:
                text = f"nobody answers {question.strip()!r}: give --from FILE, or --joint '{EXAMPLE}' for each joint"
                raise InputError(text, question.strip()) from error


def one_of(*words: str) -> Callable[[str], str]:
    """Reader of one of some words, in any case."""

    def read(text: str) -> str:
        found = {word.lower(): word for word in words}.get(text.lower())
        refuse_if(found is None, f"that must be one of {', '.join(words)}")
        return str(found)

    return read


def whole(low: int, high: int) -> Callable[[str], int]:
    """Reader of a whole number."""

    def read(text: str) -> int:
        refuse_if(text not in map(str, range(low, high + 1)), f"that must be {low} to {high}")
        return int(text)

    return read


def decimal(text: str) -> float:
    """Read a number."""
    value = math.nan
    with contextlib.suppress(ValueError):
        value = float(text)
    refuse_if(not math.isfinite(value), "that must be a number")
    return value


def weight(text: str) -> str | float:
    """Read a material, or a mass in grams."""
    return text if text in DENSITY else 1e3 * mass("mass", text)


# -- writing ---------------------------------------------------------------------------------------------------------------


def _text(answers: dict) -> str:
    return yaml.safe_dump(answers, default_flow_style=None, sort_keys=False, width=130)


def _kept(error: PickerError, folder: Path, answers: dict) -> PickerError:
    """The error of a design that a person answered all questions for: no answer is lost."""
    handle, path = tempfile.mkstemp(prefix=f"{folder.name}_", suffix=".yaml")
    with open(handle, "w", encoding="utf-8") as file:
        file.write(_text(answers))
    return error.reworded(f"{error}; the answers are in {path}: change them, then picker new {folder} --from {path}")


def _write(folder: Path, made: Written, answers: dict) -> None:
    """All files at once, after they were read back as the arm will be."""
    name = folder.name
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{name}_", dir=folder.parent))
    files = {f"{name}.urdf": made.urdf, "servos.yaml": made.servos, "answers.yaml": _text(answers)}
    try:
        for file, text in files.items():
            (scratch / file).write_text(text, encoding="utf-8")
        servo_arm.load(scratch / f"{name}.urdf", scratch / "servos.yaml")
        scratch.chmod(0o755)
        scratch.rename(folder)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _said(folder: Path, made: Written) -> list[str]:
    """What was written, what the servos bear, and what comes next, with a place for the tip that this arm can reach."""
    urdf, weak = folder / f"{folder.name}.urdf", [load.joint for load in made.loads if not load.bears]
    lines = [f"{folder}/: {folder.name}.urdf, servos.yaml, answers.yaml"]
    lines += [f"{'  ' if load.bears else '! '}{load}" for load in made.loads]
    if weak:
        lines.append(
            f"too weak: {', '.join(weak)}. Motions that need more are refused; take a stronger servo, or shorter or lighter links"
        )
    tip = link_poses(made.arm, made.home + 0.2 * (made.rest - made.home))[TOOL].position
    return [
        *lines,
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
