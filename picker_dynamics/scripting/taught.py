"""Taught motions: poses, grips, pauses and payloads in a YAML file for a person: degrees, millimetres, seconds, grams.

    arm: picker
    joints: {base: deg, shoulder: deg, elbow: deg, wrist: deg, scissor: deg}
    speed: 1.0                    # of all motions; each may have its own
    steps:
    - pose: above                 # all joints, some (the others stay), or tip: [x, y, z] with pitch: where it has one
      at: {base: 20.0, shoulder: 80.2, elbow: -103.1, wrist: -45.8, scissor: 60.0}
    - {pose: berry, tip: [260.0, 80.0, 170.0], pitch: -20.0, seconds: 2.5}
    - {pose: grip, at: {scissor: 5.0}, speed: 0.5}
    - payload: 25
    - pause: 0.5

``arm`` and ``joints`` bind the file to an arm: with another nothing moves.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.execution.goal import MAX_GOAL_S
from picker_dynamics.files.fields import mapping, number
from picker_dynamics.files.formats import parse_yaml, read_yaml
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array

from .steps import Pause, Payload, Pose, Step

STEPS_MAX = 1000
"""Steps of one file."""

SPEEDS = 0.05, 4.0
"""How many times as fast as usual motions may be asked for; limits are kept at any."""

DEGREE, MILLI = math.pi / 180.0, 1e-3

UNITS = {"rad": ("deg", DEGREE), "m": ("mm", MILLI)}
"""Unit of a joint in here -> its name in the file, and how much one of that is."""

NUMBERS = {
    "pause": (0.0, MAX_GOAL_S, 1.0),
    "payload": (0.0, 5000.0, MILLI),
    "seconds": (0.0, MAX_GOAL_S, 1.0),
    "speed": (*SPEEDS, 1.0),
    "pitch": (-360.0, 360.0, DEGREE),
    "tip": (-1e5, 1e5, MILLI),
    "at": (-1e5, 1e5, 1.0),
}
"""Field -> the least and the most of it, and how much one of that is in SI units."""

KINDS = {"pose": ("at", "tip", "pitch", "seconds", "speed"), "pause": (), "payload": ()}
"""Kinds of steps, and what else they may have."""


@dataclass(frozen=True)
class Taught:
    """A taught motion.

    Attributes:
        speed: how many times as fast as usual.
    """

    speed: float
    steps: tuple[Step, ...]


def path_of(name: str | Path) -> Path:
    """The file of a taught motion: NAME.yaml here, unless the name is a file's."""
    path = Path(name)
    return path if path.suffix else path.with_name(f"{path.name}.yaml")


def read(name: str | Path, arm: ArmDescription) -> Taught:
    """A taught motion of this arm.

    Raises:
        InputError: no such file, another arm's, or a step that makes no sense: which, and why.
    """
    path = path_of(name)
    values = read_yaml(path, "taught motion")
    try:
        return _taught(values, arm)
    except InputError as error:
        raise InputError(f"{path}: {error}", error.subject, error.value, error.limit) from error


def _taught(values: Any, arm: ArmDescription) -> Taught:
    values = mapping(values, "the file", ("arm", "joints", "speed", "steps"), error=InputError)
    taught, this = (values.get("arm"), values.get("joints")), (arm.name, _units(arm))
    refuse_if(taught != this, f"taught for the arm {taught[0]} {taught[1]}; this is {arm.name} {this[1]}", "arm", str(taught[0]))
    steps = values.get("steps")
    if not isinstance(steps, list) or not 0 < len(steps) <= STEPS_MAX:
        raise InputError(f"steps must be a list of 1 to {STEPS_MAX} steps", "steps", limit=STEPS_MAX)
    speed = _number("speed", values.get("speed", 1.0), "the file")
    return Taught(speed, tuple(_step(f"step {k}", step, arm) for k, step in enumerate(steps, 1)))


