"""Timing of commands from their arrivals."""

import itertools

import pytest

from picker_dynamics.board.clock_fit import ClockFit
from picker_dynamics.board.command_timing import CORRECTION_MAX_US, SLOWEST, CommandTiming, Stamps
from picker_dynamics.board.protocol import TIME_MODULUS, ahead_us


def test_one_that_was_held_up_is_seen_and_the_gap_between_two_looks_too():
    timing = CommandTiming()
    for k in range(10):
        timing.note(0.01 * k, 0.01 * k + 0.06)
    timing.take()
    for k in range(10, 20):
        timing.note(0.01 * k + (0.07 if k == 10 else 0.0), 0.01 * k + 0.06)
    taken = timing.take()
    assert taken["commands"] == 10 and taken["late"] == taken["missed"] == 1
    figures = [taken[name] for name in ("period_ms", "period_longest_ms", "ahead_ms", "ahead_least_ms")]
    assert figures == pytest.approx([10.0, 80.0, 60.0, -10.0])


# -- board times of set-points -------------------------------------------------------------------------------


def test_set_points_stay_in_order_while_the_estimate_of_the_board_s_clock_steps_back():
    """The first round trips were slow one way only, then there is a fast one: a stall of the host at the start does that."""
    clock, stamps, sent, estimates = ClockFit(), Stamps(), [], []
    for k in range(60):
        now_s = 0.02 * k
        clock.add(now_s, 20_000 * k)
        if k < 8:  # away for 60 ms, answered at the end of it
            clock.add_round_trip(now_s - 0.06, 20_000 * k, now_s)
        elif k == 40:
            clock.add_round_trip(now_s - 0.001, 20_000 * k - 500, now_s)
        if k >= 10:
            for time_s in (now_s + 0.06, now_s + 0.07):
                estimates.append(clock.board_us(time_s))
                sent.append(stamps.stamp(time_s, estimates[-1]))
    assert min(b - a for a, b in itertools.pairwise(estimates)) < -10_000, "or there is nothing to be shown"
    steps = [b - a for a, b in itertools.pairwise(sent)]
    assert min(steps) >= SLOWEST * 10_000 - 1
    assert sent[-1] == estimates[-1], "in the end it is caught up with"


def test_a_stamp_is_the_estimate_where_that_is_in_order_and_anew_for_another_clock():
    stamps = Stamps()
    assert [stamps.stamp(*one) for one in ((1.0, 500), (1.01, 10_500), (1.02, 22_000))] == [500, 10_500, 22_000]
    assert stamps.stamp(1.03, 22_100) == 22_000 + SLOWEST * 10_000
    another = 40_000 - CORRECTION_MAX_US
    assert stamps.stamp(1.04, another) == another


def test_stamps_pass_the_wrap_around():
    stamps = Stamps()
    assert stamps.stamp(0.0, TIME_MODULUS - 4000) == TIME_MODULUS - 4000
    assert ahead_us(stamps.stamp(0.01, TIME_MODULUS - 3000), TIME_MODULUS - 4000) == SLOWEST * 10_000
