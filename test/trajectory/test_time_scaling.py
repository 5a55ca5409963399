"""Going through a trajectory more slowly: smooth, within the rate, never backwards, never faster than it was made."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from picker_dynamics.trajectory.time_scaling import SMOOTHNESS, TimeScaling

STEP = 1e-3
shares = st.floats(0.0, 1.0)


def look(scaling: TimeScaling, begin: float, duration: float):
    t = np.arange(begin, begin + duration, STEP)
    instants = [scaling.at(x) for x in t]
    return t, *(np.array([getattr(one, name) for one in instants]) for name in ("progress", "speed", "rate"))


@given(st.lists(st.tuples(shares, st.floats(0.0, 1.5)), min_size=1, max_size=6), st.floats(0.05, 10.0))
@settings(max_examples=15, deadline=None)
def test_changes_at_any_time_are_smooth_and_stay_within_bounds(changes, rate):
    """Progress is the integral of the speed, the speed of the rate; the rate is bounded and continuous."""
    scaling, time_s, rows = TimeScaling(0.0), 0.0, []
    for target, wait in changes:
        scaling = scaling.ramp(time_s, target, rate)
        rows.append(np.array(look(scaling, time_s, wait)))
        time_s += len(rows[-1][0]) * STEP
    rows.append(np.array(look(scaling, time_s, max(scaling.settled_s - time_s, 0.0) + 0.2)))
    t, x, s, r = np.concatenate(rows, axis=1)
    assert (np.diff(x) >= -1e-12).all(), "never backwards"
    assert s.min() > -1e-9 and s.max() < 1.0 + 1e-9
    assert np.abs(r).max() <= rate * (1 + 1e-9)
    assert np.abs(np.diff(r)).max(initial=0.0) <= SMOOTHNESS * STEP * (1 + 1e-6)
    np.testing.assert_allclose(np.diff(x), (s[1:] + s[:-1]) / 2.0 * STEP, atol=SMOOTHNESS * STEP**3)
    np.testing.assert_allclose(np.diff(s), (r[1:] + r[:-1]) / 2.0 * STEP, atol=2.0 * SMOOTHNESS * STEP**2)
    assert s[-1] == pytest.approx(changes[-1][0], abs=1e-12) and r[-1] == 0.0
