"""Instruments at an arm at rest, an inclinometer on a link or a ruler under it: their readings, and how joints change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import Pose

from .lay import lay
from .mass_properties import RULER_SD
from .statics import AHEAD, UP, Direction, elevation, elevation_rates, height_rates

INCLINOMETER_SD = 0.1 * np.pi / 180.0
"""Standard deviation of one reading [rad]."""


@dataclass(frozen=True)
class SensorModel:
    """Sensor on an arm at rest: ``elevation`` of a link [rad] by inclinometer, or ``height`` of its origin above the
    base [m] by ruler.  ``ahead`` and ``up`` as for ``statics.elevation``."""

    kind: str
    link: str
    ahead: Direction = AHEAD
    up: Direction = UP

    def __post_init__(self):
        refuse_if(
            self.kind not in ("elevation", "height"),
            f"reading is of {self.kind!r}, must be elevation or height",
            "kind",
            self.kind,
        )

    @property
    def unit(self) -> str:
        """``rad``, or ``m`` of a height."""
        return "rad" if self.kind == "elevation" else "m"

    @property
    def sd(self) -> float:
        """Standard deviation of one reading [rad or m]."""
        return INCLINOMETER_SD if self.kind == "elevation" else RULER_SD

    def of(self, poses: Mapping[str, Pose]) -> np.ndarray:
        """The reading without error [rad or m], (...), with the links at ``poses``."""
        pose = poses[self.link]
        return elevation(pose, self.ahead, self.up) if self.kind == "elevation" else pose.position[..., 2]

    def rates(self, description: ArmDescription, poses: Mapping[str, Pose]) -> np.ndarray:
        """Derivatives, (..., n), of the reading by the joint positions."""
        if self.kind == "height":
            return height_rates(description, self.link, poses)
        return elevation_rates(description, self.link, poses, self.ahead, self.up)


def sensor_on(description: ArmDescription, link: str, kind: str = "elevation") -> SensorModel:
    """An instrument on a link as it lies there (``lay.Lay``)."""
    if kind == "height":
        return SensorModel(kind, link)
    along = lay(description, link)
    return SensorModel(kind, link, tuple(along.level.tolist()), tuple(along.up.tolist()))
