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

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
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

STARTS = {"load_friction": (0.1, 0.45), "stall_torque": (0.5, 1.5)}
"""Values to begin with, each with each; the stall torque's as multiples of a guess."""

ROBUST = 0.01
"""Errors from which on [rad] their size counts."""

MOST_OFF = 3.0
"""What is further off [rad] is none of this servo: it counts as so much."""

MOST_S = 600.0
"""Longest that logs may be in all [s]."""

BLOCK_S = 0.5

STEP_SHARE = 0.003
"""What the integration's step may be worth, as a share of each figure (of the rotor inertia: of all inertia)."""

VOLTAGE_S = 0.1
"""Readings of the supply are averaged over so long [s]."""

TOLD = 0.5
"""Standard deviation, as a share of the value, beyond which a figure is not told by the logs."""

TRAINED, FOLDS = 0.7, 4
"""Of one log that share is fitted for the held-out error; of several each takes its turn, or in so many groups."""


def supply(log: ServoLog, reference: float | None) -> np.ndarray:
    """Supply V / V_ref, (k,), averaged; 1 where it was not measured."""
    if log.voltage is None or reference is None:
        return np.ones(len(log.t))
    half = max(round(0.5 * VOLTAGE_S * len(log.t) / max(log.t[-1] - log.t[0], 1e-9)), 0)
    return np.convolve(np.pad(log.voltage, half, "edge"), np.full(2 * half + 1, 1.0 / (2 * half + 1)), "valid") / reference


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

    def simulate(self, figures: np.ndarray, step_s: float = STEPS_S[-1]) -> np.ndarray:
        """Positions of servos with ``figures`` (c, 9), in the order of ``UNITS``, on every stretch: (c, samples) [rad]."""
        count, many = len(figures), len(self.pieces)
        steps = math.ceil(max(one.t[-1] - one.t[0] for one in self.pieces) / step_s) + 1
        grid = step_s * np.arange(steps)
        goal, share, torque = (np.empty((steps, count, many)) for _ in range(3))
        for j, one in enumerate(self.pieces):
            since = one.t - one.t[0]
            share[:, :, j] = np.interp(grid, since, supply(one, self.voltage))[:, None]
            torque[:, :, j] = np.interp(grid, since, one.torque)[:, None]
            for i, delay in enumerate(figures[:, 8]):
                goal[:, i, j] = np.interp(grid - delay, since, one.goal)
        goal, share, torque = (x.reshape(steps, -1) for x in (goal, share, torque))
        stiffness, gap, damping, x, coulomb, stall, armature, tilt = np.repeat(figures[:, :8], many, axis=0).T
        gain, inertia, moment, begin, speed = np.tile([_start(one, self.gain) for one in self.pieces], (count, 1)).T
        servo = ServoModel(
            stiffness * gain,
            gap,
            stall / ((1.0 - x) * damping),
            stall,
            [str(i) for i in range(len(gain))],
            load_friction=x,
            coulomb=coulomb,
        )
        inertia = inertia + armature
        response = step_s / (inertia + 0.5 * step_s * servo.damping)
        inertia = inertia / step_s - 0.5 * servo.damping
        q, v = begin, speed
        positions = np.empty((steps, len(q)))
        for k in range(steps):
            positions[k] = q
            spring = servo.spring_torque(goal[k], q, share[k])
            free = response * (inertia * v + spring - torque[k] - moment * np.sin(q - tilt))
            v = free + response * dry_friction_apart(free, response, servo.friction(spring - servo.damping * v))
            q = q + step_s * v
        positions = positions.reshape(steps, count, many)
        return np.array(
            [
                np.concatenate([np.interp(one.t - one.t[0], grid, positions[:, i, j]) for j, one in enumerate(self.pieces)])
                for i in range(count)
            ]
        )

    def errors(self, figures: np.ndarray, step_s: float) -> np.ndarray:
        """Errors of the model's positions, (c, samples) [rad], bounded."""
        with np.errstate(over="ignore", invalid="ignore"):
            off = self.simulate(figures, step_s) - self.q
        return np.clip(np.nan_to_num(off, nan=MOST_OFF), -MOST_OFF, MOST_OFF)


