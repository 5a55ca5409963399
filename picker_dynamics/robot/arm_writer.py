"""Writer of a designed arm: its URDF, with inertias of uniform bodies, and its servo map.

    m = rho V + servo,   c = sum of m_k c_k / m,   I = sum of I_k + m_k (|d_k|² 1 - d_k d_k^T)

over the link's beam and the next joint's servo, a box at the link's end; d_k from c to their centres.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np

from picker_dynamics.errors import ConfigurationError, InputError
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource

from .arm_design import Design, Part
from .assumed_servos import POSES, home_and_rest
from .description import ArmDescription, Geometry, parse
from .lint import holding_torque
from .model import Array
from .shapes import composed, volume

BASE, TOOL, ROOM_M = "base_link", "tool0", 0.06
"""Names of the first and the last link; edge of the drawn base [m]."""

BENT = (-0.15, 0.25)
"""Home, from the middle of the range of the first joint that lifts and of those after it, as shares of their ranges: not
stretched out, so that the tip can go every way."""

GRIP_SHARE = 0.25
"""Of stall torque with which a jaw may press."""


@dataclass(frozen=True)
class Load:
    """Load on one joint: its largest gravity torque, and what its servo may hold [N·m or N]."""

    joint: str
    servo: str
    worst: float
    holds: float
    unit: str

    @property
    def bears(self) -> bool:
        return self.worst <= self.holds

    def __str__(self) -> str:
        said = f"{self.joint}: at most {self.worst:.3g} {self.unit} of gravity; {self.servo} may hold {self.holds:.3g}"
        return said if self.bears else f"{said}: too weak for the whole range by {self.worst / self.holds:.1f} times"


@dataclass(frozen=True)
class Written:
    """Texts of a URDF and of a servo map, the arm, its poses (n,) [rad or m], and what each servo has to bear."""

    urdf: str
    servos: str
    arm: ArmDescription
    home: Array
    rest: Array
    loads: tuple[Load, ...]


def written(name: str, design: Design) -> Written:
    """Files of a designed arm, both of them.

    Raises:
        InputError: a link lighter than the servo that rides on it, servos that hold the arm in no pose.
        DescriptionError: names that a URDF may not have.
    """
    text = _urdf(name, design)
    arm = parse(text, f"{name}.urdf")
    stall = np.array([_effort(part, design.supply_v) for part in design.all_parts])
    usual = read_yaml(resource("config/servos.yaml"), "servo map", ConfigurationError)
    home, rest, worst = home_and_rest(arm, stall, _bent(design))
    home, rest = (np.clip(np.round(pose, 3), arm.lower, arm.upper) for pose in (home, rest))
    hold = float(usual["defaults"]["hold_share"])
    needs = np.abs(holding_torque(arm, home)) / stall
    if needs.max() > hold:
        worse = int(np.argmax(needs))
        part, unit = design.all_parts[worse], arm.effort_units[worse]
        need, may = float(needs[worse] * stall[worse]), hold * float(stall[worse])
        raise InputError(
            f"joint {part.name}: {part.servo.name} may hold {may:.3g} {unit}, half bent it needs {need:.3g}, and the arm can "
            f"be held in none of {POSES} poses above the table: take a stronger servo, or shorter or lighter links",
            part.name,
            need,
            may,
        )
    loads = tuple(
        Load(part.name, part.servo.name, float(torque), hold * float(most), unit)
        for part, torque, most, unit in zip(design.all_parts, worst, stall, arm.effort_units)
    )
    return Written(text, _servos(name, design, usual, home, rest), arm, home, rest, loads)


# -- URDF ------------------------------------------------------------------------------------------------------------------


def _urdf(name: str, design: Design) -> str:
    parts = design.all_parts
    base = _drawn(_box((ROOM_M, ROOM_M, design.base), np.array([0.0, 0.0, 0.5 * design.base]))) if design.base else ""
    said = [f'<link name="{BASE}">{base}</link>']
    parent, end = BASE, np.array([0.0, 0.0, design.base])
    for part, after in zip(parts, (*parts[1:], None)):
        speed = _figure(part, "no_load_speed_rad_s", design.supply_v) * (part.pinion or 1.0)
        figures = zip(("lower", "upper", "velocity", "effort"), (*part.limits, speed, _effort(part, design.supply_v)))
        limit = " ".join(f'{key}="{value:.6g}"' for key, value in figures)
        axis = f'<axis xyz="{_text(_pointing(part.axis))}"/><limit {limit}/>'
        said += [_joint(part.name, part.type, parent, _link_of(part), end, axis), _link(part, after)]
        if part is not design.jaw:
            parent, end = _link_of(part), _pointing(part.along) * part.length
    reach = 0.0 if design.jaw is None else design.jaw.length
    end = end + _pointing(design.parts[-1].along) * reach
    said += [f'<link name="{TOOL}"/>', _joint("tool", "fixed", parent, TOOL, end)]
    robot = ElementTree.fromstring(f'<robot name="{name}">{"".join(said)}</robot>')
    ElementTree.indent(robot)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(robot, encoding="unicode") + "\n"


def _joint(name: str, kind: str, parent: str, child: str, at: Array, more: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{_text(at)}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{more}</joint>'


def _link_of(part: Part) -> str:
    """Name of the link that ``part`` moves; a joint called ``base`` does not move the base."""
    name = f"{part.name}_link"
    return name if name != BASE else f"{part.name}_moved_link"


def _link(part: Part, after: Part | None) -> str:
    """The link that ``part`` turns, with the servo of the joint ``after`` it at its end."""
    way = _pointing(part.along)
    beam = _beam(part, 0.5 * part.length * way)
    rides = 0.0 if after is None else after.servo.mass
    own = part.density * volume(beam) if part.mass is None else part.mass - rides
    if own <= 0.0 and after is not None:
        given, servo = 1e3 * (own + rides), after.servo.name
        text = f"mass_g is {given:g}, but the {servo} that rides on its link has {1e3 * rides:g} g"
        raise InputError(f"joint {part.name}: {text}: weigh links with the servos on them", part.name, given, 1e3 * rides)
    masses, shapes = [own], [beam]
    if after is not None:
        masses, shapes = [own, rides], [beam, _box(after.servo.size, part.length * way)]
    centre, inertia = composed(masses, shapes)
    entries = " ".join(f'i{a}{b}="{inertia[i, j]:.6g}"' for i, a in enumerate("xyz") for j, b in enumerate("xyz") if i <= j)
    inertial = f'<origin xyz="{_text(centre)}"/><mass value="{sum(masses):.6g}"/><inertia {entries}/>'
    return f'<link name="{_link_of(part)}"><inertial>{inertial}</inertial>{"".join(map(_drawn, shapes))}</link>'


def _beam(part: Part, centre: Array) -> Geometry:
    """A link's body: round along its length, or a box with the first edge of its section before the second."""
    i = part.along[0]
    if len(part.section) == 2:
        size = list(part.section)
        size.insert(i, part.length)
        return _box(tuple(size), centre)
    rotation = np.eye(3)[:, [*range(i + 1, 3), *range(i + 1)]]  # its z is the link's axis i
    return Geometry("cylinder", (0.5 * part.section[0], part.length), centre, rotation)


