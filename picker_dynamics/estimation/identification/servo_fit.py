"""Parameters of one servo from logs of goal and position: ``robot.servo`` integrated along each log, and least squares.

    (J_r + J) v' = tau_m - tau_f - m(q)            tau_m, tau_f: ``robot.servo``, with K for the log's P gain
    u = 1 + beta (V / V_ref - 1)                   share of the supply; in proportion: beta = 1
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

import numpy as np

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.dry_friction import dry_friction_apart
from picker_dynamics.robot.servo import MOST_LOAD_FRICTION, ServoModel

from .. import least_squares
from .servo_log import ServoLog, require_both_sides, require_short

UNITS = {
    "stiffness": "N·m/rad",
    "gap": "rad",
    "damping": "N·m·s/rad",
    "load_friction": "",
    "coulomb": "N·m",
    "stall_torque": "N·m",
    "armature": "kg·m²",
    "tilt": "rad",
    "delay": "s",
    "voltage_share": "",
}
"""K; half the deadband and half the play; D; x; tau_c; tau_stall at the output while lifting; J_r; tilt; T; beta."""

LIMITS = {
    "stiffness": (1e-6, 1e6),
    "gap": (0.0, 0.2),
    "damping": (1e-9, 1e4),
    "load_friction": (0.0, MOST_LOAD_FRICTION),
    "coulomb": (0.0, 1e4),
    "stall_torque": (1e-6, 1e4),
    "armature": (0.0, 1e3),
    "tilt": (-0.2, 0.2),
    "delay": (0.0, 0.15),
    "voltage_share": (0.0, 3.0),
}
"""What each can be."""

STEPS_S = 4e-3, 1e-3
"""Integration steps [s]: while looking for the neighbourhood, and at last.  Where friction changes side the method is of first
order: against Radau's method positions of a small servo are off by 0.2 mrad rms at 1 ms, 0.5 mrad at 4 ms."""

STARTS = {"load_friction": (0.1, 0.45), "stall_torque": (0.5, 1.5)}
"""Values to begin with, each with each; the stall torque's as multiples of a guess."""

ROBUST = 0.01
"""Errors from which on [rad] their size counts."""

MOST_OFF = 3.0
"""What is further off [rad] is none of this servo: it counts as so much."""

BLOCK_S = 0.5

STEP_SHARE = 0.003
"""What the integration's step may be worth, as a share of each figure (of the rotor inertia: of all inertia)."""

VOLTAGE_S, VOLTAGE_SPREAD = 0.1, 0.02
"""Readings of the supply are averaged over so long [s]; below this spread, as a share, they tell nothing of beta."""

TOLD = 0.5
"""Standard deviation, as a share of the value, beyond which a figure is not told by the logs."""

TOLD_NEAR_0 = {"gap": 0.01, "load_friction": 0.1, "tilt": 0.05, "delay": 0.02}
"""Standard deviations that will do however small the value."""

TOLD_SHARE = 0.25
"""Standard deviation of beta beyond which the supply's voltage counts in proportion."""

TOLD_COULOMB = 0.02
"""Standard deviation of tau_c that will do, as a share of the largest load."""

TRAINED, FOLDS = 0.7, 4
"""Of one log that share is fitted for the held-out error; of several each takes its turn, or in so many groups."""


def supply(log: ServoLog, reference: float | None) -> np.ndarray:
    """Supply V / V_ref, (k,), averaged; 1 where it was not measured."""
    if log.voltage is None or reference is None:
        return np.ones(len(log.t))
    half = max(round(0.5 * VOLTAGE_S * len(log.t) / max(log.t[-1] - log.t[0], 1e-9)), 0)
    padded = np.pad(log.voltage, half, "edge")
    return np.convolve(padded, np.full(2 * half + 1, 1.0 / (2 * half + 1)), "valid") / reference


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
        """Positions of servos with ``figures`` (c, 10), in the order of ``UNITS``, on every stretch: (c, samples) [rad]."""
        count, many = len(figures), len(self.pieces)
        steps = math.ceil(max(one.t[-1] - one.t[0] for one in self.pieces) / step_s) + 1
        grid = step_s * np.arange(steps)
        goal, share, torque = (np.empty((steps, count, many)) for _ in range(3))
        for j, one in enumerate(self.pieces):
            since = one.t - one.t[0]
            u = np.interp(grid, since, supply(one, self.voltage))[:, None] - 1.0
            share[:, :, j] = np.maximum(1.0 + figures[:, 9] * u, 0.05)
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


