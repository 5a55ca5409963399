"""Simulated machines under a script's arm, in steps of one control period: servos behind a board, or joints that take efforts.

reference -> Compensator -> pulses -> frames -> VirtualFirmware -> Plant            servos
reference -> TorqueLoop -> TorquePlant                                              efforts
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from picker_dynamics.control.laws.law import Reference as LawReference
from picker_dynamics.control.torque_loop import TorqueLoop
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.estimation.closed_loop import LEAD_S, RATE_HZ, ClosedLoop
from picker_dynamics.execution.motion import Reference
from picker_dynamics.robot.model import Array
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.torque_plant import TorquePlant

from .equipment import Equipment

PERIOD_S = 1.0 / RATE_HZ


class Machine(Protocol):
    """Machine that moves when references are sent, and the truth about it."""

    lead_s: float

    @property
    def plant(self) -> Plant | TorquePlant: ...

    def take(self, reference: Reference) -> None:
        """Take a reference, ``lead_s`` before it holds."""

    def advance(self) -> None:
        """Let one control period pass."""

    def set_payload(self, mass: float) -> None:
        """Put a load on the true tool, and tell the controller."""


class ServoMachine:
    """An arm of servos that has been enabled at ``q`` (n,) [rad]; ``plant`` as for ``Plant``."""

    def __init__(self, arm: Equipment, q: Array, compensation: str, **plant: Any):
        assert arm.servos is not None
        self.plant = Plant(arm.description, arm.servos, **plant)
        model = RigidBody(arm.description, arm.armature)
        self.loop = ClosedLoop(self.plant, model, arm.servos, compensation)
        self.lead_s, self.set_payload = self.loop.lead_s, self.loop.set_payload
        self.advance = self.loop.advance
        self.loop.start(q)

    def take(self, reference: Reference) -> None:
        self.loop.command(reference.time_s, (reference.q, reference.v, reference.a))


class TorqueMachine:
    """An arm whose joints take efforts and are measured, held at ``q`` (n,) [rad or m]; ``plant`` as for ``TorquePlant``."""

    lead_s = LEAD_S

    def __init__(self, arm: Equipment, q: Array, **plant: Any):
        assert arm.torque is not None and arm.torque.bandwidth is not None
        self.plant = TorquePlant(arm.description, q=q, **plant)
        self.loop = TorqueLoop(RigidBody(arm.description), arm.torque.bandwidth)

    def take(self, reference: Reference) -> None:
        self.loop.references.push(reference.time_s, LawReference(reference.q, reference.v, reference.a))

    def advance(self) -> None:
        plant = self.plant
        for _ in range(max(1, round(PERIOD_S / plant.dt))):
            plant.step(self.loop.effort(plant.q, plant.v, plant.time))

    def set_payload(self, mass: float) -> None:
        self.plant.attach(mass)
        self.loop.set_payload(mass, np.zeros(3), self.plant.time)
