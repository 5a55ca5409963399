"""A VirtualFirmware on a cable that can be pulled and put back while the board goes on; no arm.  Every frame is noted."""

import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import Fault
from picker_dynamics.sim.firmware_core import VirtualFirmware
from picker_dynamics.sim.pty_port import PtyPort

TICK_S = 0.002


@dataclass(frozen=True)
class FrameRecord:
    """The outputs after one servo frame: pulses [1/8 us], live joints, and the boot that it belongs to."""

    pulses: tuple[int, ...]
    live: int
    boot_id: int


class BoardOnCable(AbstractContextManager):
    """A board; ``lock`` is held while it works.

    Args:
        port: name under which it appears.
        config: of the firmware.
        boot_silence_s: of the boot loader, after each reset.
        found_us: outputs that run already.
    """

    def __init__(self, port, config: FirmwareConfig, *, boot_silence_s: float = 0.05, found_us=None):
        self.config, self.boot_silence_s = config, boot_silence_s
        self.lock = threading.RLock()
        self.frames: list[FrameRecord] = []
        self.port = PtyPort(port, 0)
        self._start_s = time.monotonic()
        self.firmware = VirtualFirmware(config, boot_id=7, found_us=found_us)
        self._advanced_us = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def now_us(self) -> int:
        return int((time.monotonic() - self._start_s) * 1e6)

    def _run(self) -> None:
        while not self._over.wait(TICK_S):
            with self.lock:
                self.port.rose()  # it looks who is there; this board has a capacitor against resets by DTR
                self._advance()
                data = self.port.read()
                if data:
                    self.firmware.receive(data, self._advanced_us)
                self.port.write(self.firmware.transmit())

    def _advance(self) -> None:
        """Frame by frame, so that none goes by unseen."""
        now_us, firmware = self.now_us(), self.firmware
        while self._advanced_us < now_us:
            self._advanced_us = min(now_us, self._advanced_us + self.config.frame_us // 4)
            firmware.advance(self._advanced_us)
            record = FrameRecord(firmware.pulses, firmware.live, firmware.boot_id)
            if not self.frames or self.frames[-1] != record:
                self.frames.append(record)

    # -- faults --------------------------------------------------------------------------------------------

    def unplug(self) -> None:
        with self.lock:
            self.port.unplug()

    def plug_in(self) -> None:
        with self.lock:
            self.port.plug_in()

    def reset(self, *, keep_outputs: bool = True) -> None:
        with self.lock:
            self.firmware.reboot(self._advanced_us, keep_outputs=keep_outputs, silence_us=int(self.boot_silence_s * 1e6))

    def touch(self, fault: Fault) -> None:
        """A cause that comes and goes: somebody hits the stop switch at the board, a supply dips."""
        with self.lock:
            self.firmware.set_cause(fault, True)
            self.firmware.set_cause(fault, False)

    def __exit__(self, *_exception) -> None:
        self._over.set()
        self._thread.join()
        self.port.close()
