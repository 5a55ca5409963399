"""Long goals are parsed and checked beside the ticks; what changes meanwhile counts, and each is answered once."""

from concurrent.futures import Future

import numpy as np
import pytest
from execution_rig import ACCEPTED, HOME, REFUSED, ZERO, Rig, goal, moved

from picker_dynamics.execution.goal import MAX_POINTS
from picker_dynamics.execution.goal_manager import AHEAD_S, MOST_CHECKS
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
    return Rig(beside=later)


def test_the_reference_goes_on_while_a_long_goal_is_checked(rig, later):
    rig.send(long_goal(), "long")
    rig.tick(30)
    assert later.asked == 1 and rig.phase is Phase.HOLDING and not rig.answers["long"]
    later.do()
    rig.tick()
    assert rig.kinds("long") == [ACCEPTED] and rig.phase is Phase.EXECUTING
    rig.to_rest()
    assert rig.answer("long").text == "done: holding"
    np.testing.assert_allclose(rig.newest.q, long_goal().positions[-1], atol=1e-9)
    assert np.abs(np.diff(rig["q"], axis=0)).max() < 2e-3


def test_the_same_motion_as_checked_at_once(rig, later):
    rig.send(long_goal(), "long")
    rig.tick()
    later.do()
    beside = rig.tick().events[0].motion
    at_once = Rig().submit(long_goal(), "long")
    np.testing.assert_array_equal(beside.trajectory.coefficients, at_once.trajectory.coefficients)


def test_a_refusal_comes_from_beside_too(rig, later):
    far = long_goal()
    far.positions[50] = moved(base=9.0)
    rig.send(far, "far")
    rig.tick()
    later.do()
    rig.tick()
    assert rig.kinds("far") == [REFUSED] and "base" in rig.answer("far").text


def test_light_goals_are_checked_between_two_references(rig, later):
    rig.submit(goal(moved(base=0.1), times=[2.0]), "light")
    assert later.asked == 0 and rig.kinds("light") == [ACCEPTED]


def hurried():
    """20 points in 2 s, there and back at each: many times too fast."""
    q = [moved(base=0.3 * (-1) ** k) for k in range(20)]
    return goal(*q, times=np.linspace(0.1, 2.0, 20).tolist(), velocities=None, accelerations=None)


@pytest.mark.parametrize("moves", [False, True])
def test_a_light_goal_that_has_to_be_slowed_a_lot_is_checked_beside_the_references(rig, later, moves):
    if moves:
        rig.submit(goal(moved(base=0.2), times=[2.0]), "first")
        rig.tick(50)
    rig.send(hurried(), "hurried")
    rig.tick()
    assert later.asked == 1 and not rig.answers["hurried"]
    later.do()
    rig.tick(round(AHEAD_S / rig.period_s) + 1)
    assert rig.kinds("hurried") == [ACCEPTED]
    factor = next(event.motion for event in reversed(rig.events) if event.identifier == "hurried").validated.factor
    assert factor > 5.0
    if not moves:
        assert factor == Rig().submit(hurried(), "hurried").validated.factor


@pytest.mark.parametrize("change", ["pose", "limits"])
def test_what_changed_meanwhile_is_checked_anew(rig, later, change):
    rig.send(long_goal(), "long")
    rig.tick()
    if change == "pose":
        rig.send(goal(moved(base=0.01), times=[0.5], track="gripper"), "other")
        rig.tick(20)
        assert rig.phase is Phase.HOLDING and rig.newest.q[0] > HOME[0]
    else:
        rig.change(tip_speed=1e-3)
    later.do()
    rig.tick()
    assert later.asked == 2 and not rig.answers["long"]
    later.do()
    rig.tick()
    if change == "pose":
        start = rig.events[-1].motion.trajectory.start
        np.testing.assert_allclose(start, rig.references[-2].q)
    else:
        assert "tip would move" in rig.answer("long").text


def test_limits_that_never_stop_changing_end_in_a_refusal(rig, later):
    rig.send(long_goal(), "long")
    for k in range(2 * MOST_CHECKS):
        rig.tick()
        rig.change(tip_speed=0.2 - 0.001 * k)
        later.do()
    assert later.asked == MOST_CHECKS and "changed each of" in rig.answer("long").text


@pytest.mark.parametrize("end", ["cancel", "newer", "close", "inactive", "blocked"])
def test_whatever_ends_a_goal_that_is_checked_it_is_answered_once_and_moves_nothing(rig, later, end):
    rig.send(long_goal(), "long")
    rig.tick()
    if end == "cancel":
        rig.cancel()
    elif end == "newer":
        rig.send(goal(HOME, times=[1.0]), "newer")
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


