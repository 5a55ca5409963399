"""Parameters of one servo from logs of goal and position: ``robot.servo`` integrated along each log, and least squares.

    (J_r + J) v' = tau_m - tau_f - m(q)            tau_m, tau_f: ``robot.servo``, with K for the log's P gain
    u = V / V_ref                                  share of the supply, to which spring and stall torque are proportional
    q_cmd(t) = goal(t - T)                         T: from the log's time stamp to the servo's spring

``J`` and ``m = m_p g l sin(q - tilt)`` are the pendulum's, or ``m`` is the load that was measured (``J_r`` is all inertia then).
What is compared are positions along whole stretches that begin as measured: nothing is differentiated, and an error at rest
counts as one in motion does.  Errors beyond ``ROBUST`` count by their size rather than its square.  All logs, and all
parameters a little changed for the derivatives, are joints of one ``ServoModel`` that do not act on each other: a step of
the integration is one for all of them.

Standard deviations hold for residuals that go on for up to ``BLOCK_S`` (the sandwich estimator on blocks: K. Liang and S. Zeger,
Longitudinal data analysis using generalized linear models, Biometrika 73, 1986).  What was held out says more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.optimize import least_squares

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.dry_friction import dry_friction_apart
from picker_dynamics.robot.servo import MOST_LOAD_FRICTION, ServoModel

from .servo_log import ServoLog, require_both_sides


class Figure(NamedTuple):
    """What is sought: name, unit, range, key in a servo map, and the standard deviation that will do however small the value."""

    text: str
    unit: str
    low: float
    high: float
    key: str = ""
    near: float = 0.0


FIGURES = {
    "stiffness": Figure("stiffness K of the motor's spring", "N·m/rad", 1e-6, 1e6, "stiffness_nm_rad"),
    "gap": Figure("half the deadband and half the play", "rad", 0.0, 0.2, near=0.01),
    "damping": Figure("damping D", "N·m·s/rad", 1e-9, 1e4),
    "load_friction": Figure("load friction x", "", 0.0, MOST_LOAD_FRICTION, "load_friction", 0.1),
    "coulomb": Figure("friction without load tau_c", "N·m", 0.0, 1e4, "coulomb_nm", 0.01),
    "stall_torque": Figure("stall torque at the output, lifting", "N·m", 1e-6, 1e4, "stall_torque_nm"),
    "armature": Figure("rotor inertia J_r", "kg·m²", 0.0, 1e3, "armature_kg_m2"),
    "tilt": Figure("tilt of the rig", "rad", -0.2, 0.2, near=0.05),
    "delay": Figure("delay T of the goal", "s", 0.0, 0.15, near=0.02),
}
NAMES = list(FIGURES)

STEPS_S = 4e-3, 1e-3
"""Integration steps [s]: while looking for the neighbourhood, and at last.  Where friction changes side the method is of first
order: against Radau's method positions of a small servo are off by 0.2 mrad rms at 1 ms, 0.5 mrad at 4 ms."""

STARTS = tuple(itertools.product((0.1, 0.45), (0.5, 1.5)))
"""Load frictions to begin with, and stall torques as multiples of the guess."""

ROBUST, MOST_OFF = 0.01, 3.0
"""Errors from which on [rad] their size counts; what is further off [rad] is none of this servo, and counts as so much."""

MOST_S = 600.0
"""Longest that logs may be in all [s]."""

BLOCK_S = 0.5

STEP_SHARE = 0.003
"""What the integration's step may be worth, as a share of each figure (of the rotor inertia: of all inertia)."""

VOLTAGE_S = 0.1
"""Readings of the supply are averaged over so long [s]."""

TOLD = 0.5
"""Standard deviation, as a share of the value, beyond which a figure is not told by the logs."""

UNTOLD = 100.0
"""Standard deviation, as a multiple of its step, of a figure that the logs do not tell at all."""

TRAINED, FOLDS = 0.7, 4
"""Of one log that share is fitted for the held-out error; of several each takes its turn, or in so many groups."""


