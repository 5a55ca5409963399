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

Writer of a designed arm: its URDF, with inertias of uniform bodies, and its servo map.

    m = rho V + servo,   c = sum of m_k c_k / m,   I = sum of I_k + m_k (|d_k|² 1 - d_k d_k^T)

over the link's beam and the next joint's servo, a box at the link's end; d_k from c to their centres.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
import yaml

from picker_dynamics.errors import ConfigurationError, InputError, refuse_if
from picker_dynamics.files.fields import mapping, number
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource

from .assumed_servos import home_and_rest
from .description import ArmDescription, Geometry, parse
from .file_fields import figure, keys_of, read_fields
from .lint import holding_torque
from .model import Array
from .servo_file import CHANNELS, ServoType, servo_type
from .shapes import composed, volume
from .urdf_elements import rotation_from_rpy

DENSITY = {"printed": 450.0, "pla": 1240.0, "petg": 1270.0, "plywood": 650.0, "acrylic": 1190.0, "aluminium": 2700.0}
"""Of materials [kg/m³]; ``printed`` is PLA with walls and a fifth of infill, assumed."""

AXES = ["x", "-x", "y", "-y", "z", "-z"]
MOST_JOINTS = 7
RESERVE_DEG = 10.0
"""Of a servo's travel that joints leave to set-points beyond their limits: what compensation adds to bear a load."""

COLOURS = {
    name: f'<material name="{name}"><color rgba="{rgba} 1"/></material>'
    for name, rgba in {"beam": "0.8 0.81 0.83", "servo": "0.13 0.14 0.16", "hand": "0.25 0.52 0.29"}.items()
}
"""Of what is drawn: links, the servos on them, and the last link."""

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


# -- files -----------------------------------------------------------------------------------------------------------------

TOOL = "tool0"
"""Name of the last link."""

ALONG = {"x": (0.0, 0.5 * math.pi, 0.0), "y": (0.5 * math.pi, 0.0, 0.0), "z": (0.0, 0.0, 0.0)}
"""Roll, pitch and yaw of a cylinder along an axis [rad]."""

BENT = (-0.15, 0.25)
"""Home, from the middle of the range of the first joint that lifts and of those after it, as shares of their ranges: not
stretched out, so that the tip can go every way."""

P_GAIN = 16
"""Of bus servos, as LeRobot sets them up."""

GRIP_SHARE = 0.25
"""Of stall torque with which a jaw may press."""


@dataclass(frozen=True)
class Written:
    """Texts of a URDF and of a servo map, the arm, its poses (n,) [rad or m], and what each servo has to bear.

    Attributes:
        loads: a sentence for each joint.
        weak: joints whose servo is too weak for the whole range.
    """

    urdf: str
    servos: str
    arm: ArmDescription
    home: Array
    rest: Array
    loads: tuple[str, ...]
    weak: tuple[str, ...]


def written(name: str, design: Design) -> Written:
    """Files of a designed arm, both of them.

    Raises:
        InputError: a link lighter than the servo that rides on it, servos that hold the arm in no pose.
        DescriptionError: names that a URDF may not have.
    """
    text = _urdf(name, design)
    arm, parts = parse(text, f"{name}.urdf"), design.parts
    usual = read_yaml(resource("config/servos.yaml"), "servo map", ConfigurationError)
    home, rest, worst = home_and_rest(arm, arm.effort, _bent(design))
    home, rest = (np.clip(np.round(pose, 3), arm.lower, arm.upper) for pose in (home, rest))
    holds, needs = float(usual["defaults"]["hold_share"]) * arm.effort, np.abs(holding_torque(arm, home))
    loads, weak = list[str](), list[str]()
    for part, most, most_held, need, unit in zip(parts, worst, holds, needs, arm.effort_units):
        said = f"{part.name}: at most {most:.3g} {unit} of gravity; hold limit of {part.servo.name} {most_held:.3g}"
        refuse_if(
            need > most_held,
            f"joint {said}, half bent it needs {need:.3g}: the arm can be held in no pose above the table; "
            "take a stronger servo, or shorter or lighter links",
            part.name,
            float(need),
            float(most_held),
        )
        if most > most_held:
            weak.append(part.name)
            said += f": too weak for the whole range by {most / most_held:.1f} times"
        loads.append(said)
    return Written(text, _servos(name, design, usual, home, rest), arm, home, rest, tuple(loads), tuple(weak))


# -- URDF ------------------------------------------------------------------------------------------------------------------


def _figure(part: Part, key: str, design: Design) -> float:
    """A figure of the part's servo at the design's voltage."""
    value = part.servo.figures_at(design.supply_v)[key]
    return float(value["value"] if isinstance(value, dict) else value)


