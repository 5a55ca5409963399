"""Straight lines of the tool, as paths of the joints: q(s), s the way of the tool in metres.

The line is divided into knots; at each the joints follow from the pose before (``ChainKinematics.along``), so that the arm keeps
its side of every singularity, and a path whose slope and curvature are continuous goes through them.  Where the tool leaves the
line between two knots by more than ``STRAY_M`` one more is set.  The hand's pitch goes evenly from what it is to what is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import SingularityError, UnreachableError, refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.inverse_kinematics import STEEP, ChainKinematics
from picker_dynamics.robot.model import Array, as_vector, checked_number
from picker_dynamics.robot.tip_target import checked_tip

from . import splines
from .trajectory import Trajectory

STRAY_M = 1e-4
"""How far from its line the tool may be [m]: of the 0.5 mm that are promised the motion needs the rest."""

KNOT_M, KNOT_RAD, FEWEST = 0.02, 0.15, 4
"""Length of the line, and turn of the hand, between two knots at first, and how many there are at least."""

FINER, HALVINGS = 16, 5
"""Steps in which the joints go from knot to knot where one is too long, and how often knots may be halved."""

BETWEEN = 4
"""Places between two knots where the tool is looked at."""

AHEAD_M = 0.01
"""So far beyond where a line ends is looked why it does [m]."""

SHORTEST_M = 1e-4
"""A line is at least this long [m]."""

HELD = "held"
"""A pitch that stays what it is."""

Turning = Callable[[Array], dict[str, Array]]
"""Pitches or directions at shares (k,) of a line, as arguments of ``ChainKinematics.along``."""


def straight_line(
    arm: ArmDescription,
    kinematics: ChainKinematics,
    start: ArrayLike,
    tip_m: ArrayLike,
    *,
    pitch_rad: float | str | None = None,
    direction: ArrayLike | None = None,
) -> Trajectory:
    """Path of the joints from ``start`` (n,) [rad or m] along which the tool goes straight to ``tip_m`` (3,) [m], base frame.

    Position limits of joints are not looked at.

    Args:
        kinematics: of the same arm.
        pitch_rad: elevation of the tool's direction where the line ends [rad]; ``HELD``: what it is; None: any.
        direction: (3,) in which the tool points there, instead.

    Raises:
        InputError: numbers that cannot be used, or a line without length.
        UnreachableError, SingularityError: the tool cannot follow the line; names the place.
    """
    q0, end = as_vector("start", start, arm.n), checked_tip(tip_m)
    begin = kinematics.forward(q0)
    way = end - begin
    length = float(np.linalg.norm(way))
    text = f"the tip is {1e3 * length:.2f} mm from there already: a straight line is at least {1e3 * SHORTEST_M:g} mm long"
    refuse_if(length < SHORTEST_M, text, "tip", length, SHORTEST_M)
    turning, turn = _turning(kinematics, q0, pitch_rad, direction)

    def led(share: Array, q: Array) -> Array:
        return kinematics.along(begin + share[:, None] * way, q, **turning(share))

    count = max(FEWEST, math.ceil(length / KNOT_M), math.ceil(turn / KNOT_RAD))
    share = np.linspace(0.0, 1.0, count + 1)
    q, where = _followed(led, share, q0)
    last = q[-1] if len(q) else q0
    for _ in range(HALVINGS if len(q) == len(share) else 0):
        path = Trajectory(arm.joint_names, length * share, splines.smooth(length * share, q))
        between = (share[:-1, None] + np.diff(share)[:, None] * np.arange(1, BETWEEN) / BETWEEN).ravel()
        off = off_line(kinematics.forward(path.sample(length * between)[0]), begin, end)
        if off.max() <= STRAY_M:
            return path
        where = float(between[off.argmax()])
        stray = off.reshape(count, -1).max(axis=1) > STRAY_M
        halves = (0.5 * (share[:-1] + share[1:]))[stray]
        more = led(halves, path.sample(length * halves)[0])
        if len(more) < len(halves):
            break
        rows = np.flatnonzero(stray) + 1
        share, q, count = np.insert(share, rows, halves), np.insert(q, rows, more, axis=0), count + len(rows)
    x, y, z = 1e3 * (begin + where * way)
    place = f"after {1e3 * where * length:.0f} of {1e3 * length:.0f} mm, at ({x:.0f}, {y:.0f}, {z:.0f}) mm"
    # Where its reach ends an arm is singular too, so look beyond; why a pitch cannot be held nobody asks.
    for at in () if pitch_rad == HELD else (where, min(where + AHEAD_M / length, 1.0)):
        task = {name: values[0] for name, values in turning(np.array([at])).items()}
        try:
            kinematics.inverse(begin + at * way, near=last, pitch_rad=task.get("pitches_rad"), direction=task.get("directions"))
        except UnreachableError as error:
            text = f"the straight line cannot be followed {place}: {error}"
            raise UnreachableError(text, "tip", where * length, length) from error
    text = f"the straight line passes a singularity {place}, where joints would have to jump: go there by a via point"
    raise SingularityError(text, "tip", where * length, length)


def _followed(led: Callable[[Array, Array], Array], share: Array, start: Array) -> tuple[Array, float]:
    """Poses (k, n) at shares of a line, each from the one before, in smaller steps where one is too long; and where they end."""
    q = led(share, start)
    while 0 < len(q) < len(share):
        steps = np.linspace(share[len(q) - 1], share[len(q)], FINER + 1)[1:]
        small = led(steps, q[-1])
        if len(small) < FINER:
            return q, float(steps[len(small)])
        q = np.concatenate([q, small[-1:], led(share[len(q) + 1 :], small[-1])])
    return q, float(len(q) == len(share))


def _turning(
    kinematics: ChainKinematics, q0: Array, pitch_rad: float | str | None, direction: ArrayLike | None
) -> tuple[Turning, float]:
    """How the tool turns along a line, and by how much [rad]."""
    points, now = kinematics.direction(q0), float(kinematics.pitch(q0))
    if direction is not None:
        refuse_if(pitch_rad not in (None, HELD), "give a pitch or a direction of the tool, not both", "direction", None)
        wish = as_vector("direction", direction, 3)
        refuse_if(not wish.any(), "direction is (0, 0, 0): it points nowhere", "direction", 0.0)
        return _turned(points, wish / np.linalg.norm(wish))
    if pitch_rad is None:
        return (lambda share: {}), 0.0
    if pitch_rad == HELD and abs(now) > STEEP:
        return _turned(points, points)
    pitch = now if pitch_rad == HELD else checked_number("pitch_rad", pitch_rad, "rad")
    text = f"pitch is {math.degrees(pitch):.1f} deg, on a straight line it must be -90 (down) to 90 (up) deg"
    refuse_if(abs(pitch) > 0.5 * math.pi, text, "pitch_rad", pitch, math.copysign(0.5 * math.pi, pitch))
    return (lambda share: {"pitches_rad": now + share * (pitch - now)}), abs(pitch - now)


def _turned(before: Array, after: Array) -> tuple[Turning, float]:
    """Directions on the shortest way between two unit vectors, and how long that is [rad]."""
    from scipy.spatial import geometric_slerp  # not before it is needed: it takes memory

    angle = math.acos(float(np.clip(before @ after, -1.0, 1.0)))
    text = "direction is opposite to the present one: turn the tool by a move before"
    refuse_if(angle > math.pi - 1e-6, text, "direction")
    begin, end = before / np.linalg.norm(before), after / np.linalg.norm(after)
    return (lambda share: {"directions": geometric_slerp(begin, end, share)}), angle


def off_line(points: Array, begin: Array, end: Array) -> Array:
    """Distances (...) of points (..., 3) from the line between two points (3,) [m]; beyond its ends, from them."""
    along = (end - begin) / np.linalg.norm(end - begin)
    way = np.clip((points - begin) @ along, 0.0, np.linalg.norm(end - begin))
    off: Array = np.linalg.norm(points - begin - way[..., None] * along, axis=-1)
    return off
