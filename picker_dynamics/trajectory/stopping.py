"""Which way to rest a cancelled motion takes: the shortest that the servos can bear.

Decelerating costs torque beside gravity, and the gate has checked the motion, not its end ahead of time.  So ways to rest are
tried: all joints straight on; along the path, whose poses the gate has seen; and both again, ever more gently.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from .time_scaling import Pace
from .trajectory import Trajectory, from_points

KNOT_S = 0.02
"""Spacing of the points through which a stop along the path goes: quintic segments, the same curve to 1e-6 rad."""

LOOK_S = 0.005
"""Spacing of the instants of a stop at which its torque is looked at."""


def along_path(path: Trajectory, pace: Pace, time_s: float, rate: float) -> Trajectory:
    """The stop that stays on ``path``: its pace goes from what it is at ``time_s`` to 0, at ``rate`` [1/s]."""
    made = pace.aim(time_s, 0.0, rate)
    count = max(1, math.ceil((made.settled_s - time_s) / KNOT_S))
    times = np.linspace(0.0, max(made.settled_s - time_s, KNOT_S), count + 1)
    states = []
    for t in times:
        now = made.at(time_s + t)
        states.append(now.scaled(path.sample(now.progress)))
    q, v, a = (np.array(part) for part in zip(*states))
    return from_points(times[1:], q[1:], v[1:], a[1:], start=states[0], joint_names=path.joint_names)


def first_that_fits(ways: Iterable[Trajectory], torque_share: Callable, lower, upper) -> Trajectory:
    """The first way whose largest ``torque_share(q, v, a)`` is at most 1 within the limits; else the one with the least.

    Args:
        lower, upper: (n,) position limits [rad, m], of which one that is passed at the start counts from there.
    """
    best, least = None, np.inf
    for way in ways:
        states = way.sample(np.linspace(0.0, way.duration, math.ceil(way.duration / LOOK_S) + 1))
        q = states[0]
        beyond = np.maximum(np.minimum(lower, q[0]) - q, q - np.maximum(upper, q[0])).max()
        share = float(torque_share(*states)) + (np.inf if beyond > 1e-6 else 0.0)
        if share <= 1.0:
            return way
        if best is None or share < least:
            best, least = way, share
    return best
