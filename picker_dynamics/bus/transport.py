"""Transport: registers of servos by ids, address and bytes; a reply that is missing is None, never a number.

It is no library's: with ``rustypot`` 1.13, one reply of a sync read that is missing or corrupt takes those of all servos with it,
and it opens serial ports alone, none in memory and on virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from picker_dynamics.board.clock import SYSTEM_CLOCK, Clock
from picker_dynamics.board.link import Port, SerialPort
from picker_dynamics.errors import LinkError

from . import frames

PATIENCE_S = 0.004
"""How long a reply may take beyond the time that its bytes need on the wire [s]: a USB adapter, a busy computer."""

BITS = 10
"""Of a byte on the wire: start, eight, stop."""


class Reply(NamedTuple):
    """Reply of a servo: its status byte, and what was read."""

    error: int
    data: bytes


class Transport(Protocol):
    """Registers of the servos on one bus.  Methods raise a LinkError where there is no bus any more."""

    def open(self) -> None:
        """Open the bus."""

    def close(self) -> None:
        """Close the bus; servos keep what they have."""

    def sync_read(self, servos: Sequence[int], address: int, size: int) -> list[Reply | None]:
        """Read the same registers of several servos; None for each that did not reply."""

    def sync_write(self, address: int, data: Mapping[int, bytes]) -> None:
        """Write the same registers of several servos, ``data`` by id; nobody confirms it."""

    def read(self, servo: int, address: int, size: int) -> Reply | None:
        """Read registers of one servo."""

    def write(self, servo: int, address: int, data: bytes) -> Reply | None:
        """Write registers of one servo; None where it did not confirm."""


class FeetechBus:
    """Transport of servos that speak the Feetech protocol, behind a serial port.

    Args:
        name, baud: the port and its speed [bit/s].
        sync_reads: the servos know sync read; else they are read one after the other.
        clock: host time.
        open_port: opens the port.
        patience_s: how long a reply may take beyond its time on the wire [s].

    Attributes:
        damaged: damaged frames, and pieces of them, that were dropped.
    """

    def __init__(
        self,
        name: str,
        baud: int,
        sync_reads: bool = True,
        clock: Clock = SYSTEM_CLOCK,
        open_port: Callable[[str, int], Port] = SerialPort,
        patience_s: float = PATIENCE_S,
    ):
        self.name, self.baud, self._sync_reads, self._clock, self._open = name, baud, sync_reads, clock, open_port
        self._patience_s = patience_s
        self._port: Port | None = None
        self.damaged = 0

    def open(self) -> None:
        self.close()
        self._port = self._open(self.name, self.baud)

    def close(self) -> None:
        port, self._port = self._port, None
        if port is not None:
            port.close()

    def sync_read(self, servos: Sequence[int], address: int, size: int) -> list[Reply | None]:
        if not self._sync_reads:
            return [self.read(servo, address, size) for servo in servos]
        return self._ask(frames.sync_read(servos, address, size), servos, size)

    def sync_write(self, address: int, data: Mapping[int, bytes]) -> None:
        self._opened().send(frames.sync_write(address, data))

    def read(self, servo: int, address: int, size: int) -> Reply | None:
        return self._ask(frames.read(servo, address, size), [servo], size)[0]

    def write(self, servo: int, address: int, data: bytes) -> Reply | None:
        return self._ask(frames.write(servo, address, data), [servo], 0)[0]

    def _opened(self) -> Port:
        port = self._port
        if port is None:
            raise LinkError(f"{self.name} is not open")
        return port

    def _ask(self, request: bytes, servos: Sequence[int], size: int) -> list[Reply | None]:
        """Send a request and collect replies of ``servos`` with ``size`` bytes; late ones of an earlier request are dropped."""
        port, buffer = self._opened(), bytearray()
        while port.read(0.0):
            pass
        on_wire = len(request) + len(servos) * (size + frames.OVERHEAD)
        until_s = self._clock.now() + on_wire * BITS / self.baud + self._patience_s
        port.send(request)
        replies: dict[int, Reply] = {}
        while len(replies) < len(servos):
            left_s = until_s - self._clock.now()
            data = port.read(max(left_s, 0.0))  # a host that was late finds what has come meanwhile
            if not data and left_s <= 0.0:
                break
            buffer += data
            whole, damaged = frames.take(buffer, size)
            self.damaged += damaged
            replies |= {one.id: Reply(one.code, one.data) for one in whole if one.id in servos}
        self.damaged += bool(buffer)
        return [replies.get(servo) for servo in servos]
