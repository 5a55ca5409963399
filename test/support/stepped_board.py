"""A board in memory as tests of the session drive it: in steps, with a clock of its own that runs a little fast, and faults."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from arm_fixtures import picker, rigid_body

from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.link import Link
from picker_dynamics.board.protocol import Fault, JointLimits
from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.sim.board_in_memory import BoardInMemory
from picker_dynamics.sim.firmware_core import VirtualFirmware
from picker_dynamics.sim.plant import Plant

STEP_S = 0.005
CLOCK_DRIFT = 1e-3
"""How much faster than the host's the board's clock runs, as a share."""

PLANT_STEP_S = 1e-3


class NoPlant:
    """An arm that is not simulated, only its time: for what the outputs alone decide."""

    dt, time, at_rest, supply, q = PLANT_STEP_S, 0.0, True, 1.0, np.zeros(5)

    def advance(self, _pulses, duration_s: float) -> None:
        self.time += duration_s


@dataclass(frozen=True)
class Frame:
    """The outputs after one servo frame: when, pulses [1/8 us], live joints, and the boot that it belongs to."""

    time_s: float
    pulses: tuple[int, ...]
    live: int
    boot_id: int


class SteppedBoard(BoardInMemory):
    """The board with its cable, and the plant.

    Args:
        servos: of board and plant.
        found: (n,) pose at which outputs run already [rad]; None: all off.
        plant: in place of the picker's.
    """

    def __init__(self, servos, found, plant=None):
        self.servos, self.muted, self.deaf = servos, False, False
        self.frames: list[Frame] = []
        self.links: list[Link] = []
        if plant is None:
            plant = Plant(picker(), servos, q=servos.rest if found is None else found, dt=PLANT_STEP_S, quantise=False)
        super().__init__(plant, servos, found=found, clock_drift=CLOCK_DRIFT)
        self.on_arrival = self._poll

    @property
    def now_s(self) -> float:
        return self.now()

    def session(self) -> HardwareSession:
        """One of its own link, not connected yet."""
        link = SteppedLink(self, joint_names=self.servos.joint_names)
        model = ArmStateModel(rigid_body(), self.servos.model, self.servos.rest)
        return HardwareSession(link, self.servos, model, clock=self)

    def run(self, seconds: float) -> None:
        """Let so much time pass [s]; links do their work meanwhile."""
        for _ in range(max(1, round(seconds / STEP_S))):
            super().run(STEP_S)
            self._note()
            self._poll()

    def stall(self, seconds: float) -> None:
        """Let so much time pass in which the host's process stands still [s]: what arrives waits."""
        links, self.links = self.links, []
        self.run(seconds)
        self.links = links

    def _poll(self) -> None:
        for link in self.links:
            link.poll()

    def _note(self) -> None:
        made = self.firmware.pulses, self.firmware.live, self.firmware.boot_id
        if not self.frames or (self.frames[-1].pulses, self.frames[-1].live, self.frames[-1].boot_id) != made:
            self.frames.append(Frame(self.now_s, *made))

    def send(self, data: bytes) -> None:
        if not self.deaf:
            super().send(data)

    def deliver(self, data: bytes) -> None:
        if not self.muted:
            super().deliver(data)

    # -- faults ------------------------------------------------------------------------------------------------

    def unplug(self) -> None:
        self.plugged = False

    def plug_in(self) -> None:
        self.plugged = True

    def reset(self) -> None:
        """Somebody presses the board's button: its PCA9685 goes on."""
        self.firmware.reboot(self._board_us(self.now_s), silence_us=50_000)

    def swap(self, joints: tuple[JointLimits, ...], **differs: Any) -> None:
        """Somebody plugs in another board, flashed for ``joints``, whose outputs are on the same pulses."""
        config, found_us = replace(self.firmware.config, joints=joints, **differs), self.firmware.pulses_us[: len(joints)]
        self.firmware = VirtualFirmware(config, now_us=self._board_us(self.now_s), boot_id=7, found_us=found_us)

    def touch(self, fault: Fault) -> None:
        """A cause that comes and goes."""
        self.firmware.set_cause(fault, True)
        self.firmware.set_cause(fault, False)


class SteppedLink(Link):
    """The serial link to a stepped board, which polls it."""

    def __init__(self, bench: SteppedBoard, **options):
        super().__init__("stepped", clock=bench, open_port=bench.open, **options)
        bench.links.append(self)


def angles(servos, frames: list[Frame]) -> np.ndarray:
    """(s, n) set-points of the outputs [rad]; NaN where off."""
    pulses = np.array([frame.pulses for frame in frames], dtype=float) / 8.0
    live = np.array([[bool(frame.live >> j & 1) for j in range(servos.n)] for frame in frames])
    found = np.stack([servo.to_angle(pulses[:, j]) for j, servo in enumerate(servos.servos)], axis=-1)
    return np.where(live, found, np.nan)
