"""Requests, set-points, retransmission and refusals, with and without a port."""

import time

import pytest
from board_on_pty import ALL, MIDDLE, PATIENCE_S
from waiting import until

from picker_dynamics.board.link import RefusedError
from picker_dynamics.board.protocol import Ack, Enable, Fault, FrameDecoder, MessageType, Reason, Reset, Stop
from picker_dynamics.errors import BoardFaultError, LinkError

# -- requests and set-points ---------------------------------------------------------------------------


def test_a_refused_request_names_joint_and_reason(link, board):
    with pytest.raises(RefusedError, match=r"refuses ENABLE \(joint elbow\): a pulse is outside") as caught:
        link.request(Enable(ALL, (12000, 12000, 3000, 12000, 12000)))
    assert caught.value.reason is Reason.OUT_OF_LIMITS
    assert caught.value.subject == "elbow"
    assert board.firmware.live == 0


def test_a_request_refused_for_a_fault_names_the_fault(link):
    link.request(Stop())
    with pytest.raises(BoardFaultError, match="fault 1 STOPPED"):
        link.request(Enable(ALL, MIDDLE))
    until(lambda: link.telemetry.faults == Fault.STOPPED.bit, "telemetry with the stop")
    link.request(Reset())
    assert isinstance(link.request(Enable(ALL, MIDDLE)), Ack)


def test_a_refused_set_point_is_told_and_counted(link, board):
    told = []
    link.on_refused = told.append
    link.send_setpoint(link.board_time_us(time.monotonic() + 0.1), MIDDLE)
    until(lambda: told, "refusal")
    assert isinstance(told[0], RefusedError) and told[0].reason is Reason.NOT_ENABLED
    until(lambda: link.telemetry.rejected == 1, "telemetry with the refusal")
    assert link.statistics.setpoints_refused == {Reason.NOT_ENABLED: 1}
    assert link.telemetry.last_reason is Reason.NOT_ENABLED


def drop_once(board, direction, wanted):
    """Let the first frame whose message is ``wanted`` get lost on its way; the list tells when it was."""
    lost = []

    def filtered(data):
        kept = bytearray()
        for chunk in data.split(b"\0")[:-1]:  # both sides write whole frames
            frames = FrameDecoder().feed(chunk + b"\0")
            if not lost and any(wanted(message) for _, message in frames):
                lost.append(chunk)
            else:
                kept += chunk + b"\0"
        return bytes(kept)

    with board.lock:
        setattr(board, f"wire_{direction}", filtered)
    return lost


@pytest.mark.parametrize(
    ("direction", "wanted"),
    [
        ("in", lambda message: message.TYPE == MessageType.ENABLE),
        ("out", lambda message: isinstance(message, Ack) and message.request_type == MessageType.ENABLE),
    ],
    ids=["request", "answer"],
)
def test_a_lost_frame_is_sent_again_and_carried_out_once(link, board, direction, wanted):
    lost = drop_once(board, direction, wanted)
    assert isinstance(link.request(Enable(ALL, MIDDLE), PATIENCE_S), Ack)  # twice would be ALREADY_LIVE
    assert lost and link.statistics.retransmissions >= 1
    assert board.firmware.owned == ALL


def test_no_answer_fails_with_the_number_of_attempts(link, board):
    with board.deaf(), pytest.raises(LinkError, match=r"no answer from the board to STOP: [0-9]+ attempts in 0\.35 s"):
        link.request(Stop(), 0.35)
