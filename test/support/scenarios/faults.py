"""What must not happen when something breaks, when a person stops the arm, or when somebody sends nonsense."""

from __future__ import annotations

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from sensor_msgs.msg import JointState

from picker_dynamics.errors import PickerError
from picker_dynamics.nodes.runtime import to_stamp

from .bench import (
    ALL,
    HOME,
    NAMES,
    PATIENCE_S,
    STILL,
    Watch,
    at_home,
    ends,
    hardware_figures,
    is_where_it_was,
    moved,
    publishing,
    stands,
    start_swinging,
    until,
    until_hardware,
)


def stops_and_resumes_nothing(client, board) -> None:
    """emergency_stop in mid-motion: decelerate, hold, latch; reset moves nothing; enable starts from the held pose."""
    at_home(client, board)  # before the watch: what a fault left behind is no part of this
    with Watch(board):
        name = start_swinging(client, board)
        client.switch("emergency_stop", True)
        assert "stopped" in ends(client, name, "aborted")
        until(client, lambda: "STOPPED" in board.truth().faults and board.truth().state == "HOLD", "a board that holds")
        held = stands(client, board)
        assert held[0] < 0.8, "it did not go on to the end"
        assert client.hardware["state"] == "idle" and client.hardware["stop_latched"] == "true"
        with pytest.raises(PickerError, match="only latches"):
            client.switch("emergency_stop", False)
        with pytest.raises(PickerError, match="stop is latched"):
            client.switch("enable", True)
        client.trigger("reset")
        until(client, lambda: client.hardware["stop_latched"] == "false", "reset")
        until(client, lambda: board.truth().faults == (), "a board without faults")
        client.spin(0.3)  # time in which it could resume
        assert client.hardware["state"] == "idle"
        is_where_it_was(client, board, held)
        assert "adopted" in client.switch("enable", True)
        client.wait_holding(PATIENCE_S)
        is_where_it_was(client, board, held, tolerance=0.02)


def resumes_after_reset_and_enable(client, why: str) -> None:
    """A fault that was noticed while commands were followed is latched."""
    assert client.hardware["reset_needed"] == "true" and client.hardware["outputs"] == "running"
    with pytest.raises(PickerError, match=f"{why}.*: call reset first"):
        client.switch("enable", True)
    client.trigger("reset")
    assert "adopted" in client.trigger("adopt")


def survives_a_board_reset_in_mid_motion(client, board) -> None:
    """The outputs stay as they are, everyone says why, and the arm goes on only when it is told."""
    at_home(client, board)
    boot = board.truth().boot_id
    with Watch(board):
        name = start_swinging(client, board)
        board.reset(keep_outputs=True)
        assert f"the board was reset (boot id {boot} -> {boot + 1})" in ends(client, name, "aborted")
        held = board.truth().setpoint
        client.spin(0.3)
        truth = board.truth()
        np.testing.assert_array_equal(truth.setpoint, held)
        assert (truth.live, truth.owned) == (ALL, 0) and client.hardware["state"] == "idle"
        resumes_after_reset_and_enable(client, "board was reset")
        client.wait_holding(PATIENCE_S)


def survives_a_pulled_cable(client, board) -> None:
    """One second without a cable, in mid-motion: the board holds, the link comes back, nothing moves until enable."""
    at_home(client, board)  # before the watch: what a fault left behind is no part of this
    with Watch(board):
        name = start_swinging(client, board)
        board.unplug(1.0)
        assert "cable pulled" in ends(client, name, "aborted")
        until_hardware(client, "idle")
        held = board.truth()
        client.spin(0.3)
        truth = board.truth()
        np.testing.assert_array_equal(truth.setpoint, held.setpoint)
        assert truth.live == ALL and client.hardware["state"] == "idle" and np.abs(truth.v).max() < STILL
        resumes_after_reset_and_enable(client, "cable pulled")
        client.wait_holding(PATIENCE_S)
        np.testing.assert_allclose(stands(client, board), truth.q, atol=0.02)


def refuses_illegal_transitions_and_lives(client, board) -> None:
    """rclpy would let an illegal lifecycle request kill the node; the guard answers it."""
    before = at_home(client, board)

    def change(number: int) -> bool:
        return client.call(ChangeState, "hardware/change_state", ChangeState.Request(transition=Transition(id=number))).success

    def state() -> str:
        return client.call(GetState, "hardware/get_state", GetState.Request()).current_state.label

    for illegal in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_CLEANUP, 99):
        assert change(illegal) is False
        assert state() == "active"
    assert change(Transition.TRANSITION_DEACTIVATE) is True
    until_hardware(client, "idle")
    assert change(Transition.TRANSITION_DEACTIVATE) is False
    is_where_it_was(client, board, before)
    assert change(Transition.TRANSITION_ACTIVATE) is True
    client.wait_holding(PATIENCE_S)
    assert state() == "active"
    is_where_it_was(client, board, before, tolerance=0.02)


def ignores_commands_that_do_not_fit(client, board) -> None:
    """Straight to the hardware node, past the validator: of a stranger nothing is sent, whatever it is, and it is counted."""
    before = at_home(client, board)
    cases = ((moved(base=0.5), NAMES, 0.0), (HOME, NAMES, 5.0), (moved(base=np.nan), NAMES, 0.0), (HOME[:-1], NAMES[:-1], 0.0))
    with publishing(client, JointState, "joint_commands") as intruder:
        counts, figures = hardware_figures(client), {}

        def counted() -> bool:
            """The other commands, 100 a second, take the only place in the queue from most of these."""
            for position, names, late in cases:
                message = JointState(name=list(names), position=position.tolist())
                for _ in range(20):
                    to_stamp(message.header.stamp, client.get_clock().now().nanoseconds * 1e-9 + 0.06 - late)
                    intruder.publish(message)
                    client.spin(0.005)
            figures.update(hardware_figures(client))
            return figures["commands_foreign"] > counts["commands_foreign"] + len(cases)

        until(client, counted, "commands of a stranger")
        assert figures["commands_sent"] > counts["commands_sent"]
        is_where_it_was(client, board, before)
