"""Arm as one text, for whoever asks a running graph which arm it has: its URDF and what moves its joints, as JSON.

    {"urdf": "<robot ...", "tool": "...", "servos": {"frame_s": ..., "servos": [{"joint": ..., "home": ...}, ...]}}
    {"urdf": "<robot ...", "tool": "...", "torque": {"home": {...}, "bandwidth_rad_s": ..., ...}}

Servos stand here as they are used, with overlay and assumptions, in SI units; torque-controlled joints as in config/arms.yaml.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.formats import parse_json, said
from picker_dynamics.files.reading import XML_BYTES

from . import arms, description
from .arms import Arm
from .description import ArmDescription
from .servo_map import Electric, Grip, Servo, ServoMap, Supply

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
        made = ServoMap(**servos | {"servos": tuple(_made(Servo, one) for one in servos["servos"])})
        made = replace(made, supply=made.supply and _made(Supply, made.supply))
        if not made.frame_s > 0.0 or made.joint_names != arm.joint_names:
            raise ValueError(f"servos of {', '.join(made.joint_names)}, joints {', '.join(arm.joint_names)}")
        for servo in made.servos:
            figures = servo.stall_torque, servo.no_load_speed, servo.stiffness, servo.peak_share, servo.hold_share
            rises = all(np.diff(column).min() > 0.0 for column in servo.pulse_map)
            if not rises or not min(figures) > 0.0 or not math.isfinite(servo.rest + servo.home + servo.zero):
                raise ValueError(f"{servo.joint}: figures with which nothing can be computed")
    return Known(arm, made)


def _plain(value: Any) -> Any:
    """Mappings, lists, numbers; what is infinite is left out: it is so by default."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items() if one != math.inf}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _made(kind: Any, fields: Any) -> Any:
    """A dataclass of plain fields, lists as tuples, groups as dataclasses of their own."""
    made = {key: tuple(one) if isinstance(one, list) else one for key, one in fields.items()}
    groups = {key: _made(group, made[key]) for key, group in (("grip", Grip), ("electric", Electric)) if made.get(key)}
    return kind(**made | groups)
