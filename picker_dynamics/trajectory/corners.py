"""Corners of a trajectory through positions alone: rounded, as no joint can change its speed at once."""

from __future__ import annotations

import numpy as np

from picker_dynamics.robot.model import Array

from . import splines
from .trajectory import SAME_BREAK_S, Trajectory


def rounded(straight: Trajectory, round_s: float) -> Trajectory:
    """A piecewise linear trajectory with parabolas for corners: no joint can change its speed at once.

    A corner is cut from ``round_s`` [s] before it to as long after it, less where a segment is shorter than twice that; at the
    last point the arm comes to rest in time, for which its last segment is a little faster.
    """
    lengths, q = np.diff(straight.breaks), straight.coefficients[:, 0]
    slopes = straight.coefficients[:, 1].copy()
    half = np.minimum(np.minimum(lengths[:-1], lengths[1:]) / 2.0, round_s)
    half = np.append(half, min(lengths[-1] / 4.0, round_s))
    slopes[-1] *= lengths[-1] / (lengths[-1] - half[-1])
    corners = np.append(straight.breaks[1:-1], straight.duration - half[-1])
    at, after = np.vstack([q[1:], straight.end]), np.vstack([slopes[1:], np.zeros(straight.n)])
    breaks, segments = [0.0], list[Array]()
    for time, w, corner, v0, v1, begin in zip(corners, half, at, slopes, after, q):
        if time - w - breaks[-1] > SAME_BREAK_S:
            segments.append(_quadratic(corner + (breaks[-1] - time) * v0 if segments else begin, v0, np.zeros_like(v0)))
            breaks.append(time - w)
        segments.append(_quadratic(corner - w * v0, v0, (v1 - v0) / (4.0 * w)))
        breaks.append(time + w)
    return Trajectory(straight.joint_names, breaks, segments)


def _quadratic(*coefficients: Array) -> Array:
    return np.vstack([*coefficients, np.zeros((splines.DEGREE - 2, len(coefficients[0])))])
