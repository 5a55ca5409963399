"""Design of an arm in the words of a workshop, as ``picker new`` asks for it: joints, lengths, masses or materials, servos.

    supply_v: 6.0                 # of the servos
    base_mm: 60                   # height of the first joint above the table
    servo: MG996R                 # of every joint that names none
    material: printed             # of every link that has neither mass_g nor material
    joints:
      - {name: turn, axis: z, length_mm: 40, limits_deg: [-80, 80]}
      - {name: lift, axis: y, length_mm: 120, mass_g: 160, servo: DS3218}
    gripper: {servo: MG90S, length_mm: 60, open_deg: 50}      # or none

A joint carries one straight link of ``length_mm``, which points along ``along``, z by default: at 0 the arm stands upright.  The
servo of the next joint rides at its end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from picker_dynamics.errors import InputError
from picker_dynamics.files.fields import mapping, number

from .servo_file import CHANNELS
from .servo_types import ServoType, servo_type

DENSITY = {"printed": 450.0, "pla": 1240.0, "petg": 1270.0, "plywood": 650.0, "acrylic": 1190.0, "aluminium": 2700.0}
"""Of materials [kg/m³]; ``printed`` is PLA with walls and a fifth of infill, assumed."""

AXES = {f"{sign}{name}": (i, -1.0 if sign else 1.0) for i, name in enumerate("xyz") for sign in ("", "-")}
"""Name -> index, and which way."""

TYPES = ("revolute", "prismatic")
MOST_JOINTS = 7
RESERVE_DEG = 10.0
"""Of a servo's travel that joints leave to set-points beyond their limits: what compensation adds to bear a load."""

RANGES = {
    "supply_v": (3.0, 30.0),
    "base_mm": (0.0, 1000.0),
    "length_mm": (1.0, 2000.0),
    "mass_g": (0.1, 20_000.0),
    "section_mm": (1.0, 500.0),
    "pinion_mm": (1.0, 200.0),
    "limits_deg": (-180.0, 180.0),
    "limits_mm": (-1000.0, 1000.0),
    "open_deg": (1.0, 170.0),
}
"""Smallest and largest value of each number."""

PRESET = {"supply_v": 6.0, "base_mm": 60.0, "servo": "MG996R", "material": "printed", "gripper": None}
LINK = {"axis": None, "along": "z", "section_mm": 30.0, "mass_g": None, "material": None, "servo": None, "channel": None}
JOINT = {"name": None, "type": "revolute", "length_mm": None, "limits_deg": None, "limits_mm": None, "pinion_mm": 15.0, **LINK}
GRIPPER = {"length_mm": 60.0, "open_deg": 50.0, "mass_g": None, "servo": None, "channel": None}
LIMITS_DEG, JAW = (-80.0, 80.0), "gripper"
"""Limits where none are given; the gripper's joint."""


@dataclass(frozen=True)
class Part:
    """Part of an arm: one joint and the link that it carries; m, kg, rad (limits of a sliding joint: m).

    ``section`` is the diameter of a round link, or both edges; ``mass`` is with the servo that rides on it, None where
    ``density`` [kg/m³] has to say; ``pinion`` [m] drives a sliding joint.
    """

    name: str
    type: str
    axis: tuple[int, float]
    along: tuple[int, float]
    length: float
    section: tuple[float, ...]
    mass: float | None
    density: float
    limits: tuple[float, float]
    servo: ServoType
    channel: int
    pinion: float | None = None


@dataclass(frozen=True)
class Design:
    """An arm: its parts from the base outwards; ``jaw`` is the gripper's, None where there is none."""

    supply_v: float
    base: float
    parts: tuple[Part, ...]
    jaw: Part | None = None

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """The arm's, then the jaw."""
        return self.parts if self.jaw is None else (*self.parts, self.jaw)


def read_design(values: Any) -> Design:
    """The design that a YAML file, options or answers give.

    Raises:
        InputError, ConfigurationError: naming the joint, its value and what may be there.
    """
    top = PRESET | mapping(values, "the arm", (*PRESET, "joints"), error=InputError)
    joints = top.get("joints")
    if not isinstance(joints, list) or not 1 <= len(joints) <= MOST_JOINTS:
        has = len(joints) if isinstance(joints, list) else joints
        raise InputError(f"joints: 1 to {MOST_JOINTS} are needed, a list; given: {has}", "joints", limit=MOST_JOINTS)
    supply_v, base = (_number(key, top[key], "the arm") for key in ("supply_v", "base_mm"))
    parts: list[Part] = []
    for joint in joints:
        parts.append(read_joint(joint, top, parts))
    jaw = None if top["gripper"] in (None, "none", "None") else _read_gripper(top["gripper"], top, parts)
    design = Design(supply_v, 1e-3 * base, tuple(parts), jaw)
    for part in design.all_parts:
        part.servo.figures_at(supply_v)
    return design


def read_joint(values: Any, top: Mapping[str, Any], before: list[Part]) -> Part:
    """Part read from one joint, after those ``before`` it; what it leaves open is as in ``top``.  Errors as ``read_design``."""
    name: Any = values.get("name") if isinstance(values, dict) else None
    where = f"joint {name if name is not None else len(before) + 1}"
    joint = JOINT | mapping(values, where, JOINT, error=InputError)
    if why := why_no_name(name, before):
        raise InputError(f"{where}: name is {name!r}: {why}", "name", str(name))
    if joint["type"] not in TYPES:
        turns = "; a servo turns less than once, give limits_deg" if joint["type"] == "continuous" else ""
        raise InputError(f"{where}: type is {joint['type']!r}, must be {' or '.join(TYPES)}{turns}", name)
    if joint["length_mm"] is None:
        raise InputError(f"{where}: length_mm is missing, from this joint to the next", name)
    return _part(name, joint, top, before, where)


