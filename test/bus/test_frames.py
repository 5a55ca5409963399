"""Frames and registers against the maker's own examples, typed from there, never against our encoder.

Sources: Feetech, "Servo SCS Communication Protocol" (FT-SCS), examples 1 to 8 and the sections named; byte order and signs of
registers: its memory tables of STS, SMS and SCSCL servos.
"""

import pytest

from picker_dynamics.bus import frames
from picker_dynamics.bus.dialects import SCS, STS
from picker_dynamics.bus.frames import Frame


def raw(text: str) -> bytes:
    return bytes.fromhex(text)


REQUESTS = {
    "1: ping": (frames.encode(Frame(1, frames.PING, b"")), "FF FF 01 02 01 FB"),
    "2: position": (frames.read(1, *STS.span("present_position", "present_position")), "FF FF 01 04 02 38 02 BE"),
    "3: id by broadcast": (frames.write(frames.BROADCAST, *STS.block({"id": 1})), "FF FF FE 04 03 05 01 F4"),
    "4: goal": (
        frames.write(1, *STS.block({"goal": 2048, "goal_time": 0, "speed": 1000})),
        "FF FF 01 09 03 2A 00 08 00 00 E8 03 D5",
    ),
    "7: goals of four": (
        frames.sync_write(0x2A, dict.fromkeys((1, 2, 3, 4), STS.block({"goal": 2048, "goal_time": 0, "speed": 1000})[1])),
        "FF FF FE 20 83 2A 06 01 00 08 00 00 E8 03 02 00 08 00 00 E8 03 03 00 08 00 00 E8 03 04 00 08 00 00 E8 03 58",
    ),
    "8: two servos": (
        frames.sync_read((1, 2), *STS.span("present_position", "present_temperature")),
        "FF FF FE 06 82 38 08 01 02 36",
    ),
}


@pytest.mark.parametrize("example", REQUESTS)
def test_requests_are_those_of_the_manual(example):
    made, printed = REQUESTS[example]
    assert made == raw(printed)


def test_replies_of_the_manual_are_read():
    assert frames.take(bytearray(raw("FF FF 01 02 00 FC"))) == ([Frame(1, 0, b"")], 0)
    ((reply,), _) = frames.take(bytearray(raw("FF FF 01 04 00 18 05 DD")), 2)
    assert STS.decode("present_position", reply.data, 0x38) == 1304
    text = "FF FF 01 0A 00 00 08 00 00 00 00 79 1E 55  FF FF 02 0A 00 FF 07 00 00 00 00 77 23 53"
    (first, second), damaged = frames.take(bytearray(raw(text)), 8)
    read = [
        [STS.decode(name, one.data, 0x38) for name in ("present_position", "present_voltage", "present_temperature")]
        for one in (first, second)
    ]
    assert (read, damaged) == ([[2048, 121, 30], [2047, 119, 35]], 0)


@pytest.mark.parametrize(
    ("dialect", "name", "value", "printed"),
    [
        (STS, "goal", 2048, "00 08"),  # example 4
        (STS, "goal", -100, "64 80"),  # bit 15 is the direction
        (STS, "present_load", -500, "F4 05"),  # bit 10 is the direction
        (STS, "offset", -1, "01 08"),  # 2048 to 4095 are 0 to -2047
        (STS, "torque_limit", 1000, "E8 03"),
        (SCS, "goal", 512, "02 00"),  # section 1: high byte first where a potentiometer measures
    ],
)
def test_registers_are_encoded_as_the_tables_say(dialect, name, value, printed):
    assert dialect.encode(name, value) == raw(printed)
    assert dialect.decode(name, raw(printed), dialect.registers[name].address) == value


def test_what_does_not_fit_a_register_is_an_error():
    with pytest.raises(OverflowError):
        STS.encode("goal", 1 << 15)
    with pytest.raises(OverflowError):
        STS.encode("torque", 256)


REPLY = raw("FF FF 01 04 00 18 05 DD")


@pytest.mark.parametrize("bit", range(8))
@pytest.mark.parametrize("place", range(len(REPLY)))
def test_a_reply_with_a_wrong_bit_is_dropped_and_the_next_one_read(place, bit):
    harmed = bytearray(REPLY)
    harmed[place] ^= 1 << bit
    buffer = harmed + REPLY
    found, damaged = frames.take(buffer, 2)
    assert found == [Frame(1, 0, raw("18 05"))] and damaged and not buffer


@pytest.mark.parametrize("kept", range(len(REPLY)))
def test_a_reply_that_breaks_off_takes_no_other_with_it(kept):
    found, _ = frames.take(bytearray(REPLY[:kept] + raw("FF FF 02 04 00 18 05 DC")), 2)
    assert found == [Frame(2, 0, raw("18 05"))]


def test_a_frame_that_has_begun_waits_for_its_end():
    buffer = bytearray(REPLY[:-1])
    assert frames.take(buffer, 2) == ([], 0)
    buffer += REPLY[-1:]
    assert frames.take(buffer, 2) == ([Frame(1, 0, raw("18 05"))], 0)


def test_faults_are_named():
    assert STS.said(0) == "" and STS.said(0x20 | 0x04 | 0x01) == "voltage, overheated, overload"
    assert STS.said(0x40) == "fault bit 6"
