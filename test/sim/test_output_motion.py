"""Interpolation, limits and a queue that runs dry: what the pulses do, frame by frame."""

from fractions import Fraction

import pytest
from firmware_bench import BRAKE, FRAME_US, FUZZ, HALF_US, LIMITS, MIDDLE, SPEED, Bench, golden, steps
from hypothesis import given
from hypothesis import strategies as st

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import BoardState, Enable, Nack, Reason, SetPoint, Stop
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


def test_the_queue_is_evaluated_half_a_frame_after_the_frame_starts():
    bench = ready()
    start = bench.now_us
    bench.stream([(start + HALF_US + 20_000 * k, (12000 + 160 * k,) * 3) for k in range(1, 11)])
    bench.track.clear()
    bench.run(200_000)
    assert [pulses[0] for pulses in bench.track] == [12000 + 160 * k for k in range(1, 11)]


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


def test_jitter_of_the_host_leaves_the_pulses_unchanged():
    def track(delays_us):
        bench = ready()
        for k, delay_us in enumerate(delays_us):
            stamp_us = 80_000 + 10_000 * k
            due_us = stamp_us - 60_000 + delay_us
            bench.run(max(0, due_us - bench.now_us))
            pulse = 12000 + k * k
            assert bench.send(SetPoint(stamp_us, (pulse, pulse - 300, pulse + 7))) is None
        bench.run(1_000_000 - bench.now_us)
        return bench.track

    assert track([0] * 60) == track([(7919 * k) % 20_000 for k in range(60)])


def test_time_stamps_wrap_around_in_mid_motion():
    def track(start_us):
        bench = Bench(FirmwareConfig(LIMITS, start_time_us=start_us)).enabled().run(FRAME_US)
        for k in range(60):
            stamp = (start_us + 80_000 + 10_000 * k) % 2**32
            assert bench.send(SetPoint(stamp, (12000 + k * k,) * 3)) is None
            bench.run(10_000)
        return bench.run(400_000).track

    assert track(2**32 - 300_000) == track(0)


def test_a_first_point_is_reached_on_a_ramp_from_the_held_pose():
    bench = ready()
    bench.track = [bench.pulses]
    bench.stream([(bench.now_us + HALF_US + 200_000, (14000, 12000, 10000))])
    bench.run(200_000)
    assert steps(bench.track) == [200] * 10
    assert steps(bench.track, 2) == [-200] * 10


# -- limits --------------------------------------------------------------------------------------------


def test_the_speed_limit_holds_a_joint_back_and_says_so():
    bench = ready()
    bench.track = [bench.pulses]
    leap(bench, 30_000, (16000, 12100, 12000), 60_000)
    bench.run(40_000)
    bench.tells(limited=0b001)
    bench.run(400_000)
    assert set(steps(bench.track)) == {SPEED, 0}
    assert bench.pulses == (16000, 12100, 12000)
    bench.tells(limited=0, state=BoardState.HOLD, underruns=0)


REFUSED = {
    "past": ((-50_000, MIDDLE), Reason.PAST, 0),
    "played already": ((5_000, MIDDLE), Reason.PAST, 0),
    "too far": ((2_000_001, MIDDLE), Reason.TOO_FAR, 0),
    "half a turn of the clock ahead": ((2**31 - 1, MIDDLE), Reason.TOO_FAR, 0),
    "pulse too short": ((50_000, (12000, 3999, 12000)), Reason.OUT_OF_LIMITS, 1),
    "pulse too long": ((50_000, (12000, 12000, 20001)), Reason.OUT_OF_LIMITS, 2),
    "pulse zero": ((50_000, (0, 12000, 12000)), Reason.OUT_OF_LIMITS, 0),
    "joint missing": ((50_000, (12000, 12000)), Reason.BAD_LENGTH, 0),
    "joint too many": ((50_000, (12000,) * 4), Reason.BAD_LENGTH, 0),
}


@pytest.mark.parametrize(("point", "reason", "detail"), REFUSED.values(), ids=REFUSED)
def test_a_refused_set_point_is_counted_named_and_moves_nothing(point, reason, detail):
    bench = Bench().enabled().run(100_000)
    lead_us, pulses = point
    answer = bench.send(SetPoint((bench.now_us + lead_us) % 2**32, pulses), sequence=50)
    assert answer == Nack(50, 6, reason, detail)
    bench.run(FRAME_US).tells(rejected=1, last_reason=reason, accepted=0, queue_depth=0)
    assert bench.pulses == MIDDLE


def test_points_must_follow_one_another():
    bench = ready()
    at = bench.now_us + 100_000
    answers = bench.stream([(at, MIDDLE), (at, MIDDLE), (at - 1, MIDDLE), (at + 1, MIDDLE)])
    assert [answer.reason for answer in answers] == [Reason.NOT_LATER, Reason.NOT_LATER]
    bench.run(FRAME_US).tells(accepted=2, rejected=2)


