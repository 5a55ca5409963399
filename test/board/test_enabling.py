"""Enabling without a board: what it asks for, and when it says that all outputs run."""

from concurrent.futures import Future
from dataclasses import replace

import pytest
from arm_fixtures import servos

from picker_dynamics.board.enabling import PATIENCE_S, Enabling
from picker_dynamics.board.protocol import Ack, BoardState, Reason, Telemetry
from picker_dynamics.errors import PickerError

SERVOS, PERIOD_S = servos(), 0.3
ALL = (1 << SERVOS.n) - 1
OFF = Telemetry(0, 0, 0, BoardState.IDLE, 0, 0, 0, 0, 0, 0, 0, Reason.NONE, 0, 0, 0, 0, (), (None,) * SERVOS.n)


class Answers:
    """A board that answers at once."""

    def __init__(self):
        self.asked = []

    def request_async(self, message, _patience_s):
        self.asked.append(message)
        answer = Future()
        answer.set_result(Ack(0, 0, 0))
        return answer


@pytest.fixture
def enabled():
    """All joints were asked for and answered, and telemetry of the last one is yet to come."""
    board = Answers()
    enabling, seen, now_s = Enabling(board, SERVOS, PERIOD_S, at_rest_pose=True), OFF, 0.0
    while len(board.asked) < SERVOS.n:
        assert not enabling.advance(seen, now_s)
        now_s += 0.01
        if board.asked[-1].mask != 1 << (SERVOS.n - 1):
            seen = replace(seen, live=seen.live | board.asked[-1].mask)
    assert seen.live == ALL >> 1
    return enabling, seen, now_s + PERIOD_S


def test_it_has_ended_when_telemetry_says_that_the_last_output_runs(enabled):
    """Nobody knows its pulse before: a late telemetry, of a starved process, must not be taken for the present."""
    enabling, before, now_s = enabled
    assert not enabling.advance(before, now_s) and not enabling.advance(before, now_s + PERIOD_S)
    assert enabling.advance(replace(before, live=ALL), now_s + PERIOD_S)


def test_an_output_that_stays_off_although_it_was_switched_on_is_named(enabled):
    enabling, before, now_s = enabled
    enabling.advance(before, now_s)
    with pytest.raises(PickerError, match="scissor was switched on and its output does not run") as caught:
        enabling.advance(before, now_s + PERIOD_S + 2.0 * PATIENCE_S)
    assert caught.value.subject == "scissor"
