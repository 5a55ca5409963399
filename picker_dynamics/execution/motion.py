"""Motions and what is sent of them: the phase, the reference of an instant, the motion that a goal became."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.trajectory import Trajectory

from .approach import Approach
from .lease import MAIN_TRACK
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


@dataclass(frozen=True)
class Motion:
    """Motion under way: a trajectory with a start; what a goal became.

    Attributes:
        start_s: when it begins.
        trajectory: of all joints, as it was checked; the motion's own are those that it ``moves``.
        identifier: whose motion it is.
        track: the goal's.
        phase: executing, stopping or streaming.
        joints: indices of the joints of the goal.
        duration_s: until these are at their end, in the trajectory's time.
        cancelled: it comes to rest before its goal.
        validated: what the validator made of it; None: a stop or a stream.
        approach: how it ends; None: friction does not matter.
        moves: indices of the joints that it moves: the goal's, and those that come to rest as nobody moves them any more.
        end_s: until all of these are at their end, in the trajectory's time.
        own_s: when it begins, in the own time of the active plan.
        slowed: by how much its rest was slowed for limits that changed.
        finished: the goal's joints are at their end.
    """

    start_s: float
    trajectory: Trajectory
    identifier: str = ""
    phase: Phase = Phase.EXECUTING
    track: str = MAIN_TRACK
    joints: tuple[int, ...] = ()
    duration_s: float = 0.0
    cancelled: bool = False
    validated: Validated | None = field(default=None, repr=False)
    approach: Approach | None = field(default=None, repr=False)
    moves: tuple[int, ...] = ()
    end_s: float = 0.0
    own_s: float = 0.0
    slowed: float = 1.0
    finished: bool = False

    def stopped(self, start_s: float, stop: Trajectory) -> Motion:
        """The motion where it takes this way to rest at ``start_s``."""
        lasts_s = stop.duration
        return replace(
            self, start_s=start_s, trajectory=stop, phase=Phase.STOPPING, duration_s=lasts_s, end_s=lasts_s, cancelled=True
        )
