"""Parameters of one servo from logs of goal and position: ``robot.servo`` integrated along each log, and least squares.

    (J_r + J) v' = tau_m - tau_f - m sin(q - tilt)      tau_m, tau_f: ``robot.servo``, with K for the log's P gain
    u = V / V_ref                                       share of the supply, to which spring and stall torque are proportional
    q_cmd(t) = goal(t - T)                              T: from the log's time stamp to the servo's spring

``J`` and ``m`` are the pendulum's.  What is compared are positions along whole stretches that begin as measured: nothing is
differentiated, and an error at rest counts as one in motion does.  Errors beyond ``ROBUST`` count by their size rather than its
square.  All stretches, and all parameters a little changed for the derivatives, are joints of one ``ServoModel`` that do not act
on each other: a step of the integration is one for all of them.  Standard deviations grow by what errors have in common with
their neighbours in time (``base.correlation``); errors on another log say more.

Logs of one servo that moves a pendulum: goal and position along time.

CSV, with units in the names of the columns:

    time_s, goal_rad, position_rad                              or goal_deg, position_deg
    mass_kg, length_m, rod_mass_kg                              of the pendulum, constant, where not given otherwise
    voltage_v, enabled, gain                                    where known: supply, 1 or 0, the position controller's P gain

What was recorded while the servo was relaxed (``enabled`` 0) is left out: it has no spring then.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.dry_friction import dry_friction_apart
from picker_dynamics.robot.model import GRAVITY
from picker_dynamics.robot.servo import MOST_LOAD_FRICTION, ServoModel

from .base import correlation
from .samples import SLIPPED, column, read_table, require_times


class Figure(NamedTuple):
    """What is sought: unit, range, key in a servo map, and the standard deviation that will do however small the value."""

    unit: str
    low: float
    high: float
    key: str = ""
    near: float = 0.0


FIGURES = {
    "stiffness": Figure("N·m/rad", 1e-6, 1e6, "stiffness_nm_rad"),
    "gap": Figure("rad", 0.0, 0.2, near=0.01),
    "damping": Figure("N·m·s/rad", 1e-9, 1e4),
    "load_friction": Figure("", 0.0, MOST_LOAD_FRICTION, "load_friction", 0.1),
    "coulomb": Figure("N·m", 0.0, 1e4, "coulomb_nm", 0.01),
    "stall_torque": Figure("N·m", 1e-6, 1e4, "stall_torque_nm"),
    "armature": Figure("kg·m²", 0.0, 1e3, "armature_kg_m2"),
    "tilt": Figure("rad", -0.2, 0.2, near=0.05),
    "delay": Figure("s", 0.0, 0.15, near=0.02),
}
"""Spring K of the motor, half the deadband and half the play, damping D, load friction x, friction without load, stall torque at
the output while lifting, rotor inertia; of the rig: its tilt, the delay T of the goal."""

STEPS_S = 4e-3, 1e-3
"""Integration steps [s]: while looking for the neighbourhood, and at last.  Where friction changes side the method is of first
order: against Radau's method positions of a small servo are off by 0.2 mrad rms at 1 ms, 0.5 mrad at 4 ms."""

STARTS = tuple(itertools.product((0.1, 0.45), (0.5, 1.5)))
"""Load frictions to begin with, and stall torques as multiples of the guess."""

ROBUST, MOST_OFF = 0.01, 3.0
"""Errors from which on [rad] their size counts; what is further off [rad] is none of this servo, and counts as so much."""

MOST_S = 600.0
"""Longest that logs may be in all [s]."""

TOLD, UNTOLD = 0.5, 1e-5
"""Standard deviation, as a share of value and guess, beyond which a figure is not told by the logs; slope of what they do not
tell."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Fit of a servo's figures to its logs.

    Attributes:
        figures, sd: by name, with their standard deviations.  told: whether the logs tell them.
        voltage: V_ref [V], the median; 0: not measured.  gain: at which K is stated, the largest.
    """

    figures: dict[str, float]
    sd: dict[str, float]
    told: dict[str, bool]
    voltage: float
    gain: float

    def error(self, log: ServoLog) -> dict[str, float]:
        """Error of the model along a log: mean of its size, root mean square, largest [rad]."""
        figures = np.array([list(self.figures.values())])
        off = np.abs(errors(log.pieces(), figures, self.voltage, self.gain, STEPS_S[-1]))
        return {"mean": float(off.mean()), "rms": float(np.sqrt(np.mean(off**2))), "largest": float(off.max())}


