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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.execution.goal import MAX_GOAL_S
from picker_dynamics.files.fields import mapping, number
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.tip_target import tip_target

STEPS_MAX = 1000
"""Steps of one file."""

SPEEDS = 0.05, 4.0
"""How many times as fast as usual motions may be asked for; limits are kept at any."""

PAYLOAD_G = 5000.0

NUMBER_MAX = 1e5
"""No angle [deg] or length [mm] is larger."""

UNITS = {"rad": ("deg", math.pi / 180.0), "m": ("mm", 1e-3)}
"""Unit of a joint in here -> its name in the file, and how much one of that is."""

KINDS = {"pose": ("at", "tip", "pitch", "seconds", "speed"), "pause": (), "payload": ()}
"""Kinds of steps, and what else they may have."""


@dataclass(frozen=True)
class Pose:
    """A pose to move to and rest at; SI units, ``at`` by joint names, ``tip`` with ``pitch`` instead of it.

    Attributes:
        seconds: the motion takes at least so long; None: as usual.
    """

    name: str
    at: Mapping[str, float] | None = None
    tip: tuple[float, ...] | None = None
    pitch: float | None = None
    seconds: float | None = None
    speed: float = 1.0

    def target(self, arm: ArmDescription, before: Array) -> Array:
        """The pose (n,) [rad or m] for an arm at ``before`` (n,); errors as ``tip_target``."""
        if self.tip is not None:
            return tip_target(arm, self.tip, near=before, pitch_rad=self.pitch)
        target = np.array(before, dtype=float)
        for name, value in (self.at or {}).items():
            target[arm.joint_names.index(name)] = value
        return target


@dataclass(frozen=True)
class Pause:
    """Pause in which nothing moves [s]."""

    seconds: float

    @property
    def name(self) -> str:
        return f"pause of {self.seconds:g} s"


@dataclass(frozen=True)
class Payload:
    """Payload that the tool carries from here on [kg]."""

    mass: float

    @property
    def name(self) -> str:
        return f"payload {1e3 * self.mass:g} g"


Step = Pose | Pause | Payload


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
        raise InputError(f"{path}: {error}", subject=error.subject, value=error.value, limit=error.limit) from error


def _taught(values: Any, arm: ArmDescription) -> Taught:
    values = _mapping("the file", values, ("arm", "joints", "steps"), ("speed",))
    units = _units(arm)
    if values["arm"] != arm.name or values["joints"] != units:
        there = ", ".join(map(str, values["joints"])) if isinstance(values["joints"], dict) else "no joints"
        raise InputError(
            f"taught for the arm {values['arm']} ({there}); this is "
            f"{arm.name} ({', '.join(' '.join(one) for one in units.items())}): nothing moves",
            subject="arm",
            value=str(values["arm"]),
        )
    steps = values["steps"]
    if not isinstance(steps, list) or not 0 < len(steps) <= STEPS_MAX:
        raise InputError(f"steps must be a list of 1 to {STEPS_MAX} steps", subject="steps", limit=STEPS_MAX)
    return Taught(
        _number("speed", values.get("speed", 1.0), *SPEEDS),
        tuple(_step(f"step {number}", step, arm) for number, step in enumerate(steps, 1)),
    )


def _step(where: str, values: Any, arm: ArmDescription) -> Step:
    kinds = [kind for kind in KINDS if isinstance(values, dict) and kind in values]
    if len(kinds) != 1:
        raise InputError(f"{where} must have one of {', '.join(KINDS)}; it is {values!r}", subject=where)
    kind = kinds[0]
    values = _mapping(where, values, (kind,), KINDS[kind])
    if kind == "pause":
        return Pause(_number(f"{where}: pause [s]", values["pause"], 0.0, MAX_GOAL_S))
    if kind == "payload":
        return Payload(1e-3 * _number(f"{where}: payload [g]", values["payload"], 0.0, PAYLOAD_G))
    if ("at" in values) == ("tip" in values) or ("pitch" in values and "tip" not in values):
        raise InputError(f"{where} must have either `at` with joints, or `tip`, perhaps with `pitch`", subject=where)
    at = tip = pitch = None
    if "at" in values:
        units = _units(arm)
        at = {
            name: _factor(units[name]) * _number(f"{where}: {name} [{units[name]}]", value, -NUMBER_MAX, NUMBER_MAX)
            for name, value in _mapping(f"{where}: at", values["at"], (), arm.joint_names).items()
        }
    else:
        place = values["tip"]
        if not isinstance(place, list) or len(place) != 3:
            raise InputError(f"{where}: tip must be [x, y, z] in millimetres; it is {place!r}", subject=where)
        tip = tuple(1e-3 * _number(f"{where}: tip [mm]", x, -NUMBER_MAX, NUMBER_MAX) for x in place)
        if "pitch" in values:
            pitch = math.radians(_number(f"{where}: pitch [deg]", values["pitch"], -360.0, 360.0))
    seconds = _number(f"{where}: seconds", values["seconds"], 0.0, MAX_GOAL_S) if "seconds" in values else None
    return Pose(str(values["pose"]), at, tip, pitch, seconds, _number(f"{where}: speed", values.get("speed", 1.0), *SPEEDS))


