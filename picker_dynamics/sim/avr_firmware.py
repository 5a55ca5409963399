"""``AvrFirmware``: the real firmware on a simulated Uno, with the interface that owners of a ``VirtualFirmware`` use.

Pulses are what the outputs truly do: the registers of the virtual PCA9685 times its true oscillator.  State, faults, owned
joints and boot id are what the board's telemetry said last.

The simulated Uno from Python: ``firmware/sim/uno.h`` through ctypes, with times in board cycles.

    uno = Uno(library, "picker_firmware.elf")
    uno.run(16_000_000)                     # a second of simulated time
    data, cycles = uno.fetch_bytes()

Nothing here looks at the machine's clock: the same calls give the same answers, to the bit.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from picker_dynamics.board.firmware import toolchain
from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.firmware.header import PCA9685_COUNTS
from picker_dynamics.board.protocol import TIME_MODULUS, BoardState, Fault, FrameDecoder, Reason, Telemetry
from picker_dynamics.errors import ConfigurationError, InputError, MissingDependencyError, PickerError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import ServoMap

from .simulated_board import HOST_TIMEOUT_S, firmware_config

CYCLES_PER_US = 16
ADC_REFERENCE_MV, ADC_COUNTS = 5000, 1023
"""What an analogue input is compared with [mV], and what it reads there."""
CHUNK = 4096
"""Bytes and markers taken at a time."""


class Cause(enum.IntEnum):
    """Cause of a reset of the AVR."""

    POWER_ON = 0
    EXTERNAL = 1
    BROWN_OUT = 2
    WATCHDOG = 3


class UnoCrashedError(PickerError):
    """The simulated AVR has stopped executing: an invalid instruction or address, or asleep for good."""


class Uno:
    """Simulated Uno and the PCA9685 at its I2C bus; each function ``uno_x`` of uno.h is its method ``x``.

    Args:
        library: path of libpicker_uno.so.
        elf: the program.

    Raises:
        InputError: no program in that file.
        MissingDependencyError: the library cannot be loaded.
    """

    FUNCTIONS: ClassVar[dict[str, tuple[Any, ...]]] = {
        "cycle": (c_uint64,),
        "trouble": (c_char_p,),
        "reset": (None, c_int, c_uint64, c_int),
        "started": (c_uint64,),
        "line_speed": (None, c_uint32),
        "chip_oscillator": (None, c_double),
        "chip_connected": (None, c_int),
        "chip_power": (None, c_int),
        "chip_set_register": (None, c_uint8, c_uint8),
        "chip_counts": (c_uint16, c_int),
        "chip_count_us": (c_double,),
        "adc": (None, c_int, c_uint32),
        "free": (None,),
        "_run": (c_int, c_uint64),
        "_send": (None, c_char_p, c_size_t, c_uint64),
        "_fetch": (c_size_t, POINTER(c_uint8), POINTER(c_uint64), c_size_t),
    }
    """Name -> result, arguments after the Uno itself; those with an underscore have methods of their own."""

    def __init__(self, library: str | Path, elf: str | Path):
        self._handle = None
        try:
            self._c = ctypes.CDLL(str(library))
        except OSError as error:
            raise MissingDependencyError(f"the simulated Uno cannot be loaded: {error}", value=str(library)) from error
        self._c.uno_new.restype, why = c_void_p, ctypes.create_string_buffer(300)
        self._handle = self._c.uno_new(str(elf).encode(), why, c_size_t(len(why)))
        if not self._handle:
            raise InputError(why.value.decode(errors="replace"), "elf", str(elf))
        self._values, self._cycles = (c_uint8 * CHUNK)(), (c_uint64 * CHUNK)()

    def __getattr__(self, name: str) -> Any:
        """Function of uno.h, of this Uno."""
        if name not in self.FUNCTIONS:
            raise AttributeError(name)
        function = getattr(self._c, f"uno_{name.lstrip('_')}")
        function.restype, *arguments = self.FUNCTIONS[name]
        function.argtypes = (c_void_p, *arguments)
        setattr(self, name, partial(function, self._handle))
        return getattr(self, name)

    def __del__(self) -> None:
        if self._handle:
            self.free()

    def run(self, until: int) -> None:
        """Let time pass until cycle ``until``.

        Raises:
            UnoCrashedError: the AVR executes nothing any more; the time has passed all the same.
        """
        if self._run(until):
            raise UnoCrashedError(f"the simulated Uno: {self.trouble().decode(errors='replace').strip()}")

    def send(self, data: bytes, at_cycle: int = 0) -> None:
        """Put bytes on the line, from ``at_cycle`` on or when it is free."""
        self._send(bytes(data), len(data), at_cycle)

    def fetch_bytes(self) -> tuple[bytes, list[int]]:
        """Bytes that the Uno sent, and their cycles beside them: up to ``CHUNK`` of them, the rest with the next call."""
        count = self._fetch(self._values, self._cycles, CHUNK)
        return bytes(self._values[:count]), self._cycles[:count]


BYTE_US = 20
"""Time of a byte on the line at 500 000 baud."""
SILENT = Telemetry(0, 0, 0, BoardState.IDLE, 0, 0, 0, 0, 0, 0, 0, 0, Reason.NONE, 0, 0, 0, 0, (), ())
"""Of a board that has not spoken yet."""


class AvrFirmware:
    """The firmware of one board, executed, from the owner's time 0 on.

    Args:
        library: path of libpicker_uno.so.
        elf: the firmware.
        servos: the servo map that it is built for; tells what is connected.
        kind: of the simulated Uno.

    Attributes:
        config: what is compiled in.
        uno: the simulated Uno, for whoever wants to look inside.

    Raises:
        InputError: the ELF has no program in it.
        MissingDependencyError: the library cannot be loaded.
    """

    def __init__(self, library: str | Path, elf: str | Path, servos: ServoMap, *, kind: type[Uno] = Uno):
        self.config, self.servos = compiled_in(servos), servos
        self.uno = kind(library, elf)
        self.uno.line_speed(0)  # as the board's
        self._out = bytearray()
        self._restart()

    def _restart(self) -> None:
        self._decoder = FrameDecoder()
        self._piece, self._first_cycle = b"", 0  # of a frame under way
        self._telemetry = SILENT
        self._offset_us: int | None = None

    # -- what the owner sees -------------------------------------------------------------------------------

    owned = property(lambda self: self._telemetry.owned)
    state = property(lambda self: self._telemetry.state)
    faults = property(lambda self: self._telemetry.faults)
    boot_id = property(lambda self: self._telemetry.boot_id)

    @property
    def pulses_us(self) -> tuple[float | None, ...]:
        """Pulses on the outputs, truly [us]; None where an output is off."""
        count_us = self.uno.chip_count_us()
        return tuple(counts * count_us if counts else None for counts in map(self.uno.chip_counts, self.servos.channels))

    @property
    def live(self) -> int:
        """Joints whose output truly runs."""
        return sum(1 << joint for joint, pulse in enumerate(self.pulses_us) if pulse is not None)

    def board_time_us(self, now_us: int) -> int:
        """Board time [us], modulo 2^32: since the program started, corrected by what telemetry has said of it."""
        since_us = now_us - self.uno.started() // CYCLES_PER_US
        return (now_us - self._offset_us if self._offset_us is not None else since_us) % TIME_MODULUS

    # -- what the owner brings -----------------------------------------------------------------------------

    def advance(self, now_us: int) -> None:
        """Execute until ``now_us``.

        Raises:
            UnoCrashedError: the firmware executes nothing any more.
        """
        self.uno.run(now_us * CYCLES_PER_US)
        self._listen()

    def receive(self, data: bytes, now_us: int) -> None:
        """Put ``data`` on the line at ``now_us``: its last byte arrives when the wire has carried it."""
        self.advance(now_us)
        self.uno.send(data)

    def transmit(self) -> bytes:
        """Bytes that left the board since the last call."""
        data = bytes(self._out)
        self._out.clear()
        return data

    def reboot(self, now_us: int, *, keep_outputs: bool = True, silence_us: int = 0, fault: Fault | None = None) -> None:
        """Reset the Uno.

        Args:
            now_us: the owner's time [us].
            keep_outputs: False takes the supply of a PCA9685 away for that moment too.
            silence_us: time that a boot loader takes [us].
            fault: RESTARTED makes it a brown-out; the board says so itself.
        """
        self.advance(now_us)
        if not keep_outputs:
            self.uno.chip_power(False)
            self.uno.chip_power(True)
        self.uno.reset(Cause.EXTERNAL if fault is None else Cause.BROWN_OUT, silence_us * CYCLES_PER_US, False)
        self._restart()

    def _let_read(self, values: Sequence[int | None]) -> None:
        for servo, value in zip(self.servos.servos, values):
            if servo.feedback_adc is not None and value is not None:
                self.uno.adc(servo.feedback_adc, -(-value * ADC_REFERENCE_MV // ADC_COUNTS))

    feedback = property(None, _let_read, doc="Raw ADC values that the joints' potentiometers read; None where there is none.")

    def set_supply(self, supply_mv: int) -> None:
        """Let the servo supply be so much [mV]; a board that does not measure it takes no notice."""
        if supply := self.servos.supply:
            self.uno.adc(supply.adc, round(supply_mv / supply.divider))

    def set_cause(self, _fault: Fault, present: bool) -> None:
        """Pull or plug the PCA9685's wires: OUTPUT_FAILED."""
        self.uno.chip_connected(not present)

    def _listen(self) -> None:
        """Take what left the board, and read the telemetry in it, frame by frame."""
        while True:
            data, cycles = self.uno.fetch_bytes()
            if not data:
                return
            self._out += data
            begin = 0
            while (end := data.find(0, begin) + 1) > 0:
                self._read(self._piece + data[begin:end], self._first_cycle if self._piece else cycles[begin])
                self._piece, begin = b"", end
            if begin < len(data):
                self._first_cycle = self._first_cycle if self._piece else cycles[begin]
                self._piece += data[begin:]

    def _read(self, frame: bytes, first_cycle: int) -> None:
        """A frame and when its first byte had left; telemetry was built just before that."""
        for _, message in self._decoder.feed(frame):
            if isinstance(message, Telemetry):
                self._telemetry = message
                offset_us = first_cycle // CYCLES_PER_US - BYTE_US - message.time_us
                self._offset_us = offset_us if self._offset_us is None else min(self._offset_us, offset_us)


def compiled_in(servos: ServoMap) -> FirmwareConfig:
    """Configuration in ``arm_config.h`` for these servos."""
    usual = firmware_config(servos)
    return replace(usual, resolution_ns=round(usual.frame_us * 1e3 / PCA9685_COUNTS))


def avr_firmware(arm: ArmDescription, servos: ServoMap, host_timeout_s: float = HOST_TIMEOUT_S) -> AvrFirmware:
    """The firmware for these servos, compiled where that is due, and switched on.

    Raises:
        ConfigurationError: a time-out [s] that is not compiled in.
        MissingDependencyError: what the build needs is not installed; names the packages.
        BuildError: it does not compile.
    """
    if host_timeout_s != HOST_TIMEOUT_S:
        text = f"host_timeout is {host_timeout_s:g} s, the firmware has {HOST_TIMEOUT_S:g} s compiled in"
        raise ConfigurationError(text, "host_timeout", host_timeout_s, HOST_TIMEOUT_S)
    return AvrFirmware(toolchain.library("sim"), toolchain.build(servos, arm), servos)
