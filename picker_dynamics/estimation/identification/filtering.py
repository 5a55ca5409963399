"""Filtering of samples into equations: resampling, outlier removal, zero-phase derivatives, one low-pass for both sides.

A Butterworth filter run forwards and backwards shifts nothing (zero phase).  Positions go through it before they are
differentiated; then regressor and torques alike, so that what the filter takes it takes from both sides of the equation; what is
left above its cutoff is thrown away by taking fewer samples (M. Gautier, Dynamic identification of robots with power model,
IEEE International Conference on Robotics and Automation, 1997).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.ndimage import median_filter, minimum_filter1d
from scipy.signal import butter, sosfiltfilt

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.model import COULOMB_SPEED

from .columns import Columns
from .samples import Samples

CUTOFF_HZ, ORDER = 5.0, 4

SPIKE, NEIGHBOURS, SPIKE_FLOOR = 8.0, 7, 0.02
"""A reading further than so many standard deviations from the median of its neighbours, and further than this share of the range
that the readings have, is a spike."""

GAP = 5.0
"""Readings further apart than this many periods have a gap between them, of which nothing is used."""

SLIDES = 2.0 * COULOMB_SPEED
"""Slower, dry friction is anything up to its bound [rad/s or m/s]."""

LOOKS, EDGE = 1.0, 2.0
"""How far the filter looks, and what is not used at each end, where it knows one side only, in periods of the cutoff."""

FINE, COARSE = 25.0, 2.0
"""Samples per period of the cutoff: for the regressor; for the equations, which are independent then."""


@dataclass(frozen=True, eq=False)
class Motion:
    """Filtered samples at even times t (k,), ``dt`` apart: q, v, a, tau (k, n).

    Attributes:
        sliding: (k, n) whether the joint moves all the while that the filter looks back and ahead: only then does dry friction
            follow the velocity.
        used: (k,) false near gaps and at both ends.
    """

    dt: float
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    sliding: np.ndarray
    used: np.ndarray


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations tau (k, n) = Y (k, n, p) pi, both sides filtered alike, with the motion q, v, a and whether it slides, (k, n)."""

    tau: np.ndarray
    Y: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    sliding: np.ndarray


def motion(samples: Samples, cutoff_hz: float = CUTOFF_HZ) -> Motion:
    """Clean, resample, filter, differentiate.

    Raises:
        InputError: a cutoff that the rate of the samples does not allow, or nothing left.
    """
    steps = np.diff(samples.t)
    dt = float(np.median(steps))
    most = 0.25 / dt
    wrong = f"cutoff is {cutoff_hz} Hz, must be above 0 and at most {most:.4g}, a quarter of the rate"
    refuse_if(not 0.0 < cutoff_hz <= most, wrong, "cutoff_hz", cutoff_hz, most)
    t, edge_s = np.arange(samples.t[0], samples.t[-1] + 0.01 * dt, dt), EDGE / cutoff_hz
    used = (t > t[0] + edge_s) & (t < samples.t[-1] - edge_s)
    gaps = np.flatnonzero(steps > GAP * dt)
    for k in gaps:
        used &= (t < samples.t[k] - edge_s) | (t > samples.t[k + 1] + edge_s)
    refuse_if(used.sum() * dt * cutoff_hz < 10.0, f"{samples.source}: too short for a cutoff of {cutoff_hz:g} Hz", "time")
    measured = [samples.q, samples.tau] + ([] if samples.v is None else [samples.v])
    through = make_interp_spline(samples.t, _without_spikes(np.hstack(measured)), 1 if gaps.size else 3)
    q, tau, *velocity = np.split(low_pass(through(t), dt, cutoff_hz), len(measured), axis=1)
    v = velocity[0] if velocity else np.gradient(q, dt, axis=0)
    reach = 2 * max(1, round(LOOKS / (dt * cutoff_hz))) + 1
    sliding = minimum_filter1d(np.abs(v), reach, axis=0, mode="nearest") > SLIDES
    return Motion(dt, t, q, v, np.gradient(v, dt, axis=0), tau, sliding, used)


def equations(recordings: Sequence[Samples], columns: Columns, cutoff_hz: float = CUTOFF_HZ) -> Equations:
    """The equations of all recordings together.

    Raises:
        InputError: as ``motion``.
    """
    parts = []
    for samples in recordings:
        one = motion(samples, cutoff_hz)
        fine = max(1, int(1.0 / (one.dt * FINE * cutoff_hz)))
        tau, q, v, a, sliding, used = (x[::fine] for x in (one.tau, one.q, one.v, one.a, one.sliding, one.used))
        Y = low_pass(columns.regressor(q, v, a), fine * one.dt, cutoff_hz)
        kept = np.arange(0, len(q), max(1, round(1.0 / (fine * one.dt * COARSE * cutoff_hz))))
        parts.append([x[kept[used[kept]]] for x in (tau, Y, q, v, a, sliding)])
    return Equations(*(np.concatenate(each) for each in zip(*parts)))


def low_pass(x: np.ndarray, dt: float, cutoff_hz: float) -> np.ndarray:
    """Samples x (k, …) through the filter, forwards and backwards."""
    sections = butter(ORDER, cutoff_hz, fs=1.0 / dt, output="sos")
    filtered: np.ndarray = sosfiltfilt(sections, x, axis=0, padlen=min(len(x) - 1, int(3.0 / (cutoff_hz * dt))))
    return filtered


def _without_spikes(x: np.ndarray) -> np.ndarray:
    """x (k, n) with each spike replaced by the line between its neighbours."""
    away, half = np.abs(x - median_filter(x, (NEIGHBOURS, 1))), NEIGHBOURS // 2
    away[:half] = away[-half:] = 0.0  # too few neighbours
    spikes = away > np.maximum(SPIKE * 1.4826 * np.median(away, axis=0), SPIKE_FLOOR * np.ptp(x, axis=0))
    cleaned, rows = np.array(x), np.arange(len(x))
    for one, bad in zip(cleaned.T, spikes.T):
        one[bad] = np.interp(rows[bad], rows[~bad], one[~bad])
    return cleaned
