"""Execution: a reference that is continuous whatever happens, never anything that was not checked, and events as types."""

from execution_rig import HOME, TIP_SPEED, Rig, executing, goal, limits, moved
from numpy.testing import assert_array_equal
from pytest import raises

from picker_dynamics.errors import LimitError, PickerError
from picker_dynamics.execution import checks
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.goal_tracking import Outcome
from picker_dynamics.execution.motion import Phase


def test_deactivation_aborts_and_nothing_is_sent_until_a_new_start():
    rig = Rig()
    motion = rig.submit(goal(moved(base=0.5)), "g")
    rig.execution.deactivate("relaxed")
    assert rig.phase is Phase.INACTIVE and rig.tick().reference is None
    assert rig.answer("g").outcome is Outcome.ABORTED and rig.events[-1].motion is motion
    with raises(PickerError, match="not active"):
        rig.submit(goal(HOME))
    rig.execution.start(moved(base=0.2))
    assert_array_equal(rig.tick().reference.q, moved(base=0.2))
    rig.submit(goal(HOME), "again")
    rig.execution.start(HOME)
    assert rig.answer("again").outcome is Outcome.ABORTED and rig.tick().reference.q.tolist() == HOME.tolist()


def test_at_the_end_whoever_waits_is_told():
    rig = executing(goal(moved(base=0.5)))
    (event,) = rig.execution.close()
    assert (event.kind, event.text) == (EventKind.ABORTED, "aborted: the controller ends") and rig.answer("g").text == event.text


# -- limits ---------------------------------------------------------------------------------------------------


# -- events ---------------------------------------------------------------------------------------------------


def test_a_motion_that_is_too_fast_is_slowed_or_refused():
    quick = goal(moved(base=1.2), times=[0.5])
    slowed = Rig().submit(quick).validated
    assert slowed.factor > 2.0
    speed = checks.tip_speed(slowed.motion, TIP_SPEED).value
    assert 0.9 * 0.25 < speed <= 0.25 * (1 + 1e-6), "as fast as allowed, not slower"
    with raises(LimitError, match="tip would move"):
        Rig(limits(scales_time=False)).submit(goal(moved(base=1.2), times=[0.7]))
