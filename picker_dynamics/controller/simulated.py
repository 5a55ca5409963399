"""Simulated arms under the control loop, on virtual time: the same session, sender, link and bytes as on a robot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.link import Link
from picker_dynamics.board.session import State
from picker_dynamics.control.compensation import Compensator
from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.errors import BoardFaultError
from picker_dynamics.robot.model import Array, DynamicsModel
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.sim.board_in_memory import BoardInMemory
from picker_dynamics.sim.plant import Plant

from .servo_board import ServoBoard

MODEL_STEP_S = 0.005
"""Of the modelled joint state [s]: within 0.6 mrad of much finer steps for the stiffest servos."""


def servo_law(model: DynamicsModel, servos: ServoMap, mode: str, fade_s: float = 0.5) -> Compensator:
    """Compensator with the range and speed of the map's set-points."""
    return Compensator(
        model,
        servos.model,
        mode,
        fade_s=fade_s,
        setpoint_lower=servos.setpoint_lower,
        setpoint_upper=servos.setpoint_upper,
        setpoint_speed=servos.setpoint_speed,
    )


class SimulatedServos:
    """Arm on servos behind a board in memory, connected and active, as a host finds one whose outputs run.

    Args:
        plant: the true arm; it is put at ``q``.
        servos: the controller's servo map.
        model: the controller's arm.
        q: (n,) pose at the start [rad].
        setpoint: (n,) on the outputs there [rad].
        clock_drift: how much faster than the host's the board's clock runs, as a share.

    Raises:
        LimitError: the pulses do not reach the set-point.
    """

    def __init__(
        self, plant: Plant, servos: ServoMap, model: DynamicsModel, q: Array, setpoint: Sequence[float], clock_drift: float = 0.0
    ):
        plant.reset(q)
        self.plant = plant
        self.board = board = BoardInMemory(plant, servos, found=np.asarray(setpoint).tolist(), clock_drift=clock_drift)
        link = Link("memory", joint_names=servos.joint_names, clock=board, open_port=board.open)
        board.on_arrival = link.poll
        state_model = ArmStateModel(model, servos.model, servos.rest, MODEL_STEP_S)
        self.session = HardwareSession(link, servos, state_model, clock=board)
        self.hardware = ServoBoard(self.session)
        self.session.connect()
        self.session.activate(at_rest_pose=False)
        self.require_active()

    def require_active(self) -> None:
        """Raise a BoardFaultError where the board does not follow commands."""
        if self.session.state is not State.ACTIVE:
            raise BoardFaultError(self.session.problem or self.session.state.value)
