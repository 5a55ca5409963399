"""Logs of one servo with feedback: goal and position along time under a known load, and checks that they can tell something.

CSV, with units in the names of the columns (or a column map, see ``table``):

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

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.model import GRAVITY

from .samples import SLIPPED, require_times
from .table import Table

MAP = "time_s,goal_rad,position_rad,voltage_v"
"""A column map, for messages."""

LEAST_MOTION = 0.05
"""Way of a servo [rad] that counts as one."""

OTHER_UNIT = 20.0
"""A goal that moves so many times as far as the position (or so many times less) is in another unit."""

VOLTAGE = 2.0, 60.0
"""What supplies of servos are between [V]."""

PIECE_S, PIECE_SAMPLES = 20.0, 10
"""Longest stretch that is simulated in one go [s], and the least that is one: from there on it starts anew as measured."""

GAP_S = 0.5
"""Where no sample is for so long [s], it starts anew too."""

LOAD = 1e-4, 1e4
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
        enabled: (k,) bool.
        mass: of the pendulum [kg], 0: none.  length: [m].  rod_mass: [kg], a uniform rod.
        voltage: (k,) [V], or None.
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
        return [self.part(one) for one in stretches if len(one) >= PIECE_SAMPLES and self.enabled[one[0]]]


def read_csv(path: str | Path, column_map: str | None = None, *, down: float = 0.0, **pendulum: float | None) -> ServoLog:
    """Read a log, as far as it goes, and check it.

    Args:
        column_map: names of its columns in their order, where its first line has none.
        down: position at which the pendulum hangs down [rad].
        pendulum: ``mass``, ``length``, ``rod_mass`` [kg, m, kg]: in place of columns.

    Raises:
        InputError: no such file, columns that are missing, values that cannot be, a log that tells nothing.
    """
    table = Table(path, column_map, MAP)
    t = table.column({"time_s": 1.0})
    goal, q = (
        table.column({f"{name}_rad": 1.0, f"{name}_deg": math.radians(1.0)}, f": name them in their order, --columns {MAP}")
        for name in ("goal", "position")
    )

    def constant(name: str, otherwise: float | None) -> float | None:
        values = table.column({name: 1.0}, None)
        if values is None or not len(values):
            return otherwise
        refuse_if(np.ptp(values) != 0.0, f"{path}: {name} changes along the log, must be constant: one log for each", name)
        return float(values[0])

    sizes = {}
    for name, unit in (("mass", "kg"), ("length", "m"), ("rod_mass", "kg")):
        value = constant(f"{name}_{unit}", pendulum.get(name))
        fits = value is None or 0.0 < value < math.inf or (value == 0.0 and name == "rod_mass")
        refuse_if(not fits, f"{path}: {name}_{unit} is {value}, must be above 0", name, value)
        sizes[name] = value
    torque, enabled = table.column({"load_nm": 1.0}, None), table.column({"enabled": 1.0}, None)
    lacks = " ".join(f"--{name}" for name in ("mass", "length") if sizes[name] is None)
    refuse_if(torque is None and lacks, f"{path}: no column load_nm, and no pendulum: {lacks} is missing", "load")
    both = torque is not None and any(value is not None for value in sizes.values())
    refuse_if(both, f"{path}: column load_nm, and a pendulum besides: which is it?", "load")
    return checked(
        ServoLog(
            *(str(path), t - t[:1].sum(), goal - down, q - down),
            np.zeros_like(t) if torque is None else torque,
            np.ones(len(t), bool) if enabled is None else enabled > 0.5,
            **{name: value or 0.0 for name, value in sizes.items()},
            voltage=table.column({"voltage_v": 1.0}, None),
            gain=constant("gain", 1.0),
            remarks=table.remarks,
        )
    )


def checked(log: ServoLog) -> ServoLog:
    """The log, if it can be what it says, and tells something.

    Raises:
        InputError: times, values that are not finite, another unit, a supply that cannot be, no motion, no load.
    """

    def refuse(wrong: object, message: str, subject: str, value=None, limit=None) -> None:
        refuse_if(wrong, f"{log.source}: {message}", subject, value, limit)

    require_times(log.t, log.source)
    ranges = {"goal": log.goal, "position": log.q, "load_nm": log.torque, "voltage_v": log.voltage}
    for name, values in ranges.items():
        low, high = VOLTAGE if name == "voltage_v" else (-1e9, 1e9)
        for row in [] if values is None else np.flatnonzero(~((low <= values) & (values <= high)))[:1].tolist():
            refuse(
                True, f"{name} is {values[row]:g} in sample {row}, must be {low:g} to {high:g}", name, float(values[row]), high
            )
    refuse(not 0.0 < log.gain < math.inf, f"gain is {log.gain:g}, must be above 0", "gain", log.gain, 0.0)
    pieces = log.pieces()
    refuse(not pieces, "the servo was never enabled (column enabled): nothing to see of its spring", "enabled")
    goals, powered = (np.concatenate([getattr(one, name) for one in pieces]) for name in ("goal", "q"))
    far, moved = float(np.abs(powered).max()), float(np.ptp(powered))
    refuse(far > SLIPPED, f"position reaches {far:.1f} rad: are these degrees? name it position_deg", "position", far, SLIPPED)
    way = f"no motion: the position changes by {moved:.4f} rad, at least {LEAST_MOTION} are needed"
    refuse(moved < LEAST_MOTION, way, "position", moved, LEAST_MOTION)
    ratio = float(np.ptp(goals)) / moved
    times = f"the goal moves {ratio:.3g} times as far as the position: is one in degrees? name it goal_deg or position_deg"
    refuse(not 1.0 / OTHER_UNIT <= ratio <= OTHER_UNIT, times, "goal", ratio, OTHER_UNIT)
    against = np.corrcoef(goals, powered)[0, 1] < 0.0
    refuse(against, "goal and position run against each other: one of them has the other sign", "goal")
    largest = float(np.abs(log.load).max())
    message = f"the load is at most {largest:g} N·m, must be {LOAD[0]:g} to {LOAD[1]:g} (load_nm, --mass, --length)"
    refuse(not LOAD[0] <= largest <= LOAD[1], message, "load", largest, LOAD[0])
    return log


def require_both_sides(logs: Sequence[ServoLog]) -> None:
    """Refuse logs in which the servo moves up only, or down only: friction and spring look alike then."""
    pieces = [piece.q for log in logs for piece in log.pieces()]
    up, down = (max(float((s * q - np.minimum.accumulate(s * q)).max()) for q in pieces) for s in (1.0, -1.0))
    refuse_if(
        min(up, down) < LEAST_MOTION,
        f"{', '.join(log.source for log in logs)}: the servo moves towards {'negative' if up < down else 'positive'} angles "
        "only: friction and spring look alike from one side; log it moving the other way too",
        "position",
        min(up, down),
        LEAST_MOTION,
    )