def _box(size: tuple[float, ...], centre: Array) -> Geometry:
    return Geometry("box", size, centre, np.eye(3))


def _drawn(shape: Geometry) -> str:
    if shape.kind == "box":
        return f'<visual><origin xyz="{_text(shape.xyz)}"/><geometry><box size="{_text(shape.size)}"/></geometry></visual>'
    turned = ("0 1.5707963267948966 0", "1.5707963267948966 0 0", "0 0 0")[int(np.argmax(np.abs(shape.rotation[:, 2])))]
    cylinder = f'<cylinder radius="{shape.size[0]:.6g}" length="{shape.size[1]:.6g}"/>'
    return f'<visual><origin xyz="{_text(shape.xyz)}" rpy="{turned}"/><geometry>{cylinder}</geometry></visual>'


def _text(values: Any) -> str:
    return " ".join(f"{value + 0.0:.6g}" for value in values)


def _pointing(axis: tuple[int, float]) -> Array:
    index, sign = axis
    pointing: Array = sign * np.eye(3)[index]
    return pointing


# -- servos ----------------------------------------------------------------------------------------------------------------


def _figure(part: Part, key: str, supply_v: float) -> float:
    figure = part.servo.figures_at(supply_v)[key]
    return float(figure["value"] if isinstance(figure, dict) else figure)


def _effort(part: Part, supply_v: float) -> float:
    """What the servo gives at stall [N·m], or at the rack that its pinion drives [N]."""
    return _figure(part, "stall_torque_nm", supply_v) / (part.pinion or 1.0)


def _bent(design: Design) -> Array:
    """Where home would be best: joints that turn the link across itself bent, the others in the middle, the jaw half open."""
    pose, lifts = [], 0
    for part in design.all_parts:
        lower, upper = part.limits
        across = part.type == "revolute" and part.axis[0] != part.along[0] and part is not design.jaw
        share = BENT[min(lifts, 1)] if across and lower < 0.0 < upper else 0.0
        lifts += across
        pose.append(0.5 * (lower + upper) + share * (upper - lower))
    return np.array(pose)


def _servos(name: str, design: Design, usual: dict[str, Any], home: Array, rest: Array) -> str:
    board = {key: usual["board"][key] for key in ("frame_us", "quantum_us")} | {"supply_v": design.supply_v}
    defaults = {key: value for key, value in usual["defaults"].items() if key != "type"}
    lines = [
        f"# Servo map of {name}.  The types' figures: config/servo_types.yaml; every key: config/servos.yaml of picker_dynamics.",
        "# direction and zero_deg are as designed: the sign test of docs/your_arm.md says whether yours are.",
        f"board: {_flow(board)}",
        f"defaults: {_flow(defaults)}",
        "joints:",
    ]
    for part, at_home, at_rest in zip(design.all_parts, home, rest):
        middle = 0.5 * sum(part.limits) / (part.pinion or 1.0)
        unit = "rad" if part.pinion is None else "m"
        values: dict[str, Any] = {"type": part.servo.name, "channel": part.channel, "direction": 1}
        values["zero_deg"] = round(-math.degrees(middle), 3) + 0.0
        values |= {f"rest_{unit}": float(at_rest), f"home_{unit}": float(at_home)}
        if part.pinion is not None:
            values["pinion_mm"] = round(1e3 * part.pinion, 6)
        if part is design.jaw:
            torque = round(GRIP_SHARE * _effort(part, design.supply_v), 4)
            values["grip"] = _flow({"contact_rad": 0.0, "torque_nm": torque})
        lines.append(f"  {part.name}: {_flow(values)}")
    return "\n".join(lines) + "\n"


def _flow(values: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in values.items()) + "}"
