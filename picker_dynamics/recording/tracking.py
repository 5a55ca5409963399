"""Tracking error of the joints: state less reference, at the times of the states."""

from __future__ import annotations

import numpy as np

from .reader import Series

GAP_S = 0.25
"""Two references further apart than this have nothing between them: the arm was not active."""


def tracking_error(reference: Series, state: Series) -> Series:
    """State less reference, the reference interpolated between its two neighbours in time; NaN where there are none."""
    if len(reference) < 2 or not len(state):
        return Series(state.t, np.full_like(state.values, np.nan))
    after = np.clip(np.searchsorted(reference.t, state.t), 1, len(reference) - 1)
    before, end = reference.t[after - 1], reference.t[after]
    known = (state.t >= before) & (state.t <= end) & (end - before <= GAP_S)
    wanted = np.stack([np.interp(state.t, reference.t, column) for column in reference.values.T], axis=-1)
    return Series(state.t, np.where(known[:, None], state.values - wanted, np.nan))


def with_gaps(series: Series) -> Series:
    """The series with a NaN in each gap, so that a line drawn through it breaks there."""
    gaps = np.flatnonzero(np.diff(series.t) > GAP_S) + 1
    return Series(
        np.insert(series.t, gaps, series.t[gaps] - 1e-6 if len(gaps) else []), np.insert(series.values, gaps, np.nan, axis=0)
    )
