"""The demo's scene: berries and tray, and the legs that lead from one to the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.scene import read_scene
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.scripting.equipment import Equipment
from picker_dynamics.scripting.legs import Leg
from picker_dynamics.scripting.pick import Handling, pick, place

SURROUNDINGS = resource("config/scene.yaml")
"""What stands about the picker."""


@dataclass(frozen=True)
class Scene:
    """The tour over all berries, and what the demo asks of it.

    ``picks``: the legs of each, one berry after the other, from ``home`` (n,) [rad].  ``errands``: the same as what ``Arm.pick``
    and ``Arm.place`` are asked for.
    """

    home: np.ndarray
    picks: tuple[tuple[Leg, ...], ...]
    errands: tuple[tuple[Handling, Handling], ...]
    payload_kg: float
    tolerance_m: float


def load_scene(path: Path, arm: ArmDescription, servos: ServoMap) -> Scene:
    """Read the scene and plan all its legs: each berry is picked and placed on the tray, with nothing hit of config/scene.yaml.

    Raises:
        ConfigurationError: a key that is missing or no number; a berry or the tray that is out of reach.
        GoalRefusedError, UnreachableError: a berry that cannot be picked, or a tray.
    """
    try:
        raw = read_yaml(path, "scene", ConfigurationError)
        payload, settle, tolerance_mm = (float(raw[key]) for key in ("payload_kg", "settle_s", "tolerance_mm"))
        opened, closed = (math.radians(raw[f"scissor_{grip}_deg"]) for grip in ("open", "closed"))
        how = {"mass": payload, "approach": raw["approach_m"], "lift": raw["lift_m"], "opened": opened, "closed": closed}

        def handling(what: dict) -> Handling:
            return Handling(tuple(what["at_m"]), math.radians(what["pitch_deg"]), settle=settle, **how)

        errands = tuple((handling(berry), handling(raw["tray"])) for berry in raw["berries"])
        known, held, picks = Equipment(arm, servos, scene=read_scene(SURROUNDINGS, arm.root)), np.array(servos.home), []
        for berry, tray in errands:
            taken = pick(known, berry, held, 0.0).legs
            put = place(known, tray, np.array(taken[-1].plan.target), payload).legs
            picks.append((*taken, *put))
            held = np.array(put[-1].plan.target)
        return Scene(np.array(servos.home), tuple(picks), errands, payload, 1e-3 * tolerance_mm)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ConfigurationError(f"{path.name}: {type(error).__name__}: {error}") from error
