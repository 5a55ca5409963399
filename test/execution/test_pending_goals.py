"""Goals that wait: the newest counts, none is lost silently, and looking leaves time for the reference."""

from hypothesis import given
from hypothesis import strategies as st

from picker_dynamics.execution.pending_goals import REST, Inbox


def test_the_newest_of_each_track_waits_and_says_whom_it_overtook():
    inbox = Inbox()
    assert not inbox and inbox.next(0.0) is None
    assert inbox.put("arm", "a") is None and inbox.put("gripper", "g") is None
    assert inbox.put("arm", "b") == "a" and inbox.overtaken == 1
    assert inbox.next(0.0) == ("gripper", "g"), "the one that came first"
    assert inbox.next(0.0) == ("arm", "b") and not inbox


def test_what_cannot_be_looked_at_yet_waits_for_its_time_without_holding_others_up():
    inbox = Inbox()
    inbox.put_back("arm", "later", 5.0)
    inbox.put("gripper", "now")
    assert inbox.next(1.0) == ("gripper", "now") and inbox.next(4.9) is None
    assert inbox.next(5.0) == ("arm", "later")


def test_a_newer_one_keeps_its_place():
    inbox = Inbox()
    inbox.put("arm", "new")
    inbox.put_back("arm", "old", 0.0)
    assert inbox.next(0.0) == ("arm", "new")


def test_requests_can_be_withdrawn():
    inbox = Inbox()
    inbox.put("arm", 1)
    inbox.put("gripper", 2)
    assert inbox.remove(lambda one: one == 1) == [1] and inbox.remove(lambda one: one == 1) == []
    assert inbox.next(0.0) == ("gripper", 2)


@given(st.lists(st.tuples(st.floats(0.0, 0.5), st.floats(0.0, 0.3)), min_size=1, max_size=60))
def test_in_any_flood_checks_take_no_more_than_their_share_and_everything_is_answered_once(arrivals):
    """(pause before the next goal, how long its check takes): one goal after the other, looked at whenever it may be."""
    inbox, now, checking, answered = Inbox(), 0.0, 0.0, []
    for number, (pause, cost) in enumerate(arrivals):
        now += pause
        overtaken = inbox.put("arm", number)
        answered += [] if overtaken is None else [overtaken]
        waiting = inbox.next(now)
        if waiting is not None:
            inbox.looked(now, now + cost)
            now, checking = now + cost, checking + cost
            answered.append(waiting[1])
    waiting = inbox.next(now + 1.0)
    answered += [waiting[1]] if waiting else []
    assert sorted(answered) == list(range(len(arrivals))) and answered[-1] == len(arrivals) - 1
    longest = max(cost for _, cost in arrivals)
    assert checking <= (now + longest) / (1.0 + REST) + longest
