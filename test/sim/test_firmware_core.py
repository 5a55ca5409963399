"""Boot, outputs, requests, telemetry and noise: the firmware in simulated time, through real frames."""

import pytest
from firmware_bench import ALL, CONFIG, FRAME_US, FUZZ, GOLDEN, LIMITS, MIDDLE, Bench, golden, play_golden_session, wire
from hypothesis import given
from hypothesis import strategies as st

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import (
    Ack,
    Adopt,
    BoardState,
    Disable,
    Enable,
    Fault,
    Hello,
    Info,
    Nack,
    Ping,
    Reason,
    Relax,
    Reset,
    SetPoint,
    Stop,
    TelemetryPeriod,
    encode,
    limits_checksum,
)
from picker_dynamics.board.protocol.messages import MESSAGES
from picker_dynamics.errors import InputError
from picker_dynamics.sim.firmware_core import TRANSMIT_MAX, VirtualFirmware

# -- boot ----------------------------------------------------------------------------------------------


def test_idle_board_speaks_from_boot_on_and_drives_nothing():
    bench = Bench().run(1_000_000, host_alive=False)
    assert len(bench.telemetry) == 51
    assert [one.time_us for one in bench.telemetry[:3]] == [0, 20_000, 40_000]
    assert {(one.state, one.live, one.owned, one.faults, one.pulses) for one in bench.telemetry} == {
        (BoardState.IDLE, 0, 0, 0, (0, 0, 0))
    }
    assert bench.pulses_us == (None, None, None)


def test_hello_is_answered_with_who_the_board_is():
    info = Bench(boot_id=777).send(Hello(), sequence=41)
    assert info == Info(41, 0, 1, 0, 3, 777, 16, 20_000, 4883, 250, 2000, limits_checksum(LIMITS))


def test_outputs_found_running_are_kept_and_reported_until_adopted():
    bench = Bench(found_us=(1500.0, None, 1000.5)).run(300_000, host_alive=False)
    bench.tells(live=0b101, owned=0, state=BoardState.IDLE, pulses=(12000, 0, 8004))
    bench.refused(SetPoint(bench.now_us + 50_000, MIDDLE), Reason.NOT_ENABLED)
    bench.refused(Adopt(0b010), Reason.NOT_LIVE)
    bench.acked(Adopt(0b101))
    bench.run(100_000)
    bench.tells(owned=0b101, state=BoardState.HOLD, pulses=(12000, 0, 8004))


def test_found_outputs_may_be_disarmed_instead():
    bench = Bench(found_us=(1500.0, 1500.0, 1500.0))
    bench.acked(Disable(ALL))
    assert bench.live == 0


def test_a_found_pulse_just_outside_its_limit_is_moved_to_it_and_a_far_one_refused():
    bench = Bench(found_us=(497.0, 2504.0, 490.0))  # limits 500 and 2500; the output's step is 4.9
    bench.acked(Adopt(0b011))
    assert bench.pulses_us[:2] == (500.0, 2500.0)
    bench.refused(Adopt(0b100), Reason.OUT_OF_LIMITS, 2)
    assert bench.pulses_us[2] == 490.0


# -- enable, disable, relax ----------------------------------------------------------------------------


def test_joints_are_enabled_one_at_a_time_at_given_pulses():
    bench = Bench()
    for joint in range(3):
        bench.acked(Enable(1 << joint, tuple(9000 + joint if k == joint else 0 for k in range(3))))
        bench.run(100_000)
        bench.tells(live=(1 << joint + 1) - 1, owned=(1 << joint + 1) - 1)
    assert bench.pulses == (9000, 9001, 9002)


@pytest.mark.parametrize(
    ("message", "reason", "detail"),
    [
        (Enable(0, MIDDLE), Reason.BAD_VALUE, 0),
        (Enable(0b1000, MIDDLE), Reason.BAD_VALUE, 8),
        (Enable(ALL, (12000, 12000)), Reason.BAD_LENGTH, 0),
        (Enable(ALL, (12000, 3999, 12000)), Reason.OUT_OF_LIMITS, 1),
        (Enable(ALL, (12000, 12000, 20001)), Reason.OUT_OF_LIMITS, 2),
        (Adopt(ALL), Reason.NOT_LIVE, 0),
        (Adopt(0), Reason.BAD_VALUE, 0),
        (Disable(0b1000), Reason.BAD_VALUE, 8),
        (TelemetryPeriod(1), Reason.BAD_VALUE, 1),
        (TelemetryPeriod(1001), Reason.BAD_VALUE, 1001),
    ],
    ids=str,
)
def test_requests_that_make_no_sense_are_refused_and_change_nothing(message, reason, detail):
    bench = Bench()
    assert bench.send(message, sequence=9) == Nack(9, message.TYPE, reason, detail)
    assert (bench.live, bench.firmware.owned) == (0, 0)


def test_a_live_joint_is_not_enabled_again():
    bench = Bench().enabled()
    bench.refused(Enable(0b010, (0, 5000, 0)), Reason.ALREADY_LIVE, 1)
    assert bench.pulses == MIDDLE


