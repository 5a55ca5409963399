"""Requests in every order, from people who wait for their answers and from scripts that do not: no stop is undone unseen."""

from __future__ import annotations

import dataclasses
import heapq
import itertools

import pytest
from arm_fixtures import shipped_arm
from hypothesis import given, settings
from hypothesis import strategies as st

from picker_dynamics.board.request_gate import SETTLE_S, RequestGate
from picker_dynamics.board.torque_session import TorqueSession
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import BoardFaultError

UNDOING = "reset", "enable"
NAMES = "stop", *UNDOING
POLL_S = 0.02


@dataclasses.dataclass
class Request:
    """One request: by whom, when it was sent, and what came of it."""

    name: str
    who: int
    sent_s: float
    done_s: float = float("inf")
    answered_s: float = float("inf")
    refused: str = ""


class Server:
    """One thread that carries out what waits, in an order of its own, as a node does; stops and resets a real session."""

    def __init__(self, session, travels, busy, priority):
        self.session, self._travels, self._busy, self._priority = session, travels, busy, priority
        self.gate, self._stops = RequestGate(), []
        self.now_s, self._ticket = 0.0, itertools.count()
        self._way: list = []
        self.requests: list[Request] = []

    def send(self, name: str, who: int, now_s: float) -> None:
        request = Request(name, who, now_s)
        self.requests.append(request)
        heapq.heappush(self._way, (now_s + next(self._travels), next(self._ticket), request))

    def _waiting(self) -> list:
        return sorted((one for one in self._way if one[0] <= self.now_s), key=lambda one: (self._priority[one[2].name], one[:2]))

    def _serve(self, entry) -> None:
        self._way.remove(entry)
        heapq.heapify(self._way)
        request = entry[2]
        request.done_s = self.now_s
        try:
            if request.name == "stop":
                self.session.stop()
                self.gate.close(self.now_s)
                self._stops.append(request)
                return
            self.gate.require_open()
            self.session.reset() if request.name == "reset" else self.session.activate()
        except BoardFaultError as error:
            request.refused = str(error)
        request.answered_s = self.now_s

    def run(self, until_s: float, answered) -> None:
        """Serve until then; ``answered(request)`` is told of each answer when it has come."""
        told, looked_s = set(), 0.0
        while self.now_s < until_s:
            batch = self._waiting()  # as an executor does: all that waits, the timer before it
            if self.gate.settling and self.now_s >= looked_s:
                looked_s = self.now_s + POLL_S
                if self.gate.settle(self.now_s):
                    while self._stops:
                        self._stops.pop().answered_s = self.now_s
            for entry in batch:
                self._serve(entry)
                self.now_s += 0.0005 + next(self._busy)
            for request in self.requests:
                if id(request) not in told and request.answered_s <= self.now_s:
                    told.add(id(request))
                    answered(request)
            self.now_s += 0.002


TRAVEL = st.floats(0.0, 0.9 * SETTLE_S)
SCRIPTS = st.lists(st.tuples(st.sampled_from(NAMES), st.floats(0.0, 0.6)), max_size=12)
PEOPLE = st.lists(st.tuples(st.floats(0.0, 0.6), st.floats(0.0, 0.01)), max_size=2)


RRP = shipped_arm("rrp")


@settings(max_examples=80, deadline=None)
@given(
    scripts=SCRIPTS,
    people=PEOPLE,
    travels=st.lists(TRAVEL, min_size=1, max_size=20),
    busy=st.lists(st.floats(0.0, 0.05), min_size=1, max_size=20),
    order=st.permutations(NAMES),
)
def test_no_stop_is_undone_by_who_had_not_seen_it_and_who_waits_for_answers_is_never_refused(
    scripts, people, travels, busy, order
):
    session = TorqueSession(RigidBody(RRP.description), RRP.description.effort, RRP.description.velocity, RRP.bandwidth)
    server = Server(session, itertools.cycle(travels), itertools.cycle(busy), {name: k for k, name in enumerate(order)})
    queue = [(at_s, -1, name) for name, at_s in scripts] + [(at_s, k, "stop") for k, (at_s, _) in enumerate(people)]
    for at_s, who, name in sorted(queue):
        server.send(name, who, at_s)

    def answered(request: Request) -> None:
        """People go on when they were answered, a moment later."""
        if request.who >= 0 and request.name != "enable":
            following = NAMES[NAMES.index(request.name) + 1]
            server.send(following, request.who, server.now_s + people[request.who][1])

    server.run(4.0, answered)
    stops = [one for one in server.requests if one.name == "stop"]
    assert all(one.answered_s < 4.0 for one in server.requests), "everybody is answered"
    for stop in stops:
        for one in server.requests:
            undone = one.name in UNDOING and one.done_s >= stop.done_s and not one.refused
            assert not (undone and one.sent_s <= stop.done_s), (one, stop)
    for one in server.requests:
        mine = [stop for stop in stops if stop.who == one.who >= 0]
        others = [stop for stop in stops if mine and stop is not mine[0] and stop.answered_s > mine[0].answered_s]
        if one.who >= 0 and not others:
            assert not one.refused, one


def test_it_opens_when_it_is_time_and_a_whole_look_has_passed_in_which_nothing_was_refused():
    gate = RequestGate()
    gate.require_open()
    gate.close(10.0)
    assert not gate.settle(10.0 + 0.9 * SETTLE_S) and gate.settling
    with pytest.raises(BoardFaultError, match="stopped after this was asked: look at the arm, then ask again"):
        gate.require_open()
    assert not gate.settle(10.0 + SETTLE_S), "a look begins"
    with pytest.raises(BoardFaultError):
        gate.require_open()
    assert not gate.settle(10.0 + 1.1 * SETTLE_S), "something waited"
    assert gate.settle(10.0 + 1.2 * SETTLE_S) and not gate.settling
    gate.require_open()
