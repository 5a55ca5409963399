"""Arm as one text, for whoever asks a running graph which arm it has: its URDF and what moves its joints, as JSON.

    {"urdf": "<robot ...", "tool": "...", "servos": {"board": {...}, "joints": {"base": {"channel": 0, ...}, ...}}}
    {"urdf": "<robot ...", "tool": "...", "torque": {"home": {...}, "bandwidth_rad_s": ..., ...}}

Servos stand here as a servo map has them, overlay and types resolved; torque-controlled joints as in config/arms.yaml.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.formats import parse_json, said
from picker_dynamics.files.reading import XML_BYTES

from . import arms, description
from .arms import Arm
from .description import ArmDescription
from .model import Array, read_only
from .servo_map import ServoMap, entries_of, made_of

TEXT_MAX = 2 * XML_BYTES
"""Longest text that is taken [characters]: a URDF with its quotes escaped, and the servos."""

SOURCE = "the running graph's arm"


class Known(NamedTuple):
    """An arm with servos, or one whose joints take efforts."""

    description: ArmDescription
    servos: ServoMap | None = None
    torque: Arm | None = None

    @property
    def armature(self) -> Array | None:
        """Rotor inertias at the joints, (n,) [kg·m²]; None: none are known."""
        return None if self.servos is None else self.servos.armature

    @property
    def poses(self) -> tuple[Array, Array]:
        """Rest pose, where the arm may be switched off, and home, where work starts, (n,) each [rad or m]; one, where joints are
        measured.
        """
        if self.servos is not None:
            return self.servos.rest, self.servos.home
        home = None if self.torque is None else self.torque.home
        return (read_only(np.zeros(self.description.n) if home is None else home),) * 2


def text_of(known: Known) -> str:
    """The arm as text."""
    arm, drives = known.description, {}
    if known.servos is not None:
        board, joints = entries_of(known.servos)
        drives = {"servos": {"board": board, "joints": joints}}
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
        return Known(arm, made_of(servos["board"], {name: servos["joints"][name] for name in arm.joint_names}, SOURCE))
