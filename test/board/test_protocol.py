"""Frames, messages, codes: golden bytes, independent CRC and COBS, fuzzing."""

import struct

import pytest
from firmware_bench import FUZZ, golden, wire
from hypothesis import given, settings
from hypothesis import strategies as st

from picker_dynamics.board.protocol import (
    PROTOCOL_VERSION,
    BoardState,
    Enable,
    Fault,
    FrameDecoder,
    Hello,
    JointLimits,
    MessageType,
    Nack,
    Reason,
    SetPoint,
    Stop,
    Telemetry,
    TelemetryPeriod,
    ahead_us,
    describe_faults,
    encode,
    limits_checksum,
    pulse_units,
)
from picker_dynamics.board.protocol.codes import JOINTS_MAX, PULSE_MAX, faults_in
from picker_dynamics.board.protocol.framing import STUFFED_MAX, build, crc16, stuff, unstuff
from picker_dynamics.board.protocol.messages import MESSAGES, Unknown
from picker_dynamics.errors import InputError

POINT = SetPoint(1, (12000,))
FUZZ = settings(FUZZ, max_examples=100)


def message_of(entry):
    """The message that a golden entry describes in words."""
    kind = MESSAGES[MessageType[entry["message"]]]
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in entry["fields"].items()})


# -- golden bytes --------------------------------------------------------------------------------------


@golden("frames", "name")
def test_golden_frame_is_encoded_and_decoded(vector):
    assert encode(message_of(vector), vector["sequence"]).hex() == vector["wire"]
    decoder = FrameDecoder()
    assert decoder.feed(wire(vector)) == [(vector["sequence"], message_of(vector))]
    assert decoder.broken == 0


@golden("damaged", "name")
def test_damaged_bytes_yield_nothing_and_are_counted(vector):
    decoder = FrameDecoder()
    assert decoder.feed(wire(vector)) == []
    assert decoder.broken >= 1


def test_longest_frames_fit():
    longest = Telemetry(
        2**32 - 1,
        1,
        1,
        BoardState.MOVE,
        31,
        255,
        255,
        255,
        255,
        1,
        1,
        1,
        Reason.PAST,
        1,
        1,
        1,
        1,
        (PULSE_MAX,) * JOINTS_MAX,
        (1023,) * JOINTS_MAX,
    )
    assert len(encode(longest, 0)) <= STUFFED_MAX + 1
    assert len(encode(SetPoint(2**32 - 1, (PULSE_MAX,) * JOINTS_MAX), 0)) == 28  # a board's buffer holds 32


# -- CRC and COBS against independent code -------------------------------------------------------------


def crc_bit_by_bit(data: bytes) -> int:
    register = 0xFFFF
    for byte in data:
        register ^= byte << 8
        for _ in range(8):
            register = (register << 1 ^ 0x1021 if register & 0x8000 else register << 1) & 0xFFFF
    return register


def stuff_byte_by_byte(data: bytes) -> bytes:
    """The procedure of the COBS paper, for any length."""
    out, block = bytearray(), bytearray()
    for byte in data + b"\0":
        if byte:
            block.append(byte)
        else:
            out += bytes((len(block) + 1,)) + block
            block.clear()
    return bytes(out)


@golden("crc16_ccitt_false", "data")
def test_crc_vectors(vector):
    assert crc16(bytes.fromhex(vector["data"])) == int(vector["crc"], 16)


@FUZZ
@given(st.binary(max_size=80))
def test_crc_agrees_with_the_definition(data):
    assert crc16(data) == crc_bit_by_bit(data)


@golden("cobs", "data")
def test_cobs_vectors(vector):
    data, stuffed = bytes.fromhex(vector["data"]), bytes.fromhex(vector["stuffed"])
    assert stuff(data) == stuffed
    assert unstuff(stuffed) == data


@FUZZ
@given(st.binary(max_size=253))
def test_cobs_has_no_zero_and_comes_back(data):
    stuffed = stuff(data)
    assert stuffed == stuff_byte_by_byte(data)
    assert 0 not in stuffed
    assert unstuff(stuffed) == data


# -- the decoder under fire ----------------------------------------------------------------------------


def chunks(data: bytes, cuts):
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in zip(edges, edges[1:])]


@FUZZ
@given(st.binary(max_size=400), st.lists(st.integers(0, 1000), max_size=8))
def test_decoder_never_raises_and_chunks_do_not_matter(noise, cuts):
    whole, pieces = FrameDecoder(), FrameDecoder()
    frames = whole.feed(noise)
    assert [frame for chunk in chunks(noise, cuts) for frame in pieces.feed(chunk)] == frames
    assert pieces.broken == whole.broken


