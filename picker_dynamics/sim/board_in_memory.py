"""Board, servos and arm on virtual time, with the wire in memory: as fast as the processor goes, and the same twice.

    link.send -> MemoryPort -> firmware -> pulses -> Plant          the protocol's bytes, as on a cable
    link.poll <- MemoryPort <- telemetry, answers

Virtual time passes in ``run`` and ``sleep``, and where a link waits for an answer; bytes are handed on when they arrive.
The board is the ``Clock`` of all that drives it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from picker_dynamics.errors import LinkError
from picker_dynamics.robot.servo_map import ServoMap

from .firmware_core import VirtualFirmware
from .plant import Plant
from .virtual_board import Potentiometers, SupplyMeter, firmware_config

MEASURE_S = 5e-3
"""How often potentiometers and supply are measured [s]."""


class MemoryPort:
    """Port that a link opens; what is sent arrives at once."""

    threaded = False

    def __init__(self, board: BoardInMemory):
        self._board, self._arrived = board, bytearray()

    def __bool__(self) -> bool:
        """Whether bytes have arrived that were not read."""
        return bool(self._arrived)

    def read(self, timeout_s: float) -> bytes:
        if not self._arrived and timeout_s > 0.0:
            self._board.run(timeout_s)
        if not self._board.plugged:
            raise LinkError("the board in memory is gone, was the cable pulled?")
        data = bytes(self._arrived)
        self._arrived.clear()
        return data

    def arrive(self, data: bytes) -> None:
        """Take bytes from the board."""
        self._arrived += data

    def send(self, data: bytes) -> None:
        if not self._board.plugged:
            raise LinkError("the board in memory is gone, was the cable pulled?")
        self._board.receive(data)

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        self._board.closed(self)


class BoardInMemory:
    """Firmware, servos and arm in step, on virtual time.

    Args:
        plant: the arm; its time is the clock's.
        servos: the servo map that the firmware is built for.
        found: (n,) set-points on outputs that run from the start [rad]; None: all are off.
        clock_drift: how much faster than the host's the board's clock runs, as a share.

    Attributes:
        plugged: whether the cable is; assign False to pull it.
        on_arrival: called when bytes have arrived at the port.
    """

    def __init__(self, plant: Plant, servos: ServoMap, *, found: Sequence[float] | None = None, clock_drift: float = 0.0):
        self.plant, self.plugged = plant, True
        self.on_arrival: Callable[[], None] = lambda: None
        self._rate, self._port = 1.0 + clock_drift, MemoryPort(self)
        self._meter, self._potentiometers = SupplyMeter(servos), Potentiometers(servos)
        self._measured_s, self._supply_mv = -math.inf, 0
        pulses = None if found is None else servos.to_pulse_us(found).tolist()
        self.firmware = VirtualFirmware(firmware_config(servos), now_us=self._board_us(plant.time), found_us=pulses)

    # -- clock and port ------------------------------------------------------------------------------------

    def now(self) -> float:
        """Virtual time [s]."""
        return self.plant.time

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.run(max(seconds, self.plant.dt))

    def open(self, _name: str, _baud: int) -> MemoryPort:
        """Port of this board, as a link opens it."""
        if not self.plugged:
            raise LinkError("no board in memory: the cable is pulled")
        self._port = MemoryPort(self)
        return self._port

    def closed(self, port: MemoryPort) -> None:
        """Drop what the board says to a port that was closed."""
        if port is self._port:
            self._port = MemoryPort(self)

    # -- time ----------------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let ``seconds`` of virtual time pass, rounded to the plant's steps."""
        plant, firmware = self.plant, self.firmware
        if self._port:
            self.on_arrival()
        end_s = plant.time + seconds - 0.5 * plant.dt
        while plant.time < end_s:
            self._measure()
            self._advance_firmware()
            due_s = min(firmware.due_us * 1e-6 / self._rate, end_s + 0.5 * plant.dt)
            steps = max(1, math.ceil((due_s - plant.time) / plant.dt - 1e-6))
            plant.advance(firmware.pulses_us, steps * plant.dt)
        self._advance_firmware()

    def receive(self, data: bytes) -> None:
        """Take bytes from the host; answers are handed on when time goes on."""
        self.firmware.receive(data, self._board_us(self.plant.time))
        self._transmit()

    def _advance_firmware(self) -> None:
        self.firmware.advance(self._board_us(self.plant.time))
        if self._transmit():
            self.on_arrival()

    def _transmit(self) -> bool:
        data = self.firmware.transmit()
        if data and self.plugged:
            self._port.arrive(data)
        return bool(data)

    def _measure(self) -> None:
        if self.plant.time - self._measured_s < MEASURE_S:
            return
        self._measured_s = self.plant.time
        if self._potentiometers:
            self.firmware.feedback = self._potentiometers.counts(self.plant.q)
        supply_mv = self._meter.reads_mv(self.plant.supply)
        if supply_mv != self._supply_mv:
            self._supply_mv = supply_mv
            self.firmware.set_supply(supply_mv)

    def _board_us(self, time_s: float) -> int:
        return round(time_s * self._rate * 1e6)
