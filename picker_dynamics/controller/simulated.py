"""Simulated arms under the control loop, on virtual time: the same session, sender, link and bytes as on a robot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.link import Link
from picker_dynamics.board.session import State
from picker_dynamics.board.torque_session import TorqueSession
from picker_dynamics.control.state_model import MODEL_STEP_S, ArmStateModel
from picker_dynamics.control.torque_loop import TorqueLoop
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import BoardFaultError
from picker_dynamics.execution.execution import Execution, Limits, Timing
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array, DynamicsModel
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.sim.board_in_memory import BoardInMemory
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.torque_plant import TorquePlant

from .controller import Controller, ModelOf
from .laws import ServoLaw, TorqueLaw, servo_law
from .servo_board import ServoBoard
from .torque_arm import SimulatedTorqueArm

TORQUE_RATE_HZ = 250.0
"""Rate of the loop where joints take efforts: their law is closed over it."""


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


class SimulatedArm:
    """A controller and the simulated arm that it moves, in steps of one control period of virtual time.

    Attributes:
        plant: the truth.
        controller: owns the hardware.
        execution: the controller's.
        clock: virtual time, which passes in ``run``.
    """

    def __init__(self, plant: Plant | TorquePlant, controller: Controller, clock: BoardInMemory | VirtualTime):
        self.plant, self.controller, self.execution, self.clock = plant, controller, controller.execution, clock
        self.period_s = 1.0 / controller.execution.timing.rate_hz

    @property
    def now_s(self) -> float:
        """Virtual time [s]."""
        return self.clock.now()

    def run(self) -> None:
        """Let a control period pass."""
        self.clock.run(self.period_s)


def simulated_servos(
    description: ArmDescription,
    servos: ServoMap,
    limits: Limits,
    model_of: ModelOf,
    q: Array,
    *,
    compensation: str = "full",
    **plant: Any,
) -> SimulatedArm:
    """Arm on servos that is enabled at ``q`` (n,) [rad], compensated; ``plant`` as for ``Plant``.

    Args:
        limits: of its motions.
        model_of: the arm with a payload, for plans and for the modelled state.
        compensation: mode of the compensation.
    """
    arm_itself = Plant(description, servos, **plant)
    compensator = servo_law(RigidBody(description, servos.armature), servos, compensation)
    still = np.zeros(description.n)
    outputs, _ = servo_law(compensator.model, servos, compensation, fade_s=0.0).update(q, still, still, 0.0)
    arm = SimulatedServos(arm_itself, servos, model_of(0.0, (0.0, 0.0, 0.0)), q, outputs)
    controller = Controller(arm.hardware, ServoLaw(compensator), Execution(description, limits), model_of)
    return SimulatedArm(arm_itself, controller, arm.board)


def simulated_efforts(
    description: ArmDescription, bandwidth: float, limits: Limits, model_of: ModelOf, q: Array, **plant: Any
) -> SimulatedArm:
    """Arm whose joints take efforts and are measured, held at ``q`` (n,) [rad or m]; ``plant`` as for ``TorquePlant``."""
    clock, model, true = VirtualTime(), RigidBody(description), TorquePlant(description, q=q, **plant)
    session = TorqueSession(model, description.effort, description.velocity, bandwidth)
    session.activate(at_rest_pose=True)
    hardware = SimulatedTorqueArm(true, session, 0.0)
    execution = Execution(description, limits, Timing(rate_hz=TORQUE_RATE_HZ))
    controller = Controller(hardware, TorqueLaw(TorqueLoop(model, bandwidth)), execution, model_of)
    arm = SimulatedArm(true, controller, clock)
    while not controller.active:  # its drives brake first
        controller.cycle(arm.now_s)
        arm.run()
    return arm
