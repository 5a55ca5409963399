"""Execution: a reference that is continuous whatever happens, never anything that was not checked, and events as types."""

from execution_rig import HOME, TIP_SPEED, ZERO, Rig, executing, goal, limits, moved
from numpy.testing import assert_allclose, assert_array_equal
from pytest import mark, raises

from picker_dynamics.errors import InfeasibleError, InputError, LimitError, PickerError
from picker_dynamics.execution import checks
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.goal_tracking import Outcome
from picker_dynamics.execution.motion import Phase


def test_a_goal_is_executed_and_then_held():
    rig, target = Rig(begin_s=10.0), moved(base=0.3, shoulder=0.2)
    motion = rig.submit(goal(target), "g")
    rig.run(motion.trajectory.duration + 0.5)
    assert rig.ended == [("g", False)]
    assert_allclose(rig.references[0].q, HOME, atol=1e-12)
    assert_allclose(rig.newest.q, target, atol=1e-9)
    assert rig.holds
    rig.require_smooth(60.0)


@mark.parametrize("told", [False, True], ids=["in a tick", "as it comes"])
def test_an_arm_that_stands_moves_with_the_next_reference(told):
    """As if the goal had come with the last one: the sooner a person sees what a key did, the better."""
    rig = Rig(lead_s=0.06)
    rig.run(0.1)
    before = rig.newest
    if told:
        rig.execution.submit(GoalRequest(lambda: goal(moved(base=0.3)), identifier="g"), rig.now_s + 0.004)
        assert rig.execution.phase is Phase.EXECUTING
    else:
        rig.send(goal(moved(base=0.3)), "g")
    rig.tick()
    motion = next(event.motion for event in rig.events if event.kind is EventKind.ACCEPTED)
    assert motion.start_s == before.time_s and rig.newest.v[0] > 0.0
    rig.run(3.0)
    assert rig.ended[-1:] == [("g", False)]
    rig.require_smooth(60.0)


@mark.parametrize("later_s", [0.0, 2.6e-12, -2.6e-12])
def test_one_instant_is_answered_once(later_s):
    """A clock that was set back gets there again, but for rounding; what was asked in between counts from the next one on."""
    rig = executing(goal(moved(base=0.5)), 0.8)
    sent, now_s = list(rig.references), rig.now_s
    rig.cancel()
    assert rig.execution.tick(now_s + later_s).reference is sent[-1] and rig.references == sent
    rig.run(2.0)
    rig.require_smooth(60.0)
    assert rig.ended == [("g", True)]


def test_cancel_decelerates_and_holds_where_it_stopped():
    rig = executing(goal(moved(base=0.6)), 0.9)
    assert rig.cancel() is True and rig.phase is Phase.STOPPING
    after = rig.run(2.0)
    assert rig.ended == [("g", True)]
    rig.require_smooth(60.0)
    assert rig.phase is Phase.HOLDING
    assert HOME[0] < after[-1].q[0] < HOME[0] + 0.6
    assert_array_equal(after[-1].q, after[-2].q)


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


def test_a_motion_that_is_too_fast_is_slowed_or_refused():
    quick = goal(moved(base=1.2), times=[0.5])
    slowed = Rig().submit(quick).validated
    assert slowed.factor > 2.0
    speed = checks.tip_speed(slowed.motion, TIP_SPEED).value
    assert 0.9 * 0.25 < speed <= 0.25 * (1 + 1e-6), "as fast as allowed, not slower"
    with raises(LimitError, match="tip would move"):
        Rig(limits(scales_time=False)).submit(goal(moved(base=1.2), times=[0.7]))


def test_no_goal_and_no_stream_before_the_payload_is_known():
    rig = Rig(limits(model=None))
    with raises(PickerError, match="payload is not known"):
        rig.submit(goal(HOME))
    with raises(PickerError, match="payload is not known"):
        rig.push(HOME)
    rig.execution.change(limits())
    assert rig.submit(goal(HOME)) is not None


# -- limits ---------------------------------------------------------------------------------------------------


@mark.parametrize("speed", [-0.1, 1.01, float("nan"), float("inf")])
def test_another_speed_is_refused(speed):
    rig = Rig()
    with raises(InputError, match="speed_scaling is"):
        rig.set_speed(speed)
    assert rig.tick().reference is not None and rig.execution.speed == rig.execution.limits.speed == 1.0


# -- events ---------------------------------------------------------------------------------------------------


def test_what_happens_is_told_once_in_order_with_phase_and_numbers():
    rig = Rig()
    rig.send(goal(moved(base=0.4)), "overtaken")
    rig.submit(goal(moved(base=0.5)), "first")
    rig.tick(50)
    rig.submit(goal(moved(base=0.6)), "second")
    rig.send(goal(ZERO, times=[9.0]), "heavy")
    rig.tick(10)
    rig.cancel()
    rig.to_rest()
    rig.execution.deactivate("switched off")
    rig.tick()
    told = [(event.kind, event.identifier, event.phase) for event in rig.events]
    assert told == [
        (EventKind.REMARK, "", Phase.HOLDING),
        (EventKind.OVERTAKEN, "overtaken", Phase.HOLDING),
        (EventKind.ACCEPTED, "first", Phase.EXECUTING),
        (EventKind.PREEMPTED, "first", Phase.EXECUTING),
        (EventKind.ACCEPTED, "second", Phase.EXECUTING),
        (EventKind.REFUSED, "heavy", Phase.EXECUTING),
        (EventKind.CANCELLED, "second", Phase.HOLDING),
        (EventKind.NOTICE, "", Phase.INACTIVE),
    ]
    refusal = rig.events[5].error
    assert isinstance(refusal, InfeasibleError) and refusal.subject == "shoulder" and refusal.value > refusal.limit
    assert rig.events[4].motion.duration_s == 2.0 and rig.events[-1].text == "the hardware is not active: switched off"
    assert rig.execution.counts == {"accepted": 2, "refused": 2, "overtaken": 1}


def test_at_the_end_whoever_waits_is_told():
    rig = executing(goal(moved(base=0.5)))
    (event,) = rig.execution.close()
    assert (event.kind, event.text) == (EventKind.ABORTED, "aborted: the controller ends") and rig.answer("g").text == event.text
