"""Design of an arm in the words of a workshop, as ``picker new`` asks for it: joints, lengths, masses or materials, servos.

    supply_v: 6.0                 # of the servos
    base_mm: 60                   # height of the first joint above the table
    servo: MG996R                 # of every joint that names none
    material: printed             # of every link that has neither mass_g nor material
    joints:
      - {name: turn, axis: z, length_mm: 40, limits_deg: [-80, 80]}
      - {name: lift, axis: y, length_mm: 120, mass_g: 160, servo: DS3218}
    gripper: {servo: MG90S, length_mm: 60, open_deg: 50}      # or none

A joint carries one straight, round link of ``length_mm``, along ``along``, z by default: at 0 the arm stands upright,
and the servo of the next joint rides at its end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.files.fields import mapping, number

from .file_fields import figure, keys_of, read_fields
from .model import Array
from .servo_file import CHANNELS
from .servo_types import ServoType, servo_type

DENSITY = {"printed": 450.0, "pla": 1240.0, "petg": 1270.0, "plywood": 650.0, "acrylic": 1190.0, "aluminium": 2700.0}
"""Of materials [kg/m³]; ``printed`` is PLA with walls and a fifth of infill, assumed."""

AXES = ["x", "-x", "y", "-y", "z", "-z"]
MOST_JOINTS = 7
RESERVE_DEG = 10.0
"""Of a servo's travel that joints leave to set-points beyond their limits: what compensation adds to bear a load."""

PRESET = {"supply_v": 6.0, "base_mm": 60.0, "servo": "MG996R", "material": "printed", "gripper": None}
LIMITS_DEG, JAW = (-80.0, 80.0), "gripper"
"""Limits where none are given; the gripper's joint."""


def pointing(axis: str) -> Array:
    """Unit vector (3,) of an axis by its name."""
    vector: Array = (-1.0 if axis[0] == "-" else 1.0) * np.eye(3)["xyz".index(axis[-1])]
    return vector


@dataclass(frozen=True, kw_only=True)
class Part:
    """Part of an arm: one joint and the link that it carries; m, kg, rad.

    ``mass`` is with the servo that rides on it, None where ``material`` has to say.
    """

    name: str
    limits: tuple[float, float]
    servo: ServoType
    axis: str = figure("axis", AXES, "y")
    along: str = figure("along", AXES, "z")
    length: float = figure("length_mm", (1.0, True, 2000.0), unit=1e-3)
    diameter: float = figure("section_mm", (1.0, True, 500.0), 0.03, unit=1e-3)
    mass: float | None = figure("mass_g", (0.1, True, 20_000.0), None, unit=1e-3)
    material: str = figure("material", [*DENSITY], PRESET["material"])
    channel: int = figure("channel", [*range(CHANNELS)])


JOINT = ("name", "servo", "limits_deg", *(key.name for key in keys_of(Part).values()))


@dataclass(frozen=True)
class Design:
    """An arm: its parts from the base outwards, of which one called ``JAW`` is the gripper's."""

    parts: tuple[Part, ...]
    supply_v: float = figure("supply_v", (3.0, True, 30.0), 6.0)
    base: float = figure("base_mm", (0.0, True, 1000.0), 0.06, unit=1e-3)


def read_design(values: Any) -> Design:
    """The design that a YAML file, options or answers give.

    Raises:
        InputError, ConfigurationError: naming the joint, its value and what may be there.
    """
    top = PRESET | mapping(values, "the arm", (*PRESET, "joints"), error=InputError)
    joints, jaw = top.get("joints"), top["gripper"]
    if not isinstance(joints, list) or not 1 <= len(joints) <= MOST_JOINTS:
        raise InputError(f"joints: a list of 1 to {MOST_JOINTS} is needed", "joints", limit=MOST_JOINTS)
    figures, _ = read_fields(Design, top, "the arm: ", "the arm")
    parts: list[Part] = []
    for joint in joints:
        parts.append(read_joint(joint, top, parts))
    if jaw not in (None, "none", "None"):  # turns out of the arm's plane, closed at 0
        jaw = mapping(
            {"servo": jaw} if isinstance(jaw, str) else jaw, JAW, ("servo", "length_mm", "open_deg", "mass_g", "channel")
        )
        across = next(name for name in "xyz" if name not in (parts[-1].along[-1], parts[-1].axis[-1]))
        shape = {"axis": across, "along": parts[-1].along, "section_mm": 10.0, "length_mm": 60.0}
        parts.append(_part(JAW, shape | {"limits_deg": [0.0, jaw.pop("open_deg", 50.0)]} | jaw, top, parts, JAW))
    return Design(tuple(parts), **figures)


def read_joint(values: Any, top: Mapping[str, Any], before: list[Part]) -> Part:
    """Part read from one joint, after those ``before`` it; what it leaves open is as in ``top``.  Errors as ``read_design``."""
    name: Any = values.get("name") if isinstance(values, dict) else None
    where = f"joint {name if name is not None else len(before) + 1}"
    joint = mapping(values, where, JOINT, error=InputError)
    taken = name in (*(part.name for part in before), JAW)
    right = isinstance(name, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name)
    why = "it is taken" if taken else "a letter, then letters, digits or _, 41 at the most"
    refuse_if(taken or not right, f"{where}: name is {name!r}: {why}", "name", str(name))
    return _part(name, joint, top, before, where)


def _part(name: str, given: dict[str, Any], top: Mapping[str, Any], before: list[Part], where: str) -> Part:
    preset = {"material": top["material"], "servo": top["servo"], "channel": len(before), "axis": "y" if before else "z"}
    given = preset | {key: value for key, value in given.items() if value is not None}
    values, _ = read_fields(Part, given, f"{where}: ", name)
    servo, limits = servo_type(given["servo"], f"{where}: servo"), given.get("limits_deg", LIMITS_DEG)
    text = f"{where}: limits_deg is {limits!r}, must be [lower, upper]"
    refuse_if(not isinstance(limits, (list, tuple)) or len(limits) != 2, text, name)
    lower, upper = (number(value, f"{where}: limits_deg", (-180.0, True, 180.0), name, InputError) for value in limits)
    refuse_if(lower >= upper, f"{where}: limits_deg is [{lower:g}, {upper:g}]: the upper must be larger", name, upper, lower)
    most = servo.travel_deg - RESERVE_DEG
    kept = f"{servo.name} turns {servo.travel_deg:g} deg, of which {RESERVE_DEG:g} are kept to bear loads"
    refuse_if(upper - lower > most, f"{where}: limits_deg span {upper - lower:g}: {kept}", name, upper - lower, most)
    return Part(name=name, limits=(math.radians(lower), math.radians(upper)), servo=servo, **values)
