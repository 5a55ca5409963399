"""A real arm on servos under the control loop: serial port, session, compensation and execution, put together."""

from __future__ import annotations

from picker_dynamics.board.clock import SYSTEM_CLOCK
from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.link import BAUD, Link
from picker_dynamics.control.state_model import MODEL_STEP_S, ArmStateModel
from picker_dynamics.dynamics import cross_check
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.execution.execution import Execution, Limits, Timing
from picker_dynamics.execution.worker import Worker
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap

from .controller import Controller, ModelOf
from .laws import ServoLaw, servo_law
from .servo_board import ServoBoard

CONNECT_S = 3.0
"""How long a board is looked for [s]; an Uno that was reset by the opening of its port speaks after one."""


class Robot:
    """An arm behind a serial port, connected; nothing is enabled.

    Args:
        description, servos: the arm.
        port, baud: where its board is.
        limits: of its motions.
        model_of: the arm with a payload, for plans and for the modelled state.
        compensation: mode: none, gravity or full.
        rate_hz: of the control loop.

    Raises:
        CrossCheckError: the hand-written model and Pinocchio disagree about the URDF.
        LinkError, VersionError, BoardFaultError: no board, or another one than the servo map's.
    """

    def __init__(
        self,
        description: ArmDescription,
        servos: ServoMap,
        port: str,
        limits: Limits,
        model_of: ModelOf,
        *,
        compensation: str = "full",
        baud: int = BAUD,
        rate_hz: float = 100.0,
    ):
        self.clock, believed = SYSTEM_CLOCK, model_of(0.0, (0.0, 0.0, 0.0))
        model = RigidBody(description, servos.armature)
        cross_check.compare(believed, model, description.lower, description.upper, description.velocity).require()
        link = Link(port, baud=baud, joint_names=description.joint_names)
        state_model = ArmStateModel(believed, servos.model, servos.rest, MODEL_STEP_S, description.position_units)
        self.session = HardwareSession(link, servos, state_model)
        self._worker = Worker()
        execution = Execution(description, limits, Timing(rate_hz), beside=self._worker)
        law = ServoLaw(servo_law(model, servos, compensation))
        self.controller = Controller(ServoBoard(self.session), law, execution, model_of)
        try:
            self.connect()
        except BaseException:
            self.close()
            raise

    def connect(self) -> None:
        """Open the port and shake hands.

        Raises:
            LinkError, VersionError, BoardFaultError: see ``HardwareSession.connect``.
        """
        self.session.cancelled.clear()
        self.session.connect(give_up_s=CONNECT_S)

    def close(self) -> None:
        """Close the port; the board holds what it has."""
        self._worker.close()
        self.session.disconnect()
