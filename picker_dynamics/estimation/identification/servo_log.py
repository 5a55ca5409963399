"""Logs of one servo with feedback: goal and position along time under a known load, and checks that they can tell something.

CSV, with units in the names of the columns (or a column map, see ``sample_files``):

    time_s, goal_rad, position_rad                              or goal_deg, position_deg
    load_nm                                                     torque that the output bears, positive towards negative angles
    mass_kg, length_m, rod_mass_kg                              or a pendulum instead: a point mass on a rod, constant
    voltage_v, enabled, gain                                    where known: supply, 1 or 0, the position controller's P gain

What was recorded while the servo was relaxed (``enabled`` 0) is left out: it has no spring then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from picker_dynamics.errors import InputError
from picker_dynamics.robot.model import GRAVITY

from .sample_files import read_table
from .samples import SLIPPED, require_times

MAP = "time_s,goal_rad,position_rad,voltage_v"
"""A column map, for messages."""

COLUMNS = (
    *("goal_rad", "goal_deg", "position_rad", "position_deg", "load_nm", "mass_kg", "length_m", "rod_mass_kg"),
    *("voltage_v", "enabled", "gain"),
)

LEAST_MOTION = 0.05
"""Way of a servo [rad] that counts as one."""

OTHER_UNIT = 20.0
"""A goal that moves so many times as far as the position (or so many times less) is in another unit."""

VOLTAGE = (2.0, 60.0)
"""What supplies of servos are between [V]."""

VOLTAGE_OFF = 0.6
"""How far a reading may be from the median, as a share of it: a motor that brakes feeds back."""

PIECE_S, PIECE_SAMPLES = 20.0, 10
"""Longest stretch that is simulated in one go [s], and the least that is one: from there on it starts anew as measured."""

GAP_S = 0.5
"""Where no sample is for so long [s], it starts anew too."""

MOST_S = 600.0
"""Longest that logs may be in all [s]."""

LOAD = (1e-4, 1e4)
"""Largest load of a log [N·m]: of less nothing bends, more no servo bears."""


@dataclass(frozen=True, eq=False)
class ServoLog:
    """Recording of one servo.

    Attributes:
        source: for messages.
        t: (k,) [s], from 0.
        goal: (k,) [rad], what the servo was told.
        q: (k,) [rad], what it measured; a pendulum hangs down at 0.
        torque: (k,) [N·m], the load besides the pendulum, positive towards negative angles.
        mass: of the pendulum [kg], 0: none.  length: [m].  rod_mass: [kg], a uniform rod.
        voltage: (k,) [V], or None.
        enabled: (k,) bool.
        gain: P gain, in any unit: stiffness goes in proportion to it.
        remarks: what a person should know of how it was read.
    """

    source: str
    t: np.ndarray
    goal: np.ndarray
    q: np.ndarray
    torque: np.ndarray
    enabled: np.ndarray
    mass: float = 0.0
    length: float = 0.0
    rod_mass: float = 0.0
    voltage: np.ndarray | None = None
    gain: float = 1.0
    remarks: tuple[str, ...] = ()

    @property
    def inertia(self) -> float:
        """Inertia of the pendulum about the output [kg·m²]."""
        return (self.mass + self.rod_mass / 3.0) * self.length**2

    @property
    def moment(self) -> float:
        """Torque [N·m] of the pendulum held out level."""
        return (self.mass + 0.5 * self.rod_mass) * GRAVITY * self.length

    @property
    def load(self) -> np.ndarray:
        """Load that the servo bears at rest, (k,) [N·m]."""
        return self.torque + self.moment * np.sin(self.q)

    def part(self, which: slice | np.ndarray) -> ServoLog:
        """Part of the log: the samples ``which``."""
        columns = {name: getattr(self, name)[which] for name in ("t", "goal", "q", "torque", "enabled")}
        return replace(self, **columns, voltage=None if self.voltage is None else self.voltage[which])

    def pieces(self) -> list[ServoLog]:
        """Stretches of it in which the servo was powered and nothing is missing, none longer than ``PIECE_S``."""
        turn = np.floor((self.t - self.t[0]) / PIECE_S)
        ends = (np.diff(self.enabled) != 0) | (np.diff(self.t) > GAP_S) | (np.diff(turn) != 0)
        stretches = np.split(np.arange(len(self.t)), np.flatnonzero(ends) + 1)
        kept = (one for one in stretches if len(one) >= PIECE_SAMPLES and self.enabled[one[0]])
        return [self.part(slice(one[0], one[-1] + 1)) for one in kept]


def read_csv(
    path: str | Path,
    column_map: str | None = None,
    *,
    mass: float | None = None,
    length: float | None = None,
    rod_mass: float | None = None,
    down: float = 0.0,
) -> ServoLog:
    """Read a log, as far as it goes, and check it.

    Args:
        column_map: names of its columns in their order, where its first line has none.
        mass, length, rod_mass: of the pendulum [kg, m, kg], where no columns say them.
        down: position at which the pendulum hangs down [rad].

    Raises:
        InputError: no such file, columns that are missing, values that cannot be, a log that tells nothing.
    """
    table = read_table(path, COLUMNS.__contains__, column_map, MAP)
    columns = table.columns

    def refused(message: str, subject: str, value=None) -> InputError:
        return InputError(f"{path}: {message}", subject=subject, value=value)

    def angle(name: str) -> np.ndarray:
        if f"{name}_rad" in columns:
            return columns[f"{name}_rad"] - down
        if f"{name}_deg" in columns:
            return np.radians(columns[f"{name}_deg"]) - down
        has = ", ".join(one for one in table.header if one != "-")
        raise refused(f"no column {name}_rad or {name}_deg; it has {has}: name them in their order, --columns {MAP}", name)

    def constant(name: str, given: float | None) -> float | None:
        if name not in columns:
            return given
        values = columns[name]
        if given is not None:
            raise refused(
                f"column {name}, and --{name.rsplit('_', 1)[0].replace('_', '-')} {given:g} besides: which is it?", name
            )
        if not (values == values[:1]).all():
            raise refused(f"{name} changes along the log, must be constant: one log for each", name)
        return float(values[0]) if len(values) else None

    goal, q, t = angle("goal"), angle("position"), columns["time_s"]
    given = mass, length, rod_mass = constant("mass_kg", mass), constant("length_m", length), constant("rod_mass_kg", rod_mass)
    torque = columns.get("load_nm")
    if torque is None and (mass is None or length is None):
        lacks = "--mass KG" if mass is None else "--length M"
        raise refused(f"no column load_nm, and no pendulum: {lacks} is missing (or a column load_nm)", "load")
    if torque is not None and any(one is not None for one in given):
        raise refused("column load_nm, and a pendulum besides (--mass, --length): which is it?", "load")
    for name, value, above in (("mass_kg", mass, True), ("length_m", length, True), ("rod_mass_kg", rod_mass, False)):
        if value is not None and not (0.0 < value < math.inf or (value == 0.0 and not above)):
            raise refused(f"{name} is {value:g}, must be {'above' if above else 'at least'} 0", name, value)
    gain = constant("gain", None)
    log = ServoLog(
        str(path),
        t - t[0] if len(t) else t,
        goal,
        q,
        np.zeros_like(t) if torque is None else torque,
        columns["enabled"] > 0.5 if "enabled" in columns else np.ones(len(t), dtype=bool),
        mass or 0.0,
        length or 0.0,
        rod_mass or 0.0,
        columns.get("voltage_v"),
        1.0 if gain is None else gain,
        table.remarks,
    )
    return checked(log)


def checked(log: ServoLog) -> ServoLog:
    """The log, if it can be what it says, and tells something.

    Raises:
        InputError: times, values that are not finite, another unit, a supply that cannot be, no motion, no load.
    """

    def refused(message: str, subject: str, value=None, limit=None) -> InputError:
        return InputError(f"{log.source}: {message}", subject=subject, value=value, limit=limit)

    require_times(log.t, log.source)
    for name, values in (("goal", log.goal), ("position", log.q), ("load_nm", log.torque), ("voltage_v", log.voltage)):
        if values is not None and not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise refused(f"{name} is {values[row]} in sample {row}", name, float(values[row]))
    if not (math.isfinite(log.gain) and log.gain > 0.0):
        raise refused(f"gain is {log.gain:g}, must be above 0", "gain", log.gain, 0.0)
    if log.voltage is not None:
        _require_supply(log.voltage, refused)
    pieces = log.pieces()
    if not pieces:
        raise refused("the servo was never enabled (column enabled): nothing to see of its spring", "enabled")
    powered = np.concatenate([one.q for one in pieces])
    far = float(np.abs(powered).max())
    if far > SLIPPED:
        raise refused(f"position reaches {far:.1f} rad: are these degrees? name it position_deg", "position", far, SLIPPED)
    moved = float(np.ptp(powered))
    if moved < LEAST_MOTION:
        raise refused(
            f"no motion: the position changes by {moved:.4f} rad, at least {LEAST_MOTION} are needed; move it up and down",
            "position",
            moved,
            LEAST_MOTION,
        )
    goals = np.concatenate([one.goal for one in pieces])
    ratio = float(np.ptp(goals)) / moved
    if ratio > OTHER_UNIT:
        raise refused(
            f"the goal moves {ratio:.0f} times as far as the position: is it in degrees? name it goal_deg",
            "goal",
            ratio,
            OTHER_UNIT,
        )
    if ratio < 1.0 / OTHER_UNIT:
        raise refused(
            f"the position moves {1.0 / max(ratio, 1e-9):.0f} times as far as the goal: is it in degrees "
            "(position_deg), or was the servo moved by hand?",
            "position",
            ratio,
            1.0 / OTHER_UNIT,
        )
    if np.corrcoef(goals, powered)[0, 1] < 0.0:
        raise refused("goal and position run against each other: one of them has the other sign", "goal")
    largest = float(np.abs(log.load).max())
    if not LOAD[0] <= largest <= LOAD[1]:
        hint = "without a load nothing tells how stiff a servo is" if largest < LOAD[0] else "is it in another unit?"
        raise refused(f"the load is at most {largest:g} N·m: {hint} (load_nm, --mass, --length)", "load", largest, LOAD[0])
    require_short([log])
    return log


def require_short(logs: Sequence[ServoLog]) -> None:
    """Logs that are not too long together.

    Raises:
        InputError: longer than ``MOST_S``.
    """
    long = sum(float(one.t[-1] - one.t[0]) for log in logs for one in log.pieces())
    if long > MOST_S:
        sources = ", ".join(log.source for log in logs)
        raise InputError(
            f"{sources}: {long:.0f} s of a powered servo, at most {MOST_S:.0f} s are taken: cut them, or --hold-out some",
            subject="time",
            value=long,
            limit=MOST_S,
        )


def _require_supply(voltage: np.ndarray, refused) -> None:
    low, high = VOLTAGE
    usual = float(np.median(voltage))
    if not low <= usual <= high:
        hint = next(
            (
                f": {unit} given for volts?"
                for unit, scale in (("tenths", 0.1), ("millivolts", 1e-3))
                if low <= usual * scale <= high
            ),
            "",
        )
        raise refused(f"voltage_v is {usual:g} V, supplies are {low:g} to {high:g} V{hint}", "voltage_v", usual, high)
    off = np.abs(voltage - usual)
    if off.max() > VOLTAGE_OFF * usual:
        row = int(off.argmax())
        raise refused(
            f"voltage_v is {voltage[row]:g} V in sample {row}, {usual:g} V mostly: no supply does that; leave such samples "
            "out, or the column (--columns, -)",
            "voltage_v",
            float(voltage[row]),
            usual,
        )


def require_both_sides(logs: Sequence[ServoLog]) -> None:
    """Logs in which the servo moves both ways.

    Raises:
        InputError: it moves up only, or down only: what friction holds back and what the spring gives look alike then.
    """
    up = down = 0.0
    for one in (piece for log in logs for piece in log.pieces()):
        up = max(up, float((one.q - np.minimum.accumulate(one.q)).max()))
        down = max(down, float((np.maximum.accumulate(one.q) - one.q).max()))
    if min(up, down) < LEAST_MOTION:
        way, other = ("negative", "positive") if up < down else ("positive", "negative")
        raise InputError(
            f"{', '.join(log.source for log in logs)}: the servo moves towards {way} angles only ({max(up, down):.3f} rad, "
            f"the other way {min(up, down):.3f}): friction and spring look alike from one side; log it moving towards {other} "
            "ones too",
            subject="position",
            value=min(up, down),
            limit=LEAST_MOTION,
        )
