"""The firmware in Python under fire: noise, wild messages, 32-bit arithmetic, and the golden session of both firmwares."""

from fractions import Fraction

import pytest
from firmware_bench import FRAME_US, FUZZ, LIMITS, MIDDLE, Bench, golden, play_golden_session, wire
from hypothesis import given
from hypothesis import strategies as st

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import Adopt, Disable, Enable, Hello, Nack, Ping, Reason, Relax, Reset, SetPoint, Stop, encode
from picker_dynamics.errors import InputError
from picker_dynamics.sim.firmware_core import VirtualFirmware
from picker_dynamics.sim.output_motion import interpolate


def test_a_found_pulse_just_outside_its_limit_is_moved_to_it_and_a_far_one_refused():
    bench = Bench(found_us=(497.0, 2504.0, 490.0))  # limits 500 and 2500; the output's step is 4.9
    bench.acked(Adopt(0b011))
    assert bench.pulses_us[:2] == (500.0, 2500.0)
    bench.refused(Adopt(0b100), Reason.OUT_OF_LIMITS, 2)
    assert bench.pulses_us[2] == 490.0


@golden("not_understood", "name")
def test_frames_that_are_not_understood_are_refused_by_name(vector):
    bench = Bench()
    bench.raw(wire(vector))
    assert bench.heard[-1][1].reason is Reason[vector["reason"]]


def test_a_board_drives_one_to_eight_joints():
    for count in (0, 9):
        with pytest.raises(InputError, match=f"{count} joints"):
            FirmwareConfig(LIMITS[:1] * count)


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


def test_golden_session():
    play_golden_session(VirtualFirmware)


messages = st.one_of(
    st.builds(SetPoint, st.integers(-100_000, 2_100_000), st.lists(st.integers(0, 24_000), min_size=3, max_size=3).map(tuple)),
    st.builds(SetPoint, st.integers(20_000, 300_000), st.lists(st.integers(4000, 20000), min_size=3, max_size=3).map(tuple)),
    st.builds(Enable, st.integers(0, 9), st.lists(st.integers(3900, 20100), min_size=3, max_size=3).map(tuple)),
    st.builds(Adopt, st.integers(0, 9)),
    st.builds(Disable, st.integers(0, 9)),
    st.sampled_from([Hello(), Ping(), Stop(), Relax(), Reset()]),
)


@FUZZ
@given(st.lists(st.tuples(messages, st.integers(0, 150_000), st.booleans()), max_size=60))
def test_no_sequence_of_messages_breaks_a_limit(script):
    bench = Bench()
    bench.acked(Enable(bench.all, MIDDLE))
    sent = 0
    for message, pause_us, damaged in script:
        if isinstance(message, SetPoint):
            message = SetPoint((bench.now_us + message.time_us) % 2**32, message.pulses)
        data = bytearray(encode(message, bench.sequence))
        bench.sequence += 1
        if damaged:
            data[3] ^= 0x20
        sent += isinstance(message, SetPoint) and not damaged
        bench.raw(bytes(data))
        before, live = bench.firmware.pulses, bench.live
        for _ in range(pause_us // FRAME_US):
            bench.run(FRAME_US, host_alive=False)
            after = bench.firmware.pulses
            for joint, limits in enumerate(LIMITS):
                if live >> joint & 1:
                    assert limits.lowest <= after[joint] <= limits.highest
                    assert abs(after[joint] - before[joint]) <= limits.speed
                else:
                    assert after[joint] == 0
            before = after
        assert bench.live == live  # time alone switches nothing
    refused = sum(isinstance(one, Nack) and one.request_type == SetPoint.TYPE for _, one in bench.heard)
    bench.run(FRAME_US, host_alive=False).tells(accepted=sent - refused, rejected=refused)
