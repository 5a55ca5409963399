"""Session with a controller in this process: requests and cycles take turns, so each request sees the arm between two cycles."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from picker_dynamics.board.clock import Clock
from picker_dynamics.controller.controller import Controller, Cycle
from picker_dynamics.errors import PickerError
from picker_dynamics.execution.pending_goals import GoalRequest
from picker_dynamics.robot.model import Array

from .session import Status


class LocalSession:
    """Session with ``controller``; may be used from any thread.

    Args:
        controller: of the arm.
        clock: its hardware's.
    """

    def __init__(self, controller: Controller, clock: Clock):
        self.controller, self._clock = controller, clock
        self._turn = threading.RLock()
        self._subscribers: list[Callable[[Cycle], None]] = []

    def cycle(self) -> Cycle:
        """Make one cycle of the control loop now, and tell subscribers."""
        with self._turn:
            done = self.controller.cycle(self._clock.now())
            for hear in tuple(self._subscribers):
                hear(done)
        return done

    def subscribe(self, hear: Callable[[Cycle], None]) -> Callable[[], None]:
        with self._turn:
            self._subscribers.append(hear)

        def end() -> None:
            with self._turn:
                self._subscribers.remove(hear)

        return end

    def status(self) -> Status:
        with self._turn:
            controller, hardware = self.controller, self.controller.hardware
            outputs, execution = hardware.session, controller.execution
            return Status(
                outputs.state.value,
                outputs.problem or controller.problem,
                outputs.outputs,
                outputs.stop_latched,
                outputs.stop_latched or bool(outputs.fault_latched),
                execution.phase.value,
                str(execution.lease),
                hardware.measures_position,
                controller.payload[0],
            )

    # -- motions -------------------------------------------------------------------------------------------

    def submit(self, request: GoalRequest) -> None:
        with self._turn:
            self.controller.execution.submit(request, self._clock.now())

    def stream(self, names: Sequence[str], positions: Sequence[float], **how: Any) -> PickerError | None:
        with self._turn:
            return self.controller.execution.stream(names, positions, self._clock.now(), **how)

    def cancel(self, request: GoalRequest | None = None) -> bool:
        with self._turn:
            return self.controller.execution.cancel(self._clock.now(), request)

    def reference(self) -> Array | None:
        with self._turn:
            sent = self.controller.execution.sent
            reference = sent.at(self._clock.now()) or sent.newest
            return None if reference is None else np.array(reference.q)

    # -- outputs -------------------------------------------------------------------------------------------

    def stop(self) -> None:
        with self._turn:
            self.controller.hardware.session.stop()

    def relax(self) -> None:
        with self._turn:
            self.controller.hardware.session.relax()

    def reset(self) -> None:
        with self._turn:
            self.controller.hardware.session.reset()

    def enable(self, at_rest_pose: bool) -> str:
        with self._turn:
            session = self.controller.hardware.session
            return f"already {session.state.value}" if session.engaged else session.activate(at_rest_pose)

    def disable(self) -> None:
        with self._turn:
            self.controller.hardware.session.disable()

    # -- settings ------------------------------------------------------------------------------------------

    def set_payload(self, mass: float, com: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        with self._turn:
            self.controller.set_payload(mass, com, self._clock.now())

    def change(self, **limits: Any) -> None:
        with self._turn:
            self.controller.execution.change_some(**limits)