def errors(pieces: Sequence[ServoLog], figures: np.ndarray, voltage: float, gain: float, step_s: float) -> np.ndarray:
    """Model less measured position on every stretch, of servos with ``figures`` (c, 9): (c, samples) [rad], bounded."""
    count, many = len(figures), len(pieces)
    steps = math.ceil(max(one.t[-1] - one.t[0] for one in pieces) / step_s) + 1
    grid = step_s * np.arange(steps)
    goal, share, starts = np.empty((steps, count, many)), np.ones((steps, count, many)), []
    for j, one in enumerate(pieces):
        since = one.t - one.t[0]
        if voltage and one.voltage.all():
            share[:, :, j] = np.interp(grid, since, one.voltage / voltage)[:, None]
        for i, delay in enumerate(figures[:, 8]):
            goal[:, i, j] = np.interp(grid - delay, since, one.goal)
        first = slice(0, max(3, int(np.searchsorted(since, 0.03))))
        starts.append((one.moment, one.inertia, one.gain / gain, *np.polyfit(since[first], one.q[first], 1)[::-1]))
    goal, share = goal.reshape(steps, -1), share.reshape(steps, -1)
    stiffness, gap, damping, x, coulomb, stall, armature, tilt = np.repeat(figures[:, :8], many, axis=0).T
    moment, inertia, gains, q, v = np.tile(starts, (count, 1)).T
    names = [str(i) for i in range(len(q))]
    servo = ServoModel(stiffness * gains, gap, stall / ((1.0 - x) * damping), stall, names, load_friction=x, coulomb=coulomb)
    inertia = inertia + armature
    response = step_s / (inertia + 0.5 * step_s * servo.damping)
    inertia = inertia / step_s - 0.5 * servo.damping
    positions = np.empty((steps, len(q)))
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(steps):
            positions[k] = q
            spring = servo.spring_torque(goal[k], q, share[k])
            free = response * (inertia * v + spring - moment * np.sin(q - tilt))
            v = free + response * dry_friction_apart(free, response, servo.friction(spring - servo.damping * v))
            q = q + step_s * v
        ways = positions.reshape(steps, count, many).transpose(1, 2, 0)
        off = [np.concatenate([np.interp(one.t - one.t[0], grid, w) - one.q for one, w in zip(pieces, way)]) for way in ways]
    bounded: np.ndarray = np.clip(np.nan_to_num(np.array(off), nan=MOST_OFF), -MOST_OFF, MOST_OFF)
    return bounded


def fit(logs: Sequence[ServoLog]) -> Fit:
    """Find the figures of a servo: at the coarse step from each start, then at the fine one from the best.

    Raises:
        InputError: logs from one side only, or too long ones.
    """
    require_both_sides(logs)
    pieces = [piece for log in logs for piece in log.pieces()]
    long = sum(float(one.t[-1] - one.t[0]) for one in pieces)
    refuse_if(long > MOST_S, f"{long:.0f} s of a powered servo, at most {MOST_S:.0f} s are taken", "time", long, MOST_S)
    volts = np.concatenate([one.voltage for one in pieces])
    voltage, gain = float(np.median(volts)), max(one.gain for one in pieces)
    guess, scale = _guess(pieces, gain)
    # Unknowns y are the figures in multiples of ``scale``, by how much each may well be off.
    low, high = np.array([(one.low, one.high) for one in FIGURES.values()]).T / scale

    @lru_cache(maxsize=1)
    def look(at: bytes, step_s: float) -> tuple[np.ndarray, np.ndarray]:
        """Errors (k,) and their derivatives (k, 9), which cost little more together than errors alone."""
        y = np.frombuffer(at)
        away = np.where(y + 0.1 > high, -0.1, 0.1)
        off, *others = errors(pieces, np.vstack([y, y + np.diag(away)]) * scale, voltage, gain, step_s)
        return off, (np.array(others) - off).T / away

    def solved(start: np.ndarray, step_s: float, precision: float) -> Any:
        return least_squares(
            lambda y: look(y.tobytes(), step_s)[0],
            np.clip(start, low + 1e-6, high - 1e-6),
            lambda y: look(y.tobytes(), step_s)[1],
            (low, high),
            loss="soft_l1",
            f_scale=ROBUST,
            xtol=1e-5,
            ftol=precision,
            max_nfev=60,
        )

    starts = [np.where(np.arange(9) == 3, x, np.where(np.arange(9) == 5, times, 1.0) * guess) / scale for x, times in STARTS]
    y = solved(min((solved(start, STEPS_S[0], 1e-4) for start in starts), key=lambda one: one.cost).x, STEPS_S[1], 1e-6).x
    off, slope = look(y.tobytes(), STEPS_S[1])
    weight = 1.0 / np.sqrt(1.0 + (off / ROBUST) ** 2)
    (inflation,), _ = correlation((np.sqrt(weight) * off)[:, None])
    variance = inflation * np.sum(weight * off**2) / max(len(off) - len(y), 1)
    sd = scale * np.sqrt(variance * np.diag(np.linalg.inv(slope.T @ (weight[:, None] * slope) + UNTOLD**2 * np.eye(len(y)))))
    found = np.where((y < 1e-3) & (low == 0.0), 0.0, y * scale)
    told = sd <= np.maximum(TOLD * np.minimum(np.abs(found), guess), [one.near for one in FIGURES.values()])
    figures, sds, tells = (dict(zip(FIGURES, each.tolist())) for each in (found, sd, told))
    return Fit(figures, sds, tells, voltage, gain)


def _guess(pieces: Sequence[ServoLog], gain: float) -> tuple[np.ndarray, np.ndarray]:
    """Figures (9,) to begin with, and by how much each may well be off."""
    load = np.concatenate([one.moment * np.sin(one.q) for one in pieces])
    ahead = np.concatenate([(one.goal - one.q) * one.gain / gain for one in pieces])
    speed = np.concatenate([np.gradient(one.q, one.t) for one in pieces])
    largest, (spring, drag) = float(np.abs(load).max()), np.linalg.lstsq(np.stack([ahead, -speed], axis=-1), load)[0]
    stiffness = float(np.clip(spring, largest, 1e3 * largest))
    damping, stall = float(np.clip(drag, 5e-3 * stiffness, 0.1 * stiffness)), 2.5 * largest
    armature = 0.2 * max(one.inertia for one in pieces)
    guess = stiffness, 2e-3, damping, 0.3, 0.02 * largest, stall, armature, 0.0, 0.01
    off = 0.05 * stiffness, 1e-3, 0.05 * damping, 0.02, 0.01 * largest, 0.05 * stall, 0.05 * armature, 1e-3, 2e-3
    return np.array(guess), np.array(off)


# -- logs ------------------------------------------------------------------------------------------------------------------

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
    found = read_table(path)
    t, goal, q = (
        column(found, units)
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