def test_a_request_that_takes_long_to_read_is_read_beside(rig, later):
    read = []
    request = rig.send(goal(moved(base=0.1), times=[2.0]), "long")
    rig.cancel()
    request.long, make = True, request.make
    request.make = lambda: read.append(1) or make()
    rig.answers["long"].clear()
    rig.execution.submit(request)
    rig.tick(3)
    assert not read
    later.do()
    rig.tick()
    assert read == [1] and rig.kinds("long")[-1] is ACCEPTED


def test_a_goal_in_time_when_its_check_begins_is_made_whole(rig, later):
    rig.send(long_goal(start_s=rig.now_s), "long")
    rig.tick()
    rig.tick(200)
    later.do()
    motion = rig.tick().events[0].motion
    assert motion.duration_s == pytest.approx(25.0, rel=0.2) and motion.start_s == pytest.approx(rig.time_s - rig.period_s)


def medium_goal(**fields):
    """6 s, 60 points: more than can be checked between two references, not so much that the arm has to stand for it."""
    times = np.linspace(0.1, 6.0, 60)
    q = [HOME + [0.2 * np.sin(np.pi * t / 6.0), 0.0, 0.1 * np.sin(np.pi * t / 6.0), 0.0, 0.0] for t in times]
    return goal(*q, times=times.tolist(), **{"velocities": None, "accelerations": None} | fields)


def moving(rig, later):
    """One second into a motion of four."""
    rig.send(goal(moved(base=0.5, shoulder=-0.2), times=[4.0]), "first")
    rig.tick()
    later.do()
    rig.run(1.0)
    assert rig.phase is Phase.EXECUTING
    later.asked = 0


def smooth(rig):
    """Largest change of velocity from reference to reference, as a share of what the accelerations that were sent make of it."""
    v, a = rig["v"], rig["a"]
    allowed = rig.period_s * np.maximum(np.abs(a[1:]), np.abs(a[:-1])).max() + 1e-9
    return np.abs(np.diff(v, axis=0)).max() / allowed


def test_a_goal_for_an_arm_on_its_way_is_checked_beside_and_joins_at_the_moment_that_it_was_checked_for(rig, later):
    moving(rig, later)
    rig.send(medium_goal(), "second")
    rig.tick()
    asked_s = rig.time_s
    assert later.asked == 1 and not rig.answers["first"]
    later.do()
    rig.tick(round(AHEAD_S / rig.period_s) - 1)
    assert rig.kinds("second") == [] and rig.phase is Phase.EXECUTING, "it goes on with the first until then"
    rig.tick()
    assert rig.kinds("second") == [ACCEPTED] and "preempted" in rig.answer("first").text
    assert rig.events[-1].motion.start_s == pytest.approx(asked_s + AHEAD_S)
    rig.to_rest()
    assert later.asked == 1 and rig.answer("second").text == "done: holding" and smooth(rig) <= 1.2
    np.testing.assert_allclose(rig.newest.q, medium_goal().positions[-1], atol=1e-9)


@pytest.mark.parametrize("period_s", [0.004, 0.0301])
def test_it_joins_between_two_references_too(later, period_s):
    rig = Rig(beside=later, period_s=period_s)
    moving(rig, later)
    rig.send(medium_goal(), "second")
    rig.tick()
    later.do()
    rig.to_rest()
    assert later.asked == 1 and rig.answer("second").text == "done: holding" and smooth(rig) <= 1.2


def test_a_check_that_comes_too_late_to_join_is_made_for_a_later_moment(rig, later):
    moving(rig, later)
    rig.send(medium_goal(), "second")
    rig.tick(round(AHEAD_S / rig.period_s) + 2)
    later.do()
    rig.tick()
    assert later.asked == 2 and rig.kinds("second") == []
    later.do()
    rig.tick(round(2 * AHEAD_S / rig.period_s))
    assert rig.kinds("second") == [ACCEPTED] and smooth(rig) <= 1.2


@pytest.mark.parametrize("change", ["cancel all", "speed", "limits", "end"])
def test_a_motion_that_changes_while_a_goal_is_checked_for_joining_it(rig, later, change):
    moving(rig, later)
    if change == "end":
        rig.run(2.5)
    rig.send(medium_goal(), "second")
    rig.tick()
    later.do()
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
    assert later.asked >= 2 and ACCEPTED in rig.kinds("second") and smooth(rig) <= 1.2
    rig.change(speed=1.0)
    rig.to_rest()
    assert rig.answer("second").text == "done: holding"


def test_too_many_points_are_refused_before_anything_is_done_with_them(rig, later):
    many = MAX_POINTS + 1
    rig.send(goal(*[HOME] * many, times=np.arange(1.0, many + 1.0)), "many")
    rig.tick()
    assert str(MAX_POINTS) in rig.answer("many").text and later.asked == 0
