"""Tolerances: what a goal makes of the defaults, and which joint breaks them, by how much."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from picker_dynamics.errors import InputError, JointNamesError
from picker_dynamics.execution.tolerances import Tolerances, exceeded


def asked(name: str, position=0.0, velocity=0.0, acceleration=0.0) -> SimpleNamespace:
    """Like control_msgs/JointTolerance."""
    return SimpleNamespace(name=name, position=position, velocity=velocity, acceleration=acceleration)


NAMES, UNITS = ("base", "lift", "wrist"), ("rad", "m", "rad")
DEFAULTS = Tolerances.of([0.1, 0.2, 0.0], [0.01, 0.0, 0.03], 0.05, 2.0)


@pytest.mark.parametrize(("wanted", "path", "time"), [(0.0, 0.1, 2.0), (-1.0, 0.0, 0.0), (0.7, 0.7, 0.7)])
def test_zero_is_the_default_and_minus_one_none(wanted, path, time):
    made = DEFAULTS.wanted([asked("base", wanted)], [asked("wrist", velocity=wanted)], wanted, NAMES)
    assert made.path[0].tolist() == [path, 0.2, 0.0]
    assert made.goal[1].tolist() == [0.05, 0.05, {0.0: 0.05, -1.0: 0.0, 0.7: 0.7}[wanted]]
    assert made.goal[0].tolist() == DEFAULTS.goal[0].tolist() and made.goal_time == time


@pytest.mark.parametrize("bad", [-0.5, -2.0, float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("field", ["position", "velocity", "acceleration"])
def test_another_tolerance_is_refused_by_name(bad, field):
    with pytest.raises(InputError, match=rf"goal_tolerance of base \({field}\) is") as caught:
        DEFAULTS.wanted([], [asked("base", **{field: bad})], 0.0, NAMES)
    assert caught.value.subject == "base"


def test_a_joint_that_is_not_there_and_a_bad_time_are_refused():
    with pytest.raises(JointNamesError, match="path_tolerance: unknown joint 'tail'; the arm has base, lift, wrist"):
        DEFAULTS.wanted([asked("tail", 0.1)], [], 0.0, NAMES)
    with pytest.raises(InputError, match="goal_time_tolerance"):
        DEFAULTS.wanted([], [], -0.5, NAMES)


numbers = st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3)


@given(numbers, st.lists(st.sampled_from([0.0, 0.1, 0.5]), min_size=3, max_size=3))
def test_exceeded_is_what_a_loop_over_the_joints_says(errors, limits):
    bound = Tolerances.of(limits, [0.0] * 3).path
    text = exceeded(bound, NAMES, UNITS, np.array(errors), None)
    broken = {name: abs(e) / limit for name, e, limit in zip(NAMES, errors, limits) if limit > 0.0 and abs(e) > limit}
    assert bool(text) == bool(broken) and (not text or broken[text.split()[0]] == max(broken.values()))


def test_the_text_names_joint_amount_and_limit_in_its_unit():
    q, v = np.array([0.05, 0.3, 0.0]), np.array([0.0, 0.0, 0.5])
    assert exceeded(DEFAULTS.path, NAMES, UNITS, q, v) == "lift is off by 300.0 mm, allowed 200.0 mm"
    told = exceeded(DEFAULTS.goal, NAMES, UNITS, 0.0 * q, v)
    assert told == "the velocity of wrist is off by 28.6 deg/s, allowed 2.9 deg/s"
    assert not exceeded(DEFAULTS.goal, NAMES, UNITS, 0.0 * q, None), "a velocity that nobody knows"