@golden("frames", "name")
def test_no_single_flipped_bit_goes_unnoticed(vector):
    sent, after = wire(vector), encode(Hello(), 77)
    for bit in range(8 * (len(sent) - 1)):
        flipped = bytearray(sent)
        flipped[bit // 8] ^= 1 << bit % 8
        decoder = FrameDecoder()
        assert decoder.feed(bytes(flipped) + after) == [(77, Hello())], f"bit {bit}"
        assert decoder.broken >= 1


def test_a_stream_joined_in_its_middle_is_no_damage():
    sent = encode(POINT, 9)
    decoder = FrameDecoder(in_step=False)
    assert decoder.feed(sent[5:] + sent) == [(9, POINT)]
    assert decoder.broken == 0


def test_oversize_is_counted_once():
    decoder = FrameDecoder()
    assert decoder.feed(b"\x22" * 1000) == []
    assert decoder.feed(b"\0" + encode(Stop(), 3)) == [(3, Stop())]
    assert decoder.broken == 1


@FUZZ
@given(st.sampled_from(sorted(MESSAGES)), st.binary(max_size=64))
def test_any_payload_is_understood_or_unknown(type_id, payload):
    [(_, message)] = FrameDecoder().feed(build(PROTOCOL_VERSION, type_id, 0, payload))
    if isinstance(message, Unknown):
        assert message.reason is Reason.BAD_LENGTH
        return
    assert message.TYPE == type_id
    pulses = getattr(message, "pulses", ())
    if len(pulses) <= JOINTS_MAX and max(pulses, default=0) <= PULSE_MAX:  # this side would not send others
        assert FrameDecoder().feed(encode(message, 0)) == [(0, message)]


# -- what may not be sent ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        SetPoint(-1, (12000,)),
        SetPoint(2**32, (12000,)),
        SetPoint(0.5, (12000,)),
        SetPoint(0, (12000.0,)),
        SetPoint(0, (float("nan"),)),
        SetPoint(0, (PULSE_MAX + 1,)),
        SetPoint(0, (-1,)),
        SetPoint(0, (12000,) * 9),
        SetPoint(0, None),
        Enable(256, (12000,)),
        TelemetryPeriod(65536),
        Nack(1, 2, None, 0),
    ],
    ids=repr,
)
def test_values_that_do_not_fit_are_refused(message):
    with pytest.raises(InputError):
        encode(message, 0)


# -- codes ---------------------------------------------------------------------------------------------


def test_pulse_units_round_to_nearest_and_refuse_nonsense():
    assert pulse_units(1500.0) == 12000
    assert pulse_units(1500.07) == 12001
    assert pulse_units(0.0) == 0
    for pulse_us in (-0.1, 4096.0, float("nan"), float("inf")):
        with pytest.raises(InputError):
            pulse_units(pulse_us)


def test_faults_in_words():
    bits = Fault.HOST_LOST.bit | Fault.OUTPUT_FAILED.bit | 1 << 15
    assert faults_in(bits) == (Fault.HOST_LOST, Fault.OUTPUT_FAILED)
    text = describe_faults(bits)
    assert "fault 2 HOST_LOST" in text and "fault 4 OUTPUT_FAILED" in text and "fault 16 (unknown" in text
    assert describe_faults(0) == ""


@FUZZ
@given(st.integers(0, 2**32 - 1), st.integers(-(2**31), 2**31 - 1))
def test_time_difference_is_serial_number_arithmetic(start, difference):
    assert ahead_us((start + difference) % 2**32, start) == difference


@golden("limits_checksum", "crc")
def test_limits_checksum(vector):
    limits = [JointLimits(*four) for four in vector["limits"]]
    assert limits_checksum(limits) == int(vector["crc"], 16)
    table = b"".join(struct.pack("<4H", *four) for four in vector["limits"])
    assert limits_checksum(limits) == crc_bit_by_bit(table)


def test_limits_from_microseconds():
    limits = JointLimits.from_us(500.0, 2500.0, 4762.0)
    assert (limits.lowest, limits.highest) == (4000, 20000)
    assert limits.speed == 762  # 4762 us/s in 20 ms, times 8
    assert limits.brake == 77  # standstill in ten frames at most
    assert -(-limits.speed // limits.brake) * 0.020 <= 0.2
    assert JointLimits.from_us(500.0, 2500.0, 1.0).brake == 1


@pytest.mark.parametrize(
    "four", [(0, 10, 1, 1), (10, 10, 1, 1), (1, PULSE_MAX + 1, 1, 1), (1, 10, 0, 1), (1, 10, 5, 0), (1, 10, 5, 6)]
)
def test_limits_that_make_no_sense_are_refused(four):
    with pytest.raises(InputError):
        JointLimits(*four)
