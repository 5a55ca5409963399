"""Changes of limits in mid-motion: the arm stops on its path and what is left is planned again, or it stops where it can stay."""

import re

import numpy as np
from arm_fixtures import rigid_body, servos, torque_share, validator
from execution_rig import HOME, NAMES, REACH, Rig, executing, goal, limits, moved, part
from generated import share
from hypothesis import example, given
from hypothesis import strategies as st
from pytest import approx, mark, raises
from test_goals_beside import Later

from picker_dynamics.errors import InfeasibleError
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.goal_tracking import Outcome
from picker_dynamics.execution.motion import Phase
from picker_dynamics.sim.plant import Plant

STRETCHED = np.array([0.0, np.arccos(0.6 / REACH), 0.0, 0.0, HOME[4]])
"""Stretched out: the shoulder bears 0.6 N·m, of 0.65 allowed; with 0.1 kg at the tool 0.85."""

FOLDED = np.array([0.0, 1.4, -1.8, 0.4, HOME[4]])


def tip_speeds(rig: Rig, count: int) -> np.ndarray:
    """By finite differences of the simulated arm's kinematics [m/s]."""
    plant = Plant(rig.execution.description, servos(simulated=False))
    tip = np.array([plant.tip_at(q) for q in rig["q"][-count - 1 :]])
    return np.linalg.norm(np.diff(tip, axis=0), axis=1) / rig.period_s


def swinging() -> Rig:
    """For one second of three."""
    return executing(goal(moved(base=0.8), times=[3.0]), 1.0)


def test_a_lowered_tip_speed_stops_the_motion_on_its_path_and_slows_its_rest():
    rig, path = swinging(), goal(moved(base=0.8), times=[3.0])
    rig.change(tip_speed=0.05)
    assert any(not one.v.any() for one in rig.run(1.0)) and rig.phase is Phase.EXECUTING, "it stops first"
    rig.to_rest()
    stops, goes_on = rig.texts(EventKind.NOTICE)
    assert stops.startswith("stops on its path for the present limits, the rest is planned again: tip would move at")
    assert re.fullmatch(r"goes on, slowed \d\.\d\d times for the present limits", goes_on)
    assert 0.045 < tip_speeds(rig, 300).max() <= 0.05 * 1.01, "as fast as it may"
    assert rig.succeeded("g") and rig.newest.q == approx(np.array(path.positions[-1]))
    assert rig["q"][:, 1:] == approx(np.tile(HOME[1:], (len(rig["q"]), 1))), "on its path"
    rig.require_smooth(12.0)


def test_a_tip_speed_for_which_ten_times_slower_is_too_fast_ends_the_goal_with_the_reason():
    rig = swinging()
    rig.change(tip_speed=0.005)
    rig.to_rest()
    assert rig.answer("g").outcome is Outcome.ABORTED
    assert re.search(r"stopped for the present limits: tip would move at 0\.10 m/s .*, allowed 0\.01 m/s", rig.answer("g").text)
    assert 0.0 < rig.newest.q[0] - HOME[0] < 0.5


def test_a_raised_payload_slows_what_is_left_so_that_the_goal_is_reached_with_it():
    """The hard part is yet to come: the shoulder leans out as fast as it can without payload."""
    over, out = moved(base=0.4), moved(base=0.4, shoulder=-0.3)
    rig = executing(goal(over, out, times=[1.0, 1.3]), 0.3, held_to=limits(tip_speed=5.0))
    rig.change(model=rigid_body(0.05))
    rig.to_rest()
    stops, goes_on = rig.texts(EventKind.NOTICE)
    assert "the rest is planned again: shoulder needs" in stops and goes_on.startswith("goes on, slowed 1.")
    assert rig.succeeded("g") and rig.newest.q == approx(out)
    assert 0.9 < torque_share(validator(0.05), rig["q"], rig["v"], rig["a"]) <= 1.0 + 1e-3


