"""Markers of the demo's scene: berries, as big as their weight makes them, and the tray."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from visualization_msgs.msg import Marker

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.formats import read_yaml

from .shapes import marker

GROUP = "scene"
BERRY_DENSITY = 950.0
"""[kg/m³]"""
BERRY_RED, TRAY_GREY = (0.80, 0.08, 0.12, 1.0), (0.55, 0.50, 0.42, 0.8)
TRAY_M = (0.12, 0.09, 0.015)
DROP_M = 0.06
"""From the place where the hand lets go down to the tray."""


def scene_markers(path: str | Path, frame: str) -> list[Marker]:
    """Markers of what ``picker demo`` picks, in ``frame``: each berry hangs below the place where its stem is cut.

    Raises:
        ConfigurationError: no such file, or a key that is missing or no number.
    """
    raw = read_yaml(path, "scene", ConfigurationError)
    try:
        berries = [np.array(berry["at_m"], dtype=float).reshape(3) for berry in raw["berries"]]
        tray, mass = np.array(raw["tray"]["at_m"], dtype=float).reshape(3), float(raw["payload_kg"])
        if not (mass > 0.0 and np.isfinite([*np.ravel(berries), *tray, mass]).all()):
            raise ValueError(f"places must be finite and payload_kg above 0, it is {mass}")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        text = f"scene {path}: {type(error).__name__}: {' '.join(str(error).split())}"
        raise ConfigurationError(text, value=str(path)) from error
    radius = (0.75 * mass / (BERRY_DENSITY * math.pi)) ** (1.0 / 3.0)
    below, low = np.array([0.0, 0.0, radius]), max(tray[2] - DROP_M, 0.5 * TRAY_M[2])
    made = [
        marker(GROUP, index, "sphere", frame, (2.0 * radius,) * 3, BERRY_RED, position=at - below)
        for index, at in enumerate(berries)
    ]
    return [*made, marker(GROUP, len(made), "box", frame, TRAY_M, TRAY_GREY, position=[tray[0], tray[1], low])]
