"""Corners of the contract that the golden frames leave out, on both firmwares: the Python one and the C++ core."""

import pytest
from firmware_bench import ALL, CONFIG, MIDDLE
from firmware_host import HostFirmware
from firmware_tools import require

from picker_dynamics.board.protocol import (
    Ack,
    Disable,
    Enable,
    Fault,
    FrameDecoder,
    Hello,
    Info,
    MessageType,
    Nack,
    Reason,
    Reset,
    SetPoint,
    Stop,
    Telemetry,
    TelemetryPeriod,
    encode,
)
from picker_dynamics.board.protocol.framing import build
from picker_dynamics.sim.firmware_core import VirtualFirmware

require("host")


@pytest.fixture(params=[VirtualFirmware, HostFirmware], ids=["python", "c++"])
def board(request):
    firmware = request.param(CONFIG)
    firmware.advance(1000)
    firmware.transmit()
    yield firmware
    getattr(firmware, "close", lambda: None)()


def sent(board):
    return [message for _, message in FrameDecoder().feed(board.transmit())]


def say(board, message, sequence=0):
    """What the board answers at once to a message or to bytes, telemetry left out."""
    board.receive(message if isinstance(message, bytes) else encode(message, sequence), 1000)
    return [message for message in sent(board) if not isinstance(message, Telemetry)]


def test_what_cannot_be_understood_is_not_remembered_as_a_request(board):
    [answer] = say(board, Stop(), 10)
    assert isinstance(answer, Ack)
    for kind, payload in (
        (MessageType.ACK, bytes(7)),
        (MessageType.ACK, b""),
        (MessageType.RESET, b"1"),
        (MessageType.ENABLE, bytes(9)),
        (0x55, bytes(60)),
    ):
        [answer] = say(board, build(1, kind, 11, payload))
        known = kind < 0x80 and kind != 0x55
        assert answer == Nack(11, kind, Reason.BAD_LENGTH if known else Reason.UNKNOWN_TYPE, 0)
    assert isinstance(say(board, Reset(), 11)[0], Ack)
    assert board.faults == 0  # it was carried out: number 11 had been free


@pytest.mark.parametrize("payload", [b"", bytes(5), bytes(8), bytes(9), bytes(40)], ids=len)
def test_a_set_point_of_any_other_length_is_counted_as_refused(board, payload):
    [answer] = say(board, build(1, MessageType.SET_POINT, 3, payload))
    assert answer == Nack(3, MessageType.SET_POINT, Reason.BAD_LENGTH, 0)
    board.advance(21_000)
    telemetry = sent(board)[-1]
    assert (telemetry.accepted, telemetry.rejected, telemetry.last_reason) == (0, 1, Reason.BAD_LENGTH)


def test_a_shorter_period_that_is_over_already_starts_now(board):
    say(board, TelemetryPeriod(1000), 1)  # next telemetry at 1 000 000
    board.advance(700_000)
    assert sent(board) == []
    board.receive(encode(TelemetryPeriod(50), 2), 700_000)
    board.advance(700_000)
    board.advance(790_000)
    assert [message.time_us for message in sent(board) if isinstance(message, Telemetry)] == [700_000, 750_000]


def test_a_longer_period_counts_from_the_telemetry_sent_last(board):
    board.receive(encode(TelemetryPeriod(300), 1), 10_000)
    board.advance(700_000)
    assert [message.time_us for message in sent(board) if isinstance(message, Telemetry)] == [300_000, 600_000]


def test_hello_forgets_and_moves_nothing(board):
    say(board, Enable(ALL, MIDDLE), 1)
    assert isinstance(say(board, Hello(), 1)[0], Info)
    assert board.owned == ALL
    [answer] = say(board, Enable(ALL, MIDDLE), 1)  # not taken for the one before
    assert answer == Nack(1, MessageType.ENABLE, Reason.ALREADY_LIVE, 0)


def test_a_cause_that_stays_makes_reset_fail_and_disable_work(board):
    say(board, Enable(ALL, MIDDLE), 1)
    board.set_cause(Fault.OUTPUT_FAILED, True)
    [answer] = say(board, Reset(), 2)
    assert answer == Nack(2, MessageType.RESET, Reason.FAULT_PERSISTS, Fault.OUTPUT_FAILED.bit)
    assert say(board, SetPoint(60_000, MIDDLE), 3) == [Nack(3, MessageType.SET_POINT, Reason.FAULT, Fault.OUTPUT_FAILED.bit)]
    assert isinstance(say(board, Disable(ALL), 4)[0], Ack)
    assert board.live == 0
    board.set_cause(Fault.OUTPUT_FAILED, False)
    assert isinstance(say(board, Reset(), 5)[0], Ack)
