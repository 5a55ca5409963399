"""The simulated Uno from Python: ``firmware/sim/uno.h`` through ctypes, with times in board cycles.

    uno = Uno(library, "picker_firmware.elf")
    uno.run(16_000_000)                     # a second of simulated time
    data, cycles = uno.fetch_bytes()

Nothing here looks at the machine's clock: the same calls give the same answers, to the bit.
"""

from __future__ import annotations

import ctypes
import enum
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from picker_dynamics.errors import InputError, MissingDependencyError, PickerError

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


class Pulse(NamedTuple):
    """The last complete pulse on a pin: its number, when it rose and how long it was high [cycles]."""

    number: int
    rose: int
    width: int


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
        "_pin_pulse": (c_uint32, c_int, POINTER(c_uint64), POINTER(c_uint64)),
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
            raise InputError(why.value.decode(errors="replace"), subject="elf", value=str(elf))
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

    def pin_pulse(self, pin: int) -> Pulse:
        """The last complete pulse on a digital pin, 0 to 13."""
        rose, width = c_uint64(), c_uint64()
        return Pulse(self._pin_pulse(pin, ctypes.byref(rose), ctypes.byref(width)), rose.value, width.value)
