"""References by joint name: in the arm's order whatever the message's, and what is no reference is refused by name."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from picker_dynamics.control.reference_reader import ReferenceReader
from picker_dynamics.errors import InputError, JointNamesError

NAMES = ("base", "shoulder", "elbow")


def point(q=(1.0, 2.0, 3.0), v=(4.0, 5.0, 6.0), a=(7.0, 8.0, 9.0)):
    return SimpleNamespace(positions=q, velocities=v, accelerations=a)


def test_each_message_is_read_by_its_own_names():
    reader = ReferenceReader(NAMES)
    for order in ([0, 1, 2], [2, 0, 1], [2, 0, 1], [1, 2, 0]):
        names = [NAMES[k] for k in order]
        q, v, a = reader.read(
            names, [point(*(np.array(x)[order] for x in (point().positions, (4.0, 5.0, 6.0), (7.0, 8.0, 9.0))))]
        )
        np.testing.assert_array_equal([q, v, a], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])


@pytest.mark.parametrize(
    "points, message",
    [
        ([], "expected one point, got 0"),
        ([point(), point()], "expected one point, got 2"),
        ([point(v=())], "0 velocities for 3 joints"),
        ([point(q=(1.0, 2.0))], "2 positions for 3 joints"),
        ([point(a=(0.0, np.nan, 0.0))], "shoulder has a acceleration that is not finite"),
        ([point(q=(np.inf, 0.0, 0.0))], "elbow has a position that is not finite"),
    ],
)
def test_what_is_no_reference_is_refused(points, message):
    with pytest.raises(InputError, match=message):
        ReferenceReader(NAMES).read(["elbow", "shoulder", "base"], points)


def test_a_wrong_joint_is_refused_and_the_next_message_read_as_before():
    reader = ReferenceReader(NAMES)
    reader.read(NAMES, [point()])
    with pytest.raises(JointNamesError, match="reference: unknown joint 'wrist'"):
        reader.read(["base", "shoulder", "wrist"], [point()])
    np.testing.assert_array_equal(reader.read(NAMES, [point()]).q, [1.0, 2.0, 3.0])
