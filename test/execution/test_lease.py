"""Who moves the arm, and who may take it from whom: the table, by the execution as a node asks it."""

import itertools
import re

import numpy as np
from execution_rig import ACCEPTED, DONE, HOME, REFUSED, Rig, executing, goal, moved, part
from pytest import approx, fixture, mark, raises

from picker_dynamics.errors import PickerError
from picker_dynamics.execution.lease import LEAP, MAIN_TRACK, PAUSE_S, HeldError, Holder, Kind, Lease
from picker_dynamics.execution.motion import Phase
from picker_dynamics.execution.pending_goals import GoalRequest

PERIOD = 0.02
ARM, GRIP = Holder(Kind.GOAL, track=MAIN_TRACK, identifier="a"), Holder(Kind.GOAL, track="gripper", identifier="g")
OTHER = Holder(Kind.GOAL, track=MAIN_TRACK, identifier="b")
STREAM, DRIVER = Holder(Kind.STREAM, "pad"), Holder(Kind.DRIVER, "browser")
WHOLE, SCISSOR = range(5), [4]


@fixture
def rig() -> Rig:
    return Rig(period_s=PERIOD)


def sample(rig: Rig, q=HOME, sender: str = "", number: int | None = None) -> PickerError | None:
    """One of a stream, and a tick; why it was refused."""
    names = rig.execution.description.joint_names
    refusal = rig.execution.stream(names, q, rig.now_s, None, sender, number)
    rig.tick()
    return refusal


def turned(k: int) -> np.ndarray:
    """The base turns at 0.2 rad/s."""
    return moved(base=0.2 * PERIOD * k)


@mark.parametrize(
    ("asker", "holder", "passes"),
    [
        (OTHER, ARM, True),
        (ARM, GRIP, True),
        (Holder(Kind.GOAL, identifier="b", if_free=True), ARM, False),
        (Holder(Kind.GOAL, identifier="b", if_free=True), GRIP, False),
        (ARM, Holder(Kind.GOAL, identifier="b", if_free=True), True),
        (GRIP, ARM, False),
        (GRIP, GRIP, True),
        *((asker, holder, False) for asker in (STREAM, DRIVER) for holder in (ARM, GRIP)),
        *((asker, holder, False) for asker in (ARM, GRIP) for holder in (STREAM, DRIVER)),
        (STREAM, DRIVER, False),
        (DRIVER, STREAM, False),
        (Holder(Kind.STREAM, "wheel"), STREAM, False),
        (STREAM, STREAM, True),
        (DRIVER, DRIVER, True),
        (Holder(Kind.GOAL, "browser"), DRIVER, True),
        (Holder(Kind.STREAM, "browser"), DRIVER, True),
        (Holder(Kind.GOAL, "pad"), STREAM, True),
        (Holder(Kind.STREAM, "pad"), Holder(Kind.GOAL, "pad"), False),
        (Holder(Kind.GOAL), Holder(Kind.STREAM), False),
    ],
    ids=str,
)
def test_the_table(asker, holder, passes):
    lease = Lease()
    lease.grant(holder, SCISSOR, 10.0)
    if passes:
        lease.require(asker, WHOLE, 9.0)
    else:
        with raises(HeldError, match=f"a {holder} moves the arm for another 1.00 s") as refusal:
            lease.require(asker, WHOLE, 9.0)
        assert (refusal.value.subject, refusal.value.value) == (str(holder), 1.0)
    lease.require(asker, range(4), 9.0)  # other joints
    lease.end(holder)
    lease.require(asker, WHOLE, 9.0)


@mark.parametrize("holder", [ARM, STREAM, DRIVER], ids=str)
def test_silence_ends_a_stream_s_and_a_driver_s_but_not_a_goal_s(holder):
    lease = Lease()
    lease.grant(holder, WHOLE, 10.0)
    assert lease.lapsed(9.99) == [] and str(lease) == str(holder)
    assert lease.lapsed(10.0) == ([] if holder is ARM else [holder])
    assert str(lease) == ("goal a" if holder is ARM else "")


