"""A board and the arm on it in simulated time, and the real link to it without a thread: everything waits for nobody.

``SteppedBoard.now_s`` is the time of all parts: of the link and of the session (``time.monotonic`` there, see ``clock``), of the
board, whose own clock is a little faster, and of the plant.  Who waits for an answer lets time go on.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from unittest import mock

import numpy as np
from arm_fixtures import picker, rigid_body

from picker_dynamics.board.firmware.config import FirmwareConfig, board_limits
from picker_dynamics.board.hardware_session import HardwareSession
from picker_dynamics.board.link import Link
from picker_dynamics.board.link.connection import PING_PERIOD_S, SILENCE_S
from picker_dynamics.board.protocol import Ack, Fault, Hello, Info, Message
from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.errors import LinkError
from picker_dynamics.sim.firmware_core import VirtualFirmware
from picker_dynamics.sim.plant import Plant

STEP_S = 0.005
CLOCK_RATE = 1.001
"""The board's clock against the host's."""

PLANT_STEP_S = 1e-3


@dataclass(frozen=True)
class Frame:
    """The outputs after one servo frame: when, pulses [1/8 us], live joints, and the boot that it belongs to."""

    time_s: float
    pulses: tuple[int, ...]
    live: int
    boot_id: int


class SteppedBoard:
    """The board with its cable, and the plant.

    Args:
        servos: of board and plant.
        found: (n,) pose at which outputs run already [rad]; None: all off.
    """

    def __init__(self, servos, found):
        self.servos, self.now_s, self.plugged, self.muted = servos, 50.0, True, False
        pulses = None if found is None else [round(8.0 * pulse) / 8.0 for pulse in servos.to_pulse_us(found).tolist()]
        self.config = FirmwareConfig(board_limits(servos))
        self.firmware = VirtualFirmware(self.config, now_us=self._board_us(), boot_id=7, found_us=pulses)
        self.plant = Plant(picker(), servos, q=servos.rest if found is None else found, dt=PLANT_STEP_S, quantise=False)
        self.frames: list[Frame] = []
        self.links: list[SteppedLink] = []
        self.to_board = bytearray()

    def session(self) -> HardwareSession:
        """One of its own link, not connected yet."""
        link = SteppedLink(self, joint_names=self.servos.joint_names)
        return HardwareSession(link, self.servos, ArmStateModel(rigid_body(), self.servos.model, self.servos.rest))

    @contextlib.contextmanager
    def clock(self):
        """Link and session take this time for the machine's."""
        board = "picker_dynamics.board"
        with mock.patch(f"{board}.link.connection.time", self), mock.patch(f"{board}.hardware_session.time", self):
            yield

    def monotonic(self) -> float:
        """As ``time.monotonic``."""
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """As ``time.sleep``: the world goes on."""
        self.run(max(seconds, STEP_S))

    def run(self, seconds: float) -> None:
        """Let so much time pass [s]; the link's thread would do its work meanwhile."""
        for _ in range(round(seconds / STEP_S)):
            self.now_s += STEP_S
            now_us = self._board_us()
            if self.plugged and self.to_board:
                self.firmware.receive(bytes(self.to_board), now_us)
                self.to_board.clear()
            self.firmware.advance(now_us)
            self._note()
            self.plant.advance(self.firmware.pulses_us, STEP_S)
            data = self.firmware.transmit()
            for link in self.links:
                link.work(data if self.plugged and not self.muted else b"")

    def _note(self) -> None:
        made = self.firmware.pulses, self.firmware.live, self.firmware.boot_id
        if not self.frames or (self.frames[-1].pulses, self.frames[-1].live, self.frames[-1].boot_id) != made:
            self.frames.append(Frame(self.now_s, *made))

    def _board_us(self) -> int:
        return round(self.now_s * 1e6 * CLOCK_RATE)

    # -- faults ------------------------------------------------------------------------------------------------

    def unplug(self) -> None:
        self.plugged = False
        self.to_board.clear()

    def plug_in(self) -> None:
        self.plugged = True

    def reset(self) -> None:
        """Somebody presses the board's button: its PCA9685 goes on."""
        self.firmware.reboot(self._board_us(), silence_us=50_000)

    def touch(self, fault: Fault) -> None:
        """A cause that comes and goes."""
        self.firmware.set_cause(fault, True)
        self.firmware.set_cause(fault, False)


class SteppedPort:
    """What a link writes to: the bench's cable."""

    def __init__(self, bench: SteppedBoard):
        self.bench = bench

    def send(self, wire: bytes) -> None:
        if not self.bench.plugged:
            raise LinkError("the cable was pulled")
        self.bench.to_board += wire

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class SteppedLink(Link):
    """The serial link, its thread's work done whenever the bench says so."""

    def __init__(self, bench: SteppedBoard, **options):
        super().__init__("stepped", **options)
        self.bench, self._next_ping_s = bench, 0.0

    def open(self, timeout_s: float = 3.0) -> Info:
        self._forget()
        if not self.bench.plugged:
            raise LinkError("no such port")
        self._port = SteppedPort(self.bench)
        self.bench.links.append(self)
        self._wait_for(lambda: self._heard_s, timeout_s)
        self._info = info = self._greet(timeout_s)
        self._wait_for(lambda: self._telemetry, timeout_s)
        self._counters.connections += 1
        self._meet(info.boot_id)
        self._ready = True
        return info

    def close(self) -> None:
        self._ready, self._port = False, None
        if self in self.bench.links:
            self.bench.links.remove(self)
        self._requests.fail_all(LinkError("closed"))

    def reconnect(self, **_options) -> Info:
        """Once: who pulled the cable has put it back before."""
        self.close()
        return self.open()

    def _greet(self, timeout_s: float) -> Info:
        return self._answer(self._submit(Hello(), timeout_s))

    def request(self, message: Message, timeout_s: float = 0.5) -> Ack | Info:
        return self._answer(self.request_async(message, timeout_s))

    def _answer(self, future):
        while not future.done():
            self.bench.run(STEP_S)
        return future.result()

    def _wait_for(self, word, timeout_s: float) -> None:
        until_s = self.bench.now_s + timeout_s
        while not word():
            if self._lost or self.bench.now_s > until_s:
                raise LinkError(str(self._lost or "silent"))
            self.bench.run(STEP_S)

    def work(self, data: bytes) -> None:
        """What the thread does, once."""
        if self._lost is not None or self._port is None:
            return
        try:
            if data:
                self._take_bytes(data)
            for wire in self._requests.due(self.bench.now_s):
                self._write(wire)
            if self._ready and self.bench.now_s >= self._next_ping_s:
                self._next_ping_s = self.bench.now_s + PING_PERIOD_S
                self._send_ping()
            if self._ready and (not self.bench.plugged or self.bench.now_s - self._heard_s > SILENCE_S):
                raise LinkError("the cable was pulled")
        except LinkError as error:
            self._lose(error)


def angles(servos, frames: list[Frame]) -> np.ndarray:
    """(s, n) set-points of the outputs [rad]; NaN where off."""
    pulses = np.array([frame.pulses for frame in frames], dtype=float) / 8.0
    live = np.array([[bool(frame.live >> j & 1) for j in range(servos.n)] for frame in frames])
    found = np.stack([servo.to_angle(pulses[:, j]) for j, servo in enumerate(servos.servos)], axis=-1)
    return np.where(live, found, np.nan)
