"""Interpolation, limits and a queue that runs dry: what the pulses do, frame by frame."""

from fractions import Fraction

import pytest
from firmware_bench import BRAKE, FRAME_US, FUZZ, HALF_US, SPEED, Bench, golden, steps
from hypothesis import given
from hypothesis import strategies as st

from picker_dynamics.board.protocol import SetPoint, Stop
from picker_dynamics.sim.setpoint_queue import interpolate


def ready():
    """A board with all joints on, after a servo frame."""
    return Bench().enabled().run(FRAME_US)


def leap(bench, ahead_us, pulses, until_us=30_000):
    """Send a point, and once more the same, where the motion ends."""
    bench.stream_ahead([(ahead_us, pulses), (until_us, pulses)])


# -- interpolation -------------------------------------------------------------------------------------


@golden("interpolation", "at_us")
def test_golden_interpolation(vector):
    vector = dict(vector)
    assert interpolate(**{key: vector[key] for key in vector if key != "pulse"}) == vector["pulse"]


@FUZZ
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 2_000_000), st.integers(0, 2_000_000), st.integers(1, 32767), st.integers(1, 32767)
)
def test_interpolation_is_the_straight_line_in_32_bits(start_us, span, elapsed, start, end):
    elapsed %= span + 1
    got = interpolate(start_us, start, (start_us + span) % 2**32, end, (start_us + elapsed) % 2**32)
    exact = start + Fraction(end - start) * elapsed / span
    time_grain = Fraction(2 * 2 ** max(0, span.bit_length() - 16), span)  # both times lose their low bits
    assert abs(got - exact) <= Fraction(1, 2) + abs(end - start) * (Fraction(1, 65536) + time_grain)
    assert min(start, end) <= got <= max(start, end)
    assert abs(end - start) * 65536 + 0x8000 < 2**31


@pytest.mark.parametrize("spacing_us", [6_000, 7_000, 10_000, 20_000, 33_000])
def test_pulses_lie_on_the_line_whatever_the_spacing(spacing_us):
    bench = ready()
    start = bench.now_us

    def line(time_us):
        return 12000 + (time_us - start) * 5 / 1000  # 100 per frame

    sent_us = start + HALF_US  # evaluated already
    for _ in range(40):
        while sent_us < bench.now_us + 75_000:
            sent_us += spacing_us
            assert bench.send(SetPoint(sent_us, (round(line(sent_us)),) * 3)) is None
        bench.run(FRAME_US)
        if bench.now_us >= start + 100_000:
            assert abs(bench.pulses[0] - line(bench.now_us + HALF_US)) <= 1.1
    assert bench.last.underruns == 0


# -- running dry ---------------------------------------------------------------------------------------


def test_a_stop_brakes_a_joint_that_lags_behind_its_target():
    bench = ready()
    leap(bench, 30_000, (18000, 12000, 12000), 50_000)
    bench.run(100_000).tells(limited=0b001, queue_depth=0)
    bench.track = [bench.pulses]
    bench.send(Stop())
    bench.run(400_000)
    assert steps(bench.track)[:11] == [*range(SPEED - BRAKE, 0, -BRAKE), 0, 0]
