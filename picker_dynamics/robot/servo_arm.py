"""A servo arm as its files have it: description and servo map, the picker's where no file is named."""

from __future__ import annotations

from pathlib import Path

from picker_dynamics.resources import resource

from . import description, servo_map
from .description import ArmDescription
from .servo_map import ServoMap


def load(urdf: str | Path = "", servos: str | Path = "", overlay: str | Path = "") -> tuple[ArmDescription, ServoMap]:
    """Description and servo map; empty: urdf/picker.urdf, config/servos.yaml, no overlay.

    Raises:
        DescriptionError, ConfigurationError: a file that cannot be used.
    """
    arm = description.load(urdf or resource("urdf/picker.urdf"))
    return arm, servo_map.load(servos or resource("config/servos.yaml"), arm.joint_names, overlay or None)
