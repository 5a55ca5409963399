"""Whatever is asked of an arm in whatever order, what is sent obeys every limit, and the true arm follows: generated sequences.

``pytest --hypothesis-profile long`` runs thousands, other ones each time; else the same few hundred.  A sequence that fails is
printed as steps that can be pasted into ``SEEN``.
"""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
from arm_fixtures import picker
from arm_fixtures import validator as arm_validator
from execution_rig import HOME, NAMES
from generated import numbers, share
from hypothesis import given
from hypothesis import strategies as st
from pytest import mark
from sequences import LOWER, UPPER, Ask, Cancel, Payload, Restart, Speed, Stall, Stream, TipLimit, Wait, execute

from picker_dynamics.errors import PickerError
from picker_dynamics.execution.collision import FloorCheck

PER_KIND = share(15, 0.25)
pytestmark = mark.timeout(60 + 10 * PER_KIND.max_examples)


def at(**by) -> tuple[float, ...]:
    """Home, but for some joints [rad]."""
    return tuple(float(HOME[i] + by.get(name, 0.0)) for i, name in enumerate(NAMES))


# -- what is generated ------------------------------------------------------------------------------------------------


def holdable(count: int) -> list[np.ndarray]:
    """Poses (n,) all over the workspace at which the arm can stand, the tool above the floor; home is the first."""
    rng, validator = np.random.default_rng(7), arm_validator(further=(FloorCheck(picker(), 0.0),))
    found = [HOME]
    while len(found) < count:
        pose = rng.uniform(LOWER, UPPER).round(2).clip(LOWER, UPPER)
        with contextlib.suppress(PickerError):
            validator.require_holdable(pose)
            found.append(pose)
    return found


PLACES = holdable(40)


@st.composite
def poses(draw, joints=NAMES):
    """One of those places or near it, or anywhere."""
    columns = [NAMES.index(name) for name in joints]
    place, size = draw(st.sampled_from(PLACES)), draw(st.sampled_from((0.0, 0.05, 0.3, 0.3, 1.5)))
    off = size * np.array(draw(st.tuples(*[numbers(-1.0, 1.0, 0.1)] * len(joints)))) if size else 0.0
    return tuple(np.clip(place[columns] + off, LOWER[columns], UPPER[columns]).round(4).tolist())


@st.composite
def asks(draw):
    """Goals of some joints or all, quick or slow, for now, for later, or from the past."""
    joints = draw(st.sampled_from((NAMES, NAMES, NAMES[:4], ("scissor",), ("base", "wrist"))))
    count = draw(st.integers(1, 3))
    lengths = draw(st.lists(st.sampled_from((0.05, 0.1, 0.3, 0.8, 1.5, 3.0)), min_size=count, max_size=count))
    return Ask(
        tuple(np.cumsum(lengths).round(3).tolist()),
        tuple(draw(poses(joints)) for _ in range(count)),
        joints,
        draw(st.sampled_from(("q", "qv", "qva", "through"))),
        draw(st.sampled_from((None, None, None, -5.0, -0.5, -0.05, 0.3, 2.0))),
        "gripper" if joints == ("scissor",) and draw(st.booleans()) else "arm",
    )


@st.composite
def dashes(draw):
    """A long goal that hardly moves, but for one short stretch."""
    before, dash, after = (draw(st.sampled_from((0.5, 2.0, 5.0))), draw(numbers(0.05, 0.6)), draw(st.sampled_from((0.5, 3.0))))
    there = draw(poses())
    return Ask(
        (before, round(before + dash, 3), round(before + dash + after, 3)),
        (at(), there, there),
        fields=draw(st.sampled_from(("q", "qv", "qva"))),
    )


@st.composite
def streams(draw):
    return Stream(
        draw(numbers(0.1, 2.0, 0.1)),
        swing=draw(st.tuples(*[numbers(-0.3, 0.3)] * 5)),
        hertz=draw(st.sampled_from((0.1, 0.3, 1.0))),
        noise=draw(st.sampled_from((0.0, 0.0, 5e-4, 2e-3, 2e-2))),
        step=tuple(draw(st.sampled_from((0.0, 0.01, 0.1))) * x for x in draw(st.tuples(*[numbers(-1.0, 1.0, 0.5)] * 5))),
        gap_s=draw(st.sampled_from((0.0, 0.0, 0.05, 0.15, 0.7))),
        late_s=draw(st.sampled_from((None, None, 0.0, 0.3, 3.0))),
        seed=draw(st.integers(0, 99)),
    )


