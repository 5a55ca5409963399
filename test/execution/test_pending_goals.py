"""Goals that wait: the newest counts, and none is lost silently."""

from concurrent.futures import Future

from picker_dynamics.execution.pending_goals import GoalRequest, PendingGoals


def request(name: str = "", track: str = "arm") -> GoalRequest:
    return GoalRequest(lambda: None, track, name)


def test_the_newest_of_each_track_waits_and_says_whom_it_overtook():
    pending, a, b, g = PendingGoals(), request(), request(), request(track="gripper")
    assert not pending
    assert pending.put(a) is None and pending.put(g) is None
    assert pending.put(b) is a and pending.overtaken == 1
    assert {one.request.track: one.request for one in pending} == {"arm": b, "gripper": g}


def test_one_that_the_worker_has_is_not_overtaken():
    pending, a, b, c = PendingGoals(), request("a"), request("b"), request("c")
    pending.put(a)
    first = next(iter(pending))
    first.work = Future()
    assert pending.put(b) is None and pending.put(c) is b and next(iter(pending)) is first
    pending.end(first)
    assert next(iter(pending)).request is c
