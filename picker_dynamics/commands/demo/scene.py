"""The demo's scene: berries and tray, and the legs that lead from one to the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

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
    """The tour over all berries, from home, and how far the tip may be off [m].

    ``picks``: the legs of each, one berry after the other.  ``errands``: the same as what ``Arm.pick`` and ``Arm.place`` are
    asked for.
    """

    picks: tuple[tuple[Leg, ...], ...]
    errands: tuple[tuple[Handling, Handling], ...]
    tolerance_m: float


def load_scene(arm: ArmDescription, servos: ServoMap) -> Scene:
    """Read config/demo.yaml and plan all legs: each berry is picked and placed on the tray, nothing about is hit."""
    raw = read_yaml(resource("config/demo.yaml"), "scene", ConfigurationError)
    opened, closed = (math.radians(raw[f"scissor_{grip}_deg"]) for grip in ("open", "closed"))
    how = {"mass": raw["payload_kg"], "approach": raw["approach_m"], "lift": raw["lift_m"], "settle": raw["settle_s"]}
    berries, tray = (
        [Handling(what["at_m"], math.radians(what["pitch_deg"]), opened=opened, closed=closed, **how) for what in places]
        for places in (raw["berries"], [raw["tray"]])
    )
    known, held, picks = Equipment(arm, servos, scene=read_scene(SURROUNDINGS, arm.root)), np.array(servos.home), []
    for berry in berries:
        taken = pick(known, berry, held, 0.0).legs
        put = place(known, tray[0], np.array(taken[-1].plan.target), berry.mass).legs
        picks.append((*taken, *put))
        held = np.array(put[-1].plan.target)
    return Scene(tuple(picks), tuple((berry, tray[0]) for berry in berries), 1e-3 * raw["tolerance_mm"])
