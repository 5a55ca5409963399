"""Simulated arm of torque-controlled joints as hardware of the control loop: measured joint states in, efforts out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from picker_dynamics.board.torque_session import TorqueSession
from picker_dynamics.execution.goal_tracking import ArmState
from picker_dynamics.robot.model import DynamicsModel

from .hardware import Command

if TYPE_CHECKING:
    from picker_dynamics.sim.torque_plant import TorquePlant

CATCH_UP_S = 0.5
"""After a longer pause of this process the simulation goes on from now [s]."""


class SimulatedTorqueArm:
    """A plant under the drives of ``session``; it lives until the moment at which it is read.

    Args:
        plant: the true arm.
        session: its drives.
        now_s: time of the clock [s] at which the plant is now.
    """

    takes_efforts, source = True, 1.0

    def __init__(self, plant: TorquePlant, session: TorqueSession, now_s: float):
        self.plant, self.session, self.now_s, self.skipped_s = plant, session, now_s, 0.0

    def advance(self, now_s: float) -> None:
        """Simulate until ``now_s`` [s]."""
        behind_s = now_s - self.now_s
        if behind_s > CATCH_UP_S:
            self.skipped_s += behind_s - CATCH_UP_S
            self.now_s += behind_s - CATCH_UP_S
        plant = self.plant
        for _ in range(int((now_s - self.now_s) / plant.dt + 1e-6)):
            plant.step(self.session.torque(plant.q, plant.v, self.now_s))
            self.now_s += plant.dt

    def read(self, now_s: float) -> ArmState | None:
        self.advance(now_s)
        self.session.tick(self.now_s)
        return ArmState(self.now_s, self.plant.q, self.plant.v, self.plant.torque)

    def write(self, command: Command, now_s: float) -> bool:
        return self.session.command(command.effort, command.time_s)

    def set_model(self, model: DynamicsModel) -> None:
        """Nothing to do: the drives hold by a model without payload."""
