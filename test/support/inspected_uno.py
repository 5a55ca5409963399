"""A simulated Uno that can be looked into: its counters, memory and bus, for tests and benchmarks."""

from __future__ import annotations

import ctypes
import enum
from ctypes import POINTER, c_char_p, c_int, c_int32, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, fields
from typing import NamedTuple

from picker_dynamics.errors import InputError
from picker_dynamics.sim.avr_uno import CHUNK, CYCLES_PER_US, Uno, declare

_SIGNATURES = {
    "uno_board_speed": (c_uint32, c_void_p),
    "uno_line_free": (c_uint64, c_void_p),
    "uno_bus": (None, c_void_p, c_int),
    "uno_chip_register": (c_uint8, c_void_p, c_uint8),
    "uno_markers": (c_size_t, c_void_p, POINTER(c_uint8), POINTER(c_uint64), c_size_t),
    "uno_statistics": (None, c_void_p, c_void_p),
    "uno_clear_statistics": (None, c_void_p),
    "uno_symbol": (c_int32, c_void_p, c_char_p),
    "uno_peek": (c_uint8, c_void_p, c_uint16),
    "uno_poke": (None, c_void_p, c_uint16, c_uint8),
    "uno_eeprom": (c_uint8, c_void_p, c_uint16),
}


class Bus(enum.IntEnum):
    """Fault of the I2C bus."""

    FREE = 0
    SDA_HELD = 1  # by a slave in the middle of a byte, until nine clocks have passed
    SDA_SHORT = 2
    SCL_SHORT = 3


@dataclass(frozen=True)
class Statistics:
    """Counters of the simulated Uno, those of uno.h's structure of this name, since power-on or since it was cleared.

    Attributes:
        cycles: that passed while the firmware ran, boot loader left out.
        asleep: of them, in sleep mode.
        longest_blocked: longest time with interrupts off [cycles]; ``blocked_pc`` is the byte address where it began.
        overruns: bytes lost because three were pending.
        noise, deaf: bytes at a speed too different, and bytes that came while the receiver was off.
        stack, static_ram: most bytes of stack used, bytes of .data and .bss.
    """

    cycles: int
    asleep: int
    longest_blocked: int
    blocked_pc: int
    interrupts: int
    bytes_in: int
    bytes_out: int
    overruns: int
    noise: int
    deaf: int
    transmit_lost: int
    resets: int
    watchdog_resets: int
    bad_sleeps: int
    bus_writes: int
    markers_lost: int
    stack: int
    static_ram: int

    @property
    def load(self) -> float:
        """Share of the time that the AVR was awake."""
        return 1.0 - self.asleep / self.cycles if self.cycles else 0.0

    @property
    def longest_blocked_us(self) -> float:
        """Longest time with interrupts off [us]."""
        return self.longest_blocked / CYCLES_PER_US


class _Counts(ctypes.Structure):
    """uno.h's structure: cycles in 64 bits, what is counted in 32."""

    _fields_ = [(one.name, c_uint64 if at < 3 else c_uint32) for at, one in enumerate(fields(Statistics))]


class Stamped(NamedTuple):
    """A byte that left the board, or a marker, and when [cycles]."""

    cycle: int
    value: int


class InspectedUno(Uno):
    """A simulated Uno and its inside; arguments as of ``Uno``."""

    def __init__(self, library, elf):
        super().__init__(library, elf)
        declare(self._c, _SIGNATURES)

    @property
    def board_speed(self) -> int:
        """Speed that the program has set [bit/s]; 0 while its receiver is off."""
        return self._c.uno_board_speed(self._handle)

    @property
    def line_free(self) -> int:
        """Cycle at which everything queued has arrived."""
        return self._c.uno_line_free(self._handle)

    def fetch(self) -> list[Stamped]:
        """Bytes that have left the board, and when their stop bits ended."""
        return self._take(self._c.uno_fetch)

    def bus(self, state: Bus) -> None:
        """Make the I2C bus stick, or free it."""
        self._c.uno_bus(self._handle, state)

    def chip_register(self, address: int) -> int:
        """A register of the chip."""
        return self._c.uno_chip_register(self._handle, address)

    def markers(self) -> list[Stamped]:
        """Values that the program wrote to GPIOR0, and when; the simulator keeps 65536."""
        return self._take(self._c.uno_markers)

    @property
    def statistics(self) -> Statistics:
        """Counts since power-on, or since they were cleared."""
        counts = _Counts()
        self._c.uno_statistics(self._handle, ctypes.byref(counts))
        return Statistics(**{one.name: getattr(counts, one.name) for one in fields(Statistics)})

    def clear_statistics(self) -> None:
        """Count anew from here."""
        self._c.uno_clear_statistics(self._handle)

    def symbol(self, name: str) -> int:
        """RAM address of a variable of the program.

        Raises:
            InputError: the ELF names none such.
        """
        address = self._c.uno_symbol(self._handle, name.encode())
        if address < 0:
            raise InputError(f"the program has no symbol {name}", subject=name)
        return address

    def peek(self, address: int, count: int = 1) -> bytes:
        """Bytes of RAM."""
        return bytes(self._c.uno_peek(self._handle, address + i) for i in range(count))

    def poke(self, address: int, data: bytes) -> None:
        """Change bytes of RAM."""
        for offset, value in enumerate(data):
            self._c.uno_poke(self._handle, address + offset, value)

    def eeprom(self, address: int, count: int = 1) -> bytes:
        """Bytes of EEPROM."""
        return bytes(self._c.uno_eeprom(self._handle, address + i) for i in range(count))

    def _take(self, function) -> list[Stamped]:
        taken: list[Stamped] = []
        while count := function(self._handle, self._values, self._cycles, CHUNK):
            taken += map(Stamped, self._cycles[:count], self._values[:count])
        return taken