@mark.parametrize("sender", ["", "pad"])
def test_two_streams_are_not_mixed(rig, sender):
    """Both turn the base, away from each other; by their names or, where they have one alike, by how their samples count."""
    refused = []
    for k in range(50):
        assert sample(rig, turned(k), sender, 1000 + 3 * k) is None, "some are lost"
        for other, number in (("wheel", k), (sender, 500 + k), (sender, 1000 + 3 * k), (sender, 2000 + k + LEAP)):
            refused.append(
                rig.execution.stream(rig.execution.description.joint_names, turned(-k), rig.now_s, None, other, number)
            )
    assert all(isinstance(one, HeldError) for one in refused)
    assert "a stream" in str(refused[0]) and "another stream" in str(refused[1])
    np.testing.assert_allclose(np.diff(rig["q"][-20:, 0]), 0.2 * PERIOD, rtol=1e-3)
    assert rig.refused == 200
    assert len(rig.problems) < 10


def test_where_a_stream_is_lost_the_arm_stops_and_is_free(rig):
    for k in range(50):
        assert sample(rig, turned(k), "pad") is None
    assert rig.last.events[-1].lease == "stream pad" if rig.last.events else rig.lease == "stream pad"
    rig.run(0.2)
    assert rig.phase is not Phase.STREAMING and rig.lease == ""
    assert rig.submit(goal(HOME), "g") is not None
    assert rig.events[-1].lease == "goal g"


def test_a_goal_does_not_take_the_arm_from_a_stream_unawares_but_after_a_stop(rig):
    for k in range(50):
        sample(rig, turned(k), "pad")
    rig.send(goal(HOME), "g")
    for k in range(50, 60):
        assert sample(rig, turned(k), "pad") is None and rig.phase is Phase.STREAMING, "it goes on"
    assert rig.kinds("g") == [REFUSED]
    assert re.match(r"a stream pad moves the arm for another 0\.\d\d s at least: this goal is refused", rig.answer("g").text)
    rig.cancel()
    rig.to_rest()
    assert "the arm was stopped" in str(sample(rig, rig.newest.q, "pad")), "one at rest does not come between"
    assert rig.submit(goal(HOME), "h") is not None
    assert rig.time_s < 60 * PERIOD + PAUSE_S
    rig.to_rest()
    assert rig.kinds("h")[-1] is DONE and sample(rig, HOME, "pad") is None


def test_a_goal_right_behind_a_stream_waits_until_that_has_ended(rig):
    for k in range(50):
        sample(rig, turned(k))
    rig.send(goal(HOME), "g")
    rig.to_rest()
    assert rig.kinds("g") == [ACCEPTED, DONE]
    rig.require_smooth(60.0)


def test_a_goal_has_the_arm_until_it_is_answered(rig):
    rig.submit(part(1.0, base=0.2), "g")
    rig.run(0.5)
    assert rig.lease == "goal g" and "goal g moves the arm" in str(sample(rig, HOME))
    with raises(HeldError):
        rig.lead("browser", 1.0)
    rig.to_rest()
    assert rig.lease == "" and sample(rig, rig.newest.q) is None


def test_a_stop_in_a_gap_of_a_stream_stops_it_too(rig):
    """Whoever stops the arm as a stream has just lost it, by a jitter of either, has stopped the stream."""
    for k in range(20):
        assert sample(rig, turned(k), "pad") is None
    rig.run(0.3)
    rig.cancel()
    rig.to_rest()
    assert "the arm was stopped" in str(sample(rig, rig.newest.q, "pad"))
    assert rig.submit(goal(moved(base=-0.2)), "g") is not None
    rig.to_rest()
    rig.run(PAUSE_S)
    assert sample(rig, rig.newest.q, "pad") is None


