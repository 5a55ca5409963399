"""Filtering of samples into equations: resampling, outlier removal, zero-phase derivatives, one low-pass for both sides.

A Butterworth filter run forwards and backwards shifts nothing (zero phase).  Positions go through it before they are
differentiated; then regressor and torques alike, so that what the filter takes it takes from both sides of the equation; what is
left above its cutoff is thrown away by taking fewer samples (M. Gautier, Dynamic identification of robots with power model,
IEEE International Conference on Robotics and Automation, 1997).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import median_filter, minimum_filter1d
from scipy.signal import butter, sosfiltfilt

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.model import COULOMB_SPEED

from .columns import Columns
from .samples import Samples

CUTOFF_HZ, ORDER = 5.0, 4

SPIKE = 8.0
"""A reading further than this many standard deviations from the median of its neighbours is a spike."""

NEIGHBOURS = 7
SPIKE_FLOOR = 0.02
"""… and further than this share of the range that the readings have."""

GAP = 5.0
"""Readings further apart than this many periods have a gap between them, of which nothing is used."""

SLIDES = 2.0 * COULOMB_SPEED
"""Slower, dry friction is anything up to its bound [rad/s or m/s]."""

LOOKS = 1.0
"""How far the filter looks, as a share of the cutoff's period."""

EDGE = 2.0
"""Periods of the cutoff that are not used at each end, where the filter knows one side only."""

FINE, COARSE = 25.0, 2.0
"""Samples per period of the cutoff: for the regressor; for the equations, which are independent then."""


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations tau = Y pi, both sides filtered alike.

    Attributes:
        t: (k,) [s].  tau: (k, n) without what is known [N·m or N].  Y: (k, n, p).
        q, v, a: (k, n) at those times.
        sliding: (k, n) whether the joint moved all the while that the filter looks back and ahead: only then does dry friction
            follow the velocity.
        spikes: readings that were replaced.
    """

    t: np.ndarray
    tau: np.ndarray
    Y: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    sliding: np.ndarray
    spikes: int


@dataclass(frozen=True, eq=False)
class Motion:
    """Filtered samples at even times; ``used`` (k,) is false near gaps and at both ends.

    ``tau`` has been through the low-pass once, as regressors are to go; ``sliding`` (k, n) as in ``Equations``.
    """

    dt: float
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    sliding: np.ndarray
    used: np.ndarray
    spikes: int
    cutoff_hz: float


def motion(samples: Samples, cutoff_hz: float = CUTOFF_HZ) -> Motion:
    """Clean, resample, filter, differentiate.

    Raises:
        InputError: a cutoff that the rate of the samples does not allow, or nothing left.
    """
    dt = float(np.median(np.diff(samples.t)))
    refuse_if(
        not 0.0 < cutoff_hz <= 0.25 / dt,
        f"cutoff is {cutoff_hz} Hz, must be above 0 and at most {0.25 / dt:.4g}, a quarter of the rate",
        "cutoff_hz",
        cutoff_hz,
        0.25 / dt,
    )
    t = np.arange(samples.t[0], samples.t[-1] + 0.01 * dt, dt)
    used = _used(samples.t, t, dt, EDGE / cutoff_hz)
    refuse_if(
        np.count_nonzero(used) * dt * cutoff_hz < 10.0, f"{samples.source}: too short for a cutoff of {cutoff_hz:g} Hz", "time"
    )
    spikes = 0

    def smooth(x: np.ndarray) -> np.ndarray:
        nonlocal spikes
        x, bad = _without_spikes(x)
        spikes += bad
        return low_pass(_even(samples.t, x, t), dt, cutoff_hz)

    q, tau = smooth(samples.q), smooth(samples.tau)
    v = np.gradient(q, dt, axis=0) if samples.v is None else smooth(samples.v)
    return Motion(dt, t, q, v, np.gradient(v, dt, axis=0), tau, _sliding(v, dt * cutoff_hz), used, spikes, cutoff_hz)


def equations(samples: Samples, columns: Columns, cutoff_hz: float = CUTOFF_HZ) -> Equations:
    """The equations that samples give.

    Raises:
        InputError: as ``motion``.
    """
    one = motion(samples, cutoff_hz)
    fine = max(1, int(1.0 / (one.dt * FINE * cutoff_hz)))
    q, v, a, sliding = (x[::fine] for x in (one.q, one.v, one.a, one.sliding))
    Y, known = (low_pass(x, fine * one.dt, cutoff_hz) for x in (columns.regressor(q, v, a), columns.known(v)))
    coarse = max(1, round(1.0 / (fine * one.dt * COARSE * cutoff_hz)))
    kept = np.arange(0, len(q), coarse)
    kept = kept[one.used[::fine][kept]]
    return Equations(*(x[kept] for x in (one.t[::fine], one.tau[::fine] - known, Y, q, v, a, sliding)), one.spikes)


def _sliding(v: np.ndarray, samples: float) -> np.ndarray:
    """(k, n) |v| above ``SLIDES`` from a while before to a while after; a sample is ``samples`` of the cutoff's periods."""
    half = max(1, round(LOOKS / samples))
    return minimum_filter1d(np.abs(v), 2 * half + 1, axis=0, mode="nearest") > SLIDES


def low_pass(x: np.ndarray, dt: float, cutoff_hz: float) -> np.ndarray:
    """Samples x (k, …) through the filter, forwards and backwards."""
    sections = butter(ORDER, cutoff_hz, fs=1.0 / dt, output="sos")
    return sosfiltfilt(sections, x, axis=0, padlen=min(len(x) - 1, int(3.0 / (cutoff_hz * dt))))


def _without_spikes(x: np.ndarray) -> tuple[np.ndarray, int]:
    """x (k, n) with each spike replaced by the line between its neighbours, and how many there were."""
    half = NEIGHBOURS // 2
    away = np.abs(x - median_filter(x, (NEIGHBOURS, 1)))
    away[:half] = away[-half:] = 0.0  # too few neighbours
    spikes = away > np.maximum(SPIKE * 1.4826 * np.median(away, axis=0), SPIKE_FLOOR * np.ptp(x, axis=0))
    cleaned, rows = x.copy(), np.arange(len(x))
    for one, bad in zip(cleaned.T, spikes.T):
        one[bad] = np.interp(rows[bad], rows[~bad], one[~bad])
    return cleaned, int(np.count_nonzero(spikes))


def _even(t: np.ndarray, x: np.ndarray, even_t: np.ndarray) -> np.ndarray:
    if len(t) == len(even_t) and np.allclose(t, even_t, rtol=0.0, atol=1e-6):
        return x
    steps = np.diff(t)
    if steps.max() < GAP * np.median(steps):
        return CubicSpline(t, x, axis=0)(even_t)
    return np.stack([np.interp(even_t, t, column) for column in x.T], axis=-1)


def _used(t: np.ndarray, even_t: np.ndarray, dt: float, edge_s: float) -> np.ndarray:
    """Which even times are further than ``edge_s`` from the ends and from every gap."""
    used = (even_t > t[0] + edge_s) & (even_t < t[-1] - edge_s)
    for k in np.flatnonzero(np.diff(t) > GAP * dt):
        used &= (even_t < t[k] - edge_s) | (even_t > t[k + 1] + edge_s)
    return used
