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
import yaml

from picker_dynamics.errors import ConfigurationError, InputError, refuse_if
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource

from .arm_design import DENSITY, Design, Part, pointing
from .assumed_servos import home_and_rest
from .description import ArmDescription, Geometry, parse
from .lint import holding_torque
from .model import Array
from .shapes import composed, volume
from .urdf_elements import rotation_from_rpy

BASE, TOOL, ROOM_M = "base_link", "tool0", 0.06
"""Names of the first and the last link; edge of the drawn base [m]."""

ALONG = {"x": (0.0, 0.5 * math.pi, 0.0), "y": (0.5 * math.pi, 0.0, 0.0), "z": (0.0, 0.0, 0.0)}
"""Roll, pitch and yaw of a cylinder along an axis [rad]."""

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
    arm, parts = parse(text, f"{name}.urdf"), design.all_parts
    usual = read_yaml(resource("config/servos.yaml"), "servo map", ConfigurationError)
    home, rest, worst = home_and_rest(arm, arm.effort, _bent(design))
    home, rest = (np.clip(np.round(pose, 3), arm.lower, arm.upper) for pose in (home, rest))
    holds, needs = float(usual["defaults"]["hold_share"]) * arm.effort, np.abs(holding_torque(arm, home))
    j = int(np.argmax(needs / holds))
    refuse_if(
        needs[j] > holds[j],
        f"joint {parts[j].name}: {parts[j].servo.name} may hold {holds[j]:.3g} {arm.effort_units[j]}, half bent it needs "
        f"{needs[j]:.3g}, and the arm can be held in no pose above the table: take a stronger servo, or shorter or lighter links",
        parts[j].name,
        float(needs[j]),
        float(holds[j]),
    )
    loads = tuple(
        Load(part.name, part.servo.name, *figures)
        for part, *figures in zip(parts, worst.tolist(), holds.tolist(), arm.effort_units)
    )
    return Written(text, _servos(name, design, usual, home, rest), arm, home, rest, loads)


# -- URDF ------------------------------------------------------------------------------------------------------------------


def _urdf(name: str, design: Design) -> str:
    parts = design.all_parts
    box = Geometry("box", (ROOM_M, ROOM_M, design.base), np.array([0.0, 0.0, 0.5 * design.base]), np.eye(3))
    said = [f'<link name="{BASE}">{_drawn(box) if design.base else ""}</link>']
    parent, end = BASE, np.array([0.0, 0.0, design.base])
    for part, after in zip(parts, (*parts[1:], None)):
        figures = part.servo.figures_at(design.supply_v)
        speed, stall = (
            float(one["value"] if isinstance(one, dict) else one)
            for one in (figures["no_load_speed_rad_s"], figures["stall_torque_nm"])
        )
        values = zip(("lower", "upper", "velocity", "effort"), (*part.limits, speed * part.per_turn, stall / part.per_turn))
        limit = " ".join(f'{key}="{value:.6g}"' for key, value in values)
        child = f"{part.name}_link" if part.name != "base" else "base_moved_link"
        said.append(
            _joint(part.name, part.type, parent, child, end, f'<axis xyz="{_text(pointing(part.axis))}"/><limit {limit}/>')
        )
        said.append(f'<link name="{child}">{_body(part, after)}</link>')
        if part is not design.jaw:
            parent, end = child, pointing(part.along) * part.length
    reach = design.jaw.length if design.jaw else 0.0
    said += [f'<link name="{TOOL}"/>', _joint("tool", "fixed", parent, TOOL, end + pointing(design.parts[-1].along) * reach)]
    robot = ElementTree.fromstring(f'<robot name="{name}">{"".join(said)}</robot>')
    ElementTree.indent(robot)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(robot, encoding="unicode") + "\n"