def _units(arm: ArmDescription) -> dict[str, str]:
    return {name: UNITS[unit][0] for name, unit in zip(arm.joint_names, arm.position_units)}


def _factor(unit: str) -> float:
    return dict(UNITS.values())[unit]


def _mapping(what: str, values: Any, needed: tuple[str, ...], allowed: tuple[str, ...]) -> dict[str, Any]:
    found = mapping(values, what, (*needed, *allowed), error=InputError)
    for key in needed:
        if key not in found:
            raise InputError(f"{what}: {key} is missing", subject=key)
    return found


def _number(what: str, value: Any, low: float, high: float) -> float:
    return number(value, what, (low, True, high), what, InputError)


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
        self._texts: list[tuple[str, str]] = []  # of the file, before and after each step that was added here
        self.count = len(read(self.path, arm).steps) if self.path.exists() else 0

    def add_pose(self, name: str, q: Array, joints: tuple[int, ...] | None = None) -> None:
        """The joints, all of them by default, of the pose ``q`` (n,) [rad or m]."""
        names, units = self.arm.joint_names, _units(self.arm)
        chosen = range(self.arm.n) if joints is None else joints
        at = {names[j]: round(float(q[j]) / _factor(units[names[j]]), 2) + 0.0 for j in chosen}
        self._add({"pose": name, "at": at})

    def add(self, step: Pause | Payload) -> None:
        self._add({"pause": step.seconds} if isinstance(step, Pause) else {"payload": round(1e3 * step.mass, 3)})

    def undo(self) -> bool:
        """Take back the step that was added last; whether there was one.

        Raises:
            InputError: somebody has written in the file since.
        """
        if not self._texts:
            return False
        before, after = self._texts[-1]
        if self._read() != after:
            raise InputError(f"{self.path} was changed since: take the step back there", subject="undo")
        self._write(before)
        self._texts.pop()
        self.count -= 1
        return True

    def _add(self, step: dict[str, Any]) -> None:
        """Append a step; the file is as before where that cannot be read again.

        Raises:
            InputError: a step that makes no sense, a file that cannot be written, or in which something else follows ``steps``.
        """
        _step(f"step {self.count + 1}", step, self.arm)
        before = self._read()
        head = before or _text({"arm": self.arm.name, "joints": _units(self.arm), "speed": 1.0}) + "steps:\n"
        after = head + ("" if head.endswith("\n") else "\n") + _text([step])
        self._write(after)
        try:
            found = len(read(self.path, self.arm).steps)
        except PickerError:
            found = -1
        if found != self.count + 1:
            self._write(before)
            raise InputError(f"{self.path} does not end with its steps: nothing was added; put them last", subject="steps")
        self._texts.append((before, after))
        self.count += 1

    def _read(self) -> str:
        return self.path.read_text(encoding="utf-8") if self.path.exists() else ""

    def _write(self, text: str) -> None:
        """Put ``text`` in the place of the file, whole or not at all; without text there is none."""
        new = self.path.with_name(f".{self.path.name}.new")
        try:
            if not text:
                return self.path.unlink()
            new.write_text(text, encoding="utf-8")
            os.replace(new, self.path)
        except OSError as error:
            new.unlink(missing_ok=True)
            raise InputError(f"{self.path} cannot be written: {error.strerror}", subject=str(self.path)) from error
        return None


def _text(values: Any) -> str:
    text: str = yaml.safe_dump(values, default_flow_style=None, sort_keys=False, allow_unicode=True, width=1000)
    return text
