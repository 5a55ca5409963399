"""Progress along a path: the fastest within limits, by a sweep backwards and one forwards, and smooth.

A path is q(s), a ``Trajectory`` whose own time is the way s.  Along it, with z = (ds/dt)^2 and u = d²s/dt² = dz/ds / 2,

    v = q' ds/dt,    a = q' u + q'' z,    so that limits are   a_k u + b_k z + c_k sqrt(z) <= d_k   and   z <= z_max

at each point of a grid.  Backwards from rest, the largest z is found from which the next point can be reached within the limits;
forwards, as much u is taken as stays below: of all ways to go along that path the fastest (H. Pham, Q.-C. Pham, A new approach to
time-optimal path parameterization based on reachability analysis, 2018).  sqrt(z) is replaced by its tangent, which is above it.

Its acceleration jumps.  The mean of s over a window of time is as fast nowhere faster, lasts longer by the window, and its
acceleration is continuous (L. Biagiotti, C. Melchiorri, FIR filters for online trajectory planning, 2012).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import ImpassableError
from picker_dynamics.robot.model import Array

FLAT = 1e-9
"""Rows whose share of a is less than this limit z alone."""

TANGENTS = 2
"""How often the tangents of sqrt(z) are laid anew."""

SLOWEST = 1e-3
"""Tangents touch no nearer to rest than at this share of the largest speed."""


@dataclass(frozen=True, eq=False)
class PathLimits:
    """Limits along a path at points ``s`` (g,): rows a u + b z + c sqrt(z) <= d, (g, m) each, c >= 0, and z <= z_max (g,)."""

    s: Array
    a: Array
    b: Array
    c: Array
    d: Array
    z_max: Array


@dataclass(frozen=True, eq=False)
class Progress:
    """s(t) with constant accelerations between the points of a grid, smoothed over ``window_s``.

    Attributes:
        times: (g,) when its points are passed, before smoothing [s].
        s, speed: (g,) way and ds/dt there.
        window_s: over which the mean is taken [s].
    """

    times: Array
    s: Array
    speed: Array
    window_s: float = 0.0

    @property
    def duration(self) -> float:
        return float(self.times[-1]) + self.window_s

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """Progress s, ds/dt, d²s/dt² (...) at times ``t`` (...) [s]."""
        if not self.window_s:
            _, s, speed, rate = self._raw(t)
            return s, speed, rate
        now, before = self._raw(t), self._raw(t - self.window_s)
        s, speed, rate = ((new - old) / self.window_s for new, old in zip(now[:3], before[:3]))
        return s, speed, rate

    def when(self, s: Array) -> Array:
        """Times [s] at which the places ``s`` (k,) are passed."""
        t = np.linspace(0.0, self.duration, 20 * len(self.s))
        found = np.interp(s, self.at(t)[0], t)
        for _ in range(2):
            there, speed, _ = self.at(found)
            found = np.clip(found - (there - s) / np.maximum(speed, 1e-9), 0.0, self.duration)
        return found

    def _raw(self, t: Array) -> tuple[Array, Array, Array, Array]:
        """Integral of s, s, ds/dt and d²s/dt²; before the begin and after the end it stands."""
        h = np.diff(self.times)
        rate = np.diff(self.speed) / h
        area = np.cumsum([0.0, *(h * (self.s[:-1] + h * (self.speed[:-1] / 2.0 + h * rate / 6.0)))])
        k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(h) - 1)
        x = np.clip(t, self.times[0], self.times[-1]) - self.times[k]
        beyond = t - np.clip(t, self.times[0], self.times[-1])
        s0, v0, u = self.s[k], self.speed[k], rate[k]
        s, inside = s0 + x * (v0 + x * u / 2.0), beyond == 0.0
        integral = area[k] + x * (s0 + x * (v0 / 2.0 + x * u / 6.0)) + beyond * np.where(beyond < 0.0, self.s[0], self.s[-1])
        return integral, s, np.where(inside, v0 + x * u, 0.0), np.where(inside, u, 0.0)


def fastest(limits: PathLimits) -> Progress:
    """The fastest progress from rest to rest.

    Raises:
        ImpassableError: there is a place that cannot be passed within the limits.
    """
    a, b, c, d = limits.a, limits.b, limits.c, limits.d
    z = _swept(limits.s, a, b, d, limits.z_max)
    if c.any():
        for _ in range(TANGENTS):
            touch = np.sqrt(np.maximum(z, SLOWEST**2 * z.max()))[:, None]
            z = _swept(limits.s, a, b + c / (2.0 * touch), d - c * touch / 2.0, limits.z_max)
    speed = np.sqrt(z)
    times = np.cumsum([0.0, *(2.0 * np.diff(limits.s) / (speed[:-1] + speed[1:]))])
    return Progress(times, limits.s, speed)


def _swept(s: Array, a: Array, b: Array, d: Array, z_max: Array) -> Array:
    """The largest z (g,), 0 at both ends, with some u between any two points that keeps a u + b z <= d at both of them."""
    step = 2.0 * np.append(np.diff(s), s[-1] - s[-2])[:, None]
    following = np.append(np.arange(1, len(s)), len(s) - 1)  # at the second, z is z + step u
    a = np.concatenate([a, a[following] + step * b[following]], axis=1)
    b, d = np.concatenate([b, b[following]], axis=1), np.concatenate([d, d[following]], axis=1)
    flat = np.abs(a) < FLAT * np.abs(a).max()
    safe = np.where(flat, 1.0, a)
    above, below = (~flat) & (a > 0.0), (~flat) & (a < 0.0)
    at_zero, slope = d / safe, -b / safe  # u <= (above) or >= (below) at_zero + slope z
    top = np.minimum(z_max, _least(np.where(flat & (b > 0.0), d / np.where(b > 0.0, b, 1.0), np.inf)))
    high, high_slope = _chosen(above, at_zero, slope)
    low, low_slope = _chosen(below, at_zero, slope)
    low, low_slope = (
        np.append(low, 0.0 * step, axis=1),
        np.append(low_slope, -1.0 / step, axis=1),
    )  # z is not below 0: u >= -z / step
    room, closing = high[:, :, None] - low[:, None, :], low_slope[:, None, :] - high_slope[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        meets = np.where((closing > 0.0) & (room >= 0.0), room / closing, np.inf)
    meets = np.where((closing <= 0.0) & (room < -1e-12) | (closing > 0.0) & (room < 0.0), -1.0, meets)
    top = np.minimum(top, _least(np.where(np.isnan(room), np.inf, meets).reshape(len(s), -1)))
    _require(top, s)
    most = np.zeros(len(s))
    pull, falls = np.where(below, -at_zero, 0.0), np.where(below, 1.0 / step + slope, 0.0)  # u >= ... and u <= (most - z) / step
    can = falls > 0.0
    falls = np.where(can, falls, 1.0)
    pull, inverse = np.where(can, pull / falls, np.inf), np.where(can, 1.0 / (falls * step), 0.0)
    for i in range(len(s) - 2, -1, -1):
        most[i] = min(top[i], float((pull[i] + inverse[i] * most[i + 1]).min()))
    _require(most, s)
    z = np.zeros(len(s))
    up, up_slope = np.where(above, at_zero, np.inf), np.where(above, slope, 0.0)
    for i in range(len(s) - 1):
        u = float((up[i] + up_slope[i] * z[i]).min())
        z[i + 1] = min(most[i + 1], z[i] + step[i, 0] * u)
    if len(s) > 2:
        _require(z[1:-1] - 1e-15, s[1:-1])
    return z


def _chosen(which: Array, *values: Array) -> Iterator[Array]:
    """Those of ``values`` (g, m) that ``which`` (g, m) names, side by side; NaN where a row has fewer than the others."""
    order = np.argsort(np.logical_not(which), axis=1, kind="stable")[:, : int(which.sum(axis=1).max())]
    for value in values:
        yield np.take_along_axis(np.where(which, value, np.nan), order, axis=1)


def _least(values: Array) -> Array:
    least: Array = values.min(axis=1)
    return least


def _require(z: Array, s: Array) -> None:
    if (z < 0.0).any():
        k = int((z < 0.0).argmax())
        raise ImpassableError(f"the path cannot be passed at {s[k]:.4f}", place=float(s[k]))
