"""Laws of the control loop: what the joints are commanded for a reference; compensated set-points, or computed torque.

reference -> Compensator -> servo set-point                     ServoLaw, BusLaw
reference, measured state -> TorqueLoop -> effort               TorqueLaw
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from picker_dynamics.board.session import Outputs
from picker_dynamics.bus.goal_sender import PAUSE_S
from picker_dynamics.control.compensation import NONE, Compensator
from picker_dynamics.control.contact import Contact
from picker_dynamics.control.laws.law import Reference as LawReference
from picker_dynamics.control.rest_integral import RestIntegral
from picker_dynamics.control.torque_loop import TorqueLoop
from picker_dynamics.errors import InputError
from picker_dynamics.execution.goal_tracking import ArmState
from picker_dynamics.execution.motion import Reference
from picker_dynamics.robot.model import Array, DynamicsModel

from .hardware import Command

LONGEST_STEP_S = 0.1
"""A gap between references counts as this much time at the most, so that no fade is skipped [s]."""

RAMP_S = 0.25
"""In so long references go on at their own pace after a stall [s]."""


class ServoLaw:
    """Compensated set-points of position servos."""

    waits = by_hand = False

    def __init__(self, compensator: Compensator):
        self.compensator = compensator
        self.moves, self._droops = False, compensator.mode == NONE
        self._last_s: float | None = None

    @property
    def model(self) -> DynamicsModel:
        return self.compensator.model

    @property
    def source(self) -> float:
        return self.compensator.source

    @source.setter
    def source(self, share: float) -> None:
        self.compensator.source = share

    @property
    def droops(self) -> bool:
        """Whether the arm hangs lower, by what its servos give way: without compensation, and until it has risen after that."""
        self._droops = self.compensator.mode == NONE or (self._droops and not self.compensator.settled)
        return self._droops

    def require_mode(self, mode: str) -> None:
        """Raise an InputError where the mode of the compensation changes from or to none while the reference moves."""
        before = self.compensator.mode
        if mode != before and NONE in (mode, before) and self.moves:
            raise InputError(
                f"compensation is changed from {before} to {mode} at rest only: the arm would sag or rise",
                subject="compensation",
                value=mode,
            )

    def delay_s(self, state: ArmState | None, now_s: float) -> float:
        """Delay with which references hold [s]: that of the board shows in the modelled state."""
        return 0.0

    def start(self, session: Outputs) -> None:
        self._last_s, self.moves = None, False
        if session.held is not None and session.held_effort is not None:
            self.compensator.start_held(session.held, session.held_effort)

    def set_payload(self, mass: float, com: Sequence[float], now_s: float) -> None:
        self.compensator.set_payload(mass, com)

    def command(self, reference: Reference | None, state: ArmState | None) -> Command | None:
        if reference is None:
            return None
        self.moves = bool(reference.v.any())
        dt = 0.0 if self._last_s is None else min(max(reference.time_s - self._last_s, 0.0), LONGEST_STEP_S)
        self._last_s = reference.time_s
        setpoint, tau = self.compensator.update(reference.q, reference.v, reference.a, dt)
        return Command(reference.time_s, tau, setpoint)


class BusLaw(ServoLaw):
    """Compensated set-points of servos that measure and hold their last goal: after a stall of this process references go on
    where it was; at rest ``integral`` closes what the model leaves open, in motion ``contact`` looks at what it meets.

    Attributes:
        by_hand: a hand moves the arm, which is no contact, and nothing to be closed.
    """

    waits = True

    def __init__(self, compensator: Compensator, integral: RestIntegral, contact: Contact):
        super().__init__(compensator)
        self.integral, self.contact = integral, contact
        self._delay_s, self._rate, self._now_s = 0.0, 1.0, -math.inf
        self._q: Array | None = None

    def delay_s(self, state: ArmState | None, now_s: float) -> float:
        """Delay with which references hold, because of stalls [s]."""
        dt, self._now_s = now_s - self._now_s, now_s
        if math.isfinite(dt):
            self._rate = 0.0 if dt > PAUSE_S else min(self._rate + dt / RAMP_S, 1.0)
            self._delay_s += (1.0 - self._rate) * dt
        return self._delay_s

    def start(self, session: Outputs) -> None:
        super().start(session)
        self.integral.start()
        self.contact.start()
        self._delay_s, self._rate, self._now_s = 0.0, 1.0, -math.inf

    def command(self, reference: Reference | None, state: ArmState | None) -> Command | None:
        if reference is None:
            return None
        late_s = 0.0
        if not reference.v.any() and self._q is not None and np.array_equal(reference.q, self._q):
            late_s, self._delay_s = self._delay_s, 0.0  # at rest nothing is late
        self._q, rate = reference.q, self._rate
        moves, met = bool(reference.v.any()), ""
        reference = replace(reference, v=rate * reference.v, a=rate**2 * reference.a)
        if self.by_hand:
            self.contact.start()
        if state is not None and state.v is not None:
            if not self.by_hand:
                met = self.contact.advance(reference.v, state.time_s, state.q, state.v)
            self.integral.advance(reference.q, moves or self.by_hand, state.time_s, state.q, state.v)
        command = super().command(reference, state)
        self._last_s = reference.time_s + late_s  # references go on so much later, and no time passes meanwhile
        return command and replace(command, contact=met)


class TorqueLaw:
    """Computed torque from the measured state; a reference counts from the time at which it holds."""

    source, waits, by_hand = 1.0, True, False

    def __init__(self, loop: TorqueLoop):
        self.loop = loop

    @property
    def model(self) -> DynamicsModel:
        model: DynamicsModel = self.loop.model
        return model

    def delay_s(self, state: ArmState | None, now_s: float) -> float:
        """Delay with which references hold, because of stalls [s]."""
        return 0.0 if state is None else self.loop.references.delay_s(state.time_s)

    def start(self, session: Outputs) -> None:
        self.loop.start()

    def set_payload(self, mass: float, com: Sequence[float], now_s: float) -> None:
        self.loop.set_payload(mass, com, now_s)

    def command(self, reference: Reference | None, state: ArmState | None) -> Command | None:
        if reference is not None:
            self.loop.references.push(reference.time_s, LawReference(reference.q, reference.v, reference.a))
        if state is None or state.v is None:
            return None
        return Command(state.time_s, self.loop.effort(state.q, state.v, state.time_s))


Law: TypeAlias = ServoLaw | TorqueLaw
"""Law that makes commands of references."""