def test_a_motion_that_passes_a_change_goes_on():
    rig = swinging()
    rig.change(tip_speed=0.5)
    rig.to_rest()
    assert rig.ended == [("g", False)] and not rig.texts(EventKind.NOTICE)


@mark.parametrize("meanwhile", ["lower", "speed", "goal", "cancel"])
def test_what_happens_while_the_rest_is_planned_again(meanwhile):
    later = Later()
    rig = Rig(worker=later)
    rig.send(goal(moved(base=0.8), times=[3.0]), "g")
    for _ in range(3):
        rig.tick()
        later.do()
    rig.run(1.0)
    rig.change(tip_speed=0.05)
    rig.run(1.0)
    assert rig.phase is Phase.EXECUTING and not rig.newest.v.any() and len(rig.texts(EventKind.NOTICE)) == 1
    lowest = 0.02 if meanwhile == "lower" else 0.05
    if meanwhile == "lower":
        rig.change(tip_speed=lowest)
    elif meanwhile == "speed":
        rig.set_speed(0.5)
    elif meanwhile == "goal":
        rig.send(goal(moved(base=0.1), times=[1.0]), "other")
    else:
        rig.cancel()
    stopped = rig.newest.q
    rig.tick(5)
    np.testing.assert_allclose(rig.newest.q, stopped, atol=1e-9)
    for _ in range(2000):
        rig.tick()
        later.do()
    rig.require_smooth(12.0)
    assert rig.phase is Phase.HOLDING and tip_speeds(rig, 1900).max() <= lowest * 1.02
    if meanwhile == "cancel":
        assert rig.ended == [("g", True)]
    elif meanwhile == "goal":
        assert rig.ended == [("other", False)] and "preempted" in rig.answer("g").text
    else:
        assert rig.ended == [("g", False)] and rig.newest.q[0] == approx(HOME[0] + 0.8)


def test_a_payload_with_which_the_end_cannot_be_held_stops_the_arm_where_it_can_stay():
    rig = executing(goal(STRETCHED, times=[6.0]), 1.5, pose=FOLDED)
    assert np.abs(rig.newest.v).max() > 0.1
    heavy = validator(0.06)
    heavy.require_holdable(rig.newest.q)
    rig.change(model=rigid_body(0.06))
    rig.to_rest()
    assert rig.answer("g").outcome is Outcome.ABORTED and "shoulder needs" in rig.answer("g").text
    heavy.require_holdable(rig.newest.q)
    assert torque_share(heavy, rig["q"], rig["v"], rig["a"]) <= 1.0 + 1e-3
    assert rig.ended == [], "not done"


STREAMED = {
    "tip speed": ({"tip_speed": 0.02}, "tip would move"),
    "payload": ({"model": rigid_body(0.5)}, "needs"),
    "pause": ({"speed": 0.0}, "speed_scaling is 0"),
}


@mark.parametrize("name", STREAMED)
def test_a_change_that_a_stream_does_not_pass_stops_it_and_is_said(name):
    """Who streams goes on all the while, also when the arm rests; undone, it is followed again where it stands at that pose."""
    change, words = STREAMED[name]
    rig = Rig(period_s=0.02, held_to=limits(tip_speed=0.25))
    before = {field: getattr(rig.execution.limits, field) for field in change}
    rig.feed(moved(base=0.006 * k) for k in range(50))
    assert rig.phase is Phase.STREAMING and np.abs(rig.newest.v).max() > 0.2
    rig.change(**change)
    rig.stream(moved(base=0.006 * k) for k in range(50, 100))
    assert rig.phase is Phase.HOLDING
    assert 1 <= sum(words in text for text in rig.problems) <= 2, "of the motion, and of the pose that is held"
    assert rig.newest.q[0] < 0.006 * 50 + 0.05, "within a few hundredths of a second"
    rig.change(**before)
    rig.stream(moved(base=rig.newest.q[0]) for _ in range(50))
    assert rig.phase is Phase.STREAMING
    rig.require_smooth(12.0)


