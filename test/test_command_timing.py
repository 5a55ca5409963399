"""Timing of commands from their arrivals."""

import pytest

from picker_dynamics.command_timing import CommandTiming


def test_regular_commands_have_a_period_and_a_lead():
    timing = CommandTiming()
    for k in range(101):
        timing.note(0.01 * k, 0.01 * k + 0.06)
    taken = timing.take()
    assert taken.commands == 100 and taken.late == taken.missed == 0
    assert (taken.period, taken.ahead, taken.ahead_least) == pytest.approx((10.0, 60.0, 60.0))
    assert taken.jitter_p99 == pytest.approx(0.0, abs=1e-6)


def test_one_that_was_held_up_is_seen_and_the_gap_between_two_looks_too():
    timing = CommandTiming()
    for k in range(10):
        timing.note(0.01 * k, 0.01 * k + 0.06)
    timing.take()
    for k in range(10, 20):
        timing.note(0.01 * k + (0.07 if k == 10 else 0.0), 0.01 * k + 0.06)
    taken = timing.take()
    assert taken.commands == 10 and taken.late == 1 and taken.missed == 1
    assert taken.ahead_least == pytest.approx(-10.0) and taken.period_longest == pytest.approx(80.0)


def test_of_few_commands_nothing_is_said():
    timing = CommandTiming()
    assert timing.take() is None
    timing.note(0.0, 0.06)
    assert timing.take() is None
