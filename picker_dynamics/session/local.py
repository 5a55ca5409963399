"""Local session: an arm whose controller runs in this process, simulated on virtual time or real on a serial port."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.controller import parameters
from picker_dynamics.controller.parameters import CONTROLLER, DYNAMICS, HARDWARE
from picker_dynamics.errors import LinkError, PickerError
from picker_dynamics.robot.arm_text import Known
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.servo_map import ServoMap

from .loop_thread import LoopThread
from .report import Report, row
from .running_arm import RunningArm
from .served import STOPS, ServedSession
from .session import Session

if TYPE_CHECKING:
    from picker_dynamics.controller.simulated import VirtualTime
    from picker_dynamics.sim.board_in_memory import BoardInMemory
    from picker_dynamics.sim.bus_in_memory import BusInMemory
    from picker_dynamics.sim.plant import Plant
    from picker_dynamics.sim.torque_plant import TorquePlant

CONNECT_S = 3.0
"""How long a board is looked for [s]; an Uno that was reset by the opening of its port speaks after one."""

GIVES_WAY_S = 1e-4
"""How long an arm whose time passes as fast as it can lets other threads have it after each step [s]."""

TORQUE_RATE_HZ = 250.0
"""Rate of the reference of simulated torque-controlled arms [Hz]: that of their control loop."""


class LocalSession(Session):
    """Session with an ``arm`` of this process; calls may come from any thread, and are made between two cycles."""

    def __init__(self, arm: RunningArm):
        super().__init__()
        self.arm = arm
        report = Report(arm)
        report.listeners.append(self.take)
        self.served = ServedSession(arm, report)

    @property
    def now_s(self) -> float:
        return self.arm.clock.now()

    @abstractmethod
    def step(self) -> None:
        """Let a control period pass."""

    def call(self, name: str, /, **arguments: Any) -> Any:
        try:
            return self.served.carry_out(name, arguments, self.epoch)
        finally:
            self.hear_epoch(self.arm.session.gate.epoch)

    def tell(self, name: str, /, **arguments: Any) -> None:
        with suppress(PickerError):
            self.call(name, **arguments)

    def wait_at_most(self, seconds: float, condition: Callable[[], object]) -> bool:
        ends_s = self.now_s + seconds - 1e-9
        while not (met := condition()):
            self._looked_s = time.monotonic()
            if self.now_s >= ends_s:
                return False
            self.step()
        return bool(met)

    def close(self) -> None:
        self.arm.close()

    def _start_beats(self) -> None:
        """Nothing to start: each cycle has a beat."""

    def subscribe(self, everything: bool) -> None:
        """Nothing to ask for: all states come."""


class SimulatedSession(LocalSession):
    """Session with a simulated arm that is enabled; joint positions are the truth.

    Args:
        arm: the running arm.
        plant: the true one.
        clock: virtual time.
        real_time: no faster than the clock on the wall.
    """

    simulated = True

    def __init__(
        self, arm: RunningArm, plant: Plant | TorquePlant, clock: BoardInMemory | BusInMemory | VirtualTime, real_time: bool
    ):
        super().__init__(arm)
        self.plant, self._virtual, self.real_time, self._due_s = plant, clock, False, time.monotonic()
        if arm.servos is not None:
            arm.session.enable(at_rest_pose=False)
        self.step()  # the drives of torque-controlled joints brake first
        self._begin()
        self.wait_holding()
        self.real_time = real_time

    def step(self) -> None:
        with self.arm.session.turn:
            self.arm.session.cycle()
            self._virtual.run(self.arm.period_s)
            torque, reference = np.array(self.plant.torque), self.arm.session.reference()
            newest = self.now_s, np.array(self.plant.q), None, torque, reference, torque
        self.take("states", [newest])
        self.beat()
        if self.real_time:
            period_s = self.arm.period_s
            self._due_s = max(self._due_s + period_s, time.monotonic() - period_s)
            time.sleep(max(0.0, self._due_s - time.monotonic()))
        elif self.listeners:
            time.sleep(GIVES_WAY_S)

    def next_state(self) -> Array:
        return np.array(self.plant.q)

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Make a call; a payload that is set is on the simulated tool from then on; a stop passes time: the arm brakes."""
        result = super().call(name, **arguments)
        while name in STOPS and self.arm.session.gate.settling:
            self.step()
        if name == "set" and (mass := arguments["values"].get("payload.mass")) is not None:
            with self.arm.session.turn:
                self.plant.attach(mass)
        return result


