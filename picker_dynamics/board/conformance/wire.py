"""Transport of bytes to a board and back, with a clock: an owned board in simulated time, or a serial port in real time."""

from __future__ import annotations

import time
from typing import Any, Protocol

from ..link.port import SerialPort as Port

TICK_US = 500
"""How finely the time of an owned board is cut; bytes arrive with this resolution."""


class Wire(Protocol):
    """Transport to a board, with a clock.

    Attributes:
        name: of the port, for messages.
        exact: time is simulated: nothing is ever late or lost.
        baud: speed [bit/s].
        owner: the simulated board itself (a ``VirtualFirmware``, say), for faults that only its owner can make; None for a real
            one.
    """

    name: str
    exact: bool
    baud: int
    owner: Any

    @property
    def now_us(self) -> int:
        """The host's time [us]; a Python integer that does not wrap around."""

    def send(self, data: bytes) -> None:
        """Hand bytes over."""

    def receive(self, wait_us: int) -> bytes:
        """Bytes that have arrived, waiting at most ``wait_us`` for them."""

    def close(self) -> None:
        """Let go of the board."""


class LockStepWire:
    """A simulated board whose time runs only while somebody waits.

    Args:
        owner: a board with the methods ``advance``, ``receive`` and ``transmit``, as ``VirtualFirmware`` has them.
        baud: speed [bit/s] that the board is made for.
        now_us: the owner's time so far [us].
        tick_us: how finely its time is cut [us].
    """

    name = "the simulated wire"
    exact = True

    def __init__(self, owner: Any, *, baud: int = 500_000, now_us: int = 0, tick_us: int = TICK_US):
        self.owner, self.baud, self._now_us, self._tick_us = owner, baud, now_us, tick_us

    @property
    def now_us(self) -> int:
        """Simulated time [us]."""
        return self._now_us

    def send(self, data: bytes) -> None:
        """The bytes reach the board now, or as fast as its wire carries them."""
        self.owner.receive(data, self._now_us)

    def receive(self, wait_us: int) -> bytes:
        """Let a tick pass, or less where ``wait_us`` is less."""
        self._now_us += min(wait_us, self._tick_us)
        self.owner.advance(self._now_us)
        data: bytes = self.owner.transmit()
        return data

    def close(self) -> None:
        """Close the wire: nothing is held."""


class SerialWire:
    """A serial port: a real board, or a virtual one behind a pseudo-terminal.

    Args:
        name: device, for example ``/dev/ttyUSB0``.
        baud: speed [bit/s].

    Raises:
        LinkError: no such port, no permission, busy.
    """

    exact = False
    owner = None

    def __init__(self, name: str, baud: int):
        self.name, self.baud = name, baud
        self._port = Port(name, baud)

    @property
    def now_us(self) -> int:
        """Monotonic time of this machine [us]."""
        return time.monotonic_ns() // 1000

    def send(self, data: bytes) -> None:
        """Hand ``data`` to the operating system."""
        self._port.send(data)
        self._port.flush()

    def receive(self, wait_us: int) -> bytes:
        """Bytes that have arrived; returns as soon as there are some."""
        self._port.flush()
        return self._port.read(max(0, wait_us) * 1e-6)

    def close(self) -> None:
        """Close the port; DTR stays up, so that the next opening resets no board."""
        self._port.close()
