"""Motions and what is sent of them: the phase, the reference of an instant, the motion that a goal became."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.trajectory import Trajectory

from .approach import Approach
from .goal import MAIN_TRACK
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
        trajectory: of all joints, those included that go on with another motion.
        identifier: whose motion it is.
        track: the goal's.
        phase: executing, stopping or streaming.
        joints: indices of the joints that are its own; empty: all.
        duration_s: its own, in the trajectory's time.
        cancelled: it comes to rest before its goal.
        validated: what the validator made of it; None: a stop or a stream.
        approach: how it ends; None: friction does not matter.
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
