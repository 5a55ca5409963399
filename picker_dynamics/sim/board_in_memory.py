"""Board, servos and arm on virtual time, with the wire in memory: as fast as the processor goes, and the same twice.

    link.send -> BoardInMemory.send -> firmware -> pulses -> Plant          the protocol's bytes, as on a cable
    link.poll <- BoardInMemory.read <- telemetry, answers

Virtual time passes in ``run`` and ``sleep``, and where a link waits for an answer; bytes are handed on when they arrive.
The board is the ``Clock`` of all that drives it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from picker_dynamics.errors import LinkError
from picker_dynamics.robot.servo_map import ServoMap

from .plant import Plant
from .simulated_board import SimulatedBoard


class BoardInMemory(SimulatedBoard):
    """Firmware, servos and arm in step, on virtual time: the plant's.  It is the port that a link opens, one at a time.

    Args:
        plant, servos, board: see ``SimulatedBoard``.

    Attributes:
        plugged: whether the cable is; assign False to pull it.
        on_arrival: called when bytes have arrived at the port.
    """

    threaded = False

    def __init__(self, plant: Plant, servos: ServoMap, **board: Any):
        super().__init__(plant, servos, **board)
        self.plugged, self._arrived = True, bytearray()
        self.on_arrival: Callable[[], None] = lambda: None

    # -- clock ---------------------------------------------------------------------------------------------

    def now(self) -> float:
        """Virtual time [s]."""
        return self.time_s

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.run(max(seconds, self.plant.dt))

    def run(self, seconds: float) -> None:
        """Let ``seconds`` of virtual time pass, rounded to the plant's steps."""
        if self._arrived:
            self.on_arrival()
        self.live_until(self.time_s + seconds)

    def _advance_firmware(self) -> None:
        super()._advance_firmware()
        if self._arrived or not self.plugged:
            self.on_arrival()

    # -- port ----------------------------------------------------------------------------------------------

    def open(self, _name: str, _baud: int) -> BoardInMemory:
        """Port of this board, as a link opens it: empty."""
        self._require_plugged()
        self._arrived.clear()
        return self

    def read(self, timeout_s: float) -> bytes:
        """Bytes that have arrived; where there are none, ``timeout_s`` of virtual time passes first."""
        if not self._arrived and timeout_s > 0.0:
            self.run(timeout_s)
        self._require_plugged()
        data = bytes(self._arrived)
        self._arrived.clear()
        return data

    def send(self, data: bytes) -> None:
        """Take bytes from the host, which arrive at once; answers are handed on when time goes on."""
        self._require_plugged()
        self._receive(data, self.time_s)

    def close(self) -> None:
        """Drop what was not read."""
        self._arrived.clear()

    def deliver(self, data: bytes) -> None:
        """Let bytes arrive at the port, if it is plugged."""
        if self.plugged:
            self._arrived += data

    def _require_plugged(self) -> None:
        if not self.plugged:
            raise LinkError("the board in memory is gone, was the cable pulled?")
