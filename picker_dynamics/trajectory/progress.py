"""Progress along a path: the fastest within limits, and smooth.

A path is q(s), a ``Trajectory`` whose own time is the way s.  Along it, with z = (ds/dt)^2 and u = d²s/dt² = dz/ds / 2,

    v = q' ds/dt,    a = q' u + q'' z,    so that limits are   l_k <= a_k u + b_k z <= h_k   and   z <= z_max

at each point of a grid.  Backwards from rest the largest z is found from which the next point can be reached, then forwards.  Its
acceleration jumps.  The mean of s over a window of time is nowhere faster, lasts longer by the window, and its acceleration is
continuous (L. Biagiotti, C. Melchiorri, FIR filters for online trajectory planning, 2012).
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.robot.model import Array

NOTHING = 1e-12
"""Smaller coefficients count as this: what they belong to hardly moves."""


class Progress:
    """s(t) from rest to rest with constant accelerations between points, smoothed.

    Args:
        s, speed: (g,) way and ds/dt at the points.
        window_s: over which the mean is taken [s].
    """

    def __init__(self, s: Array, speed: Array, window_s: float):
        from scipy.interpolate import PPoly  # not before it is needed: it takes memory

        self.window_s = window_s
        times = np.cumsum([0.0, *(2.0 * np.diff(s) / (speed[:-1] + speed[1:]))])
        rates, none = np.diff(speed) / np.diff(times), [0.0]
        pieces = np.stack([np.r_[none, rates / 2.0, none], np.r_[none, speed[:-1], none], np.r_[s[0], s[:-1], s[-1]]])
        self._way = PPoly(pieces, np.r_[-window_s, times, times[-1] + window_s])  # it stands before and after
        self._area, self._speed = self._way.antiderivative(), self._way.derivative()
        self.duration = float(times[-1]) + window_s

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """Progress s, ds/dt, d²s/dt² (...) at times ``t`` (...) [s]."""
        s, speed, rate = ((f(t) - f(t - self.window_s)) / self.window_s for f in (self._area, self._way, self._speed))
        return s, speed, rate


def fastest(s: Array, a: Array, b: Array, lower: Array, upper: Array, z_max: Array, window_s: float) -> Progress:
    """The fastest progress from rest to rest through ``s`` (g,), smoothed over ``window_s`` [s].

    Args:
        a, b, lower, upper: (g, m) of the limits; ``lower`` < 0 < ``upper``.
        z_max: (g,) largest (ds/dt)².
    """
    lower, upper = np.where(a < 0.0, -upper, lower), np.where(a < 0.0, -lower, upper)
    b, a = np.where(a < 0.0, -b, b), np.maximum(np.abs(a), NOTHING)
    z = np.minimum(z_max, (np.where(b < 0.0, -lower, upper) / np.maximum(np.abs(b), NOTHING)).min(axis=1))
    last = len(s) - 1
    z[[0, last]] = 0.0
    for points, ahead, bound in ((range(last, 0, -1), -1, -lower), (range(last), 1, upper)):
        for k in points:
            most = ((bound[k] - ahead * b[k] * z[k]) / a[k]).min()
            z[k + ahead] = min(z[k + ahead], z[k] + 2.0 * most * abs(s[k + ahead] - s[k]))
    return Progress(s, np.sqrt(z), window_s)
