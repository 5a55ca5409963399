"""Parameters of one servo from logs of goal and position: ``robot.servo`` integrated along each log, and least squares.

    (J_r + J) v' = tau_m - tau_f - m sin(q - tilt)      tau_m, tau_f: ``robot.servo``, with K for the log's P gain
    u = V / V_ref                                       share of the supply, to which spring and stall torque are proportional
    q_cmd(t) = goal(t - T)                              T: from the log's time stamp to the servo's spring

``J`` and ``m`` are the pendulum's.  What is compared are positions along whole stretches that begin as measured: nothing is
differentiated, and an error at rest counts as one in motion does.  Errors beyond ``ROBUST`` count by their size rather than its
square.  All stretches, and all parameters a little changed for the derivatives, are joints of one ``ServoModel`` that do not act
on each other: a step of the integration is one for all of them.  Standard deviations grow by what errors have in common with
their neighbours in time (``base.correlation``); errors on another log say more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.dry_friction import dry_friction_apart
from picker_dynamics.robot.servo import MOST_LOAD_FRICTION, ServoModel

from .base import correlation
from .servo_log import ServoLog, require_both_sides


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
