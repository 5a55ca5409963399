"""Logs of one servo that moves a pendulum: goal and position along time.

CSV, with units in the names of the columns:

    time_s, goal_rad, position_rad                              or goal_deg, position_deg
    mass_kg, length_m, rod_mass_kg                              of the pendulum, constant, where not given otherwise
    voltage_v, enabled, gain                                    where known: supply, 1 or 0, the position controller's P gain

What was recorded while the servo was relaxed (``enabled`` 0) is left out: it has no spring then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.model import GRAVITY

from . import table
from .samples import SLIPPED, require_times

LEAST_MOTION = 0.05
"""Way of a servo [rad] that counts as one."""

VOLTAGE = 2.0, 60.0
"""What supplies of servos are between [V]."""

PIECE_S, PIECE_SAMPLES = 20.0, 10
"""Longest stretch that is simulated in one go [s], and the least that is one: from there on it starts anew as measured."""

GAP_S = 0.5
"""Where no sample is for so long [s], it starts anew too."""


@dataclass(frozen=True, eq=False)
class ServoLog:
    """Recording of one servo.

    Attributes:
        source: for messages.
        t, goal, q: (k,) [s, rad, rad], what the servo was told and what it measured; the pendulum hangs down at 0.
        enabled: (k,) bool.
        voltage: (k,) [V]; 0: not measured.
        mass, length, rod_mass: of the pendulum [kg, m, kg]: a point mass at the end of a uniform rod.
        gain: P gain, in any unit: stiffness goes in proportion to it.
    """

    source: str
    t: np.ndarray
    goal: np.ndarray
    q: np.ndarray
    enabled: np.ndarray
    voltage: np.ndarray
    mass: float
    length: float
    rod_mass: float = 0.0
    gain: float = 1.0

    @property
    def inertia(self) -> float:
        """Inertia of the pendulum about the output [kg·m²]."""
        return (self.mass + self.rod_mass / 3.0) * self.length**2

    @property
    def moment(self) -> float:
        """Torque [N·m] of the pendulum held out level."""
        return (self.mass + 0.5 * self.rod_mass) * GRAVITY * self.length

    def pieces(self) -> list[ServoLog]:
        """Stretches of it in which the servo was powered and nothing is missing, none longer than ``PIECE_S``."""
        turn = np.floor((self.t - self.t[0]) / PIECE_S)
        ends = (np.diff(self.enabled) != 0) | (np.diff(self.t) > GAP_S) | (np.diff(turn) != 0)
        stretches = np.split(np.arange(len(self.t)), np.flatnonzero(ends) + 1)
        kept = [one for one in stretches if len(one) >= PIECE_SAMPLES and self.enabled[one[0]]]
        names = "t", "goal", "q", "enabled", "voltage"
        return [replace(self, **{name: getattr(self, name)[one] for name in names}) for one in kept]


def read_csv(path: str | Path, **pendulum: float | None) -> ServoLog:
    """Read a log and check it.

    Args:
        pendulum: ``mass_kg``, ``length_m``, ``rod_mass_kg`` where columns are not to count.

    Raises:
        InputError: no such file, columns that are missing, values that cannot be.
    """
    found = table.read(path)
    t, goal, q = (
        table.column(found, units)
        for units in ({"time_s": 1.0}, *({f"{name}_rad": 1.0, f"{name}_deg": math.radians(1.0)} for name in ("goal", "position")))
    )
    constants = {}
    for name, usual in (("mass_kg", 0.0), ("length_m", 0.0), ("rod_mass_kg", 0.0), ("gain", 1.0)):
        value = pendulum.get(name)
        constants[name] = found.get(name, np.array([usual]))[:1].sum() if value is None else value
    volts, enabled = (found.get(name, np.full(len(t), usual)) for name, usual in (("voltage_v", 0.0), ("enabled", 1.0)))
    mass, length, rod_mass, gain = map(float, constants.values())
    return checked(ServoLog(str(path), t - t[:1].sum(), goal, q, enabled > 0.5, volts, mass, length, rod_mass, gain))


def checked(log: ServoLog) -> ServoLog:
    """The log, if it can be what it says.

    Raises:
        InputError: times, another unit, a pendulum or supply that cannot be, goal and position against each other.
    """

    def refuse(wrong: object, message: str, subject: str, value: object = None, limit: object = None) -> None:
        refuse_if(wrong, f"{log.source}: {message}", subject, value, limit)

    require_times(log.t, log.source)
    for name, least in (("mass", 1e-9), ("length", 1e-9), ("rod_mass", 0.0), ("gain", 1e-9)):
        value = getattr(log, name)
        option = f" (--{name} or a column)" if value == 0.0 else ""
        refuse(not least <= value < math.inf, f"{name} is {value:g}, must be above 0{option}", name, value, 0.0)
    for name, values in (("goal", log.goal), ("position", log.q)):
        far = float(np.abs(values[log.enabled]).max(initial=0.0))
        refuse(not far <= SLIPPED, f"{name} reaches {far:.1f} rad: in degrees? name it {name}_deg", name, far, SLIPPED)
    low, high = VOLTAGE
    for volts in log.voltage[~((low <= log.voltage) & (log.voltage <= high) | (log.voltage == 0.0))][:1].tolist():
        refuse(True, f"voltage_v is {volts:g}, must be {low:g} to {high:g}", "voltage_v", volts, high)
    with np.errstate(invalid="ignore"):
        against = np.corrcoef(log.goal[log.enabled], log.q[log.enabled])[0, 1] < 0.0
    refuse(against, "goal and position run against each other: one of them has the other sign", "goal")
    return log


def require_both_sides(logs: Sequence[ServoLog]) -> None:
    """Refuse logs in which the powered servo does not move both up and down: friction and spring look alike then."""
    ways = [
        float((s * q - np.minimum.accumulate(s * q)).max()) for s in (1, -1) for log in logs for q in [p.q for p in log.pieces()]
    ]
    half = len(ways) // 2
    least = min(max(ways[:half], default=0.0), max(ways[half:], default=0.0))
    why = (
        f"the servo moves {least:.4f} rad one way, must be {LEAST_MOTION} both ways: from one side friction and spring look alike"
    )
    refuse_if(least < LEAST_MOTION, f"{', '.join(log.source for log in logs)}: {why}", "position", least, LEAST_MOTION)