def _urdf(name: str, design: Design) -> str:
    said, parent, end = ['<link name="base_link"/>'], "base_link", np.array([0.0, 0.0, design.base])
    for part, after in zip(design.parts, (*design.parts[1:], None)):
        speed, stall = (_figure(part, key, design) for key in ("no_load_speed_rad_s", "stall_torque_nm"))
        values = zip(("lower", "upper", "velocity", "effort"), (*part.limits, speed, stall))
        limit = " ".join(f'{key}="{value:.6g}"' for key, value in values)
        child = f"{part.name}_link" if part.name != "base" else "base_moved_link"
        motion = f'<axis xyz="{_text(pointing(part.axis))}"/><limit {limit}/>'
        said += [_joint(part.name, "revolute", parent, child, end, motion), f'<link name="{child}">{_body(part, after)}</link>']
        length = pointing(part.along) * part.length
        parent, end = (parent, end + length) if part.name == JAW else (child, length)
    said += [f'<link name="{TOOL}"/>', _joint("tool", "fixed", parent, TOOL, end)]
    robot = ElementTree.fromstring(f'<robot name="{name}">{"".join(said)}</robot>')
    ElementTree.indent(robot)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(robot, encoding="unicode") + "\n"


def _joint(name: str, kind: str, parent: str, child: str, at: Array, more: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{_text(at)}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{more}</joint>'


def _body(part: Part, after: Part | None) -> str:
    """Inertial, drawing and collision shapes of the link that ``part`` moves, the servo of the joint ``after`` it at its end."""
    way, rpy = pointing(part.along) * part.length, ALONG[part.along[-1]]
    shapes = [Geometry("cylinder", (0.5 * part.diameter, part.length), 0.5 * way, rotation_from_rpy(rpy))]
    beam = f'<cylinder radius="{0.5 * part.diameter:.6g}" length="{part.length:.6g}"/>'
    drawn = [f'<origin xyz="{_text(0.5 * way)}" rpy="{_text(rpy)}"/><geometry>{beam}</geometry>']
    colours = [COLOURS["hand" if after is None else "beam"]]
    masses = [DENSITY[part.material] * volume(shapes[0]) if part.mass is None else part.mass]
    if after is not None:
        rides = after.servo
        if part.mass is not None:
            masses[0] -= rides.mass
            said = f"joint {part.name}: mass_g is {1e3 * part.mass:g}, but the {rides.name} that rides on its link has "
            refuse_if(
                masses[0] <= 0.0, f"{said}{1e3 * rides.mass:g} g: weigh links with the servos on them", part.name, part.mass
            )
        masses.append(rides.mass)
        shapes.append(Geometry("box", rides.size, way, np.eye(3)))
        drawn.append(f'<origin xyz="{_text(way)}"/><geometry><box size="{_text(rides.size)}"/></geometry>')
        colours.append(COLOURS["servo"])
    centre, inertia = composed(masses, shapes)
    entries = " ".join(f'i{a}{b}="{inertia[i, j]:.6g}"' for i, a in enumerate("xyz") for j, b in enumerate("xyz") if i <= j)
    inertial = f'<origin xyz="{_text(centre)}"/><mass value="{sum(masses):.6g}"/><inertia {entries}/>'
    seen = "".join(f"<visual>{one}{colour}</visual>" for one, colour in zip(drawn, colours))
    solid = seen + "".join(f"<collision>{one}</collision>" for one in drawn)
    return f"<inertial>{inertial}</inertial>{solid}"


def _text(values: Any) -> str:
    return " ".join(f"{value + 0.0:.9g}" for value in values)


# -- servos ----------------------------------------------------------------------------------------------------------------


def _bent(design: Design) -> Array:
    """Where home would be best: joints that turn the link across itself bent, the others in the middle, the jaw half open."""
    pose, lifts = [], 0
    for part in design.parts:
        lower, upper = part.limits
        across = part.axis[-1] != part.along[-1] and part.name != JAW
        share = BENT[min(lifts, 1)] if across and lower < 0.0 < upper else 0.0
        lifts += across
        pose.append(0.5 * (lower + upper) + share * (upper - lower))
    return np.array(pose)


def _servos(name: str, design: Design, usual: dict[str, Any], home: Array, rest: Array) -> str:
    joints = {}
    for part, at_home, at_rest in zip(design.parts, home.tolist(), rest.tolist()):
        zero = -math.degrees(0.5 * sum(part.limits))
        entry: dict[str, Any] = {
            "type": part.servo.name,
            "channel": part.channel,
            "direction": 1,
            "zero_deg": round(zero, 3) + 0.0,
        }
        if "model_number" in part.servo.figures:
            entry |= {"id": part.channel + 1, "p_gain": P_GAIN}
        entry |= {"rest_rad": at_rest, "home_rad": at_home}
        if part.name == JAW:
            entry["grip"] = {"contact_rad": 0.0, "torque_nm": round(GRIP_SHARE * _figure(part, "stall_torque_nm", design), 4)}
        joints[part.name] = entry
    board = {key: usual["board"][key] for key in ("frame_us", "quantum_us")} | {"supply_v": design.supply_v}
    defaults = {key: value for key, value in usual["defaults"].items() if key != "type"}
    said = (
        f"# Servo map of {name}.  The types' figures: config/servo_types.yaml; every key: config/servos.yaml.\n"
        "# direction and zero_deg are as designed: the sign test of docs/your_arm.md says whether yours are.\n"
    )
    content = {"board": board, "defaults": defaults, "joints": joints}
    return said + yaml.safe_dump(content, default_flow_style=None, sort_keys=False, width=130)
