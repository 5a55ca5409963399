"""Hardware of an arm as the control loop uses it: what is read of it, and what is written to it, once a cycle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from picker_dynamics.board.session import Session
from picker_dynamics.execution.goal_tracking import ArmState
from picker_dynamics.robot.model import Array, DynamicsModel


@dataclass(frozen=True, eq=False)
class Command:
    """Command for one moment.

    Attributes:
        time_s: when the set-point holds, or the time of the state that the effort answers [s].
        effort: (n,) torques that the joints need [N·m or N].
        setpoint: (n,) of position servos [rad or m]; None: the joints take efforts.
    """

    time_s: float
    effort: Array
    setpoint: Array | None = None


class Hardware(Protocol):
    """Hardware of one arm.

    Attributes:
        session: its state, latched stops and faults, and the pose from which commands start.
        takes_efforts: it takes efforts, and measures its joints; else it takes set-points, and its joint states are modelled.
        source: share of its nominal voltage that the servos' supply gives without load; 1 where nobody measures it.
    """

    takes_efforts: bool

    @property
    def session(self) -> Session: ...

    @property
    def source(self) -> float: ...

    def read(self, now_s: float) -> ArmState | None:
        """Take what the hardware says by ``now_s`` [s]; returns the arm's state, None where nobody knows it."""

    def write(self, command: Command, now_s: float) -> bool:
        """Send ``command``; returns whether it was sent.  Raises a PickerError where it cannot be."""

    def set_model(self, model: DynamicsModel) -> None:
        """Take another model of the arm, that of another payload.  Raises a PickerError where it cannot be held with that."""
