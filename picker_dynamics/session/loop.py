"""Control loop of an arm: requests and cycles take turns, so each request sees the arm between two cycles."""

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
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.jogging import Jogging
from picker_dynamics.robot.model import Array


class ArmLoop:
    """Control loop of ``controller``, and requests to it between two cycles; may be used from any thread.

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
        """Call ``hear`` after each cycle, soon and in its thread; returns what ends that."""
        with self.turn:
            self._subscribers.append(hear)

        def end() -> None:
            with self.turn:
                self._subscribers.remove(hear)

        return end

    # -- motions -------------------------------------------------------------------------------------------

    def submit(self, request: GoalRequest) -> None:
        """Ask for a motion; it is answered once, by ``request.answer``."""
        with self.turn:
            self.controller.execution.submit(request, self.clock.now())

    def stream(self, names: Sequence[str], positions: Sequence[float], **how: Any) -> PickerError | None:
        """Follow one sample of a stream; returns why it is refused."""
        with self.turn:
            return self.controller.execution.stream(names, positions, self.clock.now(), **how)

    def cancel(self, request: GoalRequest | None = None) -> bool:
        """Decelerate one motion to a hold, or whatever moves the arm; returns whether anything moved."""
        with self.turn:
            return self.controller.execution.cancel(self.clock.now(), request)

    def reference(self) -> Array | None:
        """Positions (n,) [rad or m] at which the joints should be now; None: the arm is not active."""
        with self.turn:
            sent = self.controller.execution.sent
            reference = sent.at(self.clock.now()) or sent.newest
            return None if reference is None else np.array(reference.q)

    # -- outputs -------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Latch a stop: the arm decelerates and holds."""
        with self.turn:
            self.controller.hardware.session.stop()

    def relax(self) -> None:
        """Switch the outputs off and latch: the arm falls."""
        with self.turn:
            self.controller.hardware.session.relax()

    def reset(self) -> None:
        """Clear stop and faults whose cause is gone; nothing moves."""
        with self.turn:
            self.controller.hardware.session.reset()

    def enable(self, at_rest_pose: bool) -> str:
        """Adopt outputs that run, or switch them on where a person says that the arm is at its rest pose."""
        with self.turn:
            session = self.controller.hardware.session
            if session.engaged:
                return f"already {session.state.value}"
            if self.obstacle:
                raise DescriptionError(self.obstacle)
            return session.activate(at_rest_pose)

    def disable(self) -> None:
        """Switch the outputs off: the arm falls."""
        with self.turn:
            self.controller.hardware.session.disable()

    # -- limits ----------------------------------------------------------------------------------------------

    def change(self, **limits: Any) -> None:
        """Change fields of the limits of motions, as ``execution.Limits`` has them."""
        with self.turn:
            self.controller.execution.change_some(**limits)


def plain(*vectors: Any) -> list[Any]:
    """Vectors as lists; None stays."""
    return [None if one is None else one.tolist() for one in vectors]


def row(cycle: Cycle) -> list[Any]:
    """Time [s], then position, velocity, effort, reference and torque, (n,) each or None."""
    state, reference, command = cycle.state, cycle.tick.reference, cycle.command
    measured = (None, None, None) if state is None else (state.q, state.v, state.effort)
    desired, torque = None if reference is None else reference.q, None if command is None else command.effort
    return [cycle.now_s if state is None else state.time_s, *plain(*measured, desired, torque)]
