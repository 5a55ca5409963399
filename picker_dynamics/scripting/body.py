"""Body of a script's arm: whatever moves when the script says so, in the process or on a running graph, seen alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from picker_dynamics.robot.model import Array
from picker_dynamics.trajectory.trajectory import Trajectory

from .equipment import Equipment


@dataclass(frozen=True, eq=False)
class Sample:
    """Sample of an arm: what is known at one instant, for recordings.

    Attributes:
        t: [s], of any one clock.
        q, q_ref: (n,) where the joints are, or are believed to be, and should be [rad or m].
        torque: (n,) of the joints [N·m or N]; NaN where nobody tells.
    """

    t: float
    q: Array
    q_ref: Array
    torque: Array


class Goal(Protocol):
    """A motion that was accepted."""

    duration_s: float

    def ended(self) -> bool:
        """Whether the goal was answered.

        Raises:
            GoalAbortedError: it did not come to its end.
        """

    def progress(self) -> float:
        """Share of it that is over, 0 to 1."""

    def cancel(self) -> None:
        """Let the arm decelerate to a hold, and wait until it stands."""


class Body(Protocol):
    """Time passes in ``step`` alone, and in whatever waits."""

    on_sample: Callable[[Sample], None] | None
    """Who wants to have what is known, as time passes."""

    @property
    def q(self) -> Array:
        """Joint positions, (n,) [rad or m]: the truth in simulation, else as measured or modelled."""

    @property
    def held(self) -> Array:
        """Positions at which the joints should be now, (n,) [rad or m]."""

    @property
    def payload(self) -> float:
        """Payload that the tool is believed to carry [kg]."""

    def set_payload(self, mass: float) -> None:
        """Tell that the tool carries ``mass`` [kg]; a simulated one does from then on.

        Raises:
            PickerError: more than the arm can hold where it is.
        """

    def begin(self, target: Array, duration_s: float) -> Goal:
        """Start a motion to rest at ``target`` (n,) [rad or m].

        Raises:
            GoalRefusedError: it may not be made, or somebody else moves the arm.
        """

    def follow(self, trajectory: Trajectory) -> Goal:
        """Start a motion along a trajectory of all joints, from rest where the arm is held to rest; errors as ``begin``."""

    def grip(self, joint: int, at: float) -> Goal:
        """Start to move the gripper's ``joint`` to ``at`` [rad or m], done there or where what it grips stops it; errors as
        ``begin``."""

    def tip_speed(self) -> float | None:
        """Tip speed that the controller allows the tool [m/s]; None: the default."""

    def surrounded(self, known: Equipment) -> Equipment:
        """The arm ``known`` with all that its motions are kept clear of."""

    def step(self) -> None:
        """Let a little time pass."""

    @property
    def now_s(self) -> float:
        """Time on the body's clock [s]."""

    def close(self) -> None:
        """Leave the arm as it stands."""
