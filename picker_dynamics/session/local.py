"""Session with a controller in this process: requests and cycles take turns, so each request sees the arm between two cycles."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from picker_dynamics.board.clock import Clock
from picker_dynamics.board.request_gate import RequestGate
from picker_dynamics.controller.controller import Controller, Cycle
from picker_dynamics.errors import DescriptionError, PickerError
from picker_dynamics.execution.driving import Drivers
from picker_dynamics.execution.jogging import Jogging
from picker_dynamics.execution.pending_goals import GoalRequest
from picker_dynamics.robot.model import Array

from .session import Status


class LocalSession:
    """Session with ``controller``; may be used from any thread.

    Args:
        controller: of the arm.
        clock: its hardware's.

    Attributes:
        turn: is held in each cycle and each request.
        gate: refuses requests that may have been made before a stop was answered.
        obstacle: why the arm may not be enabled; '' where it may.
        watched: whether anybody wants the tracking error.
        newest: outcome of the last cycle; None: there was none.
        settles: the gate is opened here, where nobody else looks at requests that wait.
        drivers, jogging: who drives, and streams made of velocities.
    """

    def __init__(self, controller: Controller, clock: Clock):
        self.controller, self.clock = controller, clock
        self.turn = threading.RLock()
        self.gate = RequestGate()
        self.obstacle = ""
        self.watched: Callable[[], bool] = lambda: False
        self.drivers, self.jogging = Drivers(controller.execution), Jogging(controller.execution)
        self.newest: Cycle | None = None
        self.settles = True
        self._subscribers: list[Callable[[Cycle], None]] = []

    def cycle(self) -> Cycle:
        """Make one cycle of the control loop now, and hand it to subscribers."""
        with self.turn:
            done = self.newest = self.controller.cycle(self.clock.now(), self.watched)
            if self.settles:
                self.gate.settle(done.now_s)
            for hear in tuple(self._subscribers):
                hear(done)
        return done

    def subscribe(self, hear: Callable[[Cycle], None]) -> Callable[[], None]:
        with self.turn:
            self._subscribers.append(hear)

        def end() -> None:
            with self.turn:
                self._subscribers.remove(hear)

        return end

    def status(self) -> Status:
        with self.turn:
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
                controller.payload.mass,
            )

    # -- motions -------------------------------------------------------------------------------------------

    def submit(self, request: GoalRequest) -> None:
        with self.turn:
            self.controller.execution.submit(request, self.clock.now())

    def stream(self, names: Sequence[str], positions: Sequence[float], **how: Any) -> PickerError | None:
        with self.turn:
            return self.controller.execution.stream(names, positions, self.clock.now(), **how)

    def cancel(self, request: GoalRequest | None = None) -> bool:
        with self.turn:
            return self.controller.execution.cancel(self.clock.now(), request)

    def reference(self) -> Array | None:
        with self.turn:
            sent = self.controller.execution.sent
            reference = sent.at(self.clock.now()) or sent.newest
            return None if reference is None else np.array(reference.q)

    # -- outputs -------------------------------------------------------------------------------------------

    def stop(self) -> None:
        with self.turn:
            self.controller.hardware.session.stop()

    def relax(self) -> None:
        with self.turn:
            self.controller.hardware.session.relax()

    def reset(self) -> None:
        with self.turn:
            self.controller.hardware.session.reset()

    def enable(self, at_rest_pose: bool) -> str:
        with self.turn:
            session = self.controller.hardware.session
            if session.engaged:
                return f"already {session.state.value}"
            if self.obstacle:
                raise DescriptionError(self.obstacle)
            return session.activate(at_rest_pose)

    def disable(self) -> None:
        with self.turn:
            self.controller.hardware.session.disable()

    # -- settings ------------------------------------------------------------------------------------------

    def set_payload(self, mass: float, com: Sequence[float] = (0.0, 0.0, 0.0)) -> None:
        with self.turn:
            self.controller.set_payload(mass, com, self.clock.now())

    def change(self, **limits: Any) -> None:
        with self.turn:
            self.controller.execution.change_some(**limits)
