"""Trajectories against SciPy's interpolants, finite differences and dense sampling."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from pytest import approx, fixture, mark, raises
from scipy.interpolate import BPoly, CubicHermiteSpline, PchipInterpolator

from picker_dynamics.errors import InputError, TrajectoryError
from picker_dynamics.trajectory.stops import stop_trajectory
from picker_dynamics.trajectory.trajectory import blend, from_points, merge_joints, part, standing

NAMES = ("base", "shoulder", "elbow")
TIMES = np.array([0.0, 0.4, 1.0, 1.3, 2.5])
seeds = st.integers(0, 10_000)


@fixture
def points():
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 5, 3))
    v[-1] = a[-1] = v[0] = a[0] = 0.0
    return q, v, a


@fixture
def path(points):
    return from_points(TIMES, *points, joint_names=NAMES)


def inner(count=4001):
    return np.linspace(1e-6, TIMES[-1] - 1e-6, count)


def test_velocities_make_cubics(points):
    q, v, _ = points
    reference = CubicHermiteSpline(TIMES, q, v)
    for got, order in zip(from_points(TIMES, q, v, joint_names=NAMES).sample(inner()), range(3)):
        assert_allclose(got, reference(inner(), order), atol=1e-9)


def test_accelerations_make_quintics(points):
    reference = BPoly.from_derivatives(TIMES, np.stack(points, axis=1))
    for got, order in zip(from_points(TIMES, *points, joint_names=NAMES).sample(inner()), range(3)):
        assert_allclose(got, reference(inner(), order), atol=1e-8)


def test_a_first_point_at_0_must_be_where_the_arm_is(points):
    q, v, a = points
    from_points(TIMES, q, joint_names=NAMES, start=(q[0] + 0.04, v[0], a[0]))
    with raises(TrajectoryError, match=r"elbow would jump by 3\.4 deg, limit 2\.9 deg") as caught:
        from_points(TIMES, q, joint_names=NAMES, start=(q[0] + [0.0, 0.0, 0.06], v[0], a[0]))
    assert caught.value.subject == "elbow"
    with raises(TrajectoryError, match=r"elbow would jump by 60\.0 mm, limit 50\.0 mm"):
        from_points(TIMES, q, joint_names=NAMES, start=(q[0] + [0.0, 0.0, 0.06], v[0], a[0]), units=("rad", "rad", "m"))


@mark.parametrize("time_s, message", [(0.5, r"point 0 is at 0\.5 s, and no state at 0 s"), (0.0, "only point is at 0 s")])
def test_a_way_from_nowhere_is_refused(time_s, message):
    with raises(TrajectoryError, match=message):
        from_points([time_s], [[1, 2, 3]], joint_names=NAMES)


def test_one_time_and_many_are_the_same(path):
    times = np.concatenate([TIMES, np.linspace(-0.2, 2.7, 83)]).reshape(2, 44)
    many = path.sample(times)
    assert many[0].shape == (2, 44, 3)
    for index in np.ndindex(2, 44):
        assert_allclose(path.sample(times[index]), [x[index] for x in many], atol=1e-11)
    for t in (np.nan, np.array([0.0, np.nan])):
        with raises(InputError, match="nan"):
            path.sample(t)


def test_the_grid_has_both_sides_of_every_break(points):
    path = from_points(TIMES, points[0], joint_names=NAMES)
    t, q, v, _ = path.grid(0.07)
    assert (np.diff(t) >= 0.0).all() and np.diff(t).max() <= 0.07 + 1e-12
    assert t[0] == 0.0 and t[-1] == approx(TIMES[-1])
    slopes = np.diff(points[0], axis=0) / np.diff(TIMES)[:, None]
    for k in (1, 2, 3):
        at = np.flatnonzero(np.isclose(t, TIMES[k], atol=1e-12))
        assert_allclose(v[at[0]], slopes[k - 1])
        assert_allclose(v[at[-1]], slopes[k])
    assert_allclose(q, path.sample(t)[0], atol=1e-12)


@mark.parametrize("blend_s", [0.05, 0.4, 0.7, 99.0])
@mark.parametrize("fields", [1, 2, 3])
def test_blending_starts_where_the_arm_is_and_ends_as_asked(points, blend_s, fields):
    path = from_points(TIMES, *points[:fields], joint_names=NAMES)
    rng = np.random.default_rng(5)
    current = path.start + 0.05 * rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
    blended = blend(current, path, blend_s)
    assert_allclose(blended.sample(0.0), current, atol=1e-10)
    later = np.linspace(min(blend_s, path.duration), path.duration, 200)[1:-1]
    later = later[np.abs(later[:, None] - TIMES).min(axis=1) > 1e-9]
    assert_allclose(blended.sample(later), path.sample(later), atol=1e-8)
    assert blended.duration == path.duration


@mark.parametrize("first_s", [0.02, 0.1, 0.29, 0.31, 1.0])
def test_from_rest_no_joint_turns_back_before_the_second_point_which_is_met(first_s):
    times, q = np.array([0.0, first_s, first_s + 0.4]), np.array([[0.0, 0.0, 0.0], [0.1, -0.2, 0.05], [0.1, -0.9, -0.05]])
    v = PchipInterpolator(times, q).derivative()(times)
    v[[0, -1]] = 0.0
    blended = blend((q[0], v[0], 0.0 * q[0]), from_points(times, q, v, joint_names=NAMES))
    assert_allclose(blended.sample(first_s)[0], q[1], atol=1e-12)
    before = blended.sample(np.linspace(0.0, first_s, 500))[0]
    assert (np.diff(before, axis=0) * np.sign(q[1]) >= -1e-12).all()


@mark.parametrize("seed", range(6))
def test_stopping(seed):
    rng = np.random.default_rng(seed)
    q, v, a = rng.normal(size=(3, 3)) * np.array([1.0, 3.0, 10.0])[:, None]
    limit = rng.uniform(3.0, 30.0, 3)
    stop = stop_trajectory(q, v, a, limit, joint_names=NAMES)
    assert_allclose(stop.sample(0.0), (q, v, a), atol=1e-10)
    assert_allclose(stop.sample(stop.duration)[1:], 0.0, atol=1e-9)
    peak = np.abs(stop.sample(np.linspace(0.0, stop.duration, 2001))[2]).max(axis=0)
    assert (peak <= np.maximum(limit, np.abs(a)) * (1 + 1e-6)).all()
    shortest = (1.5 * np.abs(v) / np.maximum(limit, np.abs(a))).max()
    assert stop.duration <= 6.0 * max(shortest, 0.02)


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_no_joint_turns_back_in_a_stop(seed):
    """One that decelerates already did, beside a faster one: by up to 18 mrad."""
    rng = np.random.default_rng(seed)
    v, a = rng.uniform(-1.2, 1.2, 3) * rng.choice([1e-6, 0.05, 1.0], 3), rng.uniform(-4.0, 4.0, 3)
    stop = stop_trajectory([0, 0, 0], v, a, 4.0, joint_names=NAMES)
    _, _, velocity, acceleration = stop.grid(stop.duration / 500)
    assert (velocity * np.sign(v)).min() >= -1e-9
    assert np.abs(acceleration).max() <= 4.0 * (1 + 1e-6)


def test_stopping_keeps_to_a_limit_that_is_near():
    lower, upper = np.array([-9.0, -9.0, -9.0]), np.array([9.0, 0.05, 9.0])
    stop = stop_trajectory([0, 0, 0], [0.1, 1.0, 0.0], [0, 0, 0], 2.0, joint_names=NAMES, lower=lower, upper=upper)
    q = stop.sample(np.linspace(0.0, stop.duration, 1001))[0]
    assert (q <= upper + 1e-9).all() and (q >= lower - 1e-9).all()
    free = stop_trajectory([0, 0, 0], [0.1, 1.0, 0.0], [0, 0, 0], 2.0, joint_names=NAMES)
    assert free.end[1] > upper[1]


# --- what is left of a trajectory, and joints side by side: the same motion as in the parts ---


def random_trajectory(seed: int, n: int):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.05, 0.7, rng.integers(2, 7)))
    rows = [rng.normal(size=(len(times), n)) for _ in range(3)]
    rows[1][-1] = rows[2][-1] = 0.0
    zero = np.zeros(n)
    return from_points(times, *rows, start=(zero, zero, zero), joint_names=[f"j{k}" for k in range(n)])


@given(seeds, st.floats(0.0, 1.2))
@settings(max_examples=30, deadline=None)
def test_the_tail_is_the_rest_of_the_motion(seed, share):
    whole = random_trajectory(seed, 3)
    begin = share * whole.duration
    rest = part(whole, begin)
    t = np.linspace(0.0, whole.duration, 101)
    for ours, theirs in zip(rest.sample(t), whole.sample(max(begin, 0.0) + t)):
        assert_allclose(ours[1:], theirs[1:], atol=1e-6)
    assert_allclose(rest.end, whole.end, atol=1e-9)


@given(seeds, seeds, st.booleans())
@settings(max_examples=30, deadline=None)
def test_joints_side_by_side_move_as_each_would_alone(seed_a, seed_b, stands):
    moving, columns = random_trajectory(seed_a, 2), [3, 1]
    others = standing([f"j{k}" for k in range(4)], [1.0, 2.0, 3.0, 4.0]) if stands else random_trajectory(seed_b, 4)
    both = merge_joints(moving, others, columns)
    assert both.duration == max(moving.duration, others.duration)
    t = np.random.default_rng(seed_a).uniform(0.0, both.duration * 1.1, 200)
    t = t[np.abs(t[:, None] - np.concatenate([moving.breaks, others.breaks])[None]).min(axis=1) > 1e-6]  # a may jump there
    for ours, alone, beyond in zip(both.sample(t), moving.sample(t), others.sample(t)):
        assert_allclose(ours[:, columns], alone, atol=1e-8)
        assert_allclose(ours[:, [0, 2]], beyond[:, [0, 2]], atol=1e-8)
