"""``VirtualBus``: bus servos and their arm in real time, behind a pseudo-terminal.

Goals stand where this process stands still: of what is missing beyond ``CATCH_UP_S`` the arm's time is left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .bus_in_memory import SERVO_S, BusInMemory
from .real_time import CATCH_UP_S, RealTime

TURN_S = 5e-3
"""After so much of simulated time the port is looked at again [s]."""


class VirtualBus(RealTime):
    """Simulated ``bus`` and its arm, run in real time by a process or a thread; the rest as for ``RealTime``."""

    def __init__(self, bus: BusInMemory, link: str | Path, control: str | Path | None = None, seed: int = 0):
        super().__init__(link, control, seed)
        self.bus, self.plant, self.skipped_s = bus, bus.plant, 0.0

    @property
    def time_s(self) -> float:
        return float(self.plant.time + self.skipped_s)

    @property
    def nominal_v(self) -> float:
        return self.bus.nominal_v

    def _next_look(self) -> float:
        return min(self.time_s + SERVO_S, self.bus.replies_s + self.skipped_s)

    def _tick(self, now_s: float) -> None:
        self.port.rose()
        self.behind_max_s = max(self.behind_max_s, now_s - self._wake_s)
        self.skipped_s += max(now_s - self.time_s - CATCH_UP_S, 0.0)
        while True:  # a host is answered while what was missed is made up
            if data := self.port.read():
                self.bus.send(data)
            self.port.write(self.bus.read(0.0))
            if (left_s := now_s - self.time_s) < 0.5 * self.plant.dt:
                break
            self.bus.run(min(left_s, TURN_S))

    @property
    def commands(self) -> dict[str, Any]:
        """As of all simulations; ``power`` cuts the servos' power (``on`` false), or gives it back."""
        return super().commands | {"power": lambda on: self.bus.power(bool(on))}

    def _truth(self) -> dict[str, Any]:
        live = sum(1 << joint for joint, servo in enumerate(self.bus.servos) if servo.torque)
        said = {servo.dialect.said(servo.get("present_status")) for servo in self.bus.servos}
        return super()._truth() | {
            "pulses_us": self.bus.pulses_us,
            "live": live,
            "owned": live,
            "state": "BUS",
            "faults": sorted(said - {""}),
            "boot_id": 0,
        }
