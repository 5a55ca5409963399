"""Profiles against their formulas and finite differences; motions against the limits they must just keep."""

import arm_fixtures
import numpy as np
from numpy.testing import assert_allclose
from pytest import approx, mark, raises

from picker_dynamics.errors import InputError
from picker_dynamics.trajectory import profiles

NAMES = ("base", "shoulder", "elbow")
S = np.linspace(0.0, 1.0, 2001)


@mark.parametrize(
    "name, formula, speed, acceleration",
    [
        ("constant", lambda s: s, 1.0, 0.0),
        ("cubic", lambda s: 3 * s**2 - 2 * s**3, 1.5, 6.0),
        ("quintic", lambda s: 10 * s**3 - 15 * s**4 + 6 * s**5, 15 / 8, 10 / np.sqrt(3)),
    ],
)
def test_polynomial_profiles(name, formula, speed, acceleration):
    law = profiles.profile(name)
    assert_allclose(law.sample(S)[0][:, 0], formula(S), atol=1e-12)
    assert_allclose([np.abs(x).max() for x in law.sample(S)[1:]], (speed, acceleration), rtol=1e-5)


def test_another_profile_is_refused():
    with raises(InputError, match="profile is 'jump', must be one of constant"):
        profiles.profile("jump")


@mark.parametrize("seed", range(5))
def test_a_move_is_as_quick_as_its_limits_let_it(seed):
    rng = np.random.default_rng(seed)
    q0, q1 = rng.normal(size=(2, 3))
    speed, acceleration = rng.uniform(0.5, 5.0, 3), rng.uniform(1.0, 20.0, 3)
    move = profiles.joint_move(q0, q1, speed, acceleration, joint_names=NAMES)
    assert_allclose(move.start, q0, atol=1e-12)
    assert_allclose(move.end, q1, atol=1e-12)
    _, _, v, a = move.grid(move.duration / 4000)
    use = max((np.abs(v) / speed).max(), (np.abs(a) / acceleration).max())
    assert use == approx(1.0, abs=1e-5)


def test_tip_speed_by_finite_differences_and_its_limit():
    arm, home = arm_fixtures.picker(), arm_fixtures.servos().home
    picker = arm_fixtures.rigid_body()
    goal = home + np.array([0.8, -0.3, 0.4, 0.2, 0.0])
    move = profiles.joint_move(home, goal, 3.0, 20.0, joint_names=arm.joint_names)
    t = np.linspace(0.0, move.duration, 4001)
    tip = picker.forward_kinematics(move.sample(t)[0])
    fastest = (np.linalg.norm(np.diff(tip, axis=0), axis=1) / (t[1] - t[0])).max()
    slow = profiles.limit_tip_speed(move, picker, 0.25)
    assert slow.duration / move.duration == approx(fastest / 0.25, rel=2e-3)
    assert_allclose(slow.end, move.end)
    assert profiles.limit_tip_speed(slow, picker, 0.3) is slow
