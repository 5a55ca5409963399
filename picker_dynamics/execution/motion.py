"""Motions and what is sent of them: the phase, the reference of an instant, the motion that a goal became."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.trajectory import Trajectory

from .lease import MAIN_TRACK
from .settle_downward import Approach
from .validator import Validated


class Phase(Enum):
    """Phase of an arm's reference: whether there is one, and what moves it."""

    INACTIVE = "inactive"
    HOLDING = "holding"
    EXECUTING = "executing"
    STOPPING = "stopping"
    STREAMING = "streaming"


@dataclass(frozen=True)
class Reference:
    """One point of the reference; arrays (n,) [rad, rad/s, rad/s²]."""

    time_s: float
    q: Array
    v: Array
    a: Array


@dataclass(frozen=True, eq=False)
class Motion:
    """Motion that a goal became, or may become.

    Attributes:
        start_s: when it begins.
        validated: the motion of all joints, together with what other tracks do meanwhile, as it was checked.
        track, joints: of the goal; indices of the joints.
        duration_s: until these are at their end, in the trajectory's time.
        approach: how it ends; None: friction does not matter.
    """

    start_s: float
    validated: Validated = field(repr=False)
    track: str = MAIN_TRACK
    joints: tuple[int, ...] = ()
    duration_s: float = 0.0
    approach: Approach | None = field(default=None, repr=False)

    @property
    def trajectory(self) -> Trajectory:
        return self.validated.trajectory
