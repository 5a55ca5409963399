"""The gate on requests that could undo a stop (``test/session`` and ``test/nodes`` ask a whole arm)."""

import pytest

from picker_dynamics.board.request_gate import SETTLE_S, RequestGate
from picker_dynamics.errors import BoardFaultError


def test_it_opens_when_it_is_time_and_a_whole_look_has_passed_in_which_nothing_was_refused():
    gate = RequestGate()
    gate.require_open()
    gate.close(10.0)
    assert not gate.settle(10.0 + 0.9 * SETTLE_S) and gate.settling
    with pytest.raises(BoardFaultError, match="stopped after this was asked: look at the arm, then ask again"):
        gate.require_open()
    assert not gate.settle(10.0 + SETTLE_S), "a look begins"
    with pytest.raises(BoardFaultError):
        gate.require_open()
    assert not gate.settle(10.0 + 1.1 * SETTLE_S), "something waited"
    assert gate.settle(10.0 + 1.2 * SETTLE_S) and not gate.settling
    gate.require_open()
