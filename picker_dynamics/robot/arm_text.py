"""Arm as one text, for whoever asks a running graph which arm it has: its URDF and what moves its joints, as JSON.

    {"urdf": "<robot ...", "tool": "...", "servos": {"frame_s": ..., "servos": [{"joint": ..., "home": ...}, ...]}}
    {"urdf": "<robot ...", "tool": "...", "torque": {"home": {...}, "bandwidth_rad_s": ..., ...}}

Servos stand here as they are used, with overlay and assumptions, in SI units; torque-controlled joints as in config/arms.yaml.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.formats import parse_json, said
from picker_dynamics.files.reading import XML_BYTES

from . import arms, description
from .arms import Arm
from .description import ArmDescription
from .servo_map import Servo, ServoMap

TEXT_MAX = 2 * XML_BYTES
"""Longest text that is taken [characters]: a URDF with its quotes escaped, and the servos."""

SOURCE = "the running graph's arm"


class Known(NamedTuple):
    """An arm with servos, or one whose joints take efforts."""

    description: ArmDescription
    servos: ServoMap | None = None
    torque: Arm | None = None


def text_of(known: Known) -> str:
    """The arm as text."""
    arm, drives = known.description, {}
    if known.servos is not None:
        drives = {"servos": _plain(asdict(known.servos))}
    elif known.torque is not None:
        drives = {"torque": arms.entry_of(known.torque)}
    return json.dumps({"urdf": arm.urdf, "tool": arm.tool_frame, **drives}, ensure_ascii=False)


def read(text: str) -> Known:
    """The arm that a text describes; errors as for files.

    Raises:
        DescriptionError, ConfigurationError: the text is too long or damaged, or is of no arm.
    """
    if len(text) > TEXT_MAX:
        raise ConfigurationError(f"{SOURCE} has {len(text)} characters, at most {TEXT_MAX} are taken", None, len(text), TEXT_MAX)
    values = parse_json(text, SOURCE, ConfigurationError)
    with said(SOURCE, ConfigurationError):
        urdf, tool, servos, torque = (values.get(key) for key in ("urdf", "tool", "servos", "torque"))
        if not isinstance(urdf, str) or not isinstance(tool, str):
            raise ValueError("no URDF, or no name of a tool")
        arm = replace(description.parse(urdf, SOURCE), tool_frame=tool)
        if tool and tool not in arm.links:
            raise ValueError(f"{arm.name} has no link {tool}")
        if torque is not None:
            return Known(arm, torque=arms.of_entry(arm.name, arm, torque))
        made = _made(ServoMap, servos, SOURCE)
    if made.joint_names != arm.joint_names:
        raise ConfigurationError(f"{SOURCE}: servos of {', '.join(made.joint_names)}, joints {', '.join(arm.joint_names)}")
    for servo in made.servos:
        _require_usable(servo)
    return Known(arm, made)


def _plain(value: Any) -> Any:
    """Mappings, lists, numbers; what is infinite is left out: it is so by default."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items() if one != math.inf}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


@cache
def _types(kind: type) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind)}


def _made(kind: Any, value: Any, where: str) -> Any:
    """A value of a dataclass, a tuple, perhaps None, or a plain type, of what JSON has for it."""
    if is_dataclass(kind):
        types = _types(kind)  # type: ignore[arg-type]
        if not isinstance(value, dict) or set(value) - set(types):
            raise ValueError(f"{where}: expected {', '.join(types)}")
        return kind(**{key: _made(types[key], one, f"{where}: {key}") for key, one in value.items()})  # type: ignore[operator]
    parts = get_args(kind)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{where}: expected a list")
        return tuple(_made(parts[0], one, f"{where}: {number}") for number, one in enumerate(value))
    if parts:  # or None
        return None if value is None else _made(parts[0], value, where)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ValueError(f"{where}: expected {kind.__name__}")
    return value


def _require_usable(servo: Servo) -> None:
    """Raise a ConfigurationError for figures with which nothing can be computed."""
    for key in ("stall_torque", "no_load_speed", "stiffness", "peak_share", "hold_share"):
        if not getattr(servo, key) > 0.0:
            raise ConfigurationError(
                f"{servo.joint}: {key} is {getattr(servo, key)}, must be > 0", servo.joint, getattr(servo, key), 0.0
            )
    angles, pulses = servo.horn_angles, servo.pulses_us
    rising = all(a < b for row in (angles, pulses) for a, b in zip(row, row[1:]))
    if not (len(angles) == len(pulses) >= 2 and rising):
        raise ConfigurationError(f"{servo.joint}: angles and pulses of its servo do not increase", servo.joint)