CHANGES = st.one_of(
    st.tuples(st.just("tip_speed"), st.sampled_from([0.03, 0.1, 0.25, 0.5])),
    st.tuples(st.just("model"), st.sampled_from([0.0, 0.02, 0.1, 0.3])),
    st.tuples(st.just("speed"), st.sampled_from([0.0, 0.3, 1.0])),
    st.tuples(st.just("goal"), st.sampled_from([0.5, 1.5, 4.0])),
    st.tuples(st.just("gripper"), st.sampled_from([0.3, 2.0])),
    st.tuples(st.just("cancel"), st.sampled_from([None, 0, 1, 2])),
)


@mark.parametrize("pose", [HOME, STRETCHED])
@given(
    changes=st.lists(st.tuples(CHANGES, st.sampled_from([0.02, 0.2, 0.6])), min_size=2, max_size=12),
    seed=st.integers(0, 99),
    takes=st.sampled_from([0, 1, 7, 50]),
)
@example(
    changes=[(("goal", 0.5), 0.02), (("tip_speed", 0.03), 0.24), (("goal", 0.5), 0.02), (("speed", 0.0), 0.02)], seed=3, takes=0
)  # paused while a motion that was planned again has just been taken over
@example(changes=[(("gripper", 0.3), 0.42), (("model", 0.3), 0.2)], seed=3, takes=7)  # its end lies within the stop
@share(12, 0.1)
def test_whatever_changes_nothing_is_done_where_it_cannot_stay_and_the_guard_never_stops_anything(changes, seed, takes, pose):
    """Planned at once, or in a worker that has done its work every so many ticks."""
    later, rng = Later(), np.random.default_rng(seed)
    rig = Rig(pose=pose, worker=later) if takes else Rig(pose=pose)

    def tick(number: int) -> None:
        if takes and number % takes == 0:
            later.do()
        rig.tick()

    for number, ((what, value), wait) in enumerate(changes):
        if what in ("goal", "gripper"):
            there = pose + rng.uniform(-0.3, 0.3, 5) * [1, 1, 1, 1, 0]
            arm = dict(zip(NAMES[: 4 + number % 2], there))
            rig.send(part(value, **arm) if what == "goal" else part(value, "gripper", scissor=there[4] - 0.2), str(number))
        elif what == "cancel":
            rig.cancel(None if value is None or str(value) not in rig.requests else str(value))
        else:
            rig.change(**{what: rigid_body(value) if what == "model" else value})
        for k in range(round(wait / rig.period_s)):
            before = len(rig.ended)
            tick(k)
            if any(not cancelled for _, cancelled in rig.ended[before:]):
                validator(rig.execution.limits.model.payload_mass).require_holdable(rig.newest.q)
    rig.set_speed(1.0)
    for k in range(20_000):
        tick(k)
        if k > 300 and rig.phase is Phase.HOLDING and all(rig.answers.values()):
            break
    assert all(len(answers) == 1 for answers in rig.answers.values()) and rig.phase is Phase.HOLDING


def test_another_supply_is_planned_with_from_the_next_rest_on():
    """On the way nothing changes its mind; standing, what so low a voltage cannot bear is refused with its numbers."""
    rig = swinging()
    rig.execution.follow_supply(0.7)
    assert rig.execution.limits.torque.source == 1.0
    rig.to_rest()
    assert rig.ended == [("g", False)] and not rig.texts(EventKind.NOTICE)
    rig.execution.follow_supply(0.7)
    with raises(InfeasibleError, match=r"shoulder needs 0.6000 N·m to hold its pose .*, allowed 0.5953 \(0.56 of 1.08 stall\)"):
        rig.submit(goal(STRETCHED, times=[6.0]), "far")
    rig.execution.follow_supply(0.995)
    rig.submit(goal(STRETCHED, times=[6.0]), "again")
    rig.run(0.1)
    assert rig.phase is Phase.EXECUTING
