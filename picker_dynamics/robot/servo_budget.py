"""Estimate of the servos' currents and temperatures from the torque that the model says they give.

Hobby servos report neither, and both break arms: a servo that holds a berry for minutes burns, and five that start
together pull a small supply down.  Per servo, with the share of its motor's stall torque s = |tau_m| / tau_ms:

    i  = i_idle + (i_stall - i_idle) s                    current [A]; over all servos: what the supply has to give
    T' = (T_ambient + r s^2 - T) / t_th                   temperature of the motor [deg C]: i^2 heats, the case cools

with r the rise in the long run at stall and t_th the time constant, from the servo map, which says what of it is assumed.
Estimates start at ambient temperature: the time before is unknown.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from picker_dynamics.errors import refuse_if

from .model import Array
from .servo_map import Electric, ServoMap

UNKNOWN = Electric(stall_a=0.0, idle_a=0.0, stall_rise_k=0.0, thermal_s=1.0)
WARN_SHARE = 0.8
"""Of the way from ambient temperature to the limit: from here on it is said."""


class Temperature(NamedTuple):
    """What is to be said of the warmest servo's estimated temperature; ``too_hot`` where it is at the limit."""

    text: str
    too_hot: bool


class ServoBudget:
    """Estimated currents and temperatures of a map's servos; one without electric figures counts as drawing and warming nothing.

    Args:
        servos: the servo map.
        ambient_c: temperature around the servos [deg C].
        limit_c: temperature that no motor should reach [deg C].
    """

    def __init__(self, servos: ServoMap, *, ambient_c: float = 25.0, limit_c: float = 75.0):
        self.servos, self.ambient_c = servos, ambient_c
        self.set_limit(limit_c)
        known = [servo.electric or UNKNOWN for servo in servos.servos]
        self._idle_a, self._more_a = np.array([(one.idle_a, one.stall_a - one.idle_a) for one in known]).T
        self._rise, self._time_s = np.array([(one.stall_rise_k, one.thermal_s) for one in known]).T
        self._per_torque = 1.0 / servos.model.motor_stall
        self.share = np.zeros(servos.n)
        self.celsius = np.full(servos.n, float(ambient_c))
        self.live = np.zeros(servos.n, dtype=np.bool_)
        self._peak_a = 0.0

    def set_limit(self, limit_c: float) -> None:
        """Set the temperature that no motor should reach [deg C]; an InputError where it is not above the surroundings'."""
        ambient = self.ambient_c
        text = f"temperature_limit_c is {limit_c:g} deg C, must be above ambient_c, {ambient:g} deg C"
        refuse_if(not limit_c > ambient, text, "temperature_limit_c", limit_c, ambient)
        self.limit_c = limit_c

    def load(self, torque: Array, live: NDArray[np.bool_]) -> None:
        """Load the servos: from now on their motors give ``torque`` (n,) [N·m], those that are not ``live`` (n,) nothing."""
        self.live = live
        self.share = live * np.abs(torque) * self._per_torque
        self._peak_a = max(self._peak_a, float(self.current_a.sum()))

    def advance(self, dt_s: float) -> None:
        """Let ``dt_s`` pass at the present load."""
        final = self.ambient_c + self._rise * self.share * self.share
        self.celsius += (final - self.celsius) * (1.0 - np.exp(-dt_s / self._time_s))

    @property
    def current_a(self) -> Array:
        """Current of each servo, (n,) [A]."""
        drawn: Array = self.live * (self._idle_a + self._more_a * self.share)
        return drawn

    def take_peak(self) -> tuple[float, str]:
        """Largest sum of the currents [A] since the last call, and what is to be said of it: '' if the supply can do it."""
        peak_a, allowed, self._peak_a = self._peak_a, self.servos.supply_a, float(self.current_a.sum())
        wrong = allowed is not None and peak_a > allowed
        return peak_a, f"the servos draw {peak_a:.1f} A (estimated), the supply gives {allowed:g} A" if wrong else ""

    def temperature(self) -> Temperature | None:
        """Temperature of the warmest servo, as is to be said; None as long as all are cool."""
        worst = int(np.argmax(self.celsius))
        joint, celsius, share = self.servos.joint_names[worst], float(self.celsius[worst]), float(self.share[worst])
        if celsius < self.ambient_c + WARN_SHARE * (self.limit_c - self.ambient_c):
            return None
        final, what, hot = float(self.ambient_c + self._rise[worst] * share**2), "", celsius >= self.limit_c
        if hot:
            what = ": let it rest"
        elif final > self.limit_c:
            left = float(self._time_s[worst]) * math.log((final - celsius) / (final - self.limit_c))
            what = f": there in {left:.0f} s at this load"
        said = (
            f"{joint} is at {celsius:.0f} deg C (estimated), limit {self.limit_c:g}, giving {share:.0%} of its stall torque{what}"
        )
        return Temperature(said, hot)