def fixed_figures(fixed: Mapping[str, float]) -> dict[str, float]:
    """Figures that are known already.

    Raises:
        InputError: no such figure, or one that cannot be.
    """
    for name, value in fixed.items():
        refuse_if(name not in UNITS, f"no figure {name!r}: there are {', '.join(UNITS)}", name)
        low, high = LIMITS[name]
        refuse_if(
            not low <= value <= high,
            f"{name} is {value:g}{UNITS[name] and ' '}{UNITS[name]}, must be {low:g} to {high:g}",
            name,
            value,
            low if value < low else high,
        )
    return dict(fixed)


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
        if name not in self.sd:
            return False
        if name == "voltage_share":
            return self.sd[name] <= TOLD_SHARE
        least = TOLD_COULOMB * self.largest_load if name == "coulomb" else TOLD_NEAR_0.get(name, 0.0)
        return self.sd[name] <= max(TOLD * abs(self.figures[name]), least)

    @property
    def largest_load(self) -> float:
        """Largest load in the logs [N·m]."""
        return max(float(np.abs(one.load).max()) for one in self.rig.pieces)

    def positions(self, log: ServoLog) -> list[tuple[ServoLog, np.ndarray]]:
        """The powered stretches of a log, and what the model says of each [rad]."""
        whole = rig([log], self.rig)
        model = whole.simulate(np.array([[self.figures[name] for name in UNITS]]))[0]
        return list(zip(whole.pieces, np.split(model, np.cumsum([len(one.t) for one in whole.pieces])[:-1])))


@dataclass(frozen=True)
class Error:
    """Error of the model along one log [rad]: mean of its size, root mean square, largest."""

    source: str
    mean: float
    rms: float
    largest: float


def error(fit: Fit, log: ServoLog, since: float = 0.0) -> Error:
    """The model against a log, from the time ``since`` [s] on."""
    off = np.concatenate([(model - one.q)[one.t >= since] for one, model in fit.positions(log)])
    return Error(log.source, float(np.abs(off).mean()), float(np.sqrt(np.mean(off**2))), float(np.abs(off).max()))


def fit(logs: Sequence[ServoLog], fixed: Mapping[str, float] | None = None, like: Fit | None = None) -> Fit:
    """Find the figures of a servo.

    Args:
        logs: of that servo, see ``servo_log``.
        fixed: figures that are known, not to be looked for.
        like: begin there.

    Raises:
        InputError: a figure that cannot be, logs from one side only, or too long ones.
    """
    require_both_sides(logs)
    require_short(logs)
    return _found(logs, fixed, like)


def _found(logs: Sequence[ServoLog], fixed: Mapping[str, float] | None, like: Fit | None) -> Fit:
    known = fixed_figures(fixed or {})
    ready = rig(logs, like.rig if like else None)
    if not any(one.mass for one in ready.pieces):
        known.setdefault("tilt", 0.0)
    spread = [np.ptp(np.quantile(supply(one, ready.voltage), (0.05, 0.95))) for one in ready.pieces]
    if max(spread) < VOLTAGE_SPREAD:
        known.setdefault("voltage_share", 1.0)
    found = _fit(ready, known, like)
    if "voltage_share" in found.sd and not found.told("voltage_share"):
        found = _fit(ready, {**known, "voltage_share": 1.0}, found)
    return found


def _fit(ready: Rig, known: dict[str, float], like: Fit | None) -> Fit:
    """At the coarse step from each start, then at the fine one from the best."""
    guess, scale = _guess(ready)
    if like is not None:
        guess = np.array([like.figures[name] for name in UNITS])
    free = [i for i, name in enumerate(UNITS) if name not in known]
    for name, value in known.items():
        guess[list(UNITS).index(name)] = value
    low, high = (np.array([LIMITS[name][side] for name in UNITS])[free] / scale[free] for side in (0, 1))

    def whole(y: np.ndarray) -> np.ndarray:
        figures = np.tile(guess, (*y.shape[:-1], 1))
        figures[..., free] = y * scale[free]
        return figures

    def solved(start: np.ndarray, step_s: float):
        around: dict[bytes, np.ndarray] = {}  # errors and derivatives cost little more than errors alone

        def look(y: np.ndarray) -> np.ndarray:
            if y.tobytes() not in around:
                around.clear()
                away = np.where(y + 0.1 > high, -0.1, 0.1)
                off = ready.errors(whole(np.vstack([y, y + np.diag(away)])), step_s)
                around[y.tobytes()] = np.vstack([off[:1], (off[1:] - off[0]) / away[:, None]])
            return around[y.tobytes()]

        begin = np.clip(start, low + 1e-6, high - 1e-6)
        best = least_squares.solve(
            lambda y: look(y)[0],
            begin,
            lambda y: look(y)[1:].T,
            bounds=(low, high),
            loss="soft_l1",
            f_scale=ROBUST,
            xtol=1e-5,
            ftol=1e-6 if step_s == STEPS_S[-1] else 1e-4,
            max_nfev=60,
        )
        return best, look(best.x)

    starts = [guess]
    for name, values in STARTS.items() if like is None else ():
        if name not in known:
            unit = guess[list(UNITS).index(name)] if name == "stall_torque" else 1.0
            starts = [np.where(np.array(list(UNITS)) == name, value * unit, start) for start in starts for value in values]
    rough = min((solved(start[free] / scale[free], STEPS_S[0])[0] for start in starts), key=lambda one: one.cost)
    best, around = solved(rough.x, STEPS_S[-1])
    names = list(UNITS)
    sizes = np.abs(whole(best.x)) + np.where(np.array(names) == "armature", max(one.inertia for one in ready.pieces), 0.0)
    sd = np.hypot(_spread(ready, around[0], around[1:].T) * scale[free], STEP_SHARE * sizes[free])
    nothing = (np.abs(whole(best.x)) < 1e-3 * scale) & ([LIMITS[name][0] <= 0.0 for name in names])
    figures = np.where(nothing, 0.0, whole(best.x))
    return Fit(dict(zip(names, figures.tolist())), {names[i]: float(one) for i, one in zip(free, sd)}, ready)


