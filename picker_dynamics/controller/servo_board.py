"""Servo board as hardware of the control loop: telemetry in, set-points out by the session's sender."""

from __future__ import annotations

from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.errors import InputError
from picker_dynamics.execution.goal_tracking import ArmState
from picker_dynamics.robot.model import DynamicsModel

from .hardware import Command


class ServoBoard:
    """Board behind a ``session``; joint states are modelled, as hobby servos give no feedback."""

    takes_efforts = False

    def __init__(self, session: HardwareSession):
        self.session = session

    @property
    def source(self) -> float:
        return self.session.supply.source

    def read(self, now_s: float) -> ArmState | None:
        session = self.session
        session.tick(now_s)
        if session.held is None:
            return None
        return ArmState(now_s - session.unseen_s, session.model.q, session.model.v)

    def write(self, command: Command, now_s: float) -> bool:
        if command.setpoint is None:
            raise InputError("a servo board takes set-points, not efforts", subject="setpoint")
        return self.session.command(command.time_s, command.setpoint, now_s)

    def set_model(self, model: DynamicsModel) -> None:
        self.session.set_model(model)
