"""The demo's scene: berries, tray, and the poses that lead from one to the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematics import PickerKinematics
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


def load_scene(path: Path, arm: ArmDescription, servos: ServoMap) -> Scene:
    """Read the scene and solve the inverse kinematics of all its poses.

    Raises:
        ConfigurationError: a key that is missing or no number.
        UnreachableError: a berry or the tray is out of reach.
    """
    try:
        raw = read_yaml(path, "scene", ConfigurationError)
        tour = _Tour(arm, servos, raw)
        picks = tuple(tour.pick(berry) for berry in raw["berries"])
        return Scene(
            np.array(servos.home), picks, float(raw["payload_kg"]), float(raw["settle_s"]), 1e-3 * float(raw["tolerance_mm"])
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ConfigurationError(f"{path.name}: {type(error).__name__}: {error}") from error


class _Tour:
    """Poses in the order in which the arm takes them; each inverse solution near the one before."""

    def __init__(self, arm: ArmDescription, servos: ServoMap, raw: dict):
        self.kinematics, self.raw = PickerKinematics(arm), raw
        self.scissor = arm.joint_names.index("scissor")
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

    def _stop(self, kind: str, at, pitch: float, scissor: str, carrying: bool = False) -> Stop:
        self.q = self.kinematics.inverse(at, pitch, near=self.q, scissor=math.radians(self.raw[f"scissor_{scissor}_deg"]))
        return Stop(kind, self.q, np.asarray(at), carrying)
