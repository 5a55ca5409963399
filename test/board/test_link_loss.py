"""The link lost and found: cable pulled, board silent, reset, or deaf."""

import threading

import pytest
from board_on_pty import MIDDLE, PATIENCE_S
from waiting import until

from picker_dynamics.board.link import Link, connection
from picker_dynamics.board.protocol import Ack, FrameDecoder, Ping, Stop
from picker_dynamics.errors import LinkError

# -- loss and return -----------------------------------------------------------------------------------


def test_a_pulled_cable_is_reported_everywhere(board):
    link = Link(board.port)
    link.open()
    try:
        with board.deaf():
            waiting = link.request_async(Stop(), PATIENCE_S)
            board.unplug()
        until(lambda: link.lost, "loss")
        assert "is gone, was the cable pulled?" in str(link.lost)
        with pytest.raises(LinkError, match="cable pulled"):
            waiting.result(PATIENCE_S)
        with pytest.raises(LinkError, match="cable pulled"):
            link.send_setpoint(0, MIDDLE)
        assert not link.connected
        assert (link.statistics.losses, link.statistics.setpoints_not_sent) == (1, 1)
    finally:
        link.close()


def test_a_board_that_falls_silent_is_lost(board, monkeypatch):
    monkeypatch.setattr(connection, "SILENCE_S", 0.3)
    with Link(board.port) as link:
        board.paused = True
        until(lambda: link.lost, "loss")
        board.paused = False
    assert "is silent for 0.3 s" in str(link.lost)


def test_a_link_whose_thread_fails_is_lost_and_can_be_connected_again(board, monkeypatch, caplog):
    """Its decoder fails: no bytes are known on which that of the protocol would."""
    failing = threading.Event()

    class Decoder(FrameDecoder):
        def feed(self, data):
            if failing.is_set():
                raise ArithmeticError("broken")
            return super().feed(data)

    monkeypatch.setattr(connection, "FrameDecoder", Decoder)
    link = Link(board.port)
    link.open()
    try:
        failing.set()
        until(lambda: link.lost, "loss")
        assert isinstance(link.lost, LinkError) and str(link.lost) == f"the link to {board.port} failed: ArithmeticError: broken"
        assert not link.connected
        with pytest.raises(LinkError, match="failed: ArithmeticError: broken"):
            link.send_setpoint(0, MIDDLE)
        (record,) = [one for one in caplog.records if one.name == connection.__name__]
        assert record.levelname == "ERROR" and record.exc_info
        failing.clear()
        link.close()
        link.open(PATIENCE_S)
        assert link.connected and link.statistics.losses == 1
    finally:
        link.close()


def test_a_board_that_takes_no_data_fails_loudly_and_bounded(link, board):
    board.paused = True
    with pytest.raises(LinkError, match="takes no data"):
        for _ in range(50_000):
            link.send_setpoint(0, MIDDLE)
    assert link.statistics.setpoints_not_sent == 1
    board.paused = False
    sent = link.statistics.setpoints_sent
    until(lambda: link.telemetry.rejected == sent & 0xFFFF, "what was taken to arrive")
    assert isinstance(link.request(Ping(), PATIENCE_S), Ack), "and it goes on"