def test_enable_and_adopt_wait_for_standstill():
    bench = Bench().enabled()
    bench.send(Disable(0b100))
    bench.stream([(bench.now_us + 200_000, (12500, 12500, 0))])
    bench.refused(Enable(0b100, MIDDLE), Reason.BUSY)
    bench.refused(Adopt(0b001), Reason.BUSY)
    bench.run(400_000)
    bench.acked(Enable(0b100, MIDDLE))


def test_a_joint_can_be_disabled_while_the_others_move_on():
    bench = Bench().enabled().moving()
    bench.send(Disable(0b010))
    before = bench.pulses
    bench.run(60_000)
    assert bench.pulses[1] == 0
    assert bench.pulses[0] > before[0] and bench.pulses[2] > before[2]


def test_relax_cuts_all_pulses_at_once_and_ends_ownership():
    bench = Bench().enabled().moving()
    bench.acked(Relax())
    assert bench.pulses_us == (None, None, None)
    bench.run(FRAME_US).tells(queue_depth=0)
    bench.run(500_000).tells(live=0, owned=0, queue_depth=0, state=BoardState.IDLE, faults=0)
    bench.refused(SetPoint(bench.now_us + 50_000, MIDDLE), Reason.NOT_ENABLED)


# -- requests that are sent again ----------------------------------------------------------------------


def test_a_request_sent_again_is_answered_again_and_not_carried_out_again():
    bench = Bench()
    bench.send(Hello())
    first = bench.send(Enable(ALL, MIDDLE), sequence=20)
    again = bench.send(Enable(ALL, MIDDLE), sequence=20)
    assert isinstance(first, Ack) and first == again
    refused = bench.send(Enable(0b1000, MIDDLE), sequence=21)
    assert bench.send(Enable(0b1000, MIDDLE), sequence=21) == refused
    assert refused.reason is Reason.BAD_VALUE


def test_a_request_whose_first_copy_was_lost_is_carried_out():
    bench = Bench()
    bench.send(Hello(), sequence=0)
    bench.send(Ping(), sequence=2)  # 1 was lost
    bench.acked(Enable(ALL, MIDDLE), sequence=1)
    assert bench.live == ALL


def test_an_old_reset_does_not_undo_a_newer_stop():
    bench = Bench().enabled()
    bench.acked(Reset(), sequence=30)
    bench.acked(Stop(), sequence=31)
    bench.refused(Reset(), Reason.STALE, sequence=30)
    assert bench.faults == Fault.STOPPED.bit


def test_a_long_stream_between_two_requests_does_not_make_the_second_stale():
    bench = Bench()
    bench.send(Hello(), sequence=0)
    bench.send(Enable(0b001, MIDDLE), sequence=1)
    for sequence in (*range(20_000, 65_536, 20_000), *range(14_464, 65_536, 20_000), 0, 1):
        bench.send(Ping(), sequence=sequence)
    bench.acked(Disable(0b001), sequence=2)
    assert bench.live == 0


def test_hello_of_a_new_host_starts_a_new_count():
    bench = Bench()
    bench.send(Enable(0b001, MIDDLE), sequence=5000)
    bench.send(Hello(), sequence=0)
    bench.acked(Disable(0b001), sequence=1)
    assert bench.live == 0


# -- telemetry and damage ------------------------------------------------------------------------------


def test_telemetry_period_can_be_set():
    bench = Bench()
    bench.send(TelemetryPeriod(5))
    bench.run(1_000_000)
    times = [one.time_us for one in bench.telemetry[2:]]
    assert {b - a for a, b in zip(times, times[1:])} == {5_000}
    assert len(times) > 190


def test_telemetry_carries_feedback_and_the_last_sequence():
    bench = Bench().enabled().run(FRAME_US)
    bench.firmware.feedback = (512, None, 1023)
    bench.send(SetPoint(bench.now_us + 100_000, MIDDLE), sequence=4242)
    bench.run(FRAME_US).tells(feedback=(512, None, 1023), last_sequence=4242, accepted=1)


def test_damage_and_gaps_are_counted():
    bench = Bench().enabled()
    damaged = bytearray(encode(SetPoint(50_000, MIDDLE), 60))
    damaged[8] ^= 1
    bench.send_bytes(bytes(damaged))
    bench.send(Ping(), sequence=bench.sequence + 3)
    bench.run(FRAME_US).tells(bad_frames=1, missed_frames=3, accepted=0, rejected=0)


@golden("not_understood", "name")
def test_frames_that_are_not_understood_are_refused_by_name(vector):
    [refused] = Bench().send_bytes(wire(vector))
    assert refused.reason is Reason[vector["reason"]]


@pytest.mark.parametrize("kind", [kind for kind in MESSAGES if kind & 0x80], ids=lambda kind: kind.name)
def test_a_board_refuses_the_messages_of_a_board(kind):
    entry = next(entry for entry in GOLDEN["frames"] if entry["message"] == kind.name)
    [refused] = Bench().send_bytes(wire(entry))
    assert refused.reason is Reason.UNKNOWN_TYPE


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
