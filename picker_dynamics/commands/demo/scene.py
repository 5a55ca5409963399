"""The demo's scene: berries and tray, and the legs that lead from one to the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from picker_dynamics.errors import ConfigurationError, DescriptionError, InfeasibleError, LimitError
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.resources import resource
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.frame_heights import FrameHeights
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.robot.picker_shape import read_shape
from picker_dynamics.robot.scene import read_scene
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.scripting.equipment import Equipment
from picker_dynamics.scripting.pick import Handling, Way, pick, place
from picker_dynamics.scripting.replay import Leg

SURROUNDINGS = resource("config/scene.yaml")
"""What stands about the picker."""

PICKS, TRIED, SEED, FAR = 3, 300, 4, 0.6
"""Picks of a free tour; random poses that are tried, and the share of the way to one that it goes."""

LIGHTER = (1.0, 0.4, 0.1, 0.04)
"""Shares of the scene's payload, of which the heaviest is taken that an arm can carry."""

LENGTH_M = 0.425
"""Length of the arm that the scene's tolerance is for."""


@dataclass(frozen=True)
class Scene:
    """The tour over all berries, and what the demo asks of it.

    ``picks``: the legs of each, one berry after the other, from ``home`` (n,) [rad].  ``errands``: the same as what ``Arm.pick``
    and ``Arm.place`` are asked for; none: a free tour, whose legs are made as they are.
    """

    home: np.ndarray
    picks: tuple[tuple[Leg, ...], ...]
    payload_kg: float
    tolerance_m: float
    errands: tuple[tuple[Handling, Handling], ...] = ()


def load_scene(path: Path, arm: ArmDescription, servos: ServoMap) -> Scene:
    """Read the scene and plan all its legs; for an arm of another shape than the picker's a free one.

    Raises:
        ConfigurationError: a key that is missing or no number; a berry or the tray that is out of reach.
        GoalRefusedError: a berry that cannot be picked.
    """
    try:
        raw = read_yaml(path, "scene", ConfigurationError)
        return pickers_scene(arm, servos, raw) if is_pickers(arm) else free_scene(arm, servos, raw)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ConfigurationError(f"{path.name}: {type(error).__name__}: {error}") from error


def is_pickers(arm: ArmDescription) -> bool:
    """Whether the scene of config/demo.yaml is for this arm."""
    try:
        read_shape(arm)
    except DescriptionError:
        return False
    return True


def pickers_scene(arm: ArmDescription, servos: ServoMap, raw: dict) -> Scene:
    """Scene in which each berry is picked, and placed on the tray, with nothing hit of what config/scene.yaml has.

    Raises:
        GoalRefusedError, UnreachableError: a berry that cannot be, or a tray.
    """
    known = Equipment(arm, servos, scene=read_scene(SURROUNDINGS, arm.root))
    payload, settle = float(raw["payload_kg"]), float(raw["settle_s"])
    opened, closed = (math.radians(raw[f"scissor_{grip}_deg"]) for grip in ("open", "closed"))
    how = {"mass": payload, "lift": raw["lift_m"], "opened": opened, "closed": closed, "settle": settle}

    def handling(what: dict) -> Handling:
        return Handling(tuple(what["at_m"]), math.radians(what["pitch_deg"]), approach=raw["approach_m"], **how)

    errands = tuple((handling(berry), handling(raw["tray"])) for berry in raw["berries"])
    held, picks = np.array(servos.home), []
    for berry, tray in errands:
        taken = pick(known, berry, held, 0.0).legs
        put = place(known, tray, np.array(taken[-1].plan.target), payload).legs
        picks.append((*taken, *put))
        held = np.array(put[-1].plan.target)
    return Scene(np.array(servos.home), tuple(picks), payload, 1e-3 * float(raw["tolerance_mm"]), errands)


def free_scene(arm: ArmDescription, servos: ServoMap, raw: dict) -> Scene:
    """A tour of any arm: from home to random poses that it can hold with the payload, and back; its gripper closes there.

    Raises:
        ConfigurationError: too few poses that can be held.
    """
    known, chain, heights = Equipment(arm, servos), ChainKinematics(arm), FrameHeights(arm)
    home = known.home.copy()
    floor = min(0.0, float(heights(home)[heights.varies].min(initial=0.0)))
    ways = [home + np.linspace(0.0, FAR, 9)[:, None] * (drawn - home) for drawn in sample_poses(arm, TRIED, SEED)]
    clear = [way for way in ways if not (heights(way)[:, heights.varies] < floor).any()]
    heaviest, settle_s = float(raw["payload_kg"]), float(raw["settle_s"])
    tolerance = 1e-3 * float(raw["tolerance_mm"]) * max(1.0, chain.length / LENGTH_M)
    gripper = [i for i in range(arm.n) if i not in chain.columns]
    for payload in (heaviest * share for share in LIGHTER):
        picks: list[tuple[Leg, ...]] = []
        for way in clear:
            try:
                picks.append(_free_pick(known, way, gripper, payload, settle_s))
            except (InfeasibleError, LimitError):
                continue
            if len(picks) == PICKS:
                return Scene(home, tuple(picks), payload, tolerance)
    raise ConfigurationError(f"{arm.name} can hold {1e3 * payload:g} g at fewer than {PICKS} of {TRIED} random poses")


def _free_pick(known: Equipment, path: np.ndarray, gripper: list[int], payload: float, settle_s: float) -> tuple[Leg, ...]:
    """A pick at the end of a path (k, n) from home, and back there."""
    arm, home, (before, there) = known.description, known.home.copy(), path[[-3, -1]]

    def gripping(pose: np.ndarray, share: float) -> np.ndarray:
        pose = pose.copy()
        pose[gripper] = (1.0 - share) * arm.lower[gripper] + share * arm.upper[gripper]
        return pose

    way = Way(known, home)
    way.pose("approach", gripping(before, 1.0))
    way.pose("berry", gripping(there, 1.0))
    way.pause(settle_s)
    way.pose("close", gripping(there, 0.1))
    way.set_payload(payload)
    way.pose("lift", gripping(before, 0.1))
    way.pose("tray", gripping(home, 0.1))
    way.set_payload(0.0)
    way.pose("leave", home)
    return tuple(way.legs)
