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

from picker_dynamics.errors import ConfigurationError, refuse_if
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource

from .arm_design import DENSITY, JAW, Design, Part, pointing
from .assumed_servos import home_and_rest
from .description import ArmDescription, Geometry, parse
from .lint import holding_torque
from .model import Array
from .shapes import composed, volume
from .urdf_elements import rotation_from_rpy

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
        said = f"{part.name}: at most {most:.3g} {unit} of gravity; {part.servo.name} may hold {most_held:.3g}"
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
    centre, inertia = composed(masses, shapes)
    entries = " ".join(f'i{a}{b}="{inertia[i, j]:.6g}"' for i, a in enumerate("xyz") for j, b in enumerate("xyz") if i <= j)
    inertial = f'<origin xyz="{_text(centre)}"/><mass value="{sum(masses):.6g}"/><inertia {entries}/>'
    solid = "".join(f"<{tag}>{one}</{tag}>" for tag in ("visual", "collision") for one in drawn)
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