class OpenedSession(LocalSession):
    """Session with a real arm on a serial port; a thread of this process runs its control loop."""

    def __init__(self, arm: RunningArm):
        super().__init__(arm)
        self._begin()
        self._thread = LoopThread(self._cycle, arm.period_s, arm.clock)
        self.wait(lambda: self._thread.cycles or self._thread.failure, "the control loop does not begin")

    def _cycle(self) -> None:
        self.take("states", [row(self.arm.session.cycle())])
        self.beat()

    def step(self) -> None:
        self.arm.clock.sleep(self.arm.period_s)
        if self._thread.failure is not None:
            raise LinkError(f"the control loop ended: {self._thread.failure}") from self._thread.failure

    def close(self) -> None:
        self._thread.close()
        super().close()


def simulate(
    known: Known,
    compensation: str = "full",
    scene: str | Path | None = None,
    *,
    real_time: bool = False,
    hidden: ServoMap | None = None,
    true: ArmDescription | None = None,
    **plant: Any,
) -> SimulatedSession:
    """Simulate an arm under its controller, enabled at its home pose.

    Args:
        scene: file of what stands about it, or '': collisions are looked at; None: the floor alone.
        hidden, true: the servos and the arm as they truly are; None: as known.
        plant: as for ``Plant``; of torque-controlled arms ``plant_error`` and ``seed``.
    """
    values = _values(compensation, scene)
    if known.servos is None:
        from picker_dynamics.controller.simulated import VirtualTime

        assert known.torque is not None
        values[CONTROLLER] |= {"control": "torque", "rate_hz": TORQUE_RATE_HZ}
        values[CONTROLLER] |= {} if known.torque.tip_speed is None else {"tip_speed_limit": known.torque.tip_speed}
        values[HARDWARE] |= plant
        time_ = VirtualTime()
        arm = RunningArm(parameters.settings(values), time_, known=known, plans_beside=False)
        assert arm.plant is not None
        return SimulatedSession(arm, arm.plant, time_, real_time)
    from picker_dynamics.control.compensation import Compensator
    from picker_dynamics.dynamics.rigid_body import RigidBody
    from picker_dynamics.sim.board_in_memory import BoardInMemory
    from picker_dynamics.sim.plant import Plant

    home, still = np.array(known.servos.home), np.zeros(known.description.n)
    if known.servos.bus:
        from picker_dynamics.sim.bus_in_memory import BusInMemory

        servos = hidden or known.servos
        real = Plant(true or known.description, servos, q=home, **{"support": True, "quantise": False, **plant})
        bus = BusInMemory(real, servos)
        arm = RunningArm(parameters.settings(values), bus, open_port=bus.open, known=known, plans_beside=False)
        arm.connect()
        return SimulatedSession(arm, real, bus, real_time)
    model = RigidBody(known.description, known.servos.armature)
    found, _ = Compensator(model, known.servos, compensation, fade_s=0.0).update(home, still, still, 0.0)
    real = Plant(true or known.description, hidden or known.servos, q=home, **plant)
    board = BoardInMemory(real, known.servos, found=found.tolist())
    arm = RunningArm(parameters.settings(values), board, open_port=board.open, known=known, plans_beside=False)
    assert isinstance(arm.outputs, HardwareSession)
    board.on_arrival = arm.outputs.link.poll
    arm.connect()
    return SimulatedSession(arm, real, board, real_time)


def open_port(known: Known, port: str, compensation: str, scene: str | Path | None, rate_hz: float) -> OpenedSession:
    """Connect to the board on a serial port; nothing is enabled.

    Args:
        scene: as for ``simulate``.
        rate_hz: of the control loop.

    Raises:
        LinkError, VersionError, BoardFaultError: no board, or another one than the servo map's.
    """
    values = _values(compensation, scene)
    values[CONTROLLER]["rate_hz"], values[HARDWARE]["port"] = rate_hz, port
    arm = RunningArm(parameters.settings(values), known=known)
    try:
        arm.connect(CONNECT_S)
    except BaseException:
        arm.close()
        raise
    return OpenedSession(arm)


def _values(compensation: str, scene: str | Path | None) -> dict[str, dict[str, Any]]:
    """Settings of each part that are not the default."""
    around = {"collision.enabled": scene is not None, "collision.scene": str(scene or "")}
    return {CONTROLLER: around, DYNAMICS: {"compensation": compensation}, HARDWARE: {}}
