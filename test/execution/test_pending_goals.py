"""Goals that wait: the newest counts, none is lost silently, and looking leaves time for the reference."""

from concurrent.futures import Future

from hypothesis import given
from hypothesis import strategies as st

from picker_dynamics.execution.pending_goals import REST, GoalRequest, PendingGoals


def request(name: str = "", track: str = "arm") -> GoalRequest:
    return GoalRequest(lambda: None, track, name)


def test_the_newest_of_each_track_waits_and_says_whom_it_overtook():
    pending, a, b, g = PendingGoals(), request(), request(), request(track="gripper")
    assert not pending and pending.next(0.0) is None
    assert pending.put(a) is None and pending.put(g) is None
    assert pending.put(b) is a and pending.overtaken == 1
    assert pending.next(0.0).request is g, "the one that came first"
    assert pending.next(0.0).request is b and not pending


def test_what_cannot_be_looked_at_yet_waits_for_its_time_without_holding_others_up():
    pending, later, now = PendingGoals(), request(), request(track="gripper")
    pending.put(later)
    pending.put_back(pending.next(0.0), 5.0)
    pending.put(now)
    assert pending.next(1.0).request is now and pending.next(4.9) is None
    assert pending.next(5.0).request is later


def test_one_that_is_checked_beside_needs_no_rest():
    pending, slow, other = PendingGoals(), request(), request(track="gripper")
    for one in (other, slow):
        pending.put(one)
    first, second = pending.next(0.0), pending.next(0.0)
    second.work = Future()
    pending.put_back(first, 0.0)
    pending.put_back(second, 0.0)
    pending.looked(0.0, 1.0)
    assert pending.next(1.5).request is slow and pending.next(1.5) is None and pending.next(2.0).request is other


def test_a_newer_one_keeps_its_place():
    pending, old, new = PendingGoals(), request(), request()
    pending.put(old)
    looked_at = pending.next(0.0)
    pending.put(new)
    pending.put_back(looked_at, 0.0)
    assert pending.next(0.0).request is new and not pending


def test_requests_can_be_withdrawn():
    pending, one, two = PendingGoals(), request(), request(track="gripper")
    pending.put(one)
    pending.put(two)
    assert pending.remove(lambda this: this is one) == [one] and pending.remove(lambda this: this is one) == []
    assert pending.next(0.0).request is two


@given(st.lists(st.tuples(st.floats(0.0, 0.5), st.floats(0.0, 0.3)), min_size=1, max_size=60))
def test_in_any_flood_checks_take_no_more_than_their_share_and_everything_is_answered_once(arrivals):
    """(pause before the next goal, how long its check takes): one goal after the other, looked at whenever it may be."""
    pending, now, checking, answered = PendingGoals(), 0.0, 0.0, []
    for number, (pause, cost) in enumerate(arrivals):
        now += pause
        overtaken = pending.put(request(str(number)))
        answered += [overtaken.identifier] if overtaken else []
        waiting = pending.next(now)
        if waiting is not None:
            pending.looked(now, now + cost)
            now, checking = now + cost, checking + cost
            answered.append(waiting.request.identifier)
    waiting = pending.next(now + 1.0)
    answered += [waiting.request.identifier] if waiting else []
    assert sorted(answered, key=int) == [str(k) for k in range(len(arrivals))] and answered[-1] == str(len(arrivals) - 1)
    longest = max(cost for _, cost in arrivals)
    assert checking <= (now + longest) / (1.0 + REST) + longest
