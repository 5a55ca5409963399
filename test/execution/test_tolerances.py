"""Tolerances: what a goal makes of the defaults, and which joint breaks them, by how much."""

from types import SimpleNamespace

import numpy as np
import pytest

from picker_dynamics.errors import InputError
from picker_dynamics.execution.goal_tracking import Tolerances, exceeded


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


def test_the_text_names_joint_amount_and_limit_in_its_unit():
    q, v = np.array([0.05, 0.3, 0.0]), np.array([0.0, 0.0, 0.5])
    assert exceeded(DEFAULTS.path, NAMES, UNITS, q, v) == "lift is off by 300.0 mm, allowed 200.0 mm"
    told = exceeded(DEFAULTS.goal, NAMES, UNITS, 0.0 * q, v)
    assert told == "the velocity of wrist is off by 28.6 deg/s, allowed 2.9 deg/s"
    assert not exceeded(DEFAULTS.goal, NAMES, UNITS, 0.0 * q, None), "a velocity that nobody knows"
