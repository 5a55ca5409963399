"""A VirtualFirmware in real time on a pseudo-terminal, in a thread, with hands on the cable; no plant."""

import contextlib
import os
import pty
import select
import threading
import time
import tty

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import JointLimits
from picker_dynamics.sim.firmware_core import VirtualFirmware

LIMITS = (JointLimits.from_us(500.0, 2500.0, 4800.0),) * 5
CONFIG = FirmwareConfig(LIMITS)
NAMES = ("base", "shoulder", "elbow", "wrist", "scissor")
ALL = 0b11111
MIDDLE = (12000,) * 5
PATIENCE_S = 20.0  # for what happens within milliseconds on an idle machine


class BoardOnPty(contextlib.AbstractContextManager):
    """A board; replace ``wire_in`` and ``wire_out`` to change or swallow what passes the cable.

    Args: the firmware's config and keyword arguments, and how much faster than the host's its clock runs.

    Attributes:
        time_us: the board's owner's time that the firmware has been brought to.
    """

    def __init__(self, config: FirmwareConfig = CONFIG, *, clock_rate: float = 1.0, **firmware):
        self._ends = self._master, slave = pty.openpty()
        tty.setraw(slave)
        os.set_blocking(self._master, False)
        self.port = os.ttyname(slave)
        self.received = bytearray()
        self.wire_in = self.wire_out = lambda data: data
        self.paused = False
        self.clock_rate, self.lock, self.over, self.time_us = clock_rate, threading.RLock(), threading.Event(), 0
        self._start_s = time.monotonic()
        self.firmware = VirtualFirmware(config, **firmware)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def now_us(self) -> int:
        """The board's owner's time [us]: the host's, at the board's rate."""
        return int((time.monotonic() - self._start_s) * 1e6 * self.clock_rate)

    def reset(self, **options) -> None:
        """Start anew, with the options of ``VirtualFirmware.reboot``."""
        with self.lock:
            self.firmware.reboot(self.time_us, **options)

    def _run(self) -> None:
        while not self.over.is_set():
            readable, _, _ = select.select([self._master], [], [], 0.001)
            if self.paused:
                time.sleep(0.001)
                continue
            data = os.read(self._master, 4096) if readable else b""
            self.received += data
            with self.lock:
                self.time_us = self.now_us()
                self.firmware.receive(self.wire_in(data), self.time_us)
                self.firmware.advance(self.time_us)
                out = self.wire_out(self.firmware.transmit())
            with contextlib.suppress(BlockingIOError):  # nobody reads: the pty is full
                os.write(self._master, out)

    @contextlib.contextmanager
    def deaf(self):
        """What is said to the board meanwhile is lost."""
        with self.lock:
            self.wire_in = lambda data: b""
        yield
        with self.lock:
            self.wire_in = lambda data: data

    def unplug(self) -> None:
        """Pull the cable: the host's end of the terminal hangs up."""
        self.over.set()
        self._thread.join()
        for fd in self._ends:
            with contextlib.suppress(OSError):
                os.close(fd)

    def __exit__(self, *exc_info) -> None:
        if not self.over.is_set():
            self.unplug()


@contextlib.contextmanager
def speaker(say):
    """A pseudo-terminal on which ``say()`` is written every 5 ms; yields the port."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    silent = threading.Event()

    def run():
        while not silent.wait(0.005):
            with contextlib.suppress(BlockingIOError):
                os.write(master, say())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield os.ttyname(slave)
    finally:
        silent.set()
        thread.join()
        os.close(master)
        os.close(slave)
