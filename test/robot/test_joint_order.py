"""Joints come by name; anything else is refused by name."""

import numpy as np
import pytest

from picker_dynamics.errors import JointNamesError
from picker_dynamics.robot.joint_order import ordered

ARM = ("base", "shoulder", "elbow")


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
        ordered(names, np.zeros(len(names)), ARM, "goal")
    assert caught.value.subject == named and named in str(caught.value) and str(caught.value).startswith("goal")
