"""Dialects of bus servos as data: registers, models, units and faults; what differs between families stands here alone.

Addresses, sizes, signs and units of STS are those of the maker's memory tables ("STS" and "SMS" e-manuals, "SCS" for SCSCL).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Register:
    """Register of ``size`` bytes at ``address``; ``sign``: the bit that makes its value negative, None: it never is."""

    address: int
    size: int = 1
    sign: int | None = None


@dataclass(frozen=True)
class Dialect:
    """Family of servos that have the same registers.

    Attributes:
        name: as it is chosen by.
        models: names of its models by model number.
        registers: by name; a servo that has no such register has no such entry.
        big_endian: the high byte of a register comes first.
        sync_reads: several servos are read by one request.
        steps, turn: position steps, and the angle [rad] that they are.
        coarse_speed: steps per second that a unit of speed is without bit 2 of ``phase``; with it, 1.
        command, feedback: first and last register of what is written, and read, once a cycle.
        faults: by bit of the status byte.
    """

    name: str
    models: Mapping[int, str]
    registers: Mapping[str, Register]
    big_endian: bool
    sync_reads: bool
    steps: int
    turn: float
    coarse_speed: int
    command: tuple[str, str]
    feedback: tuple[str, str]
    faults: Mapping[int, str]

    @property
    def step(self) -> float:
        """Angle of one position step [rad]."""
        return self.turn / self.steps

    def span(self, first: str, last: str) -> tuple[int, int]:
        """Address and size of the block from one register to another."""
        begin, end = self.registers[first], self.registers[last]
        return begin.address, end.address + end.size - begin.address

    def decode(self, name: str, block: bytes, address: int) -> int:
        """Value of a register in a ``block`` of bytes that begins at ``address``."""
        register = self.registers[name]
        offset = register.address - address
        raw = int.from_bytes(block[offset : offset + register.size], "big" if self.big_endian else "little")
        if register.sign is None or not raw >> register.sign & 1:
            return raw
        return -(raw & (1 << register.sign) - 1)

    def encode(self, name: str, value: int) -> bytes:
        """Bytes of a register; an OverflowError where the value does not fit."""
        register = self.registers[name]
        raw = value if register.sign is None or value >= 0 else -value | 1 << register.sign
        if register.sign is not None and abs(value) >> register.sign:
            raise OverflowError(f"{name} {value} does not fit {register.sign} bits")
        return raw.to_bytes(register.size, "big" if self.big_endian else "little")

    def block(self, values: Mapping[str, int]) -> tuple[int, bytes]:
        """Address and bytes of registers that follow one another without a gap."""
        names = sorted(values, key=lambda name: self.registers[name].address)
        return self.registers[names[0]].address, b"".join(self.encode(name, values[name]) for name in names)

    def said(self, error: int) -> str:
        """Faults of a status byte in words; '' where there are none."""
        return ", ".join(self.faults.get(bit, f"fault bit {bit}") for bit in range(8) if error >> bit & 1)


_COMMON = {
    "firmware_major": Register(0),
    "firmware_minor": Register(1),
    "model": Register(3, 2),
    "id": Register(5),
    "baud": Register(6),
    "return_delay": Register(7),
    "status_level": Register(8),
    "position_min": Register(9, 2),
    "position_max": Register(11, 2),
    "temperature_max": Register(13),
    "voltage_max": Register(14),
    "voltage_min": Register(15),
    "torque_max": Register(16, 2),
    "phase": Register(18),
    "unload_mask": Register(19),
    "torque": Register(40),
    "acceleration": Register(41),
    "goal": Register(42, 2, 15),
    "goal_time": Register(44, 2),
    "speed": Register(46, 2, 15),
    "present_position": Register(56, 2, 15),
    "present_speed": Register(58, 2, 15),
    "present_load": Register(60, 2, 10),
    "present_voltage": Register(62),
    "present_temperature": Register(63),
    "present_status": Register(65),
    "moving": Register(66),
}

STS = Dialect(
    "sts",
    {777: "STS3215", 2569: "STS3095", 2825: "STS3250", 11272: "SM8512BL"},
    _COMMON
    | {
        "p_gain": Register(21),
        "d_gain": Register(22),
        "i_gain": Register(23),
        "offset": Register(31, 2, 11),
        "mode": Register(33),
        "protective_torque": Register(34),
        "protection_time": Register(35),
        "overload_torque": Register(36),
        "torque_limit": Register(48, 2),
        "lock": Register(55),
        "present_current": Register(69, 2, 15),
    },
    big_endian=False,
    sync_reads=True,
    steps=4096,
    turn=math.tau,
    coarse_speed=50,
    command=("acceleration", "torque_limit"),
    feedback=("torque", "present_current"),
    faults={0: "voltage", 1: "encoder", 2: "overheated", 3: "over-current", 5: "overload"},
)
"""Feetech STS and SMS (magnetic encoders), and Hiwonder HM servos, which have their registers."""

SCS = Dialect(
    "scs",
    {1284: "SCS0009"},
    _COMMON
    | {"protective_torque": Register(37), "protection_time": Register(38), "overload_torque": Register(39), "lock": Register(48)},
    big_endian=True,
    sync_reads=False,
    steps=1024,
    turn=math.radians(300.0),
    coarse_speed=1,
    command=("acceleration", "speed"),
    feedback=("torque", "moving"),
    faults=STS.faults,
)
"""Feetech SCS (potentiometers): high byte first, no sync read, no torque limit that is not written to EEPROM."""

DIALECTS = {one.name: one for one in (STS, SCS)}

EEPROM_END = 40
"""Addresses below are kept over a loss of power."""

BAUDS = 1_000_000, 500_000, 250_000, 128_000, 115_200, 76_800, 57_600, 38_400
"""Speeds [bit/s] by what a servo's ``baud`` register holds; from the factory 0."""
