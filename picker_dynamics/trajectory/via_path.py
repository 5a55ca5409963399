"""Paths through via points: legs from one to the next, joined by a stop or by a blend around the point.

A leg is a path q(s) of its own, a straight line of the joints or of the tool.  A blend leaves one leg where the tool is a radius
from the via point, and joins the next as far from it, by the quintic that continues both with slope and curvature.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import InputError, refuse_if
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.robot.model import as_states

from . import splines
from .trajectory import Trajectory, chained, part

RAD_M = 0.1
"""Way [m] for which a turn of one rad counts, along a leg on which the tool moves less."""

PLACES = 200
"""Along a leg, where the tool's distance from a via point is looked at."""

LEAST_LEG = 1e-6
"""A leg is at least this long [m]."""


def joint_leg(joint_names: Sequence[str], kinematics: ChainKinematics, start: ArrayLike, end: ArrayLike) -> Trajectory:
    """The straight line of the joints between two poses (n,) [rad or m].

    Raises:
        InputError: it has no length.
    """
    q0, q1 = as_states("start", start, len(joint_names)), as_states("end", end, len(joint_names))
    tips = kinematics.forward(q0 + np.linspace(0.0, 1.0, PLACES)[:, None] * (q1 - q0))
    length = max(float(np.linalg.norm(np.diff(tips, axis=0), axis=1).sum()), RAD_M * float(np.abs(q1 - q0).max()))
    if length < LEAST_LEG:
        raise InputError("a via point is where the one before it is, or where the arm stands: leave it out", "via")
    return Trajectory(joint_names, [0.0, length], [splines.linear(length, q0, q1)])


def joined(legs: Sequence[Trajectory], radii_m: Sequence[float], kinematics: ChainKinematics) -> list[Trajectory]:
    """Paths from stop to stop along ``legs``, blended where ``radii_m``, one for each via point between two legs, is not 0.

    Raises:
        InputError: a leg is too short for its blends; names the via point and the radius that fits.
    """
    leaves, joins = [leg.duration for leg in legs], [0.0 for _ in legs]
    for k, radius in enumerate(radii_m):
        if radius > 0.0:
            leaves[k] = _cut(legs[k], kinematics, radius, k, at_end=True)
            joins[k + 1] = _cut(legs[k + 1], kinematics, radius, k, at_end=False)
    paths, parts = list[Trajectory](), list[Trajectory]()
    for k, leg in enumerate(legs):
        over = 1e3 * (joins[k] - leaves[k])
        text = f"the blends at via points {k} and {k + 1} are longer than the leg between them, by {over:.0f} mm"
        refuse_if(over > 0.0, text, "blend", joins[k] + leg.duration - leaves[k], leg.duration)
        parts += [part(leg, joins[k], leaves[k])] if leaves[k] > joins[k] else []
        if k + 1 < len(legs) and radii_m[k] > 0.0:
            before, after = leg.duration - leaves[k], joins[k + 1]
            length = min(before + after, 2.5 * min(before, after))  # the quintic's control points stay on their sides
            blend = splines.quintic(length, *leg.sample(leaves[k]), *legs[k + 1].sample(joins[k + 1]))
            parts.append(Trajectory(leg.joint_names, [0.0, length], [blend]))
        else:
            paths.append(chained(parts))
            parts = []
    return paths


def _cut(leg: Trajectory, kinematics: ChainKinematics, radius: float, via: int, *, at_end: bool) -> float:
    """Where on a leg the tool is ``radius`` [m] from the via point at its end, or begin."""
    s = np.linspace(0.0, leg.duration, PLACES + 1)[:: -1 if at_end else 1]
    tips = kinematics.forward(leg.sample(s)[0])
    away = np.maximum.accumulate(np.linalg.norm(tips - tips[0], axis=1))
    if away[-1] < radius:
        text = f"the blend of {1e3 * radius:.0f} mm at via point {via + 1} is longer than a leg to it, {1e3 * away[-1]:.0f} mm"
        raise InputError(text, "blend", radius, float(away[-1]))
    return float(np.interp(radius, away, s))