def test_a_full_queue_refuses_and_keeps_what_it_has():
    bench = ready()
    points = [(bench.now_us + 30_000 + 10_000 * k, (12000 + 50 * k,) * 3) for k in range(20)]
    answers = bench.stream(points)
    assert [answer.reason for answer in answers] == [Reason.QUEUE_FULL] * 4
    bench.run(FRAME_US)  # whose evaluation passes the first point
    bench.tells(accepted=16, rejected=4, queue_depth=15)
    bench.run(400_000)
    assert bench.pulses[0] >= points[15][1][0]


def test_joints_that_are_off_ignore_their_pulse():
    bench = Bench()
    bench.send(Enable(0b001, (12000, 0, 0)))
    bench.run(FRAME_US)
    assert bench.stream_ahead([(50_000, (12200, 0, 65)), (100_000, (12200, 0, 0))]) == []
    bench.run(200_000)
    assert bench.pulses == (12200, 0, 0)


# -- running dry ---------------------------------------------------------------------------------------


def test_a_queue_that_runs_out_in_motion_is_braked_counted_and_held():
    bench = Bench().enabled().moving(speed=200, lead_us=40_000)
    bench.track.clear()
    bench.run(600_000)
    brake = [step for step in steps(bench.track) if step]
    assert brake[-3:] == [120, 80, 40] and 160 <= brake[-4] <= 200
    assert set(brake[:-4]) <= {200}
    bench.tells(state=BoardState.HOLD, underruns=1, faults=0)
    assert bench.track[-1] == bench.track[-10]


def test_the_last_accepted_point_is_reached_at_least():
    bench = ready()
    bench.stream_ahead([(40_000, (12000, 12000, 12000)), (79_000, (12039, 12300, 11970))])
    bench.run(500_000).tells(underruns=1)
    assert bench.pulses[0] >= 12039 and bench.pulses[2] <= 11970
    assert 12300 <= bench.pulses[1] <= 12300 + 400


def test_braking_ends_at_the_pulse_limit():
    bench = Bench().enabled((19500, 12000, 12000)).run(FRAME_US)
    bench.stream_ahead([(20_000 * k, (min(20000, 19500 + 100 * k), 12000, 12000)) for k in range(1, 6)])
    bench.run(1_000_000).tells(state=BoardState.HOLD)
    assert bench.pulses[0] == 20000


def test_a_motion_that_ends_at_rest_is_no_underrun():
    bench = ready()
    leap(bench, 100_000, (12800, 12000, 11500), 120_000)
    bench.run(500_000).tells(underruns=0, state=BoardState.HOLD)
    assert bench.pulses == (12800, 12000, 11500)


def test_a_creeping_motion_that_is_cut_off_is_no_underrun():
    bench = ready()
    bench.stream_ahead([(20_000 * k, (12000 + 8 * k, 12000, 12000)) for k in range(1, 6)])
    bench.run(500_000)
    assert (bench.last.underruns, bench.pulses) == (0, (12040, 12000, 12000))


def test_a_stop_brakes_a_joint_that_lags_behind_its_target():
    bench = ready()
    leap(bench, 30_000, (18000, 12000, 12000), 50_000)
    bench.run(100_000).tells(limited=0b001, queue_depth=0)
    bench.track = [bench.pulses]
    bench.send(Stop())
    bench.run(400_000)
    assert steps(bench.track)[:11] == [*range(SPEED - BRAKE, 0, -BRAKE), 0, 0]


def test_a_point_that_finds_the_arm_lagging_starts_its_line_at_the_target():
    bench = ready()
    leap(bench, 29_000, (13000, 12000, 12000))
    bench.run(FRAME_US)
    assert (bench.pulses[0], bench.last.queue_depth) == (12400, 0)
    bench.stream([(bench.now_us + HALF_US + 80_000, (13000, 12000, 12000))])
    bench.track = [bench.pulses]
    bench.run(60_000)
    assert steps(bench.track) == [SPEED, 200, 0]  # not a slower line from where it lagged


def test_a_motion_that_ended_leaves_no_speed_behind():
    bench = ready()
    leap(bench, 29_000, (12600, 12000, 12000))
    bench.run(200_000)  # arrives with a step of 200
    bench.tells(state=BoardState.HOLD)
    bench.stream([(bench.now_us + 15_000, (12601, 12000, 12000))])
    bench.run(200_000)
    assert (bench.last.underruns, bench.pulses[0]) == (0, 12601)


def test_a_late_host_is_joined_again_within_the_speed_limit():
    bench = Bench().enabled().moving(speed=300, lead_us=20_000).run(200_000)
    bench.tells(underruns=1)
    at, start = bench.now_us, bench.pulses[0]
    bench.track = [bench.pulses]
    assert bench.stream([(at + 60_000, (start - 2000,) * 3), (at + 100_000, (start - 2000,) * 3)]) == []
    bench.run(400_000)
    assert min(steps(bench.track)) >= -SPEED
    assert bench.pulses[0] == start - 2000
