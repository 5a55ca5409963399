"""Boot, outputs, requests, telemetry and noise: the firmware in simulated time, through real frames."""

import pytest
from firmware_bench import ALL, CONFIG, FRAME_US, FUZZ, LIMITS, MIDDLE, Bench, golden, play_golden_session, wire
from hypothesis import given
from hypothesis import strategies as st

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import (
    Adopt,
    Disable,
    Enable,
    Hello,
    Info,
    Nack,
    Ping,
    Reason,
    Relax,
    Reset,
    SetPoint,
    Stop,
    encode,
)
from picker_dynamics.errors import InputError
from picker_dynamics.sim.firmware_core import TRANSMIT_MAX, VirtualFirmware

# -- boot ----------------------------------------------------------------------------------------------


def test_a_found_pulse_just_outside_its_limit_is_moved_to_it_and_a_far_one_refused():
    bench = Bench(found_us=(497.0, 2504.0, 490.0))  # limits 500 and 2500; the output's step is 4.9
    bench.acked(Adopt(0b011))
    assert bench.pulses_us[:2] == (500.0, 2500.0)
    bench.refused(Adopt(0b100), Reason.OUT_OF_LIMITS, 2)
    assert bench.pulses_us[2] == 490.0


# -- telemetry and damage ------------------------------------------------------------------------------


@golden("not_understood", "name")
def test_frames_that_are_not_understood_are_refused_by_name(vector):
    [refused] = Bench().send_bytes(wire(vector))
    assert refused.reason is Reason[vector["reason"]]


def test_unread_telemetry_does_not_pile_up():
    firmware = VirtualFirmware(CONFIG)
    firmware.advance(600_000_000)
    assert len(firmware.transmit()) <= TRANSMIT_MAX + 80


def test_a_board_drives_one_to_eight_joints():
    for count in (0, 9):
        with pytest.raises(InputError, match=f"{count} joints"):
            FirmwareConfig(LIMITS[:1] * count)


# -- under fire ----------------------------------------------------------------------------------------


@FUZZ
@given(st.lists(st.binary(max_size=120), max_size=20))
def test_noise_moves_nothing_and_breaks_nothing(noise):
    bench = Bench(found_us=(1500.0, None, 1000.0))
    for data in noise:
        bench.firmware.receive(data, bench.now_us)
        bench.run(FRAME_US, host_alive=False)
    assert bench.pulses == (12000, 0, 8000)
    bench.send_bytes(b"\0")
    assert isinstance(bench.send(Hello()), Info)


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
    bench.send(Enable(ALL, MIDDLE))
    sent = refused = 0
    for message, pause_us, damaged in script:
        if isinstance(message, SetPoint):
            message = SetPoint((bench.now_us + message.time_us) % 2**32, message.pulses)
        sent_bytes = bytearray(encode(message, bench.sequence))
        bench.sequence += 1
        if damaged:
            sent_bytes[3] ^= 0x20
        elif isinstance(message, SetPoint):
            sent += 1
        answers = bench.send_bytes(bytes(sent_bytes))
        refused += sum(isinstance(one, Nack) and one.request_type == SetPoint.TYPE for one in answers)
        before, live = bench.pulses, bench.live
        for _ in range(pause_us // FRAME_US):
            bench.run(FRAME_US, host_alive=False)
            after = bench.pulses
            for joint, limits in enumerate(LIMITS):
                if live >> joint & 1:
                    assert limits.lowest <= after[joint] <= limits.highest
                    assert abs(after[joint] - before[joint]) <= limits.speed
                else:
                    assert after[joint] == 0
            before = after
        assert bench.live == live  # time alone switches nothing
    bench.run(FRAME_US, host_alive=False).tells(accepted=sent - refused, rejected=refused)


# -- the contract with the real firmware ---------------------------------------------------------------


def test_golden_session():
    play_golden_session(VirtualFirmware)
