"""The reference at less than full speed: on the same path, smooth, no faster, and nowhere beyond what the validator allows."""

import numpy as np
from arm_fixtures import torque_share, validator
from execution_rig import DECELERATION, Rig, executing, goal, moved
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from picker_dynamics.execution.events import EventKind

QUICK = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
speeds = st.sampled_from([0.0, 0.1, 0.35, 0.5, 0.8, 1.0])


def started(run_s: float = 0.0, duration: float = 3.0, **by) -> Rig:
    """A rig that has executed the goal ``g`` for so long."""
    return executing(goal(moved(**by), times=[duration]), run_s)


def path_of(rig: Rig, name: str = "g", count: int = 501):
    """q, v, a along what a goal became."""
    motion = next(event.motion for event in rig.events if event.identifier == name and event.kind is EventKind.ACCEPTED)
    return motion.trajectory.sample(np.linspace(0.0, motion.trajectory.duration, count))


def require_consistent(rig: Rig, acceleration: float) -> None:
    """Positions, velocities and accelerations belong to one smooth motion, and none exceeds its bound."""
    v, a = rig["v"], rig["a"]
    assert np.abs(a).max() <= acceleration * (1 + 1e-3)  # whoever calls this knows the bound from samples
    slack = 0.5 * np.abs(np.diff(a, axis=0)) + 0.1 * acceleration  # of the trapezoidal rule, where accelerations have corners
    assert (np.abs(np.diff(v, axis=0) / rig.period_s - (a[1:] + a[:-1]) / 2.0) <= slack).all()
    rig.require_smooth(acceleration * (1 + 1e-3))


@given(st.lists(st.tuples(st.floats(0.0, 1.2), speeds), min_size=1, max_size=5))
@QUICK
def test_changes_of_speed_at_any_time_keep_the_path_and_all_bounds(changes):
    rig = started(duration=2.0, base=0.6, shoulder=-0.3, elbow=0.3)
    for wait, speed in [*changes, (0.5, 1.0)]:
        rig.run(wait)
        rig.set_speed(speed)
    rig.to_rest()
    path = path_of(rig, count=4001)
    require_consistent(rig, np.abs(path[2]).max() + DECELERATION)
    assert torque_share(validator(), rig["q"], rig["v"], rig["a"]) <= 1.0 + 1e-3
    assert (np.abs(rig["v"]).max(axis=0) <= np.abs(path[1]).max(axis=0) + 1e-9).all(), "never faster than it was checked"
    gaps = np.abs(rig["q"][:, None] - path[0][None, ::8]).max(axis=2).min(axis=1)
    assert gaps.max() < 2e-3, "on the same path"
    assert rig.ended == [("g", False)]
    np.testing.assert_allclose(rig.newest.q, path[0][-1], atol=1e-9)
