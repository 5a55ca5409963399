"""The board's end of a serial cable: a pseudo-terminal behind a stable name, with the faults of a real one.

A pseudo-terminal has no DTR line; what a USB adapter does with it is derived from what the client does:

* opening raises DTR, and the rising edge resets an Uno (``rose``);
* closing lowers it, unless the client has cleared HUPCL: then it stays up, and the next opening resets nothing.

To see clients come and go, this side keeps no slave descriptor of its own; bytes for nobody are lost, as on a wire.
Any speed is as good as another.  Nothing here ever blocks.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import select
import termios
import tty
from pathlib import Path

from picker_dynamics.errors import LinkError

CFLAG = 2
"""Field of what termios.tcgetattr returns."""


class Wire:
    """Wire that does harm to bytes on their way: ``drop`` and ``corrupt`` are the shares of bytes lost and damaged."""

    def __init__(self, seed: int = 0):
        self.drop = self.corrupt = 0.0
        self._random = random.Random(seed)

    def carry(self, data: bytes) -> bytes:
        """Bytes that arrive of ``data``."""
        if not (self.drop or self.corrupt):
            return data
        kept = [byte for byte in data if self._random.random() >= self.drop]
        return bytes(byte ^ 1 << self._random.randrange(8) if self._random.random() < self.corrupt else byte for byte in kept)


class PtyPort:
    """A pseudo-terminal that clients open under the name ``link``.

    Args:
        link: symbolic link to make; it is removed at the end.
        seed: of the faults that are injected.

    Raises:
        LinkError: the link cannot be made.

    Attributes:
        wire: faults on the way, both directions.
    """

    def __init__(self, link: str | Path, seed: int = 0):
        self.link, self.wire, self._master = Path(link), Wire(seed), -1
        self.plug_in()

    def plug_in(self) -> None:
        """Make the terminal and its link."""
        self._connected = self._dtr = False
        if self.link.is_symlink() and os.readlink(self.link).startswith("/dev/pts/"):
            self.link.unlink()  # left behind by a board that was killed
        self._master, slave = os.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[CFLAG] |= termios.HUPCL
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        tty.setraw(slave, termios.TCSANOW)
        self._name = os.ttyname(slave)
        os.close(slave)
        os.set_blocking(self._master, False)
        self._poll = select.poll()
        self._poll.register(self._master, 0)
        try:
            self.link.symlink_to(self._name)
        except OSError as error:
            os.close(self._master)
            self._master = -1
            why = "something else has that name" if error.errno == errno.EEXIST else error.strerror
            raise LinkError(f"cannot make the port {self.link}: {why}", value=str(self.link)) from error

    def unplug(self) -> None:
        """Pull the cable: clients see the terminal hang up, and its name is gone."""
        if self._master < 0:
            return
        if self.link.is_symlink() and os.readlink(self.link) == self._name:
            self.link.unlink()  # first: who sees the hang-up finds no port
        os.close(self._master)
        self._master = -1
        self._connected = False

    close = unplug

    @property
    def descriptor(self) -> int | None:
        """Descriptor to wait on with select; None while nobody is at the other end (it would be ready all the time)."""
        return self._master if self._connected else None

    def rose(self) -> bool:
        """Look whether clients came or went; True where DTR has risen since the last look."""
        if self._master < 0:
            return False
        connected = not any(event & select.POLLHUP for _, event in self._poll.poll(0))
        if connected == self._connected:
            return False
        self._connected = connected
        if not connected:
            self._dtr = not termios.tcgetattr(self._master)[CFLAG] & termios.HUPCL
            return False
        rising, self._dtr = not self._dtr, True
        return rising

    def read(self) -> bytes:
        """Bytes that have arrived."""
        if not self._connected:
            return b""
        try:
            return self.wire.carry(os.read(self._master, 4096))
        except OSError:  # nothing there, or the client closed its end, which rose() will see
            return b""

    def write(self, data: bytes) -> None:
        """Send bytes; what nobody takes is lost."""
        if data and self._connected:
            with contextlib.suppress(OSError):
                os.write(self._master, self.wire.carry(data))
