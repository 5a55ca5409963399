"""What a page asks for: JSON of one of few kinds, with every number within bounds; all else is refused by name.

    {"do": "home"}  {"do": "joints", "to": {"base": 0.3}}  {"do": "tip", "at": [0.26, 0.08, 0.17], "straight": true}
    {"do": "jog", "linear": [0.05, 0, 0]}  {"do": "payload", "kg": 0.025}  {"do": "pick", "at": [0.26, 0.08, 0.17]}

SI units and radians.  Whether a motion may be made is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from picker_dynamics.errors import InputError, shown
from picker_dynamics.files.fields import number
from picker_dynamics.files.formats import parse_json
from picker_dynamics.robot.units import TIP_M

from ..pick import MASS_KG

NAME = re.compile(r"[^\x00-\x1f/\\.][^\x00-\x1f/\\]{0,99}")
"""Of a taught motion: a file in the folder of such files, and nowhere else."""

LARGEST, TWIST, LOAD_KG, JOINTS_MAX = 1e3, 10.0, 5.0, 32
"""Of positions and velocities of joints [rad, m, rad/s, m/s], of a velocity of the tip [m/s, rad/s], of a payload, of joints."""


class Request(NamedTuple):
    """A request: what is to be done, and its fields by name."""

    what: str
    fields: dict[str, Any]


def _number(low: float, high: float) -> Callable[[str, Any], float]:
    return lambda name, value: number(value, name, (low, True, high), name, InputError)


def _vector(most: float) -> Callable[[str, Any], tuple[float, ...]]:
    def read_three(name: str, value: Any) -> tuple[float, ...]:
        if not isinstance(value, list) or len(value) != 3:
            raise InputError(f"{name} must be three numbers", subject=name)
        return tuple(_number(-most, most)(name, one) for one in value)

    return read_three


def _joints(name: str, value: Any) -> dict[str, float]:
    if not isinstance(value, dict) or not 1 <= len(value) <= JOINTS_MAX:
        raise InputError(f"{name} must be joints by name", subject=name)
    return {joint: _number(-LARGEST, LARGEST)(joint, one) for joint, one in value.items()}


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{name} is true or false", subject=name)
    return value


def _mode(name: str, value: Any) -> str:
    if value not in ("none", "gravity", "full"):
        raise InputError("compensation is none, gravity or full", subject="compensation", value=shown(value, 40))
    return str(value)


def _name(name: str, value: Any) -> str:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise InputError("tour: the name of a taught motion is needed", subject="tour")
    return value


Field = tuple[Callable[[str, Any], Any], Any]
"""Reads a value, and what it is where none is given; ``...``: it has to be given."""

_HAND: Mapping[str, Field] = {"at": (_vector(TIP_M), ...), "pitch": (_number(-TWIST, TWIST), None)}

KINDS: Mapping[str, Mapping[str, Field]] = {
    **{what: {} for what in ("home", "park", "cancel", "reset", "leave", "record", "record_end")},
    "drive": {"over": (_flag, False)},
    "enable": {"sure": (_flag, False)},
    "joints": {"to": (_joints, ...)},
    "tip": {**_HAND, "straight": (_flag, False)},
    "jog": {
        "joints": (_joints, None),
        "linear": (_vector(TWIST), None),
        "angular": (_vector(TWIST), None),
        "tool": (_flag, False),
    },
    "payload": {"kg": (_number(0.0, LOAD_KG), ...)},
    "speed": {"share": (_number(0.0, 1.0), ...)},
    "compensation": {"mode": (_mode, ...)},
    "tour": {"name": (_name, ...), "loop": (_number(1.0, 1000.0), 1.0)},
    "pick": {**_HAND, "kg": (_number(0.0, LOAD_KG), MASS_KG)},
    "place": _HAND,
    "play": {"on": (_flag, False), "at_s": (_number(0.0, 1e6), None), "rate": (_number(0.05, 10.0), 1.0)},
}


def read(body: bytes) -> Request:
    """The request that a body holds.

    Raises:
        InputError: it is none: why.
    """
    values = parse_json(body, "request")
    if not isinstance(values, dict):
        raise InputError("a request is an object", subject="request")
    what = values.pop("do", None)
    if not isinstance(what, str) or what not in KINDS:
        raise InputError(f"there is no request {shown(what, 40)!r}", subject="request")
    fields = {}
    for name, (reads, default) in KINDS[what].items():
        value = values.pop(name, default)
        fields[name] = value if value is default and default is not ... else reads(name, value)
    if values:
        raise InputError(f"{what}: {shown(next(iter(values)), 40)!r} means nothing", subject="request")
    return Request(what, fields)
