"""Bus servo with its registers, which behaves as the makers' tables and users' reports say.

* A write of the goal switches torque on.  A goal beyond its limits is clamped without a word; the register keeps what came.
* With a load beyond ``overload_torque`` for ``protection_time`` torque falls to ``protective_torque``, and the status says so in
  every reply, until a new goal comes, torque is switched off, or power is.
* What is written below address 40 while the lock is on acts, and is lost with the power.
* At power-on torque is off, the goal is 0 and turns are forgotten.
* Voltage and temperature beyond their limits are in the status, and switch torque off where ``unload_mask`` says so.
* Nobody watches the host: the last goal stands.

Position, load, voltage and temperature are what the owner says they are; it asks for ``aim`` and ``most``.
"""

from __future__ import annotations

import math

from picker_dynamics.bus import frames
from picker_dynamics.bus.dialects import EEPROM_END, STS, Dialect
from picker_dynamics.bus.frames import BROADCAST, Frame

MEMORY = 96
"""Registers end before this address."""

FACTORY = {
    "firmware_major": 3,
    "firmware_minor": 10,
    "status_level": 1,
    "temperature_max": 70,
    "torque_max": 1000,
    "unload_mask": 0b101100,
    "phase": 0b1100,
    "p_gain": 32,
    "d_gain": 32,
    "protective_torque": 20,
    "protection_time": 200,
    "overload_torque": 80,
}
"""Of an STS3215 as it comes; SCS have some of them."""

ACCELERATION = 100
"""Steps per second squared that a unit of acceleration is."""


