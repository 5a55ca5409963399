"""Trajectories put together: what is left of one, and some joints' motion beside the others'."""

from __future__ import annotations

import numpy as np

from . import splines
from .trajectory import Trajectory

SHORTEST_S = 1e-3
"""Duration of a trajectory that only stands [s]; with less than this left, one counts as over."""

SAME_BREAK_S = 1e-9
"""Breaks closer than this are one."""


def remainder(trajectory: Trajectory, begin_s: float) -> Trajectory:
    """What is left of a trajectory at ``begin_s`` [s, its own time], as one that starts at 0; where it stands if it is over."""
    if begin_s <= 0.0:
        return trajectory
    if begin_s > trajectory.duration - SHORTEST_S:
        return standing(trajectory.joint_names, trajectory.end)
    first = int(np.searchsorted(trajectory.breaks, begin_s, side="right")) - 1
    segments = trajectory.coefficients[first:].copy()
    segments[0] = splines.shifted(segments[0], begin_s - trajectory.breaks[first])
    return Trajectory(trajectory.joint_names, [0.0, *(trajectory.breaks[first + 1 :] - begin_s)], segments)


def standing(joint_names, q) -> Trajectory:
    """Stays at ``q`` (n,)."""
    coefficients = np.zeros((1, splines.DEGREE + 1, len(joint_names)))
    coefficients[0, 0] = q
    return Trajectory(joint_names, [0.0, SHORTEST_S], coefficients)


def select_joints(trajectory: Trajectory, columns) -> Trajectory:
    """The motion of some joints, given by their indices (k,)."""
    names = [trajectory.joint_names[column] for column in columns]
    return Trajectory(names, trajectory.breaks, trajectory.coefficients[:, :, np.asarray(columns)])


def merge_joints(moving: Trajectory, others: Trajectory, columns) -> Trajectory:
    """``others`` with the joints of ``moving`` in place of its ``columns``; lasts as long as the longer one.

    Args:
        moving: k joints.
        others: n joints.
        columns: (k,) indices of the k joints among the n.
    """
    breaks = np.unique(np.concatenate([moving.breaks, others.breaks]))
    breaks = breaks[np.concatenate([[True], np.diff(breaks) > SAME_BREAK_S])]
    segments = np.stack([_from(others, begin) for begin in breaks[:-1]])
    segments[:, :, np.asarray(columns)] = np.stack([_from(moving, begin) for begin in breaks[:-1]])
    return Trajectory(others.joint_names, breaks, segments)


def _from(trajectory: Trajectory, begin_s: float) -> np.ndarray:
    """Coefficients (6, n) from ``begin_s`` on, up to the next break; constant after the end."""
    if begin_s > trajectory.duration - SAME_BREAK_S:
        constant = np.zeros_like(trajectory.coefficients[0])
        constant[0] = trajectory.end
        return constant
    k = int(np.searchsorted(trajectory.breaks, begin_s + SAME_BREAK_S, side="right")) - 1
    offset = begin_s - trajectory.breaks[k]
    return splines.shifted(trajectory.coefficients[k], offset) if offset else trajectory.coefficients[k]
