"""Who moves the arm, and who may take it from whom: the table, by the execution as a node asks it."""

import re

import numpy as np
from execution_rig import ACCEPTED, DONE, HOME, REFUSED, Rig, goal, moved
from pytest import fixture, mark, raises

from picker_dynamics.errors import PickerError
from picker_dynamics.execution.lease import LEAP, MAIN_TRACK, PAUSE_S, HeldError, Holder, Kind, Lease
from picker_dynamics.execution.motion import Phase

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
    assert len(rig.problems) < 10


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
    assert rig.kinds("h")[-1] is DONE and "has stood there" in str(sample(rig, HOME, "pad"))
    assert [sample(rig, HOME, "pad") for _ in range(20)][-1] is None


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
    assert [sample(rig, rig.newest.q, "pad") for _ in range(20)][-1] is None, "it has stood"


def test_of_two_goals_for_a_free_arm_that_wait_for_their_look_the_first_is_taken(rig):
    first, second, plain = "a", "b", "c"
    rig.send(goal(moved(base=0.3)), first, if_free=True)
    rig.send(goal(moved(base=-0.3)), second, if_free=True)
    rig.tick()
    assert rig.kinds(first) == [ACCEPTED] and rig.kinds(second) == [REFUSED]
    rig.send(goal(moved(base=0.1)), plain)
    rig.tick()
    assert rig.kinds(plain) == [ACCEPTED], "others take the arm as ever"


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
