"""The simulated Uno from Python: ``firmware/sim/uno.h`` through ctypes, with times in board cycles.

    uno = Uno(library, "picker_firmware.elf")
    uno.run(16_000_000)                     # a second of simulated time
    data, cycles = uno.fetch_bytes()

Nothing here looks at the machine's clock: the same calls give the same answers, to the bit.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Mapping
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import NamedTuple

from picker_dynamics.errors import InputError, MissingDependencyError, PickerError

CYCLES_PER_US = 16
ADC_REFERENCE_MV, ADC_COUNTS = 5000, 1023
"""What an analogue input is compared with [mV], and what it reads there."""
CHUNK = 4096
"""Bytes and markers taken at a time."""

_SIGNATURES = {
    "uno_new": (c_void_p, c_char_p, c_char_p, c_size_t),
    "uno_free": (None, c_void_p),
    "uno_run": (c_int, c_void_p, c_uint64),
    "uno_cycle": (c_uint64, c_void_p),
    "uno_trouble": (c_char_p, c_void_p),
    "uno_reset": (None, c_void_p, c_int, c_uint64, c_int),
    "uno_started": (c_uint64, c_void_p),
    "uno_line_speed": (None, c_void_p, c_uint32),
    "uno_send": (None, c_void_p, c_char_p, c_size_t, c_uint64),
    "uno_fetch": (c_size_t, c_void_p, POINTER(c_uint8), POINTER(c_uint64), c_size_t),
    "uno_chip_oscillator": (None, c_void_p, c_double),
    "uno_chip_connected": (None, c_void_p, c_int),
    "uno_chip_power": (None, c_void_p, c_int),
    "uno_chip_set_register": (None, c_void_p, c_uint8, c_uint8),
    "uno_chip_counts": (c_uint16, c_void_p, c_int),
    "uno_chip_count_us": (c_double, c_void_p),
    "uno_pin_pulse": (c_uint32, c_void_p, c_int, POINTER(c_uint64), POINTER(c_uint64)),
    "uno_adc": (None, c_void_p, c_int, c_uint32),
}


class Cause(enum.IntEnum):
    """Cause of a reset of the AVR."""

    POWER_ON = 0
    EXTERNAL = 1
    BROWN_OUT = 2
    WATCHDOG = 3


class UnoCrashedError(PickerError):
    """The simulated AVR has stopped executing: an invalid instruction or address, or asleep for good."""


class Pulse(NamedTuple):
    """The last complete pulse on a pin: how many so far, when it rose and how long it was high [cycles]."""

    count: int
    rose: int
    width: int


def load_library(path: str | Path) -> ctypes.CDLL:
    """The simulator's shared library.

    Raises:
        MissingDependencyError: it is not there, or libsimavr is not.
    """
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise MissingDependencyError(f"the simulated Uno cannot be loaded: {error}", value=str(path)) from error
    declare(library, _SIGNATURES)
    return library


def declare(library: ctypes.CDLL, signatures: Mapping[str, tuple]) -> None:
    """Declare functions of the library: name -> result, arguments."""
    for name, (result, *arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


class Uno:
    """Simulated Uno and the PCA9685 at its I2C bus.

    Args:
        library: path of libpicker_uno.so.
        elf: the program.

    Raises:
        InputError: no program in that file.
        MissingDependencyError: the library cannot be loaded.
    """

    def __init__(self, library: str | Path, elf: str | Path):
        self._handle = None
        self._c = load_library(library)
        error = ctypes.create_string_buffer(300)
        self._handle = self._c.uno_new(str(elf).encode(), error, len(error))
        if not self._handle:
            raise InputError(error.value.decode(errors="replace"), subject="elf", value=str(elf))
        self._values = (c_uint8 * CHUNK)()
        self._cycles = (c_uint64 * CHUNK)()

    def close(self) -> None:
        """Free the simulated Uno; nothing else may be called afterwards."""
        if self._handle:
            self._c.uno_free(self._handle)
            self._handle = None

    def __del__(self):
        self.close()

    # --- time ----------------------------------------------------------------------------------------------

    @property
    def cycle(self) -> int:
        """Cycles since power-on."""
        return self._c.uno_cycle(self._handle)

    @property
    def started(self) -> int:
        """Cycle at which the program started last: after the boot loader."""
        return self._c.uno_started(self._handle)

    def run(self, until: int) -> None:
        """Let time pass until cycle ``until``.

        Raises:
            UnoCrashedError: the AVR executes nothing any more; the time has passed all the same.
        """
        if self._c.uno_run(self._handle, until):
            raise UnoCrashedError(f"the simulated Uno: {self._c.uno_trouble(self._handle).decode(errors='replace').strip()}")

    def reset(self, cause: Cause = Cause.EXTERNAL, silence: int = 0, *, hide_cause: bool = False) -> None:
        """Reset the AVR now.

        Args:
            silence: what a boot loader takes before the program starts [cycles].
            hide_cause: it clears MCUSR, as that of a stock Uno does.
        """
        self._c.uno_reset(self._handle, cause, silence, hide_cause)

    # --- serial line -----------------------------------------------------------------------------------------

    def line_speed(self, baud: int) -> None:
        """Speed of the client [bit/s]; 0: whatever the board has set."""
        self._c.uno_line_speed(self._handle, baud)

    def send(self, data: bytes, at_cycle: int = 0) -> None:
        """Put bytes on the line, from ``at_cycle`` on or when it is free."""
        self._c.uno_send(self._handle, bytes(data), len(data), at_cycle)

    def fetch_bytes(self) -> tuple[bytes, list[int]]:
        """Bytes that the Uno sent, and their cycles beside them: up to ``CHUNK`` of them, the rest with the next call."""
        count = self._c.uno_fetch(self._handle, self._values, self._cycles, CHUNK)
        return bytes(self._values[:count]), self._cycles[:count]

    # --- PCA9685 and pins ------------------------------------------------------------------------------------

    def chip_oscillator(self, hertz: float) -> None:
        """The chip's true frequency [Hz]; nominally 25 MHz."""
        self._c.uno_chip_oscillator(self._handle, hertz)

    def chip_connected(self, connected: bool) -> None:
        """Pull or plug the I2C wires; the outputs go on."""
        self._c.uno_chip_connected(self._handle, connected)

    def chip_power(self, on: bool) -> None:
        """Take the chip's supply away (no outputs), or give it back (its reset state)."""
        self._c.uno_chip_power(self._handle, on)

    def set_chip_register(self, address: int, value: int) -> None:
        """Set a register of the chip, as the program finds it; the outputs follow at once."""
        self._c.uno_chip_set_register(self._handle, address, value)

    def chip_counts(self, channel: int) -> int:
        """High time of an output [counts of 4096 a period]; 0 where it is off."""
        return self._c.uno_chip_counts(self._handle, channel)

    @property
    def chip_count_us(self) -> float:
        """True duration of a count [us]."""
        return self._c.uno_chip_count_us(self._handle)

    def pin_pulse(self, pin: int) -> Pulse:
        """The last complete pulse on a digital pin, 0 to 13."""
        rose, width = c_uint64(), c_uint64()
        count = self._c.uno_pin_pulse(self._handle, pin, ctypes.byref(rose), ctypes.byref(width))
        return Pulse(count, rose.value, width.value)

    def adc(self, channel: int, millivolt: int) -> None:
        """Voltage at an analogue input, 0 to 7 [mV]."""
        self._c.uno_adc(self._handle, channel, millivolt)
