"""Progress along a path: the fastest within limits, and smooth.

A path is q(s), a ``Trajectory`` whose own time is the way s.  Along it, with z = (ds/dt)^2 and u = d²s/dt² = dz/ds / 2,

    v = q' ds/dt,    a = q' u + q'' z,    so that limits are   a_k u + b_k z + c_k sqrt(z) <= d_k   and   z <= z_max

at each point of a grid.  Backwards from rest, the largest z is found from which the next point can be reached within the limits;
forwards, as much u is taken as stays below: of all ways to go along that path the fastest (H. Pham, Q.-C. Pham, A new approach to
time-optimal path parameterization based on reachability analysis, 2018).  sqrt(z) is replaced by its tangent, which is above it.

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

SWEEPS = 20
"""How often the largest z is swept for, backwards and forwards, at the most: mostly once."""

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
    a, step = limits.a, 2.0 * np.diff(limits.s)[:, None]  # u = (z after - z before) / step
    before = np.concatenate([b[:-1] - a[:-1] / step, -a[1:] / step], axis=1)
    after = np.concatenate([a[:-1] / step, b[1:] + a[1:] / step], axis=1)
    most = np.concatenate([d[:-1], d[1:]], axis=1)
    back, back_of, on, on_of = (np.full_like(most, fill) for fill in (np.inf, 0.0, np.inf, 0.0))
    for bound, of, mine, other in ((back, back_of, before, after), (on, on_of, after, before)):  # z <= bound + of * other z
        np.divide(most, mine, out=bound, where=mine > 0.0)
        np.divide(-other, mine, out=of, where=mine > 0.0)
    back_of = np.maximum(back_of, 0.0)  # where a slower next place leaves more room: as if it were passed at rest
    top = np.r_[0.0, limits.z_max[1:-1], 0.0]
    for _ in range(SWEEPS):
        for i in range(len(top) - 2, -1, -1):
            top[i] = min(top[i], (back[i] + back_of[i] * top[i + 1]).min())
        z: Array = top.copy()
        for i in range(len(top) - 1):
            z[i + 1] = min(top[i + 1], (on[i] + on_of[i] * z[i]).min())
        reached = (back + back_of * z[1:, None]).min(axis=1)
        if (z[:-1] <= reached + STUCK * z.max()).all():
            break
        top[:-1] = np.where(z[:-1] > reached, reached, top[:-1])
    stuck = np.r_[z[0] < 0.0, z[1:-1] <= STUCK * z.max(), z[-1] < -STUCK * z.max()]
    if stuck.any():
        k = int(d.min(axis=1).argmin()) if d.min() < 0.0 else int(stuck.argmax())
        raise ImpassableError(f"the path cannot be passed at {limits.s[k]:.4f}", place=float(limits.s[k]))
    z[-1] = 0.0
    return z
