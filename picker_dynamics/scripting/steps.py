"""Steps of taught motions, recordings, picks and places; SI units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.tip_target import tip_target
from picker_dynamics.trajectory.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Pose:
    """A pose to move to and rest at; joints that are not named stay as they are.

    Attributes:
        at: positions by joint names [rad or m], beside a ``tip`` those of joints that do not move it.
        tip: (3,) of the tool instead [m]; pitch: of the hand there [rad].
        seconds: the motion takes at least so long.
        speed: how many times as fast as usual; limits are kept.
        straight: the tool goes there on a straight line.
        detour: where the direct way may not be made it goes by way of home.
        grips: it is the gripper's joint, which moves there or until what it grips stops it.
    """

    name: str
    at: Mapping[str, float] | None = None
    tip: ArrayLike | None = None
    pitch: float | None = None
    seconds: float = 0.0
    speed: float = 1.0
    straight: bool = False
    detour: bool = False
    grips: bool = False

    def target(self, arm: ArmDescription, before: Array) -> Array:
        """The pose (n,) [rad or m] for an arm at ``before`` (n,); errors as ``tip_target``."""
        found = before if self.tip is None else tip_target(arm, self.tip, near=before, pitch_rad=self.pitch)
        target = np.array(found, dtype=float)
        for name, value in (self.at or {}).items():
            target[arm.joint_names.index(name)] = value
        return target


@dataclass(frozen=True)
class Pause:
    """Pause in which nothing moves [s]."""

    seconds: float

    @property
    def name(self) -> str:
        return f"pause of {self.seconds:g} s"


@dataclass(frozen=True)
class Payload:
    """Payload that the tool carries from here on [kg]."""

    mass: float

    @property
    def name(self) -> str:
        return f"payload {1e3 * self.mass:g} g"


@dataclass(frozen=True, eq=False)
class Follow:
    """A path to follow, from rest where the arm is held to rest."""

    name: str
    path: Trajectory


Step = Pose | Follow | Pause | Payload
