"""Controller: the read-update-write loop of one arm, the only owner of its hardware.

    Hardware.read()     -> ArmState       telemetry or measurement
    Execution.tick()    -> Reference      goals, streams, stops, lease, checks, guard
    Law.command()       -> Command        compensation for servos, computed torque for efforts
    Hardware.write(Command)               the sender: time, step, range

Whoever has the time calls ``cycle`` at the rate of the reference: a thread on a robot, the simulation on virtual time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from picker_dynamics.board.clock import Clock
from picker_dynamics.board.request_gate import RequestGate
from picker_dynamics.board.session import State
from picker_dynamics.control.payload_change import Payload
from picker_dynamics.errors import DescriptionError, PickerError
from picker_dynamics.execution.driving import Drivers, Jogging
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.execution import Execution, Tick
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.goal_tracking import SAME_S, ArmState
from picker_dynamics.execution.validator import require_graspable, require_holdable, unbearable
from picker_dynamics.robot.model import Array, DynamicsModel, payload_values

from .hardware import Command, Hardware
from .laws import Law

SUPPLY_PERIOD_S = 1.0
"""How often the plan takes over what the supply gives [s]."""

UNCONFIRMED = "the board does not confirm set-points: is its cable connected?"

FRESH_S = 1.0
"""How old a state may be that says where an arm is that is not driven [s]."""


ModelOf = Callable[[float, Sequence[float]], DynamicsModel]
"""Model of an arm with a payload: mass [kg] and centre (3,) [m], tool frame."""


@dataclass(frozen=True, eq=False)
class Cycle:
    """Outcome of one cycle.

    Attributes:
        now_s: when it began [s].
        state: of the arm; None: not known.
        tick: reference and events.
        command: that was made of the reference; None: the arm is not active, or nothing may be sent.
        sent: whether the hardware took it.
    """

    now_s: float
    state: ArmState | None
    tick: Tick
    command: Command | None = None
    sent: bool = False


class Controller:
    """Control loop of one arm; requests and cycles take turns, so each request, from any thread, sees the arm between two cycles.

    Args:
        hardware: is read and written here alone.
        law: makes commands of references.
        execution: makes references of what is asked.
        model_of: the arm with a payload (mass [kg], com (3,) [m]), as plans take it.
        clock: that of the hardware.
        resting: poses (n,) one of which is assumed if the arm's pose is unknown [rad or m].

    Attributes:
        payload: that plans bear and the modelled state carries.
        problem: why the arm is held and not driven though its hardware is active; '' where it is driven.
        state: of the arm, as last read; None: not known.
        passive: the hardware is read and not driven: somebody else commands it.
        turn: is held in each cycle and each request.
        gate: refuses requests that were made, or may have been, before a stop, reset or enable.
        settles: the gate is opened here, where nobody else looks at requests that wait.
        obstacle: why the arm may not be enabled; '' where it may.
        watched: whether anybody wants the tracking error.
        newest: outcome of the last cycle; None: there was none.
        drivers, jogging: who drives, and streams made of velocities.
    """

    def __init__(
        self, hardware: Hardware, law: Law, execution: Execution, model_of: ModelOf, clock: Clock, resting: Sequence[Array] = ()
    ):
        self.hardware, self.law, self.execution, self._model_of, self._resting = hardware, law, execution, model_of, resting
        execution.sent.waits = law.waits
        self.clock, self.turn, self.gate, self.settles = clock, threading.RLock(), RequestGate(), True
        self.payload, self.problem, self.obstacle, self.passive = Payload(), "", "", False
        self.watched: Callable[[], bool] = lambda: False
        self.drivers, self.jogging = Drivers(execution), Jogging(execution)
        self.state: ArmState | None = None
        self.newest: Cycle | None = None
        self._epoch: int | None = None
        self._latched = (False, "")
        self._subscribers: list[Callable[[Cycle], None]] = []
        self._supply_due_s = self._tick_due_s = -float("inf")

    def cycle(self) -> Cycle:
        """Make one cycle of the control loop now, and hand it to subscribers."""
        with self.turn:
            now_s = self.clock.now()
            self.execution.lateness.note(now_s)
            done = self.newest = self._cycle(now_s)
            session = self.hardware.session
            latched = session.stop_latched, session.fault_latched
            if latched != self._latched and any(latched) and not self.gate.settling:
                self.gate.close(now_s, for_s=0.0)
            self._latched = latched
            if self.settles:
                self.gate.settle(now_s)
            for hear in tuple(self._subscribers):
                hear(done)
        return done

    def _cycle(self, now_s: float) -> Cycle:
        """Read the hardware, make the next reference, command it."""
        self.state = state = self._read(now_s)
        if self.passive:
            return Cycle(now_s, state, Tick(None, ()))
        self._synchronise(now_s)
        self._take_supply(now_s)
        tick, sent = Tick(None, ()), self.execution.sent
        sent.delay_s = self._delay_s(now_s, state) if self.active else 0.0
        sent.behind_s = 0.0 if state is None else state.delay_s
        if self._is_due(now_s):
            tick = self.execution.tick(now_s, lambda: state, self.watched)
        if tick.hits is not None and self.active:  # the outputs drop what they have been sent, and brake harder than a plan may
            self.hardware.session.stop()
            self.hardware.session.problem = f"stopped: {tick.hits}; reset, then enable, to continue"
        if self.problem or not self.active or (tick.reference is None and not self.hardware.takes_efforts):
            return Cycle(now_s, state, tick)
        try:
            self.law.by_hand = self.jogging.by_hand(now_s)
            command = self.law.command(tick.reference, state)
            done = command is not None and self.hardware.write(command, now_s)
        except PickerError as error:
            self.execution.tell(EventKind.PROBLEM, f"command not sent: {error}", error=error)
            return Cycle(now_s, state, tick)
        return Cycle(now_s, state, tick, command, done)

    def _delay_s(self, now_s: float, state: ArmState | None) -> float:
        """Delay with which references hold [s]; states are a bit old, now more, now less, and no reference goes back in time."""
        before_s = now_s if self.newest is None else self.newest.now_s
        return min(self.law.delay_s(state, now_s), self.execution.sent.delay_s + now_s - before_s)

    def _is_due(self, now_s: float) -> bool:
        """Whether the next reference is due: in each cycle of servos; at its own rate where efforts answer measured states."""
        if not self.hardware.takes_efforts:
            return True
        period_s = 1.0 / self.execution.timing.rate_hz
        if now_s < self._tick_due_s - SAME_S:
            return False
        self._tick_due_s = max(self._tick_due_s + period_s, now_s)
        return True

    @property
    def active(self) -> bool:
        """Whether the hardware follows commands."""
        return self.hardware.session.state is State.ACTIVE

    def _read(self, now_s: float) -> ArmState | None:
        try:
            return self.hardware.read(now_s)
        except PickerError as error:
            self.hardware.session.problem = str(error)
            return None

    def _synchronise(self, now_s: float) -> None:
        """Start reference and law where the hardware holds the arm, at each new sync point; end them where it is not active."""
        session = self.hardware.session
        epoch = session.epoch if self.active else None
        if epoch != self._epoch:
            self._epoch, self.problem = epoch, ""
            anew = "the arm is held anew: it was stopped, reset or enabled meanwhile"
            self.execution.deactivate(session.problem or (session.state.value if epoch is None else anew))
            if epoch is not None and session.held is not None:
                self.law.start(session)
                self.execution.start(session.held, session.held_effort)
                self.problem = self._unbearable(session.held)
        self.execution.block(self.problem or ("" if session.confirmed or epoch is None else UNCONFIRMED), now_s)

    def _unbearable(self, held: Array) -> str:
        """Why an arm that is held there may not be driven with its payload; '' where it may."""
        limits = self.execution.limits
        return unbearable(limits.model, limits.torque, self.payload.mass, held)

    def _take_supply(self, now_s: float) -> None:
        self.law.source = self.hardware.source
        if now_s >= self._supply_due_s:
            self._supply_due_s = now_s + SUPPLY_PERIOD_S
            self.execution.follow_supply(self.hardware.source)

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
            self.execution.submit(request, self.clock.now())

    def stream(self, names: Sequence[str], positions: Sequence[float], **how: Any) -> PickerError | None:
        """Follow one sample of a stream; returns why it is refused."""
        with self.turn:
            return self.execution.stream(names, positions, self.clock.now(), since_s=self.gate.since_s, **how)

    def cancel(self, request: GoalRequest | None = None) -> bool:
        """Decelerate one motion to a hold, or whatever moves the arm; returns whether anything moved."""
        with self.turn:
            return self.execution.cancel(self.clock.now(), request)

    def reference(self) -> Array | None:
        """Positions (n,) [rad or m] at which the joints should be now; None: the arm is not active."""
        with self.turn:
            sent = self.execution.sent
            reference = sent.at(self.clock.now()) or sent.newest
            return None if reference is None else np.array(reference.q)

    # -- outputs -------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Latch a stop: the arm decelerates and holds."""
        with self.turn:
            self.hardware.session.stop()
            self.gate.close(self.clock.now())

    def relax(self) -> None:
        """Switch the outputs off and latch: the arm falls."""
        with self.turn:
            self.hardware.session.relax()
            self.gate.close(self.clock.now())

    def reset(self) -> None:
        """Clear stop and faults whose cause is gone; nothing moves."""
        with self.turn:
            self.hardware.session.reset()
            self.gate.begin(self.clock.now())

    def enable(self, at_rest_pose: bool, begins: bool = True) -> str:
        """Adopt outputs that run, or switch them on where a person says that the arm is at its rest pose.

        Args:
            begins: an epoch of requests; not where the arm starts by itself, with its process.
        """
        with self.turn:
            session = self.hardware.session
            if session.engaged:
                return f"already {session.state.value}"
            if self.obstacle:
                raise DescriptionError(self.obstacle)
            said = session.activate(at_rest_pose)
            if begins:
                self.gate.begin(self.clock.now())
            return said

    def disable(self) -> None:
        """Switch the outputs off: the arm falls."""
        with self.turn:
            self.hardware.session.disable()
            self.gate.begin(self.clock.now())

    def change(self, **limits: Any) -> None:
        """Change fields of the limits of motions, as ``execution.Limits`` has them."""
        with self.turn:
            self.execution.change_some(**limits)

    # -- payload -------------------------------------------------------------------------------------------

    def _poses(self, now_s: float) -> Sequence[Array]:
        """Poses where the arm may be: its reference, else its state, else where it rests."""
        sent, held, state = self.execution.sent.newest, self.hardware.session.held, self.state
        if sent is not None:
            return (sent.q,)
        if state is not None and now_s - state.time_s < FRESH_S:
            return (state.q,)
        return self._resting if held is None else (held,)

    def set_payload(self, mass: float, com: Sequence[float], now_s: float) -> None:
        """Carry ``mass`` [kg] at ``com`` (3,) [m], tool frame: plans, compensation and modelled state change together.

        A smaller mass in the same place is always taken; an arm that cannot rest with it is idle then, and says why.

        Raises:
            InputError: not a payload.
            InfeasibleError, LimitError: the arm cannot hold it where it is; nothing changes.
        """
        mass, centre = payload_values(mass, com)
        payload, torque = Payload(mass, tuple(centre.tolist())), self.execution.limits.torque
        model = self._model_of(*payload)
        if payload.mass > self.payload.mass or (payload.mass and payload.com != self.payload.com):
            require_graspable(*payload, torque)
            if poses := self._poses(now_s):
                require_holdable(model, torque, poses)
        self.law.set_payload(*payload, now_s)
        self.payload = payload
        self.execution.change_some(model=model)
        try:
            self.hardware.set_model(self.law.model)
        except PickerError as error:
            text = f"with a payload of {payload.mass:g} kg {error}; set a smaller one, then enable"
            self.hardware.session.problem = text
        if self.problem:
            self._epoch = None  # start anew where it is held
