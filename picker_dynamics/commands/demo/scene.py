"""The demo's scene: berries, tray, and the poses that lead from one to the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import ConfigurationError, DescriptionError, InfeasibleError, LimitError
from picker_dynamics.estimation.closed_loop import paths_between
from picker_dynamics.execution.validator import torque_validator
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.frame_heights import FrameHeights
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.robot.kinematics import PickerKinematics
from picker_dynamics.robot.picker_shape import read_shape
from picker_dynamics.robot.servo_map import ServoMap


@dataclass(frozen=True)
class Stop:
    """A pose of the tour: where it is, and whether a berry is carried there.

    ``kind`` is approach, berry, close, lift, tray or open; ``q`` (n,) [rad]; ``target`` the tip's place (3,) [m].
    """

    kind: str
    q: np.ndarray
    target: np.ndarray
    carrying: bool


@dataclass(frozen=True)
class Scene:
    """The tour over all berries, one tuple of stops for each, and what the demo asks of it."""

    home: np.ndarray
    picks: tuple[tuple[Stop, ...], ...]
    payload_kg: float
    settle_s: float
    tolerance_m: float


PICKS, TRIED, SEED, FAR = 3, 300, 4, 0.6
"""Picks of a free tour; random poses that are tried, and the share of the way to one that it goes."""

LIGHTER = (1.0, 0.4, 0.1, 0.04)
"""Shares of the scene's payload, of which the heaviest is taken that an arm can carry."""

LENGTH_M = 0.425
"""Length of the arm that the scene's tolerance is for."""

FREE_STOPS = (
    ("approach", ("before", "open"), False),
    ("berry", ("there", "open"), False),
    ("close", ("there", "closed"), True),
    ("lift", ("before", "closed"), True),
    ("tray", ("home", "closed"), True),
    ("open", ("home", "closed"), True),
    ("leave", ("home", "open"), False),
)


def load_scene(path: Path, arm: ArmDescription, servos: ServoMap) -> Scene:
    """Read the scene and solve the inverse kinematics of all its poses; for an arm of another shape than the picker's a free one.

    Raises:
        ConfigurationError: a key that is missing or no number.
        UnreachableError: a berry or the tray is out of reach.
    """
    try:
        raw = read_yaml(path, "scene", ConfigurationError)
        if not is_pickers(arm):
            return free_scene(arm, servos, raw)
        tour = _Tour(arm, servos, raw)
        picks = tuple(tour.pick(berry) for berry in raw["berries"])
        return Scene(
            np.array(servos.home), picks, float(raw["payload_kg"]), float(raw["settle_s"]), 1e-3 * float(raw["tolerance_mm"])
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ConfigurationError(f"{path.name}: {type(error).__name__}: {error}") from error


def free_scene(arm: ArmDescription, servos: ServoMap, raw: dict) -> Scene:
    """A tour of any arm: from home to random poses that it can hold with the payload, and back; its gripper closes there.

    Raises:
        ConfigurationError: too few poses that can be held.
    """
    heaviest, why = float(raw["payload_kg"]), None
    for payload in (heaviest * share for share in LIGHTER):
        try:
            picks, tolerance = _free_picks(arm, servos, payload), 1e-3 * float(raw["tolerance_mm"])
        except ConfigurationError as error:
            why = error
            continue
        tolerance *= max(1.0, ChainKinematics(arm).length / LENGTH_M)
        return Scene(np.array(servos.home), picks, payload, float(raw["settle_s"]), tolerance)
    raise why or ConfigurationError("payload_kg is not a number", subject="payload_kg", value=heaviest)


def _free_picks(arm: ArmDescription, servos: ServoMap, payload: float) -> tuple[tuple[Stop, ...], ...]:
    """Picks of a free tour with that payload [kg]."""
    chain, heights, home = ChainKinematics(arm), FrameHeights(arm), np.array(servos.home)
    loaded = torque_validator(RigidBody(arm, servos.armature).with_payload(payload), servos)
    gripper = [i for i in range(arm.n) if i not in chain.columns]
    floor = min(0.0, float(heights(home)[heights.varies].min(initial=0.0)))
    grips = {"open": arm.upper[gripper], "closed": 0.9 * arm.lower[gripper] + 0.1 * arm.upper[gripper]}
    picks: list[tuple[Stop, ...]] = []
    for drawn in sample_poses(arm, TRIED, SEED):
        way = home + np.linspace(0.0, FAR, 9)[:, None] * (drawn - home)
        if len(picks) == PICKS or (heights(way)[:, heights.varies] < floor).any():
            continue
        places, poses = {"there": way[-1], "before": way[-3], "home": home}, {}
        for place, grip in product(places, grips):
            poses[place, grip] = places[place].copy()
            poses[place, grip][gripper] = grips[grip]
        if not loaded.can_hold(way[-1]):
            continue
        try:
            paths_between([home, poses["there", "open"], poses["there", "closed"], poses["home", "closed"], home], loaded)
        except (InfeasibleError, LimitError):
            continue
        picks.append(tuple(Stop(kind, poses[at], chain.forward(poses[at]), carrying) for kind, at, carrying in FREE_STOPS))
    if len(picks) < PICKS:
        raise ConfigurationError(
            f"{arm.name} can hold {1e3 * payload:g} g at {len(picks)} of {TRIED} random poses, the demo needs {PICKS}",
            subject="payload_kg",
            value=payload,
        )
    return tuple(picks)


def is_pickers(arm: ArmDescription) -> bool:
    """Whether the scene of config/demo.yaml is for this arm."""
    try:
        read_shape(arm)
    except DescriptionError:
        return False
    return True


class _Tour:
    """Poses in the order in which the arm takes them; each inverse solution near the one before."""

    def __init__(self, arm: ArmDescription, servos: ServoMap, raw: dict):
        self.kinematics, self.raw = PickerKinematics(arm), raw
        self.q = np.array(servos.home)

    def pick(self, berry: dict) -> tuple[Stop, ...]:
        """Approach, berry, close, lift, tray, open: every pose at rest."""
        at, pitch = np.array(berry["at_m"], dtype=float), math.radians(berry["pitch_deg"])
        inwards = self.raw["approach_m"] * np.array([at[0], at[1], 0.0]) / math.hypot(at[0], at[1])
        tray = self.raw["tray"]
        place, tray_pitch = np.array(tray["at_m"], dtype=float), math.radians(tray["pitch_deg"])
        above = place + [0.0, 0.0, self.raw["lift_m"]]
        return (
            self._stop("approach", at - inwards, pitch, "open"),
            self._stop("berry", at, pitch, "open"),
            self._stop("close", at, pitch, "closed", carrying=True),
            self._stop("lift", at + [0.0, 0.0, self.raw["lift_m"]], pitch, "closed", carrying=True),
            self._stop("tray", above, tray_pitch, "closed", carrying=True),
            self._stop("open", place, tray_pitch, "closed", carrying=True),
            self._stop("leave", above, tray_pitch, "open"),
        )

    def _stop(self, kind: str, at, pitch: float, grip: str, carrying: bool = False) -> Stop:
        self.q = self.kinematics.inverse(at, pitch, near=self.q, scissor=math.radians(self.raw[f"scissor_{grip}_deg"]))
        return Stop(kind, self.q, np.asarray(at), carrying)
