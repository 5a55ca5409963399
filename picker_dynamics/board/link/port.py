"""A serial port as raw bytes: opened without needless resets, never blocking, errors in words."""

from __future__ import annotations

import errno
import os
import select
import sys
import termios
from contextlib import suppress
from typing import Protocol

import serial
from serial.tools import list_ports

from picker_dynamics.errors import LinkError, NoPortError


class Port(Protocol):
    """An open port, as a link uses it.

    Attributes:
        threaded: a thread reads it; else whoever owns the link polls it.
    """

    threaded: bool

    def read(self, timeout_s: float) -> bytes:
        """Bytes that have arrived, waiting up to ``timeout_s`` for the first one; b'' where none has.  Raises a LinkError."""

    def send(self, data: bytes) -> None:
        """Send ``data``; raises a LinkError."""

    def close(self) -> None:
        """Close the port."""


class SerialPort:
    """An open serial port.  One thread reads, callers of :meth:`send` take turns.

    Args:
        name: Device, for example ``/dev/ttyUSB0``.
        baud: Speed [bit/s].

    Raises:
        LinkError: no such port, no permission, busy, or no serial port.
    """

    threaded = True

    def __init__(self, name: str, baud: int):
        self.name = name
        try:
            self._serial = serial.Serial(name, baud, exclusive=True)
        except (OSError, ValueError) as error:  # SerialException is an OSError
            raise _refusal(name, error) from error
        self._keep_line_up()
        if sys.platform.startswith("linux"):
            with suppress(OSError, ValueError):  # one without such a mode
                self._serial.set_low_latency_mode(True)  # else FTDI adapters hold bytes back for 16 ms

    def _keep_line_up(self) -> None:
        """Leave DTR up when the port is closed: the next opening makes no edge, and resets no board."""
        with suppress(termios.error):  # a port without such a line
            attributes = termios.tcgetattr(self._serial.fileno())
            attributes[2] &= ~termios.HUPCL
            termios.tcsetattr(self._serial.fileno(), termios.TCSANOW, attributes)

    def read(self, timeout_s: float) -> bytes:
        """Bytes that have arrived, waiting up to ``timeout_s`` for the first one; b'' where none has.

        Raises:
            LinkError: the cable was pulled.
        """
        try:
            readable, _, _ = select.select([self._serial.fileno()], [], [], timeout_s)
            if not readable:
                return b""
            data = os.read(self._serial.fileno(), 4096)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise self._gone(error) from error
        if not data:
            raise self._gone("end of file")
        return data

    def send(self, data: bytes) -> None:
        """Hand ``data`` to the operating system, which keeps some thousand bytes.

        Raises:
            LinkError: the cable was pulled, or the board takes nothing any more.
        """
        try:
            taken = os.write(self._serial.fileno(), data)
        except BlockingIOError:
            taken = 0
        except OSError as error:
            raise self._gone(error) from error
        if taken < len(data):
            raise LinkError(f"the board on {self.name} takes no data")

    def close(self) -> None:
        """Close the port."""
        self._serial.close()

    def _gone(self, error: OSError | str) -> LinkError:
        return LinkError(f"the board on {self.name} is gone, was the cable pulled? ({error})")


def _refusal(port: str, error: Exception) -> LinkError:
    number = getattr(error, "errno", None)
    if number in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return NoPortError(f"no serial port {port}: is the board plugged in?")
    if number in (errno.EACCES, errno.EPERM):
        return LinkError(f"no permission to open {port}: add yourself to its group (often 'dialout') and log in again")
    if number in (errno.EBUSY, errno.EAGAIN):
        return LinkError(f"{port} is busy: another program has it open")
    return LinkError(f"{port} cannot be used as a serial port: {error}")


def no_word(port: str, baud: int, bytes_seen: int, timeout_s: float) -> str:
    """Reason why there was no valid frame in time, told from the bytes that came instead."""
    if bytes_seen:
        return (
            f"what is on {port} speaks something else: {bytes_seen} bytes at {baud} baud and no valid "
            "frame (wrong port, wrong speed, or other firmware)"
        )
    return f"the board on {port} is silent for {timeout_s:g} s: is it powered, and flashed with the picker's firmware?"


def serial_ports() -> dict[str, str]:
    """The serial ports of this machine, device -> what it says of itself; only those by USB, if there are any: a board is one."""
    found = list_ports.comports()
    by_usb = [port for port in found if port.vid is not None]
    return {port.device: port.description or "" for port in sorted(by_usb or found)}
