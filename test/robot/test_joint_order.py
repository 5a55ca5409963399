"""Joints come by name; anything else is refused by name."""

import pytest

from picker_dynamics.errors import JointNamesError
from picker_dynamics.robot.joint_order import order_of, ordered

ARM = ("base", "shoulder", "elbow")


def test_values_follow_their_names():
    assert ordered(["elbow", "base", "shoulder"], [3.0, 1.0, 2.0], ARM).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("names", "named"),
    [
        (["base", "shoulder"], "elbow"),
        (["base", "shoulder", "elbow", "tail"], "tail"),
        (["base", "base", "shoulder", "elbow"], "base"),
    ],
)
def test_wrong_names_are_named(names, named):
    with pytest.raises(JointNamesError) as caught:
        order_of(names, ARM, "goal")
    assert caught.value.subject == named and named in str(caught.value) and str(caught.value).startswith("goal")