def why_no_name(name: Any, before: list[Part]) -> str:
    """Reason why a joint after those ``before`` it cannot be called so; empty: it can."""
    if name in (*(part.name for part in before), JAW):
        return "it is taken"
    right = isinstance(name, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name)
    return "" if right else "a letter, then letters, digits or _, 41 at the most"


def require_material(material: Any, where: str, name: str) -> None:
    """Raise an InputError for a material whose density is not known."""
    _one_of("material", material, DENSITY, where, name, "; or give mass_g")


def _one_of(key: str, value: Any, allowed: Iterable[str], where: str, name: str, more: str = "") -> None:
    if not isinstance(value, str) or value not in allowed:
        raise InputError(f"{where}: {key} is {value!r}, must be one of {', '.join(allowed)}{more}", name, str(value))


def _read_gripper(values: Any, top: Mapping[str, Any], before: list[Part]) -> Part:
    """One jaw that turns out of the arm's plane: closed at 0."""
    values = {} if values is True else {"servo": values} if isinstance(values, str) else values
    jaw = GRIPPER | mapping(values, JAW, GRIPPER, error=InputError)
    opening, last = _number("open_deg", jaw.pop("open_deg"), JAW), before[-1]
    across = next(name for name in "xyz" if AXES[name][0] not in (last.along[0], last.axis[0]))
    along = next(name for name, axis in AXES.items() if axis == last.along)
    shape = {"axis": across, "along": along, "section_mm": [10.0, 10.0], "limits_deg": [0.0, opening]}
    return _part(JAW, JOINT | jaw | shape, top, before, JAW)


def _part(name: str, joint: Mapping[str, Any], top: Mapping[str, Any], before: list[Part], where: str) -> Part:
    slides = joint["type"] == "prismatic"
    material = joint["material"] or top["material"]
    servo = servo_type(joint["servo"] or top["servo"], f"{where}: servo", "take one like it, and give its figures in servos.yaml")
    require_material(material, where, name)
    section = joint["section_mm"] if isinstance(joint["section_mm"], list) else [joint["section_mm"]]
    if not 1 <= len(section) <= 2:
        raise InputError(f"{where}: section_mm is {section}, must be a diameter, or [width, height]", name)
    drives, channel = {one.channel: one.name for one in before}, joint["channel"]
    if channel is None:
        channel = next(number for number in range(CHANNELS) if number not in drives)
    if isinstance(channel, bool) or not isinstance(channel, int) or not 0 <= channel < CHANNELS:
        raise InputError(f"{where}: channel is {channel!r}, must be 0 ... {CHANNELS - 1}", name, str(channel))
    if channel in drives:
        raise InputError(f"{where}: channel {channel} already drives {drives[channel]}", name, channel)
    axis = joint["axis"] or ("y" if before or slides else "z")
    for key, value in (("axis", axis), ("along", joint["along"])):
        _one_of(key, value, AXES, where, name)
    pinion, length, mass = (
        None if joint[key] is None else 1e-3 * _number(key, joint[key], where) for key in ("pinion_mm", "length_mm", "mass_g")
    )
    assert length is not None
    edges = tuple(1e-3 * _number("section_mm", edge, where) for edge in section)
    pinion = pinion if slides else None
    limits = _limits(joint, slides, servo, pinion, where)
    kind, along = joint["type"], AXES[joint["along"]]
    return Part(name, kind, AXES[axis], along, length, edges, mass, DENSITY[material], limits, servo, channel, pinion)


def _limits(joint: Mapping[str, Any], slides: bool, servo: ServoType, pinion: float | None, where: str) -> tuple[float, float]:
    """Lower and upper, within what the servo's horn turns through [rad or m]."""
    key, other, unit = ("limits_mm", "limits_deg", "mm") if slides else ("limits_deg", "limits_mm", "deg")
    if joint[other] is not None:
        raise InputError(f"{where}: a {joint['type']} joint has {key}, not {other}", other)
    given = joint[key] if joint[key] is not None or slides else LIMITS_DEG
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise InputError(f"{where}: {key} is {given!r}, must be [lower, upper]", key)
    lower, upper = (_number(key, value, where) for value in given)
    if lower >= upper:
        raise InputError(f"{where}: {key} is [{lower:g}, {upper:g}]: the upper must be larger", key, upper, lower)
    scale = 1e-3 / (pinion or 1.0) if slides else math.pi / 180.0
    most = math.radians(servo.travel_deg - RESERVE_DEG) / scale
    if upper - lower > most:
        kept = f"{servo.name} turns {servo.travel_deg:g} deg, of which {RESERVE_DEG:g} are kept to bear loads"
        said = f"{where}: {key} span {upper - lower:g} {unit}, at most {math.floor(most)}: {kept}"
        raise InputError(said, key, upper - lower, most)
    unit_si = 1e-3 if slides else math.pi / 180.0
    return unit_si * lower, unit_si * upper


def _number(key: str, value: Any, where: str) -> float:
    low, high = RANGES[key]
    return number(value, f"{where}: {key}", (low, True, high), key, InputError)