def test_who_has_left_the_arm_may_have_it_again_right_behind_a_stop(rig):
    rig.lead("browser", 1.0)
    rig.execution.leave("browser")
    rig.cancel()
    rig.lead("browser", 1.0)
    assert rig.lease == "driver browser"


@mark.parametrize("how", ["cancel", "deactivate", "block"])
def test_whoever_stops_it_the_arm_is_free_again(rig, how):
    for mover in ("goal", "driver"):
        if mover == "goal":
            rig.submit(goal(moved(base=0.3)), "g")
        else:
            rig.lead("browser", 100.0)
        rig.run(0.3)
        {
            "cancel": lambda: rig.cancel(),
            "deactivate": lambda: rig.execution.deactivate("x"),
            "block": lambda: rig.block("two controllers"),
        }[how]()
        assert rig.lease == ""
        if how == "block":
            assert "two controllers" in str(sample(rig))
            rig.block("")
        elif how == "deactivate":
            rig.execution.start(HOME)
        rig.run(1.0)
        assert rig.submit(goal(HOME)) is not None
        rig.to_rest()


def test_a_driver_has_the_arm_for_its_own_and_loses_it_by_silence(rig):
    rig.lead("browser", 0.5)
    with raises(HeldError, match="a driver browser moves the arm for another 0.50 s at least"):
        rig.submit(goal(moved(base=0.3)), "other")
    assert sample(rig, HOME, "pad") is not None
    answers: list = []
    rig.execution.submit(GoalRequest(lambda: goal(moved(base=0.5)), identifier="own", answer=answers.append, driver="browser"))
    for _ in range(20):
        rig.lead("browser", 0.5)
        rig.run(0.04)
    assert rig.phase is Phase.EXECUTING and rig.newest.v[0] > 0.1 and not answers
    rig.run(0.6)
    assert rig.said("driver browser has said nothing for too long: stopped")
    rig.to_rest()
    assert rig.newest.q[0] < 0.45 and answers[0].text.startswith("cancelled")
    rig.require_smooth(60.0)
    rig.submit(goal(HOME), "other")


def test_one_that_leaves_lets_its_goal_finish():
    rig = executing(goal(moved(base=0.3)), 0.1)
    rig.to_rest()
    rig.lead("browser", 0.5)
    rig.execution.submit(GoalRequest(lambda: goal(HOME), identifier="own", driver="browser"))
    rig.tick(2)
    rig.execution.leave("browser")
    assert rig.to_rest().q == approx(HOME)
    assert rig.kinds("own") == [ACCEPTED, DONE]


def test_whatever_is_asked_in_whatever_order_two_never_move_one_joint():
    """Of all pairs that the lease lets pass one after the other, without the first one ending, none are strangers."""
    askers = [ARM, OTHER, GRIP, STREAM, DRIVER, Holder(Kind.STREAM), Holder(Kind.GOAL, "browser")]
    for first, second in itertools.permutations(askers, 2):
        lease = Lease()
        lease.require(first, WHOLE, 0.0)
        lease.grant(first, WHOLE, 1.0)
        try:
            lease.require(second, SCISSOR, 0.5)
        except HeldError:
            continue
        plain = first.kind is second.kind is Kind.GOAL and second.track == MAIN_TRACK
        assert plain or (first.name == second.name != "")


def test_of_two_goals_for_a_free_arm_that_wait_for_their_look_the_first_is_taken(rig):
    first, second, plain = "a", "b", "c"
    rig.send(goal(moved(base=0.3)), first, if_free=True)
    rig.send(goal(moved(base=-0.3)), second, if_free=True)
    rig.tick()
    assert rig.kinds(first) == [ACCEPTED] and rig.kinds(second) == [REFUSED]
    rig.send(goal(moved(base=0.1)), plain)
    rig.tick()
    assert rig.kinds(plain) == [ACCEPTED], "others take the arm as ever"
