"""Stops of a moving arm, straight on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.robot.model import Array, as_states, per_joint

from .trajectory import Trajectory, merge_joints

STEP = 1.05
"""By which a duration is made longer or shorter until it fits."""

LEAST_S = 1e-6
"""Shortest stop of a joint that stands nearly [s]."""


def stop_trajectory(
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    max_decel: ArrayLike,
    *,
    joint_names: Sequence[str],
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    min_s: float = 0.02,
) -> Trajectory:
    """Trajectory from the moving state (q, v, a) to rest, all joints together, then hold.

    The velocity is a cubic from (v, a) to (0, 0), of peak deceleration 1.5 |v| / T if a = 0.  It would turn back where
    a < -3 v / T: a joint that decelerates so much already is at rest after 3 v / -a, before the others.

    Args:
        max_decel: (n,) or a number [rad/s²]; exceeded only where |a| already is, or where a limit is closer.
        lower, upper: (n,) position limits [rad] to stop within, if that can be.
        min_s: shortest duration [s].
    """
    n = len(joint_names)
    q, v, a = (as_states(name, x, n) for name, x in zip("qva", (q, v, a)))
    allowed = per_joint("max_decel", np.maximum(max_decel, np.abs(a)), joint_names, positive=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        longest = np.where(v * a < 0.0, np.maximum(3.0 * np.abs(v / a), LEAST_S), np.inf)
    T = max(float((1.5 * np.abs(v) / allowed).max()), min_s)
    while (_peak(v, a, np.minimum(T, longest)) > allowed * (1.0 + 1e-9)).any():
        T *= STEP
    for limit, side in ((lower, -1.0), (upper, 1.0)):
        room = np.inf if limit is None else side * (np.asarray(limit) - q)
        while T > min_s and ((side * _way(v, a, np.minimum(T, longest)) > room) & (room >= 0.0)).any():
            T = max(T / STEP, min_s)
    stop = _to_rest(joint_names, q, v, a, T)
    for j in np.flatnonzero(longest < T).tolist():
        stop = merge_joints(_to_rest(joint_names, q, v, a, float(longest[j])), stop, [j])
    return stop


def _to_rest(joint_names: Sequence[str], q: Array, v: Array, a: Array, T: float) -> Trajectory:
    c2, c3 = _stop(v, a, T)
    return Trajectory(joint_names, [0.0, T], [[q, v, a / 2.0, c2 / 3.0, c3 / 4.0, 0.0 * q]])


def _way(v: Array, a: Array, T: Array) -> Array:
    """Way of the stop, (n,)."""
    return v * T / 2.0 + a * T**2 / 12.0


def _stop(v: Array, a: Array, T: Array | float) -> tuple[Array, Array]:
    """c2 and c3 of the velocity v + a t + c2 t² + c3 t³ of a stop after ``T`` [s]."""
    return -3.0 * v / T**2 - 2.0 * a / T, 2.0 * v / T**3 + a / T**2


def _peak(v: Array, a: Array, T: Array) -> Array:
    """Largest |acceleration| of the stop, (n,): at an end or at the vertex of a parabola."""
    c2, c3 = _stop(v, a, T)
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.clip(np.nan_to_num(-c2 / (3.0 * c3)), 0.0, T)
    return np.maximum(np.abs(a), np.abs(a + 2.0 * c2 * vertex + 3.0 * c3 * vertex**2))
