"""Session: what a person or program may ask of a running arm, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from picker_dynamics.controller.controller import Cycle
from picker_dynamics.errors import PickerError
from picker_dynamics.execution.pending_goals import GoalRequest
from picker_dynamics.robot.model import Array


@dataclass(frozen=True)
class Status:
    """Status of a running arm.

    Attributes:
        state: of the hardware: offline, idle, enabling or active.
        problem: what is wrong, or why the arm is not active; '' where all is well.
        outputs: running, partly, off or unknown.
        stop_latched: a stop was asked for and not reset.
        reset_needed: ``reset`` has to come before ``enable``.
        phase: of the reference: inactive, holding, executing, stopping or streaming.
        moved_by: who moves the arm; '' where nobody does.
        measured: joint states come from sensors, not from a model.
        payload_kg: that the tool is believed to carry.
    """

    state: str
    problem: str
    outputs: str
    stop_latched: bool
    reset_needed: bool
    phase: str
    moved_by: str
    measured: bool
    payload_kg: float


class Session(Protocol):
    """Access to one running arm.  Methods raise a PickerError that says why something is refused."""

    def status(self) -> Status:
        """Return what is known of the arm now."""

    def subscribe(self, hear: Callable[[Cycle], None]) -> Callable[[], None]:
        """Call ``hear`` after each cycle of the control loop, soon and in its thread; returns what ends that."""

    def submit(self, request: GoalRequest) -> None:
        """Ask for a motion; it is answered once, by ``request.answer``."""

    def stream(self, names: Sequence[str], positions: Sequence[float], **how: Any) -> PickerError | None:
        """Follow one sample of a stream; returns why it is refused."""

    def cancel(self, request: GoalRequest | None = None) -> bool:
        """Decelerate to a hold: one motion, or whatever moves the arm; returns whether anything moved."""

    def stop(self) -> None:
        """Latch a stop: the arm decelerates and holds."""

    def relax(self) -> None:
        """Switch the outputs off and latch: the arm falls."""

    def reset(self) -> None:
        """Clear stop and faults whose cause is gone; nothing moves."""

    def enable(self, at_rest_pose: bool) -> str:
        """Adopt outputs that run, or switch them on where a person says that the arm is at its rest pose."""

    def disable(self) -> None:
        """Switch the outputs off: the arm falls."""

    def set_payload(self, mass: float, com: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        """Carry ``mass`` [kg] at ``com`` (3,) [m], tool frame."""

    def change(self, **limits: Any) -> None:
        """Change fields of the limits of motions, as ``execution.Limits`` has them."""

    def reference(self) -> Array | None:
        """Positions (n,) [rad or m] at which the joints should be now; None: the arm is not active."""
