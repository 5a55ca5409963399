"""Simulated arms under the control loop, on virtual time: the same session, sender, link and bytes as on a robot."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.link import Link
from picker_dynamics.board.session import State
from picker_dynamics.control.state_model import MODEL_STEP_S, ArmStateModel
from picker_dynamics.errors import BoardFaultError
from picker_dynamics.robot.model import Array, DynamicsModel
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.sim.board_in_memory import BoardInMemory
from picker_dynamics.sim.plant import Plant

from .hardware import ServoBoard


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
        self, plant: Plant, servos: ServoMap, model: DynamicsModel, q: Array, setpoint: ArrayLike, clock_drift: float = 0.0
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


class VirtualTime:
    """Clock that a simulation moves on by hand."""

    def __init__(self) -> None:
        self._steps, self._period_s = 0, 0.0

    def now(self) -> float:
        """Virtual time [s]."""
        return self._steps * self._period_s

    def sleep(self, seconds: float) -> None:
        """Nobody waits: time passes in ``run``."""

    def run(self, seconds: float) -> None:
        """Let one period of ``seconds`` pass, the same at each call."""
        self._period_s = seconds
        self._steps += 1