def _step(where: str, values: Any, arm: ArmDescription) -> Step:
    kinds = [kind for kind in KINDS if isinstance(values, dict) and kind in values]
    refuse_if(len(kinds) != 1, f"{where} must have one of {', '.join(KINDS)}; it is {values!r}", where)
    values = mapping(values, where, (*kinds, *KINDS[kinds[0]]), error=InputError)
    plain: dict[str, Any] = {key: _number(key, value, where) for key, value in values.items() if key not in ("pose", "at", "tip")}
    if "pause" in plain:
        return Pause(plain["pause"])
    if "payload" in plain:
        return Payload(plain["payload"])
    wrong = ("at" in values) == ("tip" in values) or ("pitch" in values and "tip" not in values)
    refuse_if(wrong, f"{where} must have either `at` with joints, or `tip`, perhaps with `pitch`", where)
    if "tip" in values:
        tip = values["tip"] if isinstance(values["tip"], list) else []
        refuse_if(len(tip) != 3, f"{where}: tip must be [x, y, z] in millimetres", where)
        return Pose(str(values["pose"]), tip=tuple(_number("tip", x, where) for x in tip), **plain)
    joints, units = mapping(values["at"], f"{where}: at", arm.joint_names, error=InputError), _units(arm)
    at = {name: dict(UNITS.values())[units[name]] * _number("at", value, f"{where}: {name}") for name, value in joints.items()}
    return Pose(str(values["pose"]), at, **plain)


def _units(arm: ArmDescription) -> dict[str, str]:
    return {name: UNITS[unit][0] for name, unit in zip(arm.joint_names, arm.position_units)}


def _number(field: str, value: Any, where: str) -> float:
    """A value of the file in SI units."""
    least, most, factor = NUMBERS[field]
    return factor * number(value, f"{where}: {field}", (least, True, most), where, InputError)


# -- writing ---------------------------------------------------------------------------------------------------------------


class TaughtFile:
    """A file that steps are added to, at its end: what a person wrote in it stays as it is.

    Args:
        name: as for ``path_of``.
        arm: that is taught.

    Raises:
        InputError: there is such a file, and it is no taught motion of this arm.

    Attributes:
        count: of its steps.
    """

    def __init__(self, name: str | Path, arm: ArmDescription):
        self.path, self.arm = path_of(name), arm
        self.count = len(read(self.path, arm).steps) if self.path.exists() else 0

    def add_pose(self, name: str, q: Array, joints: tuple[int, ...] | None = None) -> None:
        """The joints, all of them by default, of the pose ``q`` (n,) [rad or m]."""
        factors = [UNITS[unit][1] for unit in self.arm.position_units]
        chosen = range(self.arm.n) if joints is None else joints
        self._add({"pose": name, "at": {self.arm.joint_names[j]: round(float(q[j] / factors[j]), 2) + 0.0 for j in chosen}})

    def add(self, step: Pause | Payload) -> None:
        self._add({"pause": step.seconds} if isinstance(step, Pause) else {"payload": round(step.mass / MILLI, 3)})

    def _add(self, step: dict[str, Any]) -> None:
        """Append a step.

        Raises:
            InputError: a step that makes no sense, a file that cannot be written, or in which something else follows ``steps``.
        """
        _step(f"step {self.count + 1}", step, self.arm)
        head = _text({"arm": self.arm.name, "joints": _units(self.arm), "speed": 1.0}) + "steps:\n"
        if self.path.exists():
            head = self.path.read_text(encoding="utf-8")
        after = head + ("" if head.endswith("\n") else "\n") + _text([step])
        try:
            found = len(_taught(parse_yaml(after), self.arm).steps)
        except InputError:
            found = -1
        text = f"{self.path} does not end with its steps: nothing was added; put them last"
        refuse_if(found != self.count + 1, text, "steps")
        new = self.path.with_name(f".{self.path.name}.new")
        try:
            new.write_text(after, encoding="utf-8")
            os.replace(new, self.path)  # whole or not at all
        except OSError as error:
            raise InputError(f"{self.path} cannot be written: {error.strerror}", str(self.path)) from error
        self.count += 1


def _text(values: Any) -> str:
    text: str = yaml.safe_dump(values, default_flow_style=None, sort_keys=False, allow_unicode=True, width=1000)
    return text
