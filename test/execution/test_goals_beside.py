"""Goals are parsed and planned in a worker; what changes meanwhile counts, and each is answered once."""

from concurrent.futures import Future

import numpy as np
import pytest
from execution_rig import ACCEPTED, HOME, NAMES, REFUSED, ZERO, Rig, goal, moved

from picker_dynamics.execution.goal_manager import AHEAD_S, GoalRequest
from picker_dynamics.execution.motion import Phase


class Later:
    """Work that is done when the test says so."""

    def __init__(self):
        self.waiting: list[tuple[Future, object]] = []
        self.asked = 0

    def __call__(self, work):
        self.waiting.append((Future(), work))
        self.asked += 1
        return self.waiting[-1][0]

    def do(self):
        """All that is still wanted."""
        waiting, self.waiting = self.waiting, []
        for future, work in waiting:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except Exception as error:
                    future.set_exception(error)


def long_goal(**fields):
    """25 s, 100 points."""
    times = np.linspace(0.25, 25.0, 100)
    q = [HOME + [0.3 * np.sin(np.pi * t / 25.0), 0.0, 0.0, 0.0, 0.0] for t in times]
    fields = {"velocities": None, "accelerations": None} | fields
    return goal(*q, times=times.tolist(), **fields)


@pytest.fixture
def later():
    return Later()


@pytest.fixture
def rig(later):
    return Rig(worker=later)


def planned(rig, later):
    """Parsed, planned, and begun where it may."""
    for _ in range(2):
        rig.tick()
        later.do()
    rig.tick()


def test_the_reference_goes_on_while_a_goal_is_parsed_and_planned(rig, later):
    rig.send(long_goal(), "long")
    rig.tick(30)
    assert later.asked == 1
    later.do()
    rig.tick(30)
    assert later.asked == 2 and rig.phase is Phase.HOLDING and not rig.answers["long"]
    later.do()
    rig.tick()
    assert rig.kinds("long") == [ACCEPTED] and rig.phase is Phase.EXECUTING
    rig.to_rest()
    assert rig.succeeded("long")
    np.testing.assert_allclose(rig.newest.q, long_goal().positions[-1], atol=1e-9)
    assert np.abs(np.diff(rig["q"], axis=0)).max() < 2e-3


@pytest.mark.parametrize("end", ["cancel", "close", "inactive", "blocked"])
def test_whatever_ends_a_goal_that_is_planned_it_is_answered_once_and_moves_nothing(rig, later, end):
    rig.send(long_goal(), "long")
    rig.tick()
    later.do()
    rig.tick()
    if end == "cancel":
        rig.cancel()
    elif end == "close":
        rig.execution.close()
    elif end == "inactive":
        rig.execution.deactivate("pulled")
    else:
        rig.block("another controller")
    rig.tick()
    later.do()
    rig.tick(5)
    assert rig.answer("long").text
    assert (rig["q"] == HOME).all() and (rig["v"] == ZERO).all()


def medium_goal(**fields):
    """6 s, 60 points."""
    times = np.linspace(0.1, 6.0, 60)
    q = [HOME + [0.2 * np.sin(np.pi * t / 6.0), 0.0, 0.1 * np.sin(np.pi * t / 6.0), 0.0, 0.0] for t in times]
    return goal(*q, times=times.tolist(), **{"velocities": None, "accelerations": None} | fields)


def moving(rig, later):
    """One second into a motion of four."""
    rig.send(goal(moved(base=0.5, shoulder=-0.2), times=[4.0]), "first")
    planned(rig, later)
    rig.run(1.0)
    assert rig.phase is Phase.EXECUTING
    later.asked = 0


def smooth(rig):
    """Largest change of velocity from reference to reference, as a share of what the accelerations that were sent make of it."""
    v, a = rig["v"], rig["a"]
    allowed = rig.period_s * np.maximum(np.abs(a[1:]), np.abs(a[:-1])).max() + 1e-9
    return np.abs(np.diff(v, axis=0)).max() / allowed


def asked(rig, later):
    """A goal, parsed and being planned, for a motion under way."""
    rig.send(medium_goal(), "second")
    rig.tick()
    later.do()
    rig.tick()
    assert later.asked == 2
    return rig.time_s


@pytest.mark.parametrize("change", ["cancel all", "speed", "limits", "end"])
def test_a_motion_that_changes_while_a_goal_is_planned_for_joining_it(rig, later, change):
    moving(rig, later)
    if change == "end":
        rig.run(2.5)
    rig.send(medium_goal(), "second")
    rig.tick()
    later.do()
    rig.tick()
    if change == "cancel all":
        rig.cancel()
        rig.to_rest()
        assert "cancelled" in rig.answer("second").text
        return
    if change != "end":
        rig.change(**({"speed": 0.5} if change == "speed" else {"tip_speed": 0.1}))
    for _ in range(300):
        rig.tick()
        later.do()
    assert ACCEPTED in rig.kinds("second") and smooth(rig) <= 1.2
    rig.change(speed=1.0)
    rig.to_rest()
    assert rig.succeeded("second")


def test_a_goal_of_who_streams_stops_the_stream_and_is_planned_from_there(rig, later):
    rig.tick()
    for k in range(50):
        rig.execution.stream(NAMES, moved(base=0.002 * k), rig.now_s, sender="d")
        rig.tick()
    assert rig.phase is Phase.STREAMING
    wanted, answers = goal(moved(base=0.4), times=[2.0]), []
    rig.execution.submit(GoalRequest(lambda: wanted, identifier="g", driver="d", answer=answers.append))
    for _ in range(300):
        rig.tick()
        later.do()
    assert [answer.text for answer in answers] == [""] and smooth(rig) <= 1.2
    assert rig.newest.q[0] == pytest.approx(HOME[0] + 0.4)


def test_limits_that_changed_meanwhile_are_planned_with_once_more_and_then_the_goal_is_refused(rig, later):
    for name, changes in (("once", 1), ("twice", 2)):
        rig.send(long_goal(), name)
        rig.tick()
        later.do()
        for k in range(changes):
            rig.tick()
            rig.change(tip_speed=0.007 - 0.001 * k - 0.002 * changes)
            later.do()
            rig.tick()
            assert rig.kinds(name) == ([] if k == 0 else [REFUSED])
        planned(rig, later)
        if changes == 1:
            assert "slowed" in rig.texts(ACCEPTED)[0]
            rig.cancel()
            rig.to_rest()
    assert "changed twice" in rig.answer("twice").text


def test_a_plan_that_comes_too_late_to_join_is_made_for_a_later_moment(rig, later):
    moving(rig, later)
    asked_s = asked(rig, later)
    rig.run(0.5)
    later.do()
    rig.tick(2)
    assert later.asked == 3 and rig.kinds("second") == []
    later.do()
    rig.run(AHEAD_S + 1.1)
    assert rig.kinds("second") == [ACCEPTED] and smooth(rig) <= 1.2
    assert rig.events[-1].motion.start_s == pytest.approx(asked_s + 0.5 + AHEAD_S + 1.0, abs=0.05)
