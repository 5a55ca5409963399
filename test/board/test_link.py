"""The link against a VirtualFirmware on a real pseudo-terminal.  No wall-clock figure is asserted, only order."""

import os
import random
import termios
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import serial
from board_on_pty import PATIENCE_S, BoardOnPty, speaker
from waiting import until

from picker_dynamics.board.link import Link
from picker_dynamics.board.protocol import PROTOCOL_VERSION, Ping
from picker_dynamics.board.protocol.framing import build
from picker_dynamics.errors import LinkError, VersionError

# -- opening -------------------------------------------------------------------------------------------


def test_nothing_is_sent_before_the_board_speaks():
    with BoardOnPty() as board:
        with board.lock:
            board.reset(silence_us=400_000)
            board.firmware.transmit()
            board.received.clear()
        link = Link(board.port)
        opened = ThreadPoolExecutor().submit(link.open, PATIENCE_S)
        heard_before_it_spoke = b""
        while not opened.done():
            with board.lock:
                if board.firmware.board_time_us(board.now_us()) > 2**31:  # still in its boot loader
                    heard_before_it_spoke = bytes(board.received)
            time.sleep(0.005)
        assert heard_before_it_spoke == b""
        assert opened.result().joints == 5
        link.close()


def not_opened(port, why, *timeout_s):
    with pytest.raises(LinkError, match=why):
        Link(str(port)).open(*timeout_s)


def test_no_such_port(tmp_path):
    not_opened(tmp_path / "nothing", f"no serial port {tmp_path}/nothing")


def test_busy_port(link, board):
    not_opened(board.port, "is busy: another program has it open")
    assert link.connected


def test_no_permission(monkeypatch):
    def refuse(*_, **__):
        raise serial.SerialException(13, "Permission denied")

    monkeypatch.setattr(serial, "Serial", refuse)
    not_opened("/dev/ttyX", "no permission to open /dev/ttyX: add yourself to its group")


def test_silent_board():
    with speaker(lambda: b"") as port:
        not_opened(port, r"is silent for 0\.2 s", 0.2)


@pytest.mark.parametrize(
    "say", [lambda: b"ok T:21.3 /0.0\r\n", lambda: random.Random(1).randbytes(50), lambda: b"\0"], ids=["text", "noise", "zeros"]
)
def test_a_board_that_speaks_something_else(say):
    with speaker(say) as port:
        not_opened(port, "speaks something else: [0-9]+ bytes at 500000", 0.3)


def test_a_board_with_another_protocol_version():
    with speaker(lambda: build(PROTOCOL_VERSION + 1, 0x84, 5, b"whatever")) as port:
        said = f"speaks protocol version {PROTOCOL_VERSION + 1}, this program {PROTOCOL_VERSION}"
        with pytest.raises(VersionError, match=said) as caught:
            Link(port).open(PATIENCE_S)
    assert (caught.value.value, caught.value.limit) == (PROTOCOL_VERSION + 1, PROTOCOL_VERSION)


def test_closing_will_not_drop_the_line_that_resets_a_board(link, board):
    port = os.open(board.port, os.O_RDWR | os.O_NOCTTY)
    try:
        assert not termios.tcgetattr(port)[2] & termios.HUPCL
    finally:
        os.close(port)


# -- callbacks -----------------------------------------------------------------------------------------


def test_telemetry_is_handed_on_and_a_failing_callback_is_logged_not_fatal(link, caplog):
    seen = []

    def callback(telemetry, host_s):
        seen.append((telemetry, host_s))
        raise RuntimeError("a bug in the callback")

    link.on_telemetry = callback
    until(lambda: len(seen) > 3, "telemetry")
    assert "a callback of the serial link failed" in caplog.text
    assert all(a[1] <= b[1] for a, b in zip(seen, seen[1:]))
    link.request(Ping(), PATIENCE_S)