def _guess(ready: Rig) -> tuple[np.ndarray, np.ndarray]:
    """Figures to begin with, and by how much each may well be off."""
    load = np.concatenate([one.load for one in ready.pieces])
    ahead = np.concatenate([(one.goal - one.q) * one.gain / ready.gain for one in ready.pieces])
    largest = float(np.abs(load).max())
    v = [np.gradient(one.q, one.t) for one in ready.pieces]
    a = [np.gradient(speed, one.t) for speed, one in zip(v, ready.pieces)]
    spring, drag, _ = np.linalg.lstsq(np.stack([ahead, -np.concatenate(v), -np.concatenate(a)], axis=-1), load, rcond=None)[0]
    stiffness = float(np.clip(spring, largest, 1e3 * largest))
    inertia = max(one.inertia for one in ready.pieces) or 1e-3 * stiffness
    guess = np.array(
        [
            stiffness,
            2e-3,
            np.clip(drag, 5e-3 * stiffness, 0.1 * stiffness),
            0.3,
            0.02 * largest,
            2.5 * largest,
            0.2 * inertia,
            0.0,
            0.01,
            1.0,
        ]
    )
    share = (0.05, None, 0.05, None, None, 0.05, 0.05, None, None, None)
    least = (0.0, 1e-3, 0.0, 0.02, 0.01 * largest, 0.0, 0.0, 1e-3, 2e-3, 0.1)
    return guess, np.array([one or part * value for value, part, one in zip(guess, share, least)])


def _spread(ready: Rig, off: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Standard deviations (p,) for errors (k,) with derivatives (k, p) that go on within blocks; infinite where nothing tells."""
    weight = 1.0 / np.sqrt(1.0 + (off / ROBUST) ** 2)
    block = np.concatenate([1000 * i + ((one.t - one.t[0]) / BLOCK_S).astype(int) for i, one in enumerate(ready.pieces)])
    score = weight[:, None] * off[:, None] * slope
    sums = np.array([score[block == one].sum(axis=0) for one in np.unique(block)])
    few = len(sums) / max(len(sums) - slope.shape[1], 1)
    values, vectors = np.linalg.eigh(slope.T @ (weight[:, None] * slope))
    good = values > 1e-9 * values[-1]
    inverse = (vectors[:, good] / values[good]) @ vectors[:, good].T
    sd = np.sqrt(few * np.diag(inverse @ (sums.T @ sums) @ inverse))
    sd[(vectors[:, ~good] ** 2).sum(axis=1) > 1e-6] = math.inf
    return sd


def held_out(logs: Sequence[ServoLog], fixed: Mapping[str, float] | None, like: Fit) -> list[Error]:
    """How well each log is predicted by a fit to the others; of a single one, its end by a fit to its begin.

    Args:
        like: fit to all of them, where the others begin.
    """
    if len(logs) == 1:
        log = logs[0]
        cut = float(TRAINED * log.t[-1])
        return [error(_found([log.part(log.t < cut)], fixed, like), log, cut)]
    found = []
    groups = min(len(logs), FOLDS)
    for group in range(groups):
        others = _found([log for i, log in enumerate(logs) if i % groups != group], fixed, like)
        found += [error(others, log) for log in logs[group::groups]]
    return found
