"""A VirtualFirmware on a cable that can be pulled and put back while the board goes on; no arm.  Every frame is noted."""

from dataclasses import dataclass

from board_on_pty import LiveBoard

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import Fault
from picker_dynamics.sim.pty_port import PtyPort

TICK_S = 0.002
BOOT_SILENCE_US = 50_000
"""Of the boot loader, after each reset."""


@dataclass(frozen=True)
class FrameRecord:
    """The outputs after one servo frame: pulses [1/8 us], live joints, and the boot that it belongs to."""

    pulses: tuple[int, ...]
    live: int
    boot_id: int


class BoardOnCable(LiveBoard):
    """A board that looks at its cable every ``TICK_S``.

    Args:
        port: name under which it appears.
        config: of the firmware.
        found_us: outputs that run already.
    """

    def __init__(self, port, config: FirmwareConfig, *, found_us=None):
        self.frames: list[FrameRecord] = []
        self.port = PtyPort(port)
        super().__init__(config, boot_id=7, found_us=found_us)

    def work(self) -> None:
        self.over.wait(TICK_S)
        with self.lock:
            self.port.rose()  # it looks who is there; this board has a capacitor against resets by DTR
            self._advance()
            data = self.port.read()
            if data:
                self.firmware.receive(data, self.time_us)
            self.port.write(self.firmware.transmit())

    def _advance(self) -> None:
        """Frame by frame, so that none goes by unseen."""
        now_us, firmware = self.now_us(), self.firmware
        while self.time_us < now_us:
            self.time_us = min(now_us, self.time_us + firmware.config.frame_us // 4)
            firmware.advance(self.time_us)
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

    def reset(self, **options) -> None:
        super().reset(silence_us=BOOT_SILENCE_US, **options)

    def touch(self, fault: Fault) -> None:
        """A cause that comes and goes: somebody hits the stop switch at the board, a supply dips."""
        with self.lock:
            self.firmware.set_cause(fault, True)
            self.firmware.set_cause(fault, False)

    def __exit__(self, *_exception) -> None:
        self.end()
        self.port.close()
