"""What a page asks for: JSON made one of few requests, with every number within bounds; all else is refused by name.

    {"do": "home"}  {"do": "joints", "to": {"base": 0.3}}  {"do": "tip", "at": [0.26, 0.08, 0.17], "straight": true}
    {"do": "jog", "linear": [0.05, 0, 0]}  {"do": "payload", "kg": 0.025}  {"do": "pick", "at": [0.26, 0.08, 0.17]}

SI units and radians.  Whether a motion may be made is not decided here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from picker_dynamics.errors import InputError, shown
from picker_dynamics.files.formats import parse_json
from picker_dynamics.robot.units import TIP_M

from ..pick import MASS_KG

PLAIN = ("home", "park", "cancel", "reset", "enable", "drive", "leave", "record", "record_end")
"""Requests without numbers."""

LARGEST = 1e3
"""Of a joint's position or velocity [rad, m, rad/s, m/s]: limits are the validator's."""

LOAD_KG = 5.0
"""Of a payload."""

TWIST = 10.0
"""Of a velocity of the tip [m/s, rad/s]."""

JOINTS_MAX = 32

LONGEST_S = 1e6
"""Of a recording [s]."""

UNITS = {"payload": " kg", "speed": " of the full speed"}
"""Of settings, behind their numbers."""

NAME = re.compile(r"[^\x00-\x1f/\\.][^\x00-\x1f/\\]{0,99}")
"""Of a taught motion: a file in the folder of such files, and nowhere else."""


@dataclass(frozen=True)
class Plain:
    """A request without numbers; ``over``: of ``drive``, from whoever drives; ``sure``: of ``enable``, it stands at rest."""

    what: str
    over: bool = False
    sure: bool = False


@dataclass(frozen=True)
class ToJoints:
    """A motion of these joints, the others hold [rad or m]."""

    to: Mapping[str, float]


@dataclass(frozen=True)
class ToTip:
    """A motion of the tip [m], base frame, with the hand's ``pitch`` [rad] or any."""

    at: tuple[float, ...]
    pitch: float | None = None
    straight: bool = False


@dataclass(frozen=True)
class Step:
    """A bounded step of one joint [rad or m], or of the tip along the base's axes [m] and in pitch [rad]."""

    joint: str = ""
    by: float = 0.0
    tip: tuple[float, ...] = ()
    pitch: float = 0.0


@dataclass(frozen=True)
class Jog:
    """Velocities that hold as long as they are said again: of joints, or of the tip; none: let go."""

    joints: Mapping[str, float]
    linear: tuple[float, ...] = (0.0, 0.0, 0.0)
    angular: tuple[float, ...] = (0.0, 0.0, 0.0)
    tool: bool = False

    @property
    def moves(self) -> bool:
        return any((*self.joints.values(), *self.linear, *self.angular))


@dataclass(frozen=True)
class Setting:
    """Payload [kg], speed (share) or compensation."""

    name: str
    value: float | str


@dataclass(frozen=True)
class Tour:
    """A taught motion, by name."""

    name: str
    loop: int = 1


@dataclass(frozen=True)
class Pick:
    """Pick what is at ``at`` [m], base frame, which weighs ``kg``; ``place``: put down there what the arm carries."""

    at: tuple[float, ...]
    pitch: float | None = None
    kg: float = MASS_KG
    place: bool = False


@dataclass(frozen=True)
class Play:
    """Playing of a recording: whether it plays, how fast, and from where on its time line [s]; None: from where it is."""

    on: bool
    at_s: float | None = None
    rate: float = 1.0


Asked = Play | Plain | ToJoints | ToTip | Step | Jog | Setting | Tour | Pick
Motion = ToJoints | ToTip | Step


def read(body: bytes) -> Asked:
    """The request that a body holds.

    Raises:
        InputError: it is none: why.
    """
    values = parse_json(body, "request")
    if not isinstance(values, dict):
        raise InputError("a request is an object", subject="request")
    what = values.pop("do", None)
    asked = _made(what, values)
    if values:
        raise InputError(f"{what}: {shown(next(iter(values)), 40)!r} means nothing", subject="request")
    return asked


