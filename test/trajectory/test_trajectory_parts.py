"""What is left of a trajectory, and joints side by side: the same motion as in the parts."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from picker_dynamics.trajectory.parts import merge_joints, remainder, select_joints, standing
from picker_dynamics.trajectory.trajectory import from_points


def random_trajectory(seed: int, n: int):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.05, 0.7, rng.integers(2, 7)))
    rows = [rng.normal(size=(len(times), n)) for _ in range(3)]
    rows[1][-1] = rows[2][-1] = 0.0
    zero = np.zeros(n)
    return from_points(times, *rows, start=(zero, zero, zero), joint_names=[f"j{k}" for k in range(n)])


seeds = st.integers(0, 10_000)


@given(seeds, st.floats(-0.2, 1.2))
@settings(max_examples=80, deadline=None)
def test_the_tail_is_the_rest_of_the_motion(seed, share):
    whole = random_trajectory(seed, 3)
    begin = share * whole.duration
    rest = remainder(whole, begin)
    t = np.linspace(0.0, whole.duration, 101)
    for ours, theirs in zip(rest.sample(t), whole.sample(max(begin, 0.0) + t)):
        np.testing.assert_allclose(ours[1:], theirs[1:], atol=1e-6)
    np.testing.assert_allclose(rest.end, whole.end, atol=1e-9)


@given(seeds, seeds, st.booleans())
@settings(max_examples=80, deadline=None)
def test_joints_side_by_side_move_as_each_would_alone(seed_a, seed_b, stands):
    moving, columns = random_trajectory(seed_a, 2), [3, 1]
    others = standing([f"j{k}" for k in range(4)], [1.0, 2.0, 3.0, 4.0]) if stands else random_trajectory(seed_b, 4)
    both = merge_joints(moving, others, columns)
    assert both.duration == max(moving.duration, others.duration)
    t = np.random.default_rng(seed_a).uniform(0.0, both.duration * 1.1, 200)
    t = t[np.abs(t[:, None] - np.concatenate([moving.breaks, others.breaks])[None]).min(axis=1) > 1e-6]  # a may jump there
    for part, alone, beyond in zip(both.sample(t), moving.sample(t), others.sample(t)):
        np.testing.assert_allclose(part[:, columns], alone, atol=1e-8)
        np.testing.assert_allclose(part[:, [0, 2]], beyond[:, [0, 2]], atol=1e-8)


def test_breaks_that_are_nearly_the_same_are_one():
    start = [0.0], [0.0], [0.0]
    a, b = (from_points([t], [[1.0]], [[0.0]], [[0.0]], start=start, joint_names=["j"]) for t in (1.0, 1.0 + 1e-13))
    both = merge_joints(a, standing(["x", "y"], [0.0, 0.0]), [1])
    both = merge_joints(b, both, [0])
    assert np.diff(both.breaks).min() > 1e-4


def test_some_joints_of_a_motion():
    whole = random_trajectory(3, 4)
    t = np.linspace(0.0, whole.duration, 50)
    np.testing.assert_array_equal(select_joints(whole, [2, 0]).sample(t)[0], whole.sample(t)[0][:, [2, 0]])
    assert select_joints(whole, [2, 0]).joint_names == ("j2", "j0")
