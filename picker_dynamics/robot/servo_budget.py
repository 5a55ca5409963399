"""Estimate of the servos' currents and temperatures from the torque that the model says they give.

Hobby servos report neither, and both break arms: a servo that holds a berry for minutes burns, and five that start
together pull a small supply down.  Per servo, with the share of its motor's stall torque s = |tau_m| / tau_ms:

    i  = i_idle + (i_stall - i_idle) s                    current [A]; over all servos: what the supply has to give
    T' = (T_ambient + r s^2 - T) / t_th                   temperature of the motor [deg C]: i^2 heats, the case cools

with r the rise in the long run at stall and t_th the time constant, from the servo map, which says what of it is assumed.
Estimates start at ambient temperature: what was before, nobody knows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from picker_dynamics.errors import InputError

from .model import Array
from .servo_map import ServoMap

WARN_SHARE = 0.8
"""Of the way from ambient temperature to the limit: from here on it is said."""


@dataclass(frozen=True)
class Temperature:
    """Estimated temperature of the warmest servo, as a text and as numbers: ``too_hot`` where it is at the limit."""

    text: str
    joint: str
    celsius: float
    limit: float
    too_hot: bool


class ServoBudget:
    """Estimated currents and temperatures of a map's servos; one without electric figures counts as drawing and warming nothing.

    Args:
        servos: the servo map.
        ambient_c: temperature around the servos [deg C].
        limit_c: temperature that no motor should reach [deg C].
    """

    def __init__(self, servos: ServoMap, *, ambient_c: float = 25.0, limit_c: float = 75.0):
        self.servos = servos
        self.ambient_c, self.limit_c = ambient_c, limit_c
        self.require_limits(ambient_c, limit_c)
        known = [servo.electric for servo in servos.servos]
        self._stall_a, self._idle_a, self._rise, self._time_s = (
            np.array([getattr(one, key) if one else default for one in known])
            for key, default in (("stall_a", 0.0), ("idle_a", 0.0), ("stall_rise_k", 0.0), ("thermal_s", 1.0))
        )
        self._cooling = 1.0 / self._time_s
        self._per_torque = 1.0 / servos.model.motor_stall
        self.share = np.zeros(servos.n)
        self.celsius = np.full(servos.n, float(ambient_c))
        self.live = np.zeros(servos.n, dtype=np.bool_)
        self._peak_a = np.zeros(servos.n)

    @staticmethod
    def require_limits(ambient_c: float, limit_c: float) -> None:
        """Raise an InputError where the limit leaves no room above the surroundings."""
        if not limit_c > ambient_c:
            raise InputError(
                f"temperature_limit_c is {limit_c:g} deg C, must be above ambient_c, {ambient_c:g} deg C",
                "temperature_limit_c",
                limit_c,
                ambient_c,
            )

    def load(self, torque: Array, live: NDArray[np.bool_]) -> None:
        """Load the servos: from now on their motors give ``torque`` (n,) [N·m], those that are not ``live`` (n,) nothing."""
        self.live = live
        self.share = np.where(live, np.abs(torque) * self._per_torque, 0.0)
        if self.current_a.sum() > self._peak_a.sum():
            self._peak_a = self.current_a

    def advance(self, dt_s: float) -> None:
        """Let ``dt_s`` pass at the present load."""
        final = self.ambient_c + self._rise * self.share * self.share
        self.celsius += (final - self.celsius) * (1.0 - np.exp(-dt_s * self._cooling))

    @property
    def current_a(self) -> Array:
        """Current of each servo, (n,) [A]."""
        return np.where(self.live, self._idle_a + (self._stall_a - self._idle_a) * self.share, 0.0)

    def take_peak(self) -> tuple[float, str]:
        """Largest sum of the currents [A] since the last call, and what is to be said of it: '' if the supply can do it."""
        peak, self._peak_a = self._peak_a, self.current_a
        peak_a, allowed = float(peak.sum()), self.servos.supply_a
        if allowed is None or peak_a <= allowed:
            return peak_a, ""
        most = [f"{self.servos.joint_names[i]} {peak[i]:.1f} A" for i in np.argsort(-peak)[:2]]
        return peak_a, f"the servos draw {peak_a:.1f} A (estimated), the supply gives {allowed:g} A: {', '.join(most)}"

    def temperature(self) -> Temperature | None:
        """Temperature of the warmest servo, as is to be said; None as long as all are cool."""
        worst = int(np.argmax(self.celsius))
        joint, celsius, share = self.servos.joint_names[worst], float(self.celsius[worst]), float(self.share[worst])
        if celsius < self.ambient_c + WARN_SHARE * (self.limit_c - self.ambient_c):
            return None
        final, what = float(self.ambient_c + self._rise[worst] * share**2), "let it rest"
        if celsius < self.limit_c:
            what = f"going to {final:.0f} at this load"
            if final > self.limit_c:
                left = float(self._time_s[worst]) * math.log((final - celsius) / (final - self.limit_c))
                what = f"there in {left:.0f} s at this load"
        warm = f"{joint} is at {celsius:.0f} deg C (estimated), limit {self.limit_c:g}"
        said = f"{warm}, giving {share:.0%} of its stall torque: {what}"
        return Temperature(said, joint, celsius, self.limit_c, celsius >= self.limit_c)

    @property
    def assumed(self) -> tuple[str, ...]:
        """``joint.key`` of every figure that is an assumption, and ``supply_a`` where that is one."""
        names = [f"{servo.joint}.{key}" for servo in self.servos.servos if servo.electric for key in servo.electric.assumed]
        return (*names, *(["supply_a"] if self.servos.supply_assumed else []))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Joints of whose servo nothing electric is known."""
        return tuple(servo.joint for servo in self.servos.servos if servo.electric is None)