@dataclass(frozen=True, eq=False)
class Rig:
    """Stretches of logs with what they have in common.

    Attributes:
        pieces: simulated each by itself.
        voltage: V_ref [V], or None.  gain: at which K is stated.
    """

    pieces: list[ServoLog]
    voltage: float | None
    gain: float

    @property
    def q(self) -> np.ndarray:
        """All measured positions, one stretch after the other."""
        return np.concatenate([one.q for one in self.pieces])

    @property
    def inertia(self) -> float:
        """Largest inertia of a pendulum [kg·m²]."""
        return max(one.inertia for one in self.pieces)

    def _supply(self, one: ServoLog) -> np.ndarray:
        """Supply V / V_ref, (k,), averaged; 1 where it was not measured."""
        if one.voltage is None or self.voltage is None:
            return np.ones(len(one.t))
        count = 1 + round(VOLTAGE_S * len(one.t) / max(one.t[-1] - one.t[0], 1e-9))
        return uniform_filter1d(one.voltage, count, mode="nearest") / self.voltage

    def simulate(self, figures: np.ndarray, step_s: float = STEPS_S[-1]) -> np.ndarray:
        """Positions of servos with ``figures`` (c, 9), in the order of ``NAMES``, on every stretch: (c, samples) [rad]."""
        count, many = len(figures), len(self.pieces)
        steps = math.ceil(max(one.t[-1] - one.t[0] for one in self.pieces) / step_s) + 1
        grid = step_s * np.arange(steps)
        goal, share, torque = (np.empty((steps, count, many)) for _ in range(3))
        for j, one in enumerate(self.pieces):
            since = one.t - one.t[0]
            share[:, :, j] = np.interp(grid, since, self._supply(one))[:, None]
            torque[:, :, j] = np.interp(grid, since, one.torque)[:, None]
            for i, delay in enumerate(figures[:, 8]):
                goal[:, i, j] = np.interp(grid - delay, since, one.goal)
        goal, share, torque = (x.reshape(steps, -1) for x in (goal, share, torque))
        stiffness, gap, damping, x, coulomb, stall, armature, tilt = np.repeat(figures[:, :8], many, axis=0).T
        moment, inertia, gain, q, v = np.tile(
            [(one.moment, one.inertia, one.gain / self.gain, *_start(one)) for one in self.pieces], (count, 1)
        ).T
        names = [str(i) for i in range(len(gain))]
        no_load_speed = stall / ((1.0 - x) * damping)
        servo = ServoModel(stiffness * gain, gap, no_load_speed, stall, names, load_friction=x, coulomb=coulomb)
        inertia = inertia + armature
        response = step_s / (inertia + 0.5 * step_s * servo.damping)
        inertia = inertia / step_s - 0.5 * servo.damping
        positions = np.empty((steps, len(q)))
        for k in range(steps):
            positions[k] = q
            spring = servo.spring_torque(goal[k], q, share[k])
            free = response * (inertia * v + spring - torque[k] - moment * np.sin(q - tilt))
            v = free + response * dry_friction_apart(free, response, servo.friction(spring - servo.damping * v))
            q = q + step_s * v
        ways = positions.reshape(steps, count, many).transpose(1, 2, 0)
        return np.array(
            [np.concatenate([np.interp(one.t - one.t[0], grid, w) for one, w in zip(self.pieces, way)]) for way in ways]
        )

    def errors(self, figures: np.ndarray, step_s: float) -> np.ndarray:
        """Errors of the model's positions, (c, samples) [rad], bounded."""
        with np.errstate(over="ignore", invalid="ignore"):
            off = self.simulate(figures, step_s) - self.q
        return np.clip(np.nan_to_num(off, nan=MOST_OFF), -MOST_OFF, MOST_OFF)


def _start(one: ServoLog) -> tuple[float, float]:
    """First position and velocity of a stretch."""
    first = slice(0, max(3, int(np.searchsorted(one.t, one.t[0] + 0.03))))
    speed, begin = np.polyfit(one.t[first] - one.t[0], one.q[first], 1)
    return begin, speed


def rig(logs: Sequence[ServoLog], like: Rig | None = None) -> Rig:
    """Logs made ready; reference voltage and gain are those of ``like``, else the median, and the largest gain."""
    pieces = [piece for log in logs for piece in log.pieces()]
    if like is not None:
        return Rig(pieces, like.voltage, like.gain)
    known = [one.voltage for one in pieces if one.voltage is not None]
    return Rig(pieces, float(np.median(np.concatenate(known))) if known else None, max(one.gain for one in pieces))


