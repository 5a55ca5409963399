"""Board, servos and arm on virtual time, with the wire in memory: as fast as the processor goes, and the same twice.

    link.send -> MemoryPort -> firmware -> pulses -> Plant          the protocol's bytes, as on a cable
    link.poll <- MemoryPort <- telemetry, answers

Virtual time passes in ``run`` and ``sleep``, and where a link waits for an answer; bytes are handed on when they arrive.
The board is the ``Clock`` of all that drives it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from picker_dynamics.errors import LinkError
from picker_dynamics.robot.servo_map import ServoMap

from .plant import Plant
from .simulated_board import SimulatedBoard


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

    def close(self) -> None:
        self._board.closed(self)


class BoardInMemory(SimulatedBoard):
    """Firmware, servos and arm in step, on virtual time: the plant's.

    Args:
        plant, servos, found, clock_drift: see ``SimulatedBoard``.

    Attributes:
        plugged: whether the cable is; assign False to pull it.
        on_arrival: called when bytes have arrived at the port.
    """

    def __init__(self, plant: Plant, servos: ServoMap, *, found: Sequence[float] | None = None, clock_drift: float = 0.0):
        super().__init__(plant, servos, found=found, clock_drift=clock_drift)
        self.plugged, self._port = True, MemoryPort(self)
        self.on_arrival: Callable[[], None] = lambda: None

    # -- clock and port ------------------------------------------------------------------------------------

    def now(self) -> float:
        """Virtual time [s]."""
        return self.time_s

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
        if self._port:
            self.on_arrival()
        self.live_until(self.time_s + seconds)

    def receive(self, data: bytes) -> None:
        """Take bytes from the host; answers are handed on when time goes on."""
        self._receive(data, self.time_s)

    def deliver(self, data: bytes) -> None:
        """Let bytes arrive at the port, if it is plugged."""
        if self.plugged:
            self._port.arrive(data)

    def _advance_firmware(self) -> None:
        super()._advance_firmware()
        if self._port or not self.plugged:
            self.on_arrival()
