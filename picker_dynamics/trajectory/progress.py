"""Progress along a path: the fastest within limits, and smooth.

A path is q(s), a ``Trajectory`` whose own time is the way s.  Along it, with z = (ds/dt)^2 and u = d²s/dt² = dz/ds / 2,

    v = q' ds/dt,    a = q' u + q'' z,    so that limits are   a_k u + b_k z + c_k sqrt(z) <= d_k   and   z <= z_max

at each point of a grid.  With u constant between two points all of them are linear in z, and the fastest way is the largest z: a
linear program (D. Verscheure et al., Time-optimal path tracking for robots: a convex optimization approach, 2009).  sqrt(z) is
replaced by its tangent, which is above it.

Its acceleration jumps.  The mean of s over a window of time is nowhere faster, lasts longer by the window, and its
acceleration is continuous (L. Biagiotti, C. Melchiorri, FIR filters for online trajectory planning, 2012).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import ImpassableError
from picker_dynamics.robot.model import Array

TANGENTS = 2
"""How often the tangents of sqrt(z) are laid anew."""

SLOWEST = 1e-3
"""Tangents touch no nearer to rest than at this share of the largest speed."""

STUCK = 1e-12
"""Share of the largest z below which a place is not passed."""


@dataclass(frozen=True, eq=False)
class PathLimits:
    """Limits along a path at points ``s`` (g,): rows a u + b z + c sqrt(z) <= d, (g, m) each, c >= 0, and z <= z_max (g,)."""

    s: Array
    a: Array
    b: Array
    c: Array
    d: Array
    z_max: Array


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

    def when(self, s: Array) -> Array:
        """Times [s] at which the places ``s`` (k,) are passed."""
        t = np.linspace(0.0, self.duration, 20 * self._way.c.shape[1])
        return np.interp(s, self.at(t)[0], t)


def fastest(limits: PathLimits, window_s: float) -> Progress:
    """The fastest progress from rest to rest, smoothed over ``window_s``.

    Raises:
        ImpassableError: there is a place that cannot be passed within the limits.
    """
    b, c, d = limits.b, limits.c, limits.d
    z = _largest(limits, b, d)
    for _ in range(TANGENTS if c.any() else 0):
        touch = np.sqrt(np.maximum(z, SLOWEST**2 * z.max()))[:, None]
        z = _largest(limits, b + c / (2.0 * touch), d - c * touch / 2.0)
    return Progress(limits.s, np.sqrt(z), window_s)


def _largest(limits: PathLimits, b: Array, d: Array) -> Array:
    """The largest z (g,), 0 at both ends, with some u between any two points that keeps a u + b z <= d at both of them."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    a, count = limits.a, len(limits.s)
    step = 2.0 * np.diff(limits.s)[:, None]  # u = (z after - z before) / step
    before = np.concatenate([b[:-1] - a[:-1] / step, -a[1:] / step], axis=1)
    after = np.concatenate([a[:-1] / step, b[1:] + a[1:] / step], axis=1)
    most = np.concatenate([d[:-1], d[1:]], axis=1)
    kept = np.isfinite(most)
    place, row = np.broadcast_to(np.arange(count - 1)[:, None], kept.shape)[kept], np.arange(kept.sum())
    where = np.r_[row, row], np.r_[place, place + 1]
    rows = coo_array((np.r_[before[kept], after[kept]], where), shape=(len(row), count)).tocsr()
    top = np.r_[0.0, limits.z_max[1:-1], 0.0]
    z = np.zeros(count)
    if (top >= 0.0).all() and (found := linprog(-np.ones(count), rows, most[kept], bounds=np.c_[0.0 * top, top])).success:
        z = np.maximum(found.x, 0.0)
    if (z[1:-1] <= STUCK * z.max()).any():
        k = int(d.min(axis=1).argmin()) if not z.any() else 1 + int(z[1:-1].argmin())
        raise ImpassableError(f"the path cannot be passed at {limits.s[k]:.4f}", place=float(limits.s[k]))
    return z
