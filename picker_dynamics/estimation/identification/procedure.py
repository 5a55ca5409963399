"""Identification from recordings in Python: parameters of the arm, and how well they predict another motion.

columns = Columns.of(description)
found = identify(columns, [samples])                 # base parameters and bodies that can exist
result = predict(columns, found.bodies.pi, other)    # on another motion

Whether an arm has rotors worth mentioning, and a payload at its tool, where nobody said, the evidence decides.  Every combination
is fitted to the same samples with the same weights and noise, those of the free base parameters of the richest one.  The plainest
combination whose evidence is not clearly below the best is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.robot.model import tip_speeds

from . import base, consistent, filtering, inertia
from .base import BaseFit
from .columns import Columns
from .consistent import LEAVES, ConsistentFit
from .filtering import CUTOFF_HZ, SLIDES, Equations
from .limits import usual_states
from .samples import Samples, checked

CLEARLY = 5.0
"""Logarithm of the odds above which something is kept (very strong: R. E. Kass and A. E. Raftery, Bayes factors, Journal of the
American Statistical Association 90, 1995)."""


@dataclass(frozen=True)
class Trial:
    """Something that nobody asked for and that may explain the efforts: ``rotors`` or ``payload``.

    Attributes:
        kept: whether it is part of what was found.
        odds: logarithm of the odds for it; nan: with it this motion leaves something open.
    """

    name: str
    kept: bool
    odds: float


@dataclass(frozen=True, eq=False)
class Identified:
    """Result of an identification.

    Attributes:
        base: base parameters with their covariance.
        bodies: all parameters, of bodies that can exist.
        spikes: readings that were replaced.  equations: independent samples that were used.
        residual: (n,) what is left, root mean square, as a share of the (filtered) efforts, of samples that count.
        misfit: what bodies that can exist leave, over what free base parameters leave: 1 where nothing is lost by that.
        tip_speed: at which it was judged whether anything stays open [m/s].
        trials: what was tried besides.
    """

    base: BaseFit
    bodies: ConsistentFit
    spikes: int
    equations: int
    residual: np.ndarray
    misfit: float
    tip_speed: float
    trials: tuple[Trial, ...] = ()

    @property
    def strained(self) -> tuple[tuple[str, float], ...]:
        """Links that are too far from what was believed of them, and by how many standard deviations."""
        joints = self.bodies.columns.description.movable
        return tuple((joint.child, float(far)) for joint, far in zip(joints, self.bodies.strain) if far > LEAVES)


@dataclass(frozen=True, eq=False)
class Prediction:
    """How well efforts were predicted, root mean squares (n,) [N·m or N]; nan where a joint had no such samples.

    Attributes:
        error, effort: of samples that count in a fit too: while the joint slides, if its friction was sought.
        resting_error, resting_effort: of the others, in which dry friction is anything up to its bound.
        moving: (n,) share of samples that count.
    """

    error: np.ndarray
    effort: np.ndarray
    resting_error: np.ndarray
    resting_effort: np.ndarray
    moving: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """Error relative to effort, (n,)."""
        return self.error / self.effort

    @property
    def overall(self) -> float:
        """Error of all joints: the root mean square of their shares, as N·m and N cannot be added."""
        return _together(self.shares)

    @property
    def resting(self) -> float:
        """Error of all joints, as ``overall``, of the samples that do not count."""
        return _together(self.resting_error / self.resting_effort)

    @property
    def everything_shares(self) -> np.ndarray:
        """Error relative to effort of all samples, (n,)."""
        error, effort = (
            np.nan_to_num(self.moving * moving**2) + np.nan_to_num((1.0 - self.moving) * resting**2)
            for moving, resting in ((self.error, self.resting_error), (self.effort, self.resting_effort))
        )
        return np.sqrt(error / effort)

    @property
    def everything(self) -> float:
        """Error of all joints, as ``overall``, of all samples."""
        return _together(self.everything_shares)


def _together(shares: np.ndarray) -> float:
    there = shares[np.isfinite(shares)]
    return float(np.sqrt(np.mean(there**2))) if there.size else math.nan


def identify(
    columns: Columns,
    recordings: Sequence[Samples],
    *,
    cutoff_hz: float = CUTOFF_HZ,
    tip_speed: float | None = None,
    allow_open: bool = False,
    try_rotors: bool = False,
    payload: bool | None = False,
) -> Identified:
    """Find the parameters.

    Args:
        recordings: one or more, of the same arm.
        tip_speed: with which the arm is moved [m/s]: what matters to its torques is judged by that; None: as in the recordings.
        allow_open: let the URDF stand in for what the recordings do not tell.
        try_rotors: look for rotors too, and keep them where they explain clearly more.
        payload: look for one at the tool; None: try it in the same way.

    Raises:
        InputError, LimitError: recordings that cannot be, or that leave parameters open (named).
    """
    refuse_if(not recordings, "no recording to identify from")
    for samples in recordings:
        checked(samples, columns.description)

    def read(one: Columns) -> list[Equations]:
        return [filtering.equations(samples, one, cutoff_hz) for samples in recordings]

    equations = read(columns)
    _require_motion(columns, equations)
    if tip_speed is None:
        tip_speed = max(float(tip_speeds(columns.model, one.q, one.v).max()) for one in equations)
    states = usual_states(columns.description, columns.model, tip_speed)

    def free(one: Columns, measured: list[Equations], allowed: bool) -> BaseFit:
        return base.fit(base.find(one), measured, one.regressor(*states), allow_open=allowed)

    trials: tuple[Trial, ...] = ()
    if try_rotors or payload is None:
        columns, payload, trials = _chosen(columns, read, free, rotors=try_rotors, payload=payload)
    equations = read(columns)
    of_base = free(columns, equations, allow_open)
    if not allow_open:
        base.require_told(of_base, tip_speed)
    found = consistent.fit(columns, equations, of_base, load=payload)
    tau, Y = base.joined(equations)
    counted = base.usable(columns, np.concatenate([one.sliding for one in equations]))
    left = tau - Y @ found.pi
    root = np.sqrt(of_base.weights) / of_base.sigma
    return Identified(
        of_base,
        found,
        sum(one.spikes for one in equations),
        len(tau),
        _root_mean_square(left, counted) / _root_mean_square(tau, counted),
        float(np.linalg.norm(root * left) / max(np.linalg.norm(root * of_base.residuals), 1e-300)),
        tip_speed,
        trials,
    )


def _chosen(
    columns: Columns,
    read: Callable[[Columns], Sequence[Equations]],
    free: Callable[[Columns, Sequence[Equations], bool], BaseFit],
    *,
    rotors: bool,
    payload: bool | None,
) -> tuple[Columns, bool, tuple[Trial, ...]]:
    """The columns to fit, whether with a payload, and what was tried.

    Args:
        columns: without what is to be tried.
        read: equations with such columns.
        free: base parameters from them; the last argument allows open ones.
        rotors: try them.
        payload: whether there is one; None: try it.
    """
    trials, kinds = [], [columns]
    rotors = rotors and "rotor" not in columns.drives
    if payload is not None:
        loads: tuple[bool, ...] = (payload,)
    else:
        loads = (False,) if inertia.carrier(columns.description) is None else (False, True)
    if rotors:
        kinds.append(columns.with_rotors())
    equations = {one: read(one) for one in kinds}
    judge = free(kinds[-1], equations[kinds[-1]], True)
    if rotors and judge.open:
        trials.append(Trial("rotors", False, math.nan))
        judge = free(columns, equations[columns], True)
        kinds, rotors = kinds[:1], False
    evidence = {(one is not columns, load): _evidence(one, equations[one], judge, load) for one in kinds for load in loads}
    best = max(evidence.values())
    plainest_first = sorted(evidence, key=lambda kind: (sum(kind), -evidence[kind]))
    chosen = next(kind for kind in plainest_first if evidence[kind] >= best - CLEARLY)
    for place, (name, tried) in enumerate((("rotors", rotors), ("payload", len(loads) > 1))):
        if tried:
            with_it, without = (max(evidence[kind] for kind in evidence if kind[place] is one) for one in (True, False))
            trials.append(Trial(name, chosen[place], with_it - without))
    return kinds[-1] if chosen[0] else columns, chosen[1], tuple(trials)


def _evidence(columns: Columns, equations: Sequence[Equations], judge: BaseFit, load: bool) -> float:
    """Of one combination; minus infinity where no solution is found, which is no reason to refuse the others."""
    try:
        return consistent.fit(columns, equations, judge, load=load).evidence
    except InputError:
        return -math.inf


def _root_mean_square(x: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """(n,) of x (k, n) where it counts; nan where nothing does."""
    number = counted.sum(axis=0)
    return np.sqrt(np.where(number, (counted * x**2).sum(axis=0) / np.maximum(number, 1), np.nan))


def _require_motion(columns: Columns, equations: Sequence[Equations]) -> None:
    """Refuse recordings without motion, and joints whose friction is sought that move one way only."""
    v, sliding = (np.concatenate([getattr(one, name) for one in equations]) for name in ("v", "sliding"))
    refuse_if(
        not sliding.any(),
        f"no joint moves faster than {SLIDES:g} rad/s (or m/s) for longer than the filter looks: a recording without motion "
        "says nothing of masses and friction (picker identify excite)",
        "velocity",
        float(np.abs(v).max(initial=0.0)),
        SLIDES,
    )
    if "coulomb" not in columns.drives:
        return
    for joint, speed, slides in zip(columns.description.joint_names, v.T, sliding.T):
        refuse_if(
            slides.any() and (speed[slides].min() > 0.0 or speed[slides].max() < 0.0),
            f"{joint} moves one way only: its friction cannot be told from its load; record both directions, or look "
            "for none (--no-friction)",
            joint,
        )


def predict(
    columns: Columns, pi: np.ndarray, samples: Samples, *, cutoff_hz: float = CUTOFF_HZ, truth: np.ndarray | None = None
) -> Prediction:
    """Predict the efforts of a recording from its positions.

    Args:
        pi: (p,) parameters.
        truth: (k, n) efforts without noise, at the times of the samples, to compare with as they are; default the measured
            ones, with the noise above the cutoff taken from them and from the prediction.

    Raises:
        InputError, LimitError: a recording that cannot be.
    """
    moved = filtering.motion(checked(samples, columns.description), cutoff_hz)
    predicted = columns.regressor(moved.q, moved.v, moved.a) @ pi + columns.known(moved.v)
    if truth is None:
        predicted, truth = filtering.low_pass(predicted, moved.dt, cutoff_hz), moved.tau
    used = moved.used
    counted = base.usable(columns, moved.sliding)[used]
    sizes = [_root_mean_square(x[used], which) for which in (counted, ~counted) for x in (predicted - truth, truth)]
    return Prediction(*sizes, counted.mean(axis=0))