cancels = st.booleans().map(Cancel)
changes = st.one_of(
    st.sampled_from((0.0, 0.02, 0.05, 0.1)).map(Payload),
    st.sampled_from((0.0, 0.1, 0.5, 1.0)).map(Speed),
    st.sampled_from((0.02, 0.1, 0.25, 1.0)).map(TipLimit),
)
interruptions = st.one_of(
    st.sampled_from((0.0, 0.1, 1.0)).map(Restart), st.sampled_from((0.012, 0.05, 0.2, 1.0, -0.005, -5.0)).map(Stall)
)
KINDS = {
    "goals": st.one_of(asks(), asks(), asks(), dashes(), cancels),
    "changes": st.one_of(asks(), asks(), dashes(), changes, changes, cancels),
    "streams": st.one_of(streams(), streams(), asks(), cancels, changes),
    "everything": st.one_of(asks(), asks(), streams(), cancels, changes, interruptions),
}
waits = st.sampled_from((0.0, 0.03, 0.2, 0.5, 0.5, 1.0, 2.0)).map(Wait)


def sequences(kind: str):
    """Steps, each with a wait behind it, none where that is 0."""
    return st.lists(st.tuples(KINDS[kind], waits), min_size=2, max_size=8).map(
        lambda pairs: [step for step in itertools.chain(*pairs) if step != Wait(0.0)]
    )


@mark.parametrize("kind", KINDS)
def test_generated_sequences(kind):
    @PER_KIND
    @given(sequences(kind))
    def run(steps):
        execute(steps)

    run()


# -- seen ---------------------------------------------------------------------------------------------------------------

SEEN = {
    "a tip speed lowered twelvefold on a way whose middle cannot be held": [
        Speed(0.0),
        Ask(
            (0.05, 0.35),
            ((-0.59, 2.205, -0.18, -1.14, 0.94), (-0.475, 1.39, -0.495, -0.43, 0.63)),
            fields="through",
            later_s=-0.05,
        ),
        Speed(1.0),
        Payload(0.1),
        Wait(1.03),
        TipLimit(0.02),
        Wait(4.0),
    ],
    "a lower tip speed in the middle of a stream": [
        Stream(2.0, (0.03, 0.15, -0.15, -0.25, 0.19), 0.1, seed=92),
        Payload(0.05),
        Stream(1.3, (-0.27, 0.08, 0.09, -0.13, 0.08), 0.1, seed=25),
        Wait(0.2),
        Stream(1.9, (0.29, 0.24, 0.06, 0.19, -0.08), 1.0, step=(0.0, 0.005, 0.0, -0.05, 0.05), late_s=0.3, seed=82),
        Wait(0.03),
        TipLimit(0.1),
        Stream(0.9, (-0.14, 0.12, 0.2, -0.05, 0.15), 1.0, noise=0.02, step=(0.0, 0.1, -0.01, 0.0, -0.05), seed=19),
    ],
    "the clock steps back": [Ask((3.0,), (at(base=0.6),)), Wait(1.0), Stall(-5.0), Wait(1.0), Ask((2.0,), (at(),)), Wait(8.0)],
    "a heavy payload that stops the motion": [
        Ask((3.0,), ((-1.5, 1.88, 0.45, 1.33, 0.0),), fields="q"),
        Wait(4.2),
        Payload(0.1),
        Wait(3.0),
    ],
    "a second's gap at the end of a motion": [
        Ask((0.05,), (at(),), fields="q"),
        Ask((0.05,), (at(),), fields="q"),
        Ask(
            (0.8, 1.1, 1.15),
            ((1.34, 1.59, -1.52, -0.69, 1.14), (1.19, 1.35, -1.52, -0.69, 1.14), (1.19, 1.35, -1.64, -0.54, 1.14)),
            fields="q",
        ),
        Wait(1.0),
        Stall(0.012),
        Wait(1.0),
        Stall(1.0),
        Wait(1.0),
    ],
}


@mark.parametrize("name", SEEN)
def test_what_was_seen(name):
    execute(SEEN[name])