def _start(one: ServoLog, gain: float) -> tuple[float, ...]:
    """Of a stretch: K's share, inertia, level moment, first position and velocity."""
    first = slice(0, max(3, int(np.searchsorted(one.t, one.t[0] + 0.03))))
    speed, begin = np.polyfit(one.t[first] - one.t[0], one.q[first], 1)
    return one.gain / gain, one.inertia, one.moment, begin, speed


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
    """Find the figures of a servo.

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
        low, high, unit = FIGURES[name].low, FIGURES[name].high, FIGURES[name].unit
        refuse_if(not low <= value <= high, f"{name} is {value:g} {unit}, must be {low:g} to {high:g}", name, value, high)
    refuse_if(len(known) == len(FIGURES), "every figure is fixed: there is nothing to find", "fix")
    if like is None:
        require_both_sides(logs)
    ready = rig(logs, like.rig if like else None)
    long = sum(float(one.t[-1] - one.t[0]) for one in ready.pieces)
    sources = ", ".join(log.source for log in logs)
    refuse_if(
        long > MOST_S, f"{sources}: {long:.0f} s of a powered servo, at most {MOST_S:.0f} s are taken", "time", long, MOST_S
    )
    if not any(one.mass for one in ready.pieces):
        known.setdefault("tilt", 0.0)
    return _fit(ready, known, like)


def _fit(ready: Rig, known: dict[str, float], like: Fit | None) -> Fit:
    """At the coarse step from each start, then at the fine one from the best."""
    guess, scale = _guess(ready)
    guess |= (like.figures if like else {}) | known
    free = [i for i, name in enumerate(NAMES) if name not in known]
    starts, begin = [guess], np.array([guess[name] for name in NAMES])
    for name, values in STARTS.items() if like is None else ():
        if name not in known:
            unit = guess[name] if name == "stall_torque" else 1.0
            starts = [{**start, name: value * unit} for start in starts for value in values]
    low, high = (np.array([getattr(one, side) for one in FIGURES.values()])[free] / scale[free] for side in ("low", "high"))

    def whole(y: np.ndarray) -> np.ndarray:
        figures = np.tile(begin, (*y.shape[:-1], 1))
        figures[..., free] = y * scale[free]
        return figures

    def solved(start: np.ndarray, step_s: float, precision: float):
        around: dict[bytes, tuple] = {}  # errors and derivatives cost little more than errors alone

        def look(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            if y.tobytes() not in around:
                around.clear()
                away = np.where(y + 0.1 > high, -0.1, 0.1)
                off, *others = ready.errors(whole(np.vstack([y, y + np.diag(away)])), step_s)
                around[y.tobytes()] = off, (np.array(others) - off).T / away
            return around[y.tobytes()]

        best = least_squares(
            lambda y: look(y)[0],
            np.clip(start, low + 1e-6, high - 1e-6),
            lambda y: look(y)[1],
            (low, high),
            loss="soft_l1",
            f_scale=ROBUST,
            xtol=1e-5,
            ftol=precision,
            max_nfev=60,
        )
        return best, *look(best.x)

    vectors = (np.array([start[name] for name in NAMES])[free] / scale[free] for start in starts)
    rough = min((solved(start, STEPS_S[0], 1e-4)[0] for start in vectors), key=lambda one: one.cost)
    best, off, slope = solved(rough.x, STEPS_S[1], 1e-6)
    found = whole(best.x)
    sizes = np.abs(found)
    sizes[NAMES.index("armature")] += max(one.inertia for one in ready.pieces)
    sd = np.hypot(_spread(ready, off, slope) * scale[free], STEP_SHARE * sizes[free])
    nothing = (np.abs(found) < 1e-3 * scale) & [one.low <= 0.0 for one in FIGURES.values()]
    figures = dict(zip(NAMES, np.where(nothing, 0.0, found).tolist()))
    return Fit(figures, dict(zip((NAMES[i] for i in free), sd.tolist())), ready)


def _guess(ready: Rig) -> tuple[dict[str, float], np.ndarray]:
    """Figures to begin with, and (9,) by how much each may well be off."""
    load = np.concatenate([one.load for one in ready.pieces])
    ahead = np.concatenate([(one.goal - one.q) * one.gain / ready.gain for one in ready.pieces])
    v = [np.gradient(one.q, one.t) for one in ready.pieces]
    a = [np.gradient(speed, one.t) for speed, one in zip(v, ready.pieces)]
    columns = np.stack([ahead, -np.concatenate(v), -np.concatenate(a)], axis=-1)
    largest, (spring, drag, _) = float(np.abs(load).max()), np.linalg.lstsq(columns, load, rcond=None)[0]
    stiffness = float(np.clip(spring, largest, 1e3 * largest))
    damping, stall = float(np.clip(drag, 5e-3 * stiffness, 0.1 * stiffness)), 2.5 * largest
    armature = 0.2 * (max(one.inertia for one in ready.pieces) or 1e-3 * stiffness)
    guess = stiffness, 2e-3, damping, 0.3, 0.02 * largest, stall, armature, 0.0, 0.01
    off = 0.05 * stiffness, 1e-3, 0.05 * damping, 0.02, 0.01 * largest, 0.05 * stall, 0.05 * armature, 1e-3, 2e-3
    return dict(zip(NAMES, guess)), np.array(off)


def _spread(ready: Rig, off: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Standard deviations (p,) for errors (k,) with derivatives (k, p) that go on within blocks; infinite where nothing tells."""
    weight = 1.0 / np.sqrt(1.0 + (off / ROBUST) ** 2)
    block = np.concatenate([1000 * i + ((one.t - one.t[0]) / BLOCK_S).astype(int) for i, one in enumerate(ready.pieces)])
    _, begin = np.unique(block, return_index=True)
    sums = np.add.reduceat((weight * off)[:, None] * slope, begin)
    few = len(sums) / max(len(sums) - slope.shape[1], 1)
    values, vectors = np.linalg.eigh(slope.T @ (weight[:, None] * slope))
    good = values > 1e-9 * values[-1]
    inverse = (vectors[:, good] / values[good]) @ vectors[:, good].T
    sd = np.sqrt(few * np.diag(inverse @ (sums.T @ sums) @ inverse))
    sd[(vectors[:, ~good] ** 2).sum(axis=1) > 1e-6] = math.inf
    return sd


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
