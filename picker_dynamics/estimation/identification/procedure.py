"""Identification from recordings in Python: parameters of the arm, and how well they predict another motion.

columns = Columns(description)
found = identify(columns, [samples])                          # base parameters and bodies that can exist
result = predict(found.bodies.columns, found.bodies.pi, other)    # on another motion

Rotors are looked for too, and kept if the motion tells them and one is clearly there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.robot.model import tip_speeds

from . import base, consistent, filtering
from .base import BaseFit
from .columns import Columns
from .consistent import ConsistentFit
from .filtering import CUTOFF_HZ, SLIDES, Equations
from .samples import Samples, checked

CLEARLY = 5.0
"""Standard deviations by which a rotor is above nothing that is kept."""


@dataclass(frozen=True, eq=False)
class Identified:
    """Result of an identification.

    Attributes:
        base: base parameters with their covariance.
        bodies: all parameters, of bodies that can exist.
        equations: independent samples that were used.
        residual: (n,) what is left, root mean square, as a share of the (filtered) efforts, while the joint moves.
        misfit: what bodies that can exist leave, over what free base parameters leave: 1 where nothing is lost by that.
        tip_speed: at which it was judged whether anything stays open [m/s].
    """

    base: BaseFit
    bodies: ConsistentFit
    equations: int
    residual: np.ndarray
    misfit: float
    tip_speed: float


class Prediction(NamedTuple):
    """How well efforts were predicted while joints move: root mean squares (n,) [N·m or N] of the error and of the efforts, nan
    where none moves, and the share of samples that count."""

    error: np.ndarray
    effort: np.ndarray
    moving: np.ndarray

    @property
    def overall(self) -> float:
        """Error of all joints that move: the root mean square of their shares, as N·m and N cannot be added."""
        shares = (self.error / self.effort)[self.moving > 0.0]
        return float(np.sqrt(np.mean(shares**2))) if shares.size else float("nan")


def identify(
    columns: Columns,
    recordings: Sequence[Samples],
    *,
    cutoff_hz: float = CUTOFF_HZ,
    tip_speed: float | None = None,
    allow_open: bool = False,
) -> Identified:
    """Find the parameters.

    Args:
        columns: of the arm, without rotors.
        recordings: one or more, of the same arm.
        tip_speed: with which the arm is moved [m/s]: what matters to its torques is judged by that; None: as in the recordings.
        allow_open: let the URDF stand in for what the recordings do not tell.

    Raises:
        InputError, LimitError: recordings that cannot be, or that leave parameters open (named).
    """
    refuse_if(not recordings, "no recording to identify from")
    for samples in recordings:
        checked(samples, columns.description)
    richest = replace(columns, rotors=True)
    whole = filtering.equations(recordings, richest, cutoff_hz)
    _require_motion(columns, whole)
    if tip_speed is None:
        tip_speed = float(tip_speeds(columns.model, whole.q, whole.v).max())
    usual = richest.regressor(*richest.usual_states(tip_speed))

    def fitted(one: Columns) -> tuple[Equations, BaseFit, ConsistentFit | None]:
        """Equations and fits of some parameters; without bodies where something stays open that may not."""
        part = replace(whole, Y=whole.Y[..., : one.count])
        of_base = base.fit(base.find(one), part, usual[..., : one.count])
        return part, of_base, consistent.fit(one, part, of_base) if allow_open or not of_base.open else None

    equations, of_base, found = fitted(richest)
    if of_base.open or found is None or richest.drive("rotor", found.pi / found.sd).max() <= CLEARLY:
        equations, of_base, found = fitted(columns)
    if found is None:
        left = "; ".join(of_base.open[:6]) + (" and more" if len(of_base.open) > 6 else "")
        raise InputError(
            f"this motion leaves open, uncertain by more than {base.OPEN_SHARE:.0%} of the torques at up to {tip_speed:.3g} m/s: "
            f"{left}. Record one that excites them (picker identify excite), say --tip-speed M_S if the arm is moved slower, or "
            "--allow-open: the URDF's numbers stand in",
            *("samples", float(of_base.effect.max()), base.OPEN_SHARE),
        )
    left, root = equations.tau - equations.Y @ found.pi, np.sqrt(of_base.weights) / of_base.sigma
    misfit = np.linalg.norm(root * left) / max(np.linalg.norm(root * of_base.residuals), 1e-300)
    residual = _root_mean_square(left, equations.sliding) / _root_mean_square(equations.tau, equations.sliding)
    return Identified(of_base, found, len(left), residual, float(misfit), tip_speed)


def _root_mean_square(x: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """(n,) of x (k, n) where it counts; nan where nothing does."""
    total, number = np.sum(x**2, axis=0, where=counted), counted.sum(axis=0)
    rms: np.ndarray = np.sqrt(np.divide(total, number, out=np.full(total.shape, np.nan), where=number > 0))
    return rms


def _require_motion(columns: Columns, equations: Equations) -> None:
    """Refuse recordings without motion, and joints that move one way only."""
    fastest = float(np.abs(equations.v).max(initial=0.0))
    still = f"no joint moves faster than {SLIDES:g} rad/s (or m/s) for longer than the filter looks (picker identify excite)"
    refuse_if(not equations.sliding.any(), still, "velocity", fastest, SLIDES)
    for joint, speed, slides in zip(columns.description.joint_names, equations.v.T, equations.sliding.T):
        one_way = slides.any() and np.all(np.sign(speed[slides]) == np.sign(speed[slides][0]))
        refuse_if(one_way, f"{joint} moves one way only: friction and load look alike; record both directions", joint)


def predict(columns: Columns, pi: np.ndarray, samples: Samples, *, cutoff_hz: float = CUTOFF_HZ) -> Prediction:
    """Predict the efforts of a recording from its positions, and compare while joints move, both low-passed.

    Args:
        pi: (p,) parameters.

    Raises:
        InputError, LimitError: a recording that cannot be.
    """
    moved = filtering.motion(checked(samples, columns.description), cutoff_hz)
    predicted = filtering.low_pass(columns.regressor(moved.q, moved.v, moved.a) @ pi, moved.dt, cutoff_hz)
    counted = moved.sliding & moved.used[:, None]
    error, effort = (_root_mean_square(x, counted) for x in (predicted - moved.tau, moved.tau))
    return Prediction(error, effort, moved.sliding[moved.used].mean(axis=0))