def _joint(name: str, kind: str, parent: str, child: str, at: Array, more: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="{_text(at)}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{more}</joint>'


def _body(part: Part, after: Part | None) -> str:
    """Inertial and drawing of the link that ``part`` moves, with the servo of the joint ``after`` it at its end.

    A round link is a cylinder along it, another one a box with the first edge of its section before the second.
    """
    way, axis = pointing(part.along) * part.length, part.along[-1]
    size = [*part.section] if len(part.section) == 2 else [0.5 * part.section[0], part.length]
    if len(part.section) == 2:
        size.insert("xyz".index(axis), part.length)
    kind = "box" if len(size) == 3 else "cylinder"
    turned = rotation_from_rpy(ALONG[axis]) if kind == "cylinder" else np.eye(3)
    shapes = [Geometry(kind, tuple(size), 0.5 * way, turned)]
    masses = [DENSITY[part.material] * volume(shapes[0]) if part.mass is None else part.mass]
    if after is not None:
        rides = after.servo.mass
        masses = [masses[0] - (0.0 if part.mass is None else rides), rides]
        shapes.append(Geometry("box", after.servo.size, way, np.eye(3)))
        if masses[0] <= 0.0:
            given = 1e3 * (masses[0] + rides)
            text = f"mass_g is {given:g}, but the {after.servo.name} that rides on its link has {1e3 * rides:g} g"
            raise InputError(f"joint {part.name}: {text}: weigh links with the servos on them", part.name, given, 1e3 * rides)
    centre, inertia = composed(masses, shapes)
    entries = " ".join(f'i{a}{b}="{inertia[i, j]:.6g}"' for i, a in enumerate("xyz") for j, b in enumerate("xyz") if i <= j)
    inertial = f'<origin xyz="{_text(centre)}"/><mass value="{sum(masses):.6g}"/><inertia {entries}/>'
    drawn = "".join(_drawn(shape, ALONG[axis]) for shape in shapes)
    return f"<inertial>{inertial}</inertial>{drawn}"


def _drawn(shape: Geometry, rpy: tuple[float, ...] = (0.0, 0.0, 0.0)) -> str:
    if shape.kind == "box":
        return f'<visual><origin xyz="{_text(shape.xyz)}"/><geometry><box size="{_text(shape.size)}"/></geometry></visual>'
    cylinder = f'<cylinder radius="{shape.size[0]:.6g}" length="{shape.size[1]:.6g}"/>'
    origin = f'<origin xyz="{_text(shape.xyz)}" rpy="{" ".join(map(repr, rpy))}"/>'
    return f"<visual>{origin}<geometry>{cylinder}</geometry></visual>"


def _text(values: Any) -> str:
    return " ".join(f"{value + 0.0:.6g}" for value in values)


# -- servos ----------------------------------------------------------------------------------------------------------------


def _bent(design: Design) -> Array:
    """Where home would be best: joints that turn the link across itself bent, the others in the middle, the jaw half open."""
    pose, lifts = [], 0
    for part in design.all_parts:
        lower, upper = part.limits
        across = not part.slides and part.axis[-1] != part.along[-1] and part is not design.jaw
        share = BENT[min(lifts, 1)] if across and lower < 0.0 < upper else 0.0
        lifts += across
        pose.append(0.5 * (lower + upper) + share * (upper - lower))
    return np.array(pose)


def _servos(name: str, design: Design, usual: dict[str, Any], home: Array, rest: Array) -> str:
    joints = {}
    for part, at_home, at_rest in zip(design.all_parts, home.tolist(), rest.tolist()):
        unit = "m" if part.slides else "rad"
        entry: dict[str, Any] = {"type": part.servo.name, "channel": part.channel, "direction": 1}
        entry["zero_deg"] = round(-math.degrees(0.5 * sum(part.limits) / part.per_turn), 3) + 0.0
        entry |= {f"rest_{unit}": at_rest, f"home_{unit}": at_home}
        entry |= {"pinion_mm": round(1e3 * part.pinion, 6)} if part.slides else {}
        if part is design.jaw:
            stall = part.servo.figures_at(design.supply_v)["stall_torque_nm"]
            torque = GRIP_SHARE * (stall["value"] if isinstance(stall, dict) else stall)
            entry["grip"] = {"contact_rad": 0.0, "torque_nm": round(torque, 4)}
        joints[part.name] = entry
    board = {key: usual["board"][key] for key in ("frame_us", "quantum_us")} | {"supply_v": design.supply_v}
    defaults = {key: value for key, value in usual["defaults"].items() if key != "type"}
    said = (
        f"# Servo map of {name}.  The types' figures: config/servo_types.yaml; every key: config/servos.yaml.\n"
        "# direction and zero_deg are as designed: the sign test of docs/your_arm.md says whether yours are.\n"
    )
    content = {"board": board, "defaults": defaults, "joints": joints}
    return said + yaml.safe_dump(content, default_flow_style=None, sort_keys=False, width=130)
