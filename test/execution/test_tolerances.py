"""Tolerances: what a goal makes of the defaults, and which joint breaks them, by how much."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from picker_dynamics.errors import InputError, JointNamesError
from picker_dynamics.execution.tolerances import JointTolerance, Tolerances

NAMES, UNITS = ("base", "lift", "wrist"), ("rad", "m", "rad")
DEFAULTS = Tolerances.of([0.1, 0.2, 0.0], [0.01, 0.0, 0.03], 0.05, 2.0)


def test_defaults_are_the_parameters_of_joint_trajectory_controller():
    assert DEFAULTS.path.position.tolist() == [0.1, 0.2, 0.0] and not DEFAULTS.path.velocity.any()
    assert DEFAULTS.goal.position.tolist() == [0.01, 0.0, 0.03] and DEFAULTS.goal.velocity.tolist() == [0.05] * 3
    assert DEFAULTS.goal_time == 2.0


@pytest.mark.parametrize(("wanted", "path", "time"), [(0.0, 0.1, 2.0), (-1.0, 0.0, 0.0), (0.7, 0.7, 0.7)])
def test_zero_is_the_default_and_minus_one_none(wanted, path, time):
    made = DEFAULTS.wanted([JointTolerance("base", wanted)], [JointTolerance("wrist", velocity=wanted)], wanted, NAMES)
    assert made.path.position.tolist() == [path, 0.2, 0.0]
    assert made.goal.velocity.tolist() == [0.05, 0.05, {0.0: 0.05, -1.0: 0.0, 0.7: 0.7}[wanted]]
    assert made.goal.position.tolist() == DEFAULTS.goal.position.tolist() and made.goal_time == time


@pytest.mark.parametrize("bad", [-0.5, -2.0, float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("field", ["position", "velocity", "acceleration"])
def test_another_tolerance_is_refused_by_name(bad, field):
    with pytest.raises(InputError, match=rf"goal_tolerance of base \({field}\) is") as caught:
        DEFAULTS.wanted([], [JointTolerance("base", **{field: bad})], 0.0, NAMES)
    assert caught.value.subject == "base"


def test_a_joint_that_is_not_there_and_a_bad_time_are_refused():
    with pytest.raises(JointNamesError, match="path_tolerance: unknown joint 'tail'; the arm has base, lift, wrist"):
        DEFAULTS.wanted([JointTolerance("tail", 0.1)], [], 0.0, NAMES)
    with pytest.raises(InputError, match="goal_time_tolerance"):
        DEFAULTS.wanted([], [], -0.5, NAMES)


numbers = st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3)


@given(numbers, st.lists(st.sampled_from([0.0, 0.1, 0.5]), min_size=3, max_size=3))
def test_exceeded_is_what_a_loop_over_the_joints_says(errors, limits):
    bound = Tolerances.of(limits, [0.0] * 3, 0.0, 0.0).path
    excess = bound.exceeded(NAMES, UNITS, np.array(errors), None)
    broken = {name: abs(e) / limit for name, e, limit in zip(NAMES, errors, limits) if limit > 0.0 and abs(e) > limit}
    assert (excess is None) == (not broken)
    if excess is not None:
        assert broken[excess.joint] == max(broken.values())
        j = NAMES.index(excess.joint)
        assert (excess.value, excess.limit) == (abs(errors[j]), limits[j])


def test_the_text_names_joint_amount_and_limit_in_its_unit():
    q, v = np.array([0.05, 0.3, 0.0]), np.array([0.0, 0.0, 0.5])
    assert str(DEFAULTS.path.exceeded(NAMES, UNITS, q, v)) == "lift is off by 300.0 mm, allowed 200.0 mm"
    assert (
        str(DEFAULTS.goal.exceeded(NAMES, UNITS, 0.0 * q, v)) == "the velocity of wrist is off by 28.6 deg/s, allowed 2.9 deg/s"
    )
    assert DEFAULTS.goal.exceeded(NAMES, UNITS, 0.0 * q, None) is None, "a velocity that nobody knows"