def _made(what: object, values: dict[str, Any]) -> Asked:
    """The request; what it uses is taken out of ``values``."""
    if what in PLAIN:
        return Plain(str(what), _flag(values, "over"), _flag(values, "sure"))
    if what == "joints":
        return ToJoints(_joints(values, "to", least=1))
    if what == "tip":
        return ToTip(_vector(values, "at", TIP_M), _number(values, "pitch", TWIST, None), _flag(values, "straight"))
    if what == "step":
        joint = values.pop("joint", "")
        tip = _vector(values, "tip", 0.1) if "tip" in values else ()
        if not isinstance(joint, str):
            raise InputError("step: joint is a name", subject="joint")
        return Step(joint, _number(values, "by", LARGEST) or 0.0, tip, _number(values, "pitch", math.pi) or 0.0)
    if what == "jog":
        linear, angular = (_vector(values, name, TWIST) if name in values else (0.0,) * 3 for name in ("linear", "angular"))
        return Jog(_joints(values, "joints"), linear, angular, _flag(values, "tool"))
    if what == "payload":
        return Setting("payload", _number(values, "kg", LOAD_KG, least=0.0) or 0.0)
    if what == "speed":
        return Setting("speed", _number(values, "share", 1.0, least=0.0) or 0.0)
    if what == "compensation":
        mode = values.pop("mode", None)
        if mode not in ("none", "gravity", "full"):
            raise InputError("compensation is none, gravity or full", subject="compensation", value=shown(mode, 40))
        return Setting("compensation", mode)
    if what == "tour":
        name = values.pop("name", None)
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise InputError("tour: the name of a taught motion is needed", subject="tour")
        return Tour(name, int(_number(values, "loop", 1000.0, 1.0, least=1.0) or 1))
    if what in ("pick", "place"):
        at, pitch = _vector(values, "at", TIP_M), _number(values, "pitch", TWIST, None)
        kg = MASS_KG if what == "place" else _number(values, "kg", LOAD_KG, MASS_KG, least=0.0) or 0.0
        return Pick(at, pitch, kg, what == "place")
    if what == "play":
        rate = _number(values, "rate", 10.0, 1.0, least=0.05) or 1.0
        return Play(_flag(values, "on"), _number(values, "at_s", LONGEST_S, None, least=0.0), rate)
    raise InputError(f"there is no request {shown(what, 40)!r}", subject="request")


def _flag(values: dict[str, Any], name: str) -> bool:
    value = values.pop(name, False)
    if not isinstance(value, bool):
        raise InputError(f"{name} is true or false", subject=name)
    return value


def _number(
    values: dict[str, Any], name: str, most: float, default: float | None = 0.0, least: float | None = None
) -> float | None:
    value = values.pop(name, default)
    return value if value is None and default is None else _checked(name, value, most, least)


def _checked(name: str, value: object, most: float, least: float | None = None) -> float:
    low = -most if least is None else least
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= most:  # NaN is not
        raise InputError(f"{name} must be a number from {low:g} to {most:g}", subject=name, value=shown(value, 40), limit=most)
    return float(value)


def _vector(values: dict[str, Any], name: str, most: float) -> tuple[float, ...]:
    value = values.pop(name, None)
    if not isinstance(value, list) or len(value) != 3:
        raise InputError(f"{name} must be three numbers", subject=name)
    return tuple(_checked(name, one, most) for one in value)


def _joints(values: dict[str, Any], name: str, least: int = 0) -> dict[str, float]:
    value = values.pop(name, {})
    if not isinstance(value, dict) or not least <= len(value) <= JOINTS_MAX:
        raise InputError(f"{name} must be joints by name", subject=name)
    return {joint: _checked(joint, one, LARGEST) for joint, one in value.items()}
