"""Identification from recordings in Python: parameters of the arm, and how well they predict another motion.

columns = Columns.of(description)
found = identify(columns, [samples])                 # base parameters and bodies that can exist
result = predict(columns, found.bodies.pi, other)    # on another motion
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import InputError

from . import base, consistent, filtering, least_squares
from .columns import Columns
from .consistent import ConsistentFit
from .filtering import CUTOFF_HZ
from .least_squares import BaseFit
from .limits import usual_states
from .samples import Samples, checked


@dataclass(frozen=True, eq=False)
class Identified:
    """What came out.

    Attributes:
        base: base parameters with their covariance.
        bodies: all parameters, of bodies that can exist.
        spikes: readings that were replaced.  equations: independent samples that were used.
        residual: (n,) misfit of the bodies, root mean square, as a share of the (filtered) efforts.
    """

    base: BaseFit
    bodies: ConsistentFit
    spikes: int
    equations: int
    residual: np.ndarray


@dataclass(frozen=True, eq=False)
class Prediction:
    """How well efforts were predicted, root mean squares (n,) [N·m or N], where the readings were used."""

    error: np.ndarray
    effort: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """(n,) error relative to effort."""
        return self.error / self.effort

    @property
    def overall(self) -> float:
        """Of all joints: the root mean square of their shares, as N·m and N cannot be added."""
        return float(np.sqrt(np.mean(self.shares**2)))


def identify(
    columns: Columns,
    recordings: Sequence[Samples],
    *,
    cutoff_hz: float = CUTOFF_HZ,
    tip_speed: float = math.inf,
    allow_open: bool = False,
) -> Identified:
    """Find the parameters.

    Args:
        recordings: one or more, of the same arm.
        tip_speed: with which the arm is moved [m/s]: what matters to its torques is judged by that.
        allow_open: let the URDF stand in for what the recordings do not tell.

    Raises:
        InputError, LimitError: recordings that cannot be, or that leave parameters open (named).
    """
    if not recordings:
        raise InputError("no recording to identify from")
    for samples in recordings:
        checked(samples, columns.description)
    equations = [filtering.equations(samples, columns, cutoff_hz) for samples in recordings]
    usual = columns.regressor(*usual_states(columns.description, columns.model, tip_speed))
    of_base = least_squares.fit(base.find(columns), equations, usual, allow_open=allow_open)
    if not allow_open:
        least_squares.require_told(of_base)
    bodies = consistent.fit(columns, equations, of_base)
    tau, Y = least_squares.joined(equations)
    residual = np.sqrt(np.mean((tau - Y @ bodies.pi) ** 2, axis=0) / np.mean(tau**2, axis=0))
    return Identified(of_base, bodies, sum(one.spikes for one in equations), len(tau), residual)


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
    return Prediction(np.sqrt(np.mean((predicted - truth)[used] ** 2, axis=0)), np.sqrt(np.mean(truth[used] ** 2, axis=0)))
