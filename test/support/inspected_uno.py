"""A simulated Uno that can be looked into: its counters, memory and bus, for tests and benchmarks."""

import ctypes
import enum
from ctypes import POINTER, c_char_p, c_int, c_int32, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

from picker_dynamics.board.firmware.header import TIMER_FIRST_PIN, TIMER_RESOLUTION_NS
from picker_dynamics.sim.avr_firmware import CHUNK, CYCLES_PER_US, AvrFirmware, Uno


class Bus(enum.IntEnum):
    """Fault of the I2C bus."""

    FREE = 0
    SDA_HELD = 1  # by a slave in the middle of a byte, until nine clocks have passed
    SDA_SHORT = 2
    SCL_SHORT = 3


class _Counts(ctypes.Structure):
    """uno.h's structure: cycles in 64 bits, what is counted in 32."""

    _fields_ = [(name, c_uint64) for name in ("cycles", "asleep", "longest_blocked")] + [
        (name, c_uint32)
        for name in (
            *("blocked_pc", "interrupts", "bytes_in", "bytes_out", "overruns", "noise", "deaf", "transmit_lost", "resets"),
            *("watchdog_resets", "bad_sleeps", "bus_writes", "markers_lost", "stack", "static_ram"),
        )
    ]


class Stamped(NamedTuple):
    """A byte that left the board, or a marker, and when [cycles]."""

    cycle: int
    value: int


class InspectedUno(Uno):
    """A simulated Uno and its inside; arguments as of ``Uno``."""

    FUNCTIONS = Uno.FUNCTIONS | {
        "board_speed": (c_uint32,),
        "line_free": (c_uint64,),
        "bus": (None, c_int),
        "chip_register": (c_uint8, c_uint8),
        "clear_statistics": (None,),
        "_markers": (c_size_t, POINTER(c_uint8), POINTER(c_uint64), c_size_t),
        "_statistics": (None, c_void_p),
        "_symbol": (c_int32, c_char_p),
        "_peek": (c_uint8, c_uint16),
        "_poke": (None, c_uint16, c_uint8),
        "eeprom": (c_uint8, c_uint16),
        "_pin_pulse": (c_uint32, c_int, POINTER(c_uint64), POINTER(c_uint64)),
    }

    def pin_pulse(self, pin: int) -> tuple[int, int, int]:
        """The last complete pulse on a digital pin, 0 to 13: its number, when it rose and how long it was high [cycles]."""
        rose, width = c_uint64(), c_uint64()
        return self._pin_pulse(pin, ctypes.byref(rose), ctypes.byref(width)), rose.value, width.value

    def fetch(self) -> list[Stamped]:
        """Bytes that have left the board, and when their stop bits ended."""
        return self._take(self._fetch)

    def markers(self) -> list[Stamped]:
        """Values that the program wrote to GPIOR0, and when; the simulator keeps 65536."""
        return self._take(self._markers)

    def _take(self, function) -> list[Stamped]:
        taken: list[Stamped] = []
        while count := function(self._values, self._cycles, CHUNK):
            taken += map(Stamped, self._cycles[:count], self._values[:count])
        return taken

    @property
    def statistics(self) -> SimpleNamespace:
        """Counts since power-on, or since they were cleared; ``load``: share of the time that the AVR was awake."""
        counts = _Counts()
        self._statistics(ctypes.byref(counts))
        found = SimpleNamespace(**{name: getattr(counts, name) for name, _ in counts._fields_})
        found.load = 1.0 - found.asleep / max(found.cycles, 1)
        found.longest_blocked_us = found.longest_blocked / CYCLES_PER_US
        return found

    def symbol(self, name: str) -> int:
        """RAM address of a variable of the program."""
        address = self._symbol(name.encode())
        assert address >= 0, f"the program has no symbol {name}"
        return address

    def peek(self, address: int, count: int = 1) -> bytes:
        """Bytes of RAM."""
        return bytes(self._peek(address + i) for i in range(count))

    def poke(self, address: int, data: bytes) -> None:
        """Change bytes of RAM."""
        for offset, value in enumerate(data):
            self._poke(address + offset, value)


GONE_FRAMES = 2.5
"""A pin that has not risen for so many servo frames is off."""


class TimerFirmware(AvrFirmware):
    """The firmware whose pulses a timer makes at digital pins: they are what is measured there."""

    def __init__(self, *what, **more):
        super().__init__(*what, **more)
        self.config = replace(self.config, resolution_ns=TIMER_RESOLUTION_NS)

    @property
    def pulses_us(self) -> tuple[float | None, ...]:
        """Pulses at the pins [us]; None where one is off."""
        return tuple(self._pin_us(TIMER_FIRST_PIN + channel) for channel in self.servos.channels)

    def _pin_us(self, pin: int) -> float | None:
        number, rose, width = self.uno.pin_pulse(pin)
        gone = self.uno.cycle() - rose > GONE_FRAMES * self.config.frame_us * CYCLES_PER_US
        return None if gone or not number else width / CYCLES_PER_US


def executed(library, elf, servos, backend: str) -> AvrFirmware:
    """The firmware of a back end on an Uno that can be looked into."""
    kind = TimerFirmware if backend == "timer" else AvrFirmware
    return kind(library, elf, servos, kind=InspectedUno)