@dataclass(frozen=True, eq=False)
class Fit:
    """Fit of a servo's figures to its logs.

    Attributes:
        figures: by name.
        sd: standard deviations of those that were looked for.
        rig: of the logs that were fitted.
    """

    figures: dict[str, float]
    sd: dict[str, float]
    rig: Rig

    def told(self, name: str) -> bool:
        """Whether the logs tell a figure, other than by what was assumed."""
        return self.sd.get(name, math.inf) <= max(TOLD * abs(self.figures[name]), FIGURES[name].near)

    def positions(self, log: ServoLog) -> list[tuple[ServoLog, np.ndarray]]:
        """The powered stretches of a log, and what the model says of each [rad]."""
        whole = rig([log], self.rig)
        model = whole.simulate(np.array([[self.figures[name] for name in NAMES]]))[0]
        return list(zip(whole.pieces, np.split(model, np.cumsum([len(one.t) for one in whole.pieces])[:-1])))

    def error(self, log: ServoLog, since: float = 0.0) -> dict[str, float]:
        """Error of the model along a log from the time ``since`` [s] on: mean of its size, root mean square, largest [rad]."""
        off = np.abs(np.concatenate([(model - one.q)[one.t >= since] for one, model in self.positions(log)]))
        return {"mean": float(off.mean()), "rms": float(np.sqrt(np.mean(off**2))), "largest": float(off.max())}


def fit(logs: Sequence[ServoLog], fixed: Mapping[str, float] | None = None, like: Fit | None = None) -> Fit:
    """Find the figures of a servo: at the coarse step from each start, then at the fine one from the best.

    Args:
        logs: of that servo, see ``servo_log``.
        fixed: figures that are known, not to be looked for.
        like: begin there.

    Raises:
        InputError: a figure that cannot be, logs from one side only, or too long ones.
    """
    known = dict(fixed or {})
    for name, value in known.items():
        refuse_if(name not in FIGURES, f"no figure {name!r}: there are {', '.join(NAMES)}", name)
        one = FIGURES[name]
        wrong = f"{name} is {value:g} {one.unit}, must be {one.low:g} to {one.high:g}"
        refuse_if(not one.low <= value <= one.high, wrong, name, value, one.high)
    refuse_if(len(known) == len(FIGURES), "every figure is fixed: there is nothing to find", "fix")
    if like is None:
        require_both_sides(logs)
    ready = rig(logs, like.rig if like else None)
    long = sum(float(one.t[-1] - one.t[0]) for one in ready.pieces)
    refuse_if(long > MOST_S, f"{long:.0f} s of a powered servo, at most {MOST_S:.0f} s are taken", "time", long, MOST_S)
    if not any(one.mass for one in ready.pieces):
        known.setdefault("tilt", 0.0)
    return _Search(ready, known, like).run()


class _Search:
    """A search for figures; unknowns y are the free figures in multiples of ``scale``, by how much each may well be off."""

    def __init__(self, ready: Rig, known: dict[str, float], like: Fit | None):
        guess, scale = _guess(ready)
        begin = guess | (like.figures if like else {}) | known
        self.free = [i for i, name in enumerate(NAMES) if name not in known]
        self.ready, self.scale, self.begin = ready, scale[self.free], np.array([begin[name] for name in NAMES])
        low, high = np.array([(one.low, one.high) for one in FIGURES.values()])[self.free].T / self.scale
        self.bounds = low + 1e-6, high - 1e-6
        starts = [begin]
        if like is None:
            starts = [{**begin, "load_friction": x, "stall_torque": times * guess["stall_torque"]} | known for x, times in STARTS]
        self.starts = [np.array([start[NAMES[i]] for i in self.free]) / self.scale for start in starts]
        self._seen: tuple = (None,)

    def figures(self, y: np.ndarray) -> np.ndarray:
        """Figures (..., 9) of unknowns (..., f)."""
        whole = np.tile(self.begin, (*y.shape[:-1], 1))
        whole[..., self.free] = y * self.scale
        return whole

    def look(self, y: np.ndarray, step_s: float) -> tuple[np.ndarray, np.ndarray]:
        """Errors (k,) and their derivatives (k, f), which cost little more together than errors alone."""
        key = y.tobytes(), step_s
        if self._seen[0] != key:
            away = np.where(y + 0.1 > self.bounds[1], -0.1, 0.1)
            off, *others = self.ready.errors(self.figures(np.vstack([y, y + np.diag(away)])), step_s)
            self._seen = key, off, (np.array(others) - off).T / away
        return self._seen[1:]

    def solved(self, start: np.ndarray, step_s: float, precision: float):
        """Best unknowns near ``start``."""
        return least_squares(
            lambda y: self.look(y, step_s)[0],
            np.clip(start, *self.bounds),
            lambda y: self.look(y, step_s)[1],
            self.bounds,
            loss="soft_l1",
            f_scale=ROBUST,
            xtol=1e-5,
            ftol=precision,
            max_nfev=60,
        )

    def run(self) -> Fit:
        """Figures found, with their standard deviations."""
        rough = min((self.solved(start, STEPS_S[0], 1e-4) for start in self.starts), key=lambda one: one.cost)
        y = self.solved(rough.x, STEPS_S[1], 1e-6).x
        found = self.figures(y)
        sizes = np.abs(found)
        sizes[NAMES.index("armature")] += self.ready.inertia
        sd = np.hypot(_spread(self.ready, *self.look(y, STEPS_S[1])) * self.scale, STEP_SHARE * sizes[self.free])
        figures = dict(zip(NAMES, found.tolist()))
        for i, at_least in zip(self.free, np.where(y < 1e-3, 0.0, 1.0)):  # at the lower end, which is 0 or next to it
            figures[NAMES[i]] *= at_least if FIGURES[NAMES[i]].low == 0.0 else 1.0
        return Fit(figures, dict(zip((NAMES[i] for i in self.free), sd.tolist())), self.ready)