class SimulatedServo:
    """Servo number ``id``, without power.

    Args:
        id: its number.
        volts: nominal voltage [V]: limits are 25 % to either side.
        dialect: its registers.
        kept: registers that are not as in a new one.

    Attributes:
        ticks, speed: where it is, turns included [steps], and how fast it moves [steps/s].
        volts, celsius, load: supply [V], temperature, and duty of the motor as a share.
        powered: whether it has power; see ``power``.
        aim: where its own ramp is [steps].
    """

    def __init__(self, id: int, volts: float, dialect: Dialect = STS, **kept: int):
        self.dialect, self.powered = dialect, False
        self.ticks, self.volts, self.celsius, self.load, self.speed = dialect.steps / 2, volts, 30.0, 0.0, 0.0
        self._kept = bytearray(EEPROM_END)
        self._memory, self._decoded = bytearray(MEMORY), dict[str, int]()
        made = (
            FACTORY
            | {
                "id": id,
                "model": next(iter(dialect.models)),
                "position_max": dialect.steps - 1,
                "voltage_max": round(12.5 * volts),
                "voltage_min": round(7.5 * volts),
            }
            | kept
        )
        for name, value in made.items():
            if name in dialect.registers:
                self.put(name, value)
        self._kept[:] = self._memory[:EEPROM_END]
        self.aim = self.ticks
        self._turns = self._overloaded_s = self._ramp = 0.0
        self._overloaded = False

    # -- registers -----------------------------------------------------------------------------------------

    def get(self, name: str) -> int:
        """Value of a register."""
        if (value := self._decoded.get(name)) is None:
            value = self._decoded[name] = self.dialect.decode(name, bytes(self._memory), 0)
        return value

    def put(self, name: str, value: int) -> None:
        """Set a register, as nobody on the bus can."""
        register = self.dialect.registers[name]
        self._memory[register.address : register.address + register.size] = self.dialect.encode(name, value)
        self._decoded[name] = value

    @property
    def id(self) -> int:
        return self.get("id")

    @property
    def torque(self) -> bool:
        """Whether torque is on."""
        return self.powered and self.get("torque") == 1

    @property
    def most(self) -> float:
        """Torque limit, as a share."""
        limit = 1e-3 * self.get("torque_limit" if "torque_limit" in self.dialect.registers else "torque_max")
        return min(limit, 1e-2 * self.get("protective_torque")) if self._overloaded else limit

    def power(self, on: bool) -> None:
        """Switch its power."""
        if on and not self.powered:
            self._memory, self._decoded = bytearray(MEMORY), {}
            self._memory[:EEPROM_END] = self._kept
            self._turns = math.floor(self.ticks / self.dialect.steps) * self.dialect.steps
            self._overloaded, self._overloaded_s, self._ramp = False, 0.0, 0.0
            self.aim = self.ticks
            self.put("lock", 1)
            if "torque_limit" in self.dialect.registers:
                self.put("torque_limit", self.get("torque_max"))
        self.powered = on

    # -- bus -----------------------------------------------------------------------------------------------

    def answer(self, request: Frame) -> bytes | None:
        """Act on a request that is this servo's; its reply, None where there is none."""
        if not self.powered or request.id not in (self.id, BROADCAST):
            return None
        self._measure()
        data = request.data
        if request.code == frames.SYNC_WRITE and len(data) > 1:
            size = data[1] + 1
            for begin in range(2, len(data), size):
                if data[begin] == self.id:
                    self._write(data[0], data[begin + 1 : begin + size])
            return None
        if request.code == frames.SYNC_READ:
            if not self.dialect.sync_reads or self.id not in data[2:]:
                return None
            return self._reply(bytes(self._memory[data[0] : data[0] + data[1]]))
        if request.code == frames.WRITE:
            self._write(data[0], data[1:])
            return self._reply(b"") if request.id != BROADCAST and self.get("status_level") else None
        if request.code == frames.READ and request.id != BROADCAST:
            return self._reply(bytes(self._memory[data[0] : data[0] + data[1]]))
        return self._reply(b"") if request.code == frames.PING else None

    def _reply(self, data: bytes) -> bytes:
        return frames.encode(Frame(self.id, self.get("present_status"), data))

    def _write(self, address: int, data: bytes) -> None:
        wrote, end = self.dialect.registers, address + len(data)
        read_only = wrote["present_position"].address
        if end > read_only:
            return
        self._memory[address:end] = data
        self._decoded.clear()
        if not self.get("lock"):
            self._kept[:] = self._memory[:EEPROM_END]
        if address <= wrote["goal"].address < end:
            if not self.torque:
                self.aim, self._ramp = self.ticks - self._turns, 0.0
            self.put("torque", 1)
            self._overloaded = False
        if not self.torque:
            self._overloaded, self._overloaded_s = False, 0.0

    # -- time ----------------------------------------------------------------------------------------------

    @property
    def goal(self) -> int:
        """Goal that counts: within the limits, if it has any."""
        lowest, highest = self.get("position_min"), self.get("position_max")
        return min(max(self.get("goal"), lowest), highest) if highest else self.get("goal")

    @property
    def aim_ticks(self) -> float:
        """Where its spring pulls to, turns included [steps]."""
        return self.aim + self._turns

    def advance(self, dt: float) -> None:
        """Let ``dt`` [s] pass: its ramp and its protections."""
        if not self.powered:
            return
        self._follow(dt)
        self._overloaded_s = self._overloaded_s + dt if self.torque and self.load > 1e-2 * self.get("overload_torque") else 0.0
        if self.get("unload_mask") & 1 << 5 and self._overloaded_s > 1e-2 * self.get("protection_time"):
            self._overloaded = True
        voltage = not self.get("voltage_min") <= round(10 * self.volts) <= self.get("voltage_max")
        hot = self.celsius > self.get("temperature_max")
        status = voltage | hot << 2 | self._overloaded << 5
        self.put("present_status", status)
        if status & self.get("unload_mask") & ~(1 << 5):
            self.put("torque", 0)

    def _measure(self) -> None:
        """Put what it measures into its registers."""
        here = round(self.ticks - self._turns)
        measured = {
            "present_position": here if self.get("phase") & 16 else here % self.dialect.steps,
            "present_speed": round(self.speed / self._unit),
            "present_load": round(1e3 * self.load),
            "present_voltage": round(10 * self.volts),
            "present_temperature": round(self.celsius),
            "moving": abs(self.speed) > 1.0,
        }
        for name, value in measured.items():
            self.put(name, int(value))

    @property
    def _unit(self) -> int:
        return 1 if self.get("phase") & 4 else self.dialect.coarse_speed

    def _follow(self, dt: float) -> None:
        """Its own ramp to the goal, with the speed and acceleration that were asked for."""
        if not self.torque:
            self.aim, self._ramp = self.ticks - self._turns, 0.0
            return
        speed, way = float(abs(self.get("speed")) * self._unit), self.goal - self.aim
        if speed == 0.0 and self.get("phase") & 8:
            speed = math.inf
        if acceleration := ACCELERATION * self.get("acceleration"):
            speed = min(speed, math.sqrt(2.0 * acceleration * abs(way)), self._ramp + acceleration * dt)
        self._ramp = min(speed, abs(way) / dt)
        self.aim += math.copysign(self._ramp * dt, way)
