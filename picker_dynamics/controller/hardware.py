"""Hardware of an arm as the control loop uses it: what is read of it, and what is written to it, once a cycle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.session import Outputs
from picker_dynamics.board.torque_session import TorqueSession
from picker_dynamics.bus.bus_session import BusSession
from picker_dynamics.errors import InputError
from picker_dynamics.execution.goal_tracking import ArmState
from picker_dynamics.robot.model import Array, DynamicsModel

if TYPE_CHECKING:
    from picker_dynamics.sim.torque_plant import TorquePlant


@dataclass(frozen=True, eq=False)
class Command:
    """Command for one moment.

    Attributes:
        time_s: when the set-point is due, or the time of the state that the effort answers [s].
        effort: (n,) torques that the joints need [N·m or N].
        setpoint: (n,) of position servos [rad or m]; None: the joints take efforts.
        contact: what the arm meets, in words; it has to stop.
    """

    time_s: float
    effort: Array
    setpoint: Array | None = None
    contact: str = ""


class Hardware(Protocol):
    """A kind of hardware: ``ServoBoard``, ``BusServos``, ``SimulatedTorqueArm``."""

    @property
    def session(self) -> Outputs:
        """Its state, latched stops and faults, and the pose from which commands start."""

    @property
    def takes_efforts(self) -> bool:
        """Whether it takes efforts; else it takes set-points."""

    @property
    def measures(self) -> bool:
        """Whether it measures its joints; else their states are modelled."""

    @property
    def source(self) -> float:
        """Share of its nominal voltage that the servos' supply gives without load; 1 if it is not measured."""

    def read(self, now_s: float) -> ArmState | None:
        """Read the hardware; returns the arm's state, None if it is unknown."""

    def write(self, command: Command, now_s: float) -> bool:
        """Send a command; whether it was sent.  Raises a PickerError where it cannot be."""

    def set_model(self, model: DynamicsModel) -> None:
        """Take the arm with another payload.  Raises a PickerError where it cannot be held with that."""


class ServoBoard:
    """Board behind a ``session``; joint states are modelled, as hobby servos give no feedback."""

    takes_efforts = measures = False

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
        return ArmState(now_s - session.unseen_s, session.model.q, session.model.v, delay_s=session.delay_s)

    def write(self, command: Command, now_s: float) -> bool:
        if command.setpoint is None:
            raise InputError("a servo board takes set-points, not efforts", subject="setpoint")
        return self.session.command(command.time_s, command.setpoint, now_s)

    def set_model(self, model: DynamicsModel) -> None:
        self.session.set_model(model)


class BusServos:
    """Servos on a bus behind a ``session``; they take set-points, which act at once, and measure their joints."""

    takes_efforts, measures = False, True

    def __init__(self, session: BusSession):
        self.session = session

    @property
    def source(self) -> float:
        return self.session.measured.supply.source

    def read(self, now_s: float) -> ArmState | None:
        self.session.tick(now_s)
        measured = self.session.measured
        return None if self.session.held is None else ArmState(measured.sample_s, measured.q, measured.v)

    def write(self, command: Command, now_s: float) -> bool:
        if command.setpoint is None:
            raise InputError("bus servos take set-points, not efforts", subject="setpoint")
        if command.contact:
            self.session.halt(command.contact, now_s)
        return self.session.command(command.setpoint, now_s)

    def set_model(self, model: DynamicsModel) -> None:
        """Nothing to do: the servos measure where they are."""


CATCH_UP_S = 0.5
"""After a longer pause of this process the simulation goes on from now [s]."""


class SimulatedTorqueArm:
    """A plant under the drives of ``session``; it lives until the moment at which it is read.

    Args:
        plant: the true arm.
        session: its drives.
        now_s: time of the clock [s] at which the plant is now.
    """

    takes_efforts, measures, source = True, True, 1.0

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