def _guess(ready: Rig) -> tuple[dict[str, float], np.ndarray]:
    """Figures to begin with, and (9,) by how much each may well be off."""
    load = np.concatenate([one.load for one in ready.pieces])
    ahead = np.concatenate([(one.goal - one.q) * one.gain / ready.gain for one in ready.pieces])
    speed = np.concatenate([np.gradient(one.q, one.t) for one in ready.pieces])
    largest, (spring, drag) = float(np.abs(load).max()), np.linalg.lstsq(np.stack([ahead, -speed], axis=-1), load)[0]
    stiffness = float(np.clip(spring, largest, 1e3 * largest))
    damping, stall = float(np.clip(drag, 5e-3 * stiffness, 0.1 * stiffness)), 2.5 * largest
    armature = 0.2 * (ready.inertia or 1e-3 * stiffness)
    guess = stiffness, 2e-3, damping, 0.3, 0.02 * largest, stall, armature, 0.0, 0.01
    off = 0.05 * stiffness, 1e-3, 0.05 * damping, 0.02, 0.01 * largest, 0.05 * stall, 0.05 * armature, 1e-3, 2e-3
    return dict(zip(NAMES, guess)), np.array(off)


def _spread(ready: Rig, off: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Standard deviations (f,) for errors (k,) with derivatives (k, f) that go on within blocks."""
    weight = 1.0 / np.sqrt(1.0 + (off / ROBUST) ** 2)
    block = np.concatenate([1000 * i + ((one.t - one.t[0]) / BLOCK_S).astype(int) for i, one in enumerate(ready.pieces)])
    sums = np.add.reduceat((weight * off)[:, None] * slope, np.unique(block, return_index=True)[1])
    few = len(sums) / max(len(sums) - slope.shape[1], 1)
    weakly = (1e-3 / UNTOLD) ** 2 * np.eye(slope.shape[1])  # a reading of 1 mrad that tells it so badly
    inverse = np.linalg.inv(slope.T @ (weight[:, None] * slope) + weakly)
    return np.sqrt(np.diag(inverse @ (few * sums.T @ sums + 1e-6 * weakly) @ inverse))


def held_out(logs: Sequence[ServoLog], fixed: Mapping[str, float] | None, like: Fit) -> dict[str, dict[str, float]]:
    """Errors by source of each log, predicted by a fit to the others; of a single one, of its end by a fit to its begin.

    Args:
        like: fit to all of them, where the others begin.
    """
    if len(logs) == 1:
        cut = float(TRAINED * logs[0].t[-1])
        return {logs[0].source: fit([logs[0].part(logs[0].t < cut)], fixed, like).error(logs[0], cut)}
    found, groups = {}, min(len(logs), FOLDS)
    for group in range(groups):
        others = fit([log for i, log in enumerate(logs) if i % groups != group], fixed, like)
        found |= {log.source: others.error(log) for log in logs[group::groups]}
    return found
