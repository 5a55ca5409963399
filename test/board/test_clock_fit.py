"""Offset and drift from late arrivals: against a simulated clock whose truth is known."""

import random

import pytest

from picker_dynamics.board.clock_fit import ClockFit
from picker_dynamics.board.protocol import ahead_us

LATENCY_S = 0.0015


class Course:
    """Telemetry every 10 ms and a round trip every 100 ms from a board whose clock is ``drift`` too fast."""

    def __init__(self, drift=0.0, *, start_us=0, jitter_s=0.0003, spikes=0.05, seed=1):
        self.drift, self.start_us, self.jitter_s, self.spikes = drift, start_us, jitter_s, spikes
        self.random = random.Random(seed)
        self.fit = ClockFit()
        self.host_s = 1000.0
        self.zero_s = 1000.0
        self.ticks = 0

    def truth_us(self, host_s):
        return (self.start_us + round((host_s - self.zero_s) * 1e6 * (1.0 + self.drift))) % 2**32

    def error_us(self, ahead_s=0.06):
        """Error of the fit for a set-point that lies ``ahead_s`` in the future."""
        when_s = self.host_s + ahead_s
        return ahead_us(self.fit.board_us(when_s), self.truth_us(when_s))

    def delay_s(self):
        spike = 0.03 if self.random.random() < self.spikes else 0.0
        return self.random.expovariate(1.0 / self.jitter_s) + spike

    def run(self, duration_s):
        for _ in range(round(duration_s / 0.01)):
            self.host_s += 0.01
            self.ticks += 1
            board_us = self.truth_us(self.host_s)
            self.fit.add(self.host_s + LATENCY_S + self.delay_s(), board_us)
            if self.ticks % 10 == 0:
                sent_s = self.host_s - 0.0005 - self.delay_s()
                self.fit.add_round_trip(sent_s, board_us, self.host_s + 0.0005 + self.delay_s())
        return self


@pytest.mark.parametrize("drift", [0.005, -0.005, 0.0, 0.0012])
def test_drift_and_offset_are_found_despite_late_arrivals(drift):
    course = Course(drift).run(5.0)
    assert course.fit.drift == pytest.approx(drift, abs=20e-6)
    for _ in range(200):  # two more seconds: nowhere off by more than the shortest round trip's half
        course.run(0.01)
        assert abs(course.error_us()) < 500


def test_wrap_around_is_passed_without_a_step():
    plain, wrapping = Course(0.005).run(8.0), Course(0.005, start_us=2**32 - 4_000_000).run(8.0)
    assert wrapping.truth_us(wrapping.host_s) < 2**31 < wrapping.truth_us(wrapping.zero_s)
    assert wrapping.fit.drift == pytest.approx(plain.fit.drift, abs=1e-9)
    assert wrapping.error_us() == pytest.approx(plain.error_us(), abs=2)


@pytest.mark.parametrize("new_start_us", [0, 3_000_000_000])
def test_another_clock_is_noticed_without_being_told(new_start_us):
    course = Course(0.005, start_us=100_000_000).run(4.0)
    course.zero_s, course.start_us, course.drift = course.host_s, new_start_us, -0.003
    course.run(3.0)
    assert abs(course.error_us()) < 1000
    assert course.fit.drift == pytest.approx(-0.003, abs=100e-6)


def test_a_board_that_stood_still_for_a_while_is_followed():
    course = Course(0.0).run(6.0)
    course.zero_s += 0.05  # its clock stopped for 50 ms: from now on everything arrives late
    course.run(6.0)
    assert abs(course.error_us()) < 1000
