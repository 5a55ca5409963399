"""What a page asks for: JSON of one of few kinds, with fields of known types; all else is refused by name.

    {"do": "home"}  {"do": "joints", "to": {"base": 0.3}}  {"do": "tip", "at": [0.26, 0.08, 0.17], "straight": true}
    {"do": "jog", "linear": [0.05, 0, 0]}  {"do": "payload", "kg": 0.025}  {"do": "pick", "at": [0.26, 0.08, 0.17]}

SI units and radians.  Whether a motion may be made, or a setting have that value, is not decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from picker_dynamics.errors import InputError, refuse_if, shown
from picker_dynamics.files.fields import number
from picker_dynamics.files.formats import parse_json

from ..pick import MASS_KG

MOST, JOINTS_MAX, LETTERS = 1e6, 32, 100
"""No number is larger; so many joints are named at the most, and so long is a name."""

NUMBER, FLAG, TEXT, VECTOR, JOINTS = "a number", "true or false", "a name", "three numbers", "joints by name"
"""Types of fields."""

Request = tuple[str, Mapping[str, Any]]
"""What is to be done, and its fields by name."""

_HAND = {"at": (VECTOR, ...), "pitch": (NUMBER, None)}

KINDS: Mapping[str, Mapping[str, tuple[str, Any]]] = {
    **{what: {} for what in ("home", "park", "guide", "cancel", "reset", "leave")},
    "record": {"on": (FLAG, ...)},
    "drive": {"over": (FLAG, False)},
    "enable": {"sure": (FLAG, False), "accept": (FLAG, False)},
    "joints": {"to": (JOINTS, ...)},
    "tip": {**_HAND, "straight": (FLAG, False)},
    "jog": {"joints": (JOINTS, None), "linear": (VECTOR, None), "angular": (VECTOR, None), "frame": (TEXT, None)},
    "grip": {"open": (FLAG, ...)},
    "payload": {"kg": (NUMBER, ...)},
    "speed": {"share": (NUMBER, ...)},
    "compensation": {"mode": (TEXT, ...)},
    "tour": {"name": (TEXT, ...), "loop": (NUMBER, 1.0)},
    "pick": {**_HAND, "mass": (NUMBER, MASS_KG)},
    "place": _HAND,
    "play": {"on": (FLAG, False), "at_s": (NUMBER, None), "rate": (NUMBER, 1.0)},
}
"""Fields of each kind: type, and what one is where it is not given; ``...``: it has to be given."""


def read(body: bytes) -> Request:
    """The request that a body holds.

    Raises:
        InputError: it is none: why.
    """
    values = parse_json(body, "request")
    refuse_if(not isinstance(values, dict), "a request is an object", "request")
    what = values.pop("do", None)
    refuse_if(not isinstance(what, str) or what not in KINDS, f"there is no request {shown(what, 40)!r}", "request")
    fields = {}
    for name, (kind, default) in KINDS[what].items():
        value = values.pop(name, default)
        fields[name] = value if value is default and default is not ... else _checked(name, kind, value)
    refuse_if(values, f"{what}: {shown(next(iter(values), ''), 40)!r} means nothing", "request")
    return what, fields


def _checked(name: str, kind: str, value: Any) -> Any:
    """A value of that type."""

    def finite(value: Any, name: str = name) -> float:
        return number(value, name, (-MOST, True, MOST), name, InputError)

    if kind == NUMBER:
        return finite(value)
    if kind == VECTOR and isinstance(value, list) and len(value) == 3:
        return tuple(map(finite, value))
    if kind == JOINTS and isinstance(value, dict) and 1 <= len(value) <= JOINTS_MAX:
        return {joint: finite(one, joint) for joint, one in value.items()}
    if (kind == FLAG and isinstance(value, bool)) or (kind == TEXT and isinstance(value, str) and len(value) <= LETTERS):
        return value
    raise InputError(f"{name} must be {kind}", name)
