"""Slips that show in the readings of a droop before any fit: another sign, unit or link, a joint that never moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from picker_dynamics.errors import InputError
from picker_dynamics.robot.kinematic_tree import link_poses

if TYPE_CHECKING:
    from .droop import DroopModel, Reading

FURTHEST = {"elevation": (0.7, "rad"), "height": (0.25, "m")}
"""A reading further than this from what is expected is none that a servo's errors explain."""

TOLD_SPREAD, MOVED_LEAST = 0.2, 0.5
"""Set-points that differ by a standard deviation of so much [rad] move a joint by at least half of that, or it is not driven."""


def wrapped(difference, readings: Sequence[Reading]) -> np.ndarray:
    """(r,) differences of readings, those of angles within ±pi."""
    turns = np.array([one.sight.kind == "elevation" for one in readings])
    return np.where(turns, (difference + np.pi) % (2.0 * np.pi) - np.pi, difference)


def require_plausible(model: DroopModel, unknowns, readings: Sequence[Reading]) -> None:
    """Refuse readings that no such arm could give.

    Raises:
        InputError: naming the joint that does not follow its set-points, or the reading that is too far off.
    """
    off = wrapped(np.array([one.value for one in readings]) - model.predict(unknowns, readings), readings)
    for joint, share in moved_shares(model, unknowns, readings).items():
        if share < MOVED_LEAST:
            raise InputError(
                f"{joint} moved {100 * share:.0f} % of what it was told: is its servo powered, on the right channel "
                "and turning the right way, its horn tight?",
                subject=joint,
                value=share,
                limit=MOVED_LEAST,
            )
    for number, (one, error) in enumerate(zip(readings, off), start=1):
        limit, unit = FURTHEST[one.sight.kind]
        if abs(error) > limit:
            raise InputError(
                f"reading {number}, {one.sight.kind} of {one.sight.link}, is {one.value:.3f} {unit}, expected about "
                f"{one.value - error:.3f} {unit}: sign, unit or link mixed up?",
                subject=one.sight.link,
                value=one.value,
                limit=limit,
            )


def moved_shares(model: DroopModel, unknowns, readings: Sequence[Reading]) -> dict[str, float]:
    """By joint, how far it followed its set-points: slope of where it was over what it was told; 1 for a servo that works.

    Told by the median of the slopes between visits, so that a misread elevation does not accuse a joint.  Only of joints whose
    set-points differ, and only from visits at which the elevations tell every sought joint.
    """
    columns = list(model.columns)
    looks = [one for one in readings if one.sight.kind == "elevation"]
    if not looks:
        return {}
    q = model.resting(unknowns, looks)
    poses, visits = link_poses(model.description, q), np.array([one.visit for one in looks])
    seen = {sight: (sight.of(poses), sight.rates(model.description, poses)[:, columns]) for sight in {one.sight for one in looks}}
    off = wrapped(np.array([one.value - seen[one.sight][0][row] for row, one in enumerate(looks)]), looks)
    rates = np.array([seen[one.sight][1][row] for row, one in enumerate(looks)])
    told, been = [], []
    for visit in np.unique(visits):
        rows = np.flatnonzero(visits == visit)
        if np.linalg.matrix_rank(rates[rows], 1e-6) == len(columns):
            told.append(model.servos.to_angle(looks[rows[0]].pulses_us)[columns])
            been.append(q[rows[0], columns] + np.linalg.lstsq(rates[rows], off[rows], rcond=None)[0])
    shares = {}
    for joint, setpoint, position in zip(model.joints, np.transpose(told), np.transpose(been)):
        apart = np.subtract.outer(setpoint, setpoint)
        far = apart > TOLD_SPREAD
        if setpoint.std() > TOLD_SPREAD and far.any():
            shares[joint] = float(np.median(np.subtract.outer(position, position)[far] / apart[far]))
    return shares
