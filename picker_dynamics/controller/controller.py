"""Controller: the read-update-write loop of one arm, the only owner of its hardware.

    Hardware.read()     -> ArmState       telemetry or measurement
    Execution.tick()    -> Reference      goals, streams, stops, lease, checks, guard
    Law.command()       -> Command        compensation for servos, computed torque for efforts
    Hardware.write(Command)               the sender: time, step, range

Whoever has the time calls ``cycle`` at the rate of the reference: a thread on a robot, the simulation on virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from picker_dynamics.board.session import State
from picker_dynamics.errors import PickerError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.execution import Execution, Tick
from picker_dynamics.execution.goal_tracking import ArmState
from picker_dynamics.execution.payload_hold import require_graspable, require_holdable, unbearable
from picker_dynamics.robot.model import DynamicsModel

from .hardware import Command, Hardware
from .laws import Law

SUPPLY_PERIOD_S = 1.0
"""How often the plan takes over what the supply gives [s]."""


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
    """Control loop of one arm; times are seconds of the clock that its hardware has.

    Args:
        hardware: is read and written here alone.
        law: makes commands of references.
        execution: makes references of what is asked.
        model_of: the arm with a payload (mass [kg], com (3,) [m]), as plans and the modelled state take it.

    Attributes:
        payload: mass [kg] and centre (3,) [m] that the tool is believed to carry.
        problem: why the arm is held and not driven though its hardware is active; '' where it is driven.
    """

    def __init__(
        self, hardware: Hardware, law: Law, execution: Execution, model_of: Callable[[float, Sequence[float]], DynamicsModel]
    ):
        self.hardware, self.law, self.execution, self._model_of = hardware, law, execution, model_of
        self.payload: tuple[float, tuple[float, ...]] = (0.0, (0.0, 0.0, 0.0))
        self.problem = ""
        self._epoch: int | None = None
        self._state: ArmState | None = None
        self._supply_due_s = -float("inf")

    def cycle(self, now_s: float, watched: Callable[[], bool] = lambda: False) -> Cycle:
        """Read the hardware, make the next reference, command it; ``watched``: whether anybody wants the tracking error."""
        self._state = state = self._read(now_s)
        self._synchronise(now_s)
        self._take_supply(now_s)
        tick = self.execution.tick(now_s, lambda: state, watched)
        if tick.reference is None or self.problem or not self.active:
            return Cycle(now_s, state, tick)
        try:
            command = self.law.command(tick.reference, state)
            sent = command is not None and self.hardware.write(command, now_s)
        except PickerError as error:
            self.execution.tell(EventKind.PROBLEM, f"command not sent: {error}", error=error)
            return Cycle(now_s, state, tick)
        return Cycle(now_s, state, tick, command, sent)

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
        if epoch == self._epoch:
            return
        self._epoch, self.problem = epoch, ""
        self.execution.deactivate(session.problem or session.state.value)
        if epoch is not None and session.held is not None:
            self.law.start(session)
            self.execution.start(session.held, session.held_effort)
            self._look_whether_bearable(now_s)

    def _look_whether_bearable(self, now_s: float) -> None:
        """Hold an arm that cannot bear its payload where it is; nobody moves it then."""
        held, limits = self.hardware.session.held, self.execution.limits
        if held is not None and limits.model is not None:
            self.problem = unbearable(limits.model, limits.torque, self.payload[0], held)
        self.execution.block(self.problem, now_s)

    def _take_supply(self, now_s: float) -> None:
        self.law.source = self.hardware.source
        if now_s >= self._supply_due_s:
            self._supply_due_s = now_s + SUPPLY_PERIOD_S
            self.execution.follow_supply(self.hardware.source)

    def set_payload(self, mass: float, com: Sequence[float], now_s: float) -> None:
        """Carry ``mass`` [kg] at ``com`` (3,) [m], tool frame: plans, compensation and modelled state change together.

        Raises:
            InputError: not a payload.
            InfeasibleError, LimitError: the arm cannot hold it where it is; nothing changes.
        """
        model, torque = self._model_of(mass, com), self.execution.limits.torque
        if mass:
            require_graspable(mass, com, torque)
            sent, held = self.execution.sent.newest, self.hardware.session.held
            pose = sent.q if sent is not None else held if held is not None else None if self._state is None else self._state.q
            if pose is not None:
                require_holdable(model, torque, [pose])
        self.payload = mass, tuple(com)
        self.execution.change_some(model=model)
        self.law.set_payload(mass, com, now_s)
        self.hardware.set_model(model)
        if self.problem:
            self._epoch = None  # start anew where it is held
