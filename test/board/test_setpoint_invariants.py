"""Whatever a hardware session meets, its outputs never jump, never leave their range, and what is held is said: generated.

``pytest --hypothesis-profile long`` runs hundreds, other ones each time.  One that fails is printed as steps that can be
pasted into ``SEEN``.
"""

from __future__ import annotations

import math

from generated import numbers, share
from hypothesis import given
from hypothesis import strategies as st
from pytest import mark
from setpoint_sequences import Accident, Follow, Pause, Press, Recover, Stall, Throw, Two, execute

EXAMPLES = share(10, 0.3)
pytestmark = mark.timeout(60 + 10 * EXAMPLES.max_examples)


offsets = st.sampled_from((0.0, 0.02, 0.1, 0.4)).flatmap(
    lambda size: st.tuples(*[numbers(-1.0, 1.0, 0.25)] * 5).map(lambda by: tuple(round(size * x, 4) for x in by))
)
strange = st.one_of(
    offsets,
    st.sampled_from(((math.nan,) * 5, (0.0, math.nan, 0.0, 0.0, 0.0), (9.0,) * 5, (0.0, 0.0, 0.0, 0.0, -3.0), (math.inf,) * 5)),
)
follows = st.builds(
    Follow,
    numbers(0.1, 2.0, 0.1),
    offsets,
    st.booleans(),
    st.sampled_from((0.0, 0.0, 0.002, 0.02)),
    st.sampled_from((0.01, 0.01, 0.02, 0.05, 0.2)),
    st.integers(0, 9),
)
steps = st.one_of(
    follows,
    follows,
    st.builds(Two, numbers(0.1, 1.5, 0.1), offsets, offsets, st.booleans()),
    st.builds(Throw, strange, st.sampled_from((1, 3, 30)), st.sampled_from((0.0, -0.05, -0.2, -5.0, 0.1, 0.5, 5.0, math.nan))),
    st.sampled_from((0.05, 0.15, 0.3, 1.0)).map(Pause),
    st.sampled_from((0.05, 0.15, 0.3, 1.0)).map(Stall),
    st.sampled_from(("stop", "reset", "enable", "confirm", "release", "rejoin", "disable")).map(Press),
    st.sampled_from((Accident("reset"), Accident("STOPPED"), Accident("unplug", 0.1), Accident("unplug", 1.0))),
    st.just(Recover()),
)


@EXAMPLES
@given(st.lists(steps, min_size=2, max_size=8))
def test_generated_sequences(steps):
    execute(steps)


BASE = (0.4, 0.0, 0.0, 0.0, 0.0)
SEEN = {
    "what cannot be followed, between what can": [
        Throw(shift_s=0.1, count=5),
        Throw((math.inf,) * 5, 3, 5.0),
        Follow(0.4, (-0.1, -0.1, -0.075, 0.05, 0.05), False, 0.002, 0.05, 1),
    ],
    "a second controller at an old pose": [Follow(2.0, BASE), Two(2.0, BASE, (0.3, 0.0, 0.0, 0.0, 0.0))],
    "a second controller that joins at the held pose of long ago": [
        Follow(2.0, BASE),
        Throw(count=60),
        Follow(1.0, BASE, stubborn=True),
    ],
    "a jump": [Follow(0.5, BASE), Throw((0.9, 0.2, 0.0, 0.0, 0.0), 60)],
    "enable after a reset of the board": [Follow(0.4, BASE), Accident("reset"), Pause(0.3), Press("enable"), Follow(1.0, BASE)],
    "enable after a pulled cable": [Follow(0.4, BASE), Accident("unplug", 1.0), Press("enable"), Follow(1.0, BASE)],
    "a stop in motion, and commands that go on": [Follow(0.4, BASE), Press("stop"), Follow(1.0, BASE, stubborn=True)],
    "the host stands still": [Follow(0.4, BASE), Stall(1.0), Follow(1.0, BASE, stubborn=True)],
    "no number": [Throw((math.nan,) * 5, 3), Throw(shift_s=math.nan)],
}


@mark.parametrize("name", SEEN)
def test_what_was_seen(name):
    execute(SEEN[name])


def test_outputs_that_are_off_are_switched_on_at_the_rest_pose():
    execute([Follow(1.0, BASE)], found=None)
