"""What is done between two references does not grow with a goal: steps of Python are counted, which no busy machine changes.

How long a reference waits for what is done beside depends on the machine: ``python -m benchmarks.loop`` measures it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from execution_rig import HOME, Rig, goal
from test_goals_beside import Later

from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.goal import MAX_GOAL_S, MAX_POINTS, Goal

MOST = 3_000
"""Steps between two references: less than a millisecond."""


def steps(work: Callable[[], object]) -> int:
    """How many lines of Python ``work`` runs in this thread."""
    count = 0

    def look(_frame, _event, _argument):
        nonlocal count
        count += 1
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def swings(points: int, lasts_s: float) -> Goal:
    """The base to and fro, once in 20 s."""
    times = np.linspace(lasts_s / points, lasts_s, points)
    q = [HOME + [0.3 * np.sin(0.1 * np.pi * t), 0.0, 0.0, 0.0, 0.0] for t in times]
    return goal(*q, times=times.tolist(), velocities=None, accelerations=None)


def between_references(asked: Goal) -> list[int]:
    """Steps of each tick from the one that hears of a goal to some behind the one that begins it."""
    later = Later()
    rig = Rig(worker=later)
    rig.tick(3)
    rig.send(asked, "long")
    counts = []
    for _ in range(8):
        counts.append(steps(rig.tick))
        later.do()
    assert rig.kinds("long") == [EventKind.ACCEPTED]
    return counts


def test_between_two_references_a_goal_costs_the_same_however_long_it_is():
    few, most = between_references(swings(100, 100.0)), between_references(swings(MAX_POINTS, MAX_GOAL_S))
    assert max(most) < MOST
    np.testing.assert_allclose(most, few, atol=100)
