"""Every goal is answered exactly once, whatever happens to it; the reference goes on meanwhile."""

import numpy as np
import pytest
from arm_fixtures import picker
from execution_rig import ACCEPTED, DONE, HOME, NAMES, REFUSED, TIGHT, ZERO, Rig, goal, moved, part

from picker_dynamics.errors import JointNamesError, TrajectoryError
from picker_dynamics.execution.goal import HAIR, Goal
from picker_dynamics.execution.goal_tracking import Code
from picker_dynamics.execution.motion import Phase

PERIOD, LEAD = 0.02, 0.06
PREEMPTED, OVERTAKEN = "preempted by a newer goal", "replaced by a newer goal before it was planned"


def base(by: float = 0.2, duration: float = 1.0, **fields) -> Goal:
    return goal(moved(base=by), times=[duration], **fields)


@pytest.fixture
def rig() -> Rig:
    return Rig(period_s=PERIOD, lead_s=LEAD, begin_s=1000.0)


def test_a_pose_copied_from_what_is_published_is_no_refusal_and_one_beyond_that_is(rig):
    """What is published is modelled: 4e-5 rad beyond a limit it was refused, as soon as the arm was within."""
    limit = float(picker().upper[4])
    rig.send(part(1.0, scissor=limit + 4.4e-5), "copied")
    rig.tick(60)
    assert rig.succeeded("copied") and rig.newest.q[4] == limit
    rig.send(part(1.0, scissor=limit + 2.0 * HAIR), "beyond")
    rig.tick(10)
    assert rig.kinds("beyond") == [REFUSED] and rig.answer("beyond").text.startswith("scissor")


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (JointNamesError("unknown joint 'tail'"), Code.INVALID_JOINTS),
        (TrajectoryError("nan"), Code.INVALID_GOAL),
        (Goal(NAMES[:-1], [1.0], [HOME[:-1]]), Code.INVALID_JOINTS),
        (Goal(NAMES, [1.0], [HOME], start_s=900.0), Code.OLD_HEADER_TIMESTAMP),
        (goal(ZERO, times=[9.0]), Code.INVALID_GOAL),
    ],
)
def test_a_refusal_has_its_code_and_leaves_a_motion_alone(rig, bad, code):
    rig.send(base(duration=3.0), "first")
    rig.tick(20)
    rig.send(bad, "bad")
    rig.tick(5)
    assert rig.answer("bad").code is code and rig.kinds("bad") == [REFUSED]
    assert rig.answers["first"] == [] and rig.phase is Phase.EXECUTING


def test_of_a_flood_the_last_one_wins_and_each_is_answered(rig):
    rig.send(base(0.5, 4.0), "before", TIGHT)
    rig.tick(30)
    names = [str(k) for k in range(200)]
    for k, name in enumerate(names):
        rig.send(base(0.3 - 0.001 * k), name, TIGHT)
        if k % 20 == 0:
            rig.tick()
    rig.tick(120)
    assert rig.answer("before").text == PREEMPTED
    assert rig.succeeded(names[-1])
    texts = {rig.answer(name).text for name in names[:-1]}
    assert texts <= {OVERTAKEN, PREEMPTED} and OVERTAKEN in texts
    assert rig.newest.q[0] == pytest.approx(HOME[0] + 0.3 - 0.199)
    assert np.abs(np.diff(rig["v"][:, 0])).max() < 12.0 * PERIOD, "no step in any of it"


def test_while_blocked_the_arm_holds_and_says_why(rig):
    rig.send(base(0.5, 3.0), "g", TIGHT)
    rig.tick(40)
    rig.block("two controllers on one arm")
    rig.send(base(), "other")
    rig.tick(60)
    assert rig.answer("g").text == "aborted: two controllers on one arm"
    assert rig.answer("other").text == "two controllers on one arm"
    assert rig.phase is Phase.HOLDING
    rig.block("")
    rig.send(base(), "again")
    rig.tick(3)
    assert rig.kinds("again") == [ACCEPTED]


def test_a_goal_for_after_the_end_of_a_motion_does_not_cut_it_short(rig):
    """It was taken at once, and the reference stood where the first motion would have ended."""
    rig.send(base(0.25, 0.05), "first")
    rig.tick(5)
    rig.send(base(0.0, 0.05, start_s=rig.time_s + 0.35), "later")
    rig.tick(60)
    q, v = rig["q"], rig["v"]
    assert np.abs(np.diff(q, axis=0) - PERIOD * (v[1:] + v[:-1]) / 2.0).max() < 0.01
    assert q[:, 0].max() == pytest.approx(HOME[0] + 0.25) and q[-1, 0] == pytest.approx(HOME[0])
    assert rig.kinds("first") == rig.kinds("later") == [ACCEPTED, DONE]
