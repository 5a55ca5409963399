"""Parking: the hardware node brings the arm to its rest pose alone, slowly, and gives up where it has to."""

from __future__ import annotations

import numpy as np
import pytest
from arm_fixtures import picker, rigid_body, servos
from board_on_pty import NAMES, BoardOnPty, wait_until

from picker_dynamics.board.firmware.config import FirmwareConfig, board_limits
from picker_dynamics.board.hardware_session import HardwareSession, State
from picker_dynamics.board.link import Link
from picker_dynamics.board.protocol import BoardState, Fault
from picker_dynamics.control.state_model import ArmStateModel
from picker_dynamics.errors import BoardFaultError, InfeasibleError
from picker_dynamics.nodes.park import TIP_SPEED, park

SERVOS = servos()
REST = np.array(SERVOS.rest)
START = REST + [0.4, -0.2, 0.2, 0.3, 0.5]


class Parking:
    """A session that holds ``START``, and all that its board said while it parks."""

    def __init__(self, board: BoardOnPty):
        self.board, self.said = board, []
        link = Link(board.port, joint_names=NAMES, on_telemetry=lambda telemetry, _: self.said.append(telemetry))
        self.session = HardwareSession(link, SERVOS, ArmStateModel(rigid_body(), SERVOS.model, REST))
        self.session.connect()
        self.session.activate(at_rest_pose=False)

    def setpoints(self) -> tuple[np.ndarray, np.ndarray]:
        """Board time [s] and set-points [rad] of every telemetry so far."""
        times = np.array([telemetry.time_us for telemetry in self.said]) * 1e-6
        return times, SERVOS.to_angle(np.array([telemetry.pulses_us for telemetry in self.said], dtype=float))

    def moving(self) -> bool:
        return bool(self.said) and np.abs(self.setpoints()[1][-1] - START).max() > 0.05


@pytest.fixture
def parking():
    pulses = np.round(8.0 * SERVOS.to_pulse_us(START)) / 8.0
    with BoardOnPty(FirmwareConfig(board_limits(SERVOS), host_timeout_ms=10_000), found_us=pulses.tolist()) as board:
        made = Parking(board)
        yield made
        made.session.disconnect()


def test_the_arm_ends_at_its_rest_pose_and_was_never_fast(parking):
    took = park(parking.session, picker())
    assert took > 0.5
    wait_until(lambda: parking.said[-1].state is BoardState.HOLD, "standstill")
    times, setpoints = parking.setpoints()
    borne = parking.session.model.settle(setpoints[-1])
    np.testing.assert_allclose(borne, REST, atol=2.0 * SERVOS.model.deadband.max())
    apart = np.searchsorted(times, times + 0.1)
    tips = rigid_body().forward_kinematics(setpoints)
    speeds = [np.linalg.norm(tips[j] - tips[i]) / (times[j] - times[i]) for i, j in enumerate(apart) if j < len(times)]
    assert 0.2 * TIP_SPEED < max(speeds) < 1.3 * TIP_SPEED
    assert parking.session.counts.sent > 0 and parking.session.counts.away == 0


def test_a_second_signal_ends_it_where_it_is(parking):
    with pytest.raises(BoardFaultError, match="told to end at once; holding"):
        park(parking.session, picker(), hurried=parking.moving)
    wait_until(lambda: parking.said[-1].state is BoardState.HOLD and parking.said[-1].faults == Fault.STOPPED.bit, "stop")
    _, setpoints = parking.setpoints()
    assert np.abs(setpoints[-1] - REST).max() > 0.1, "it did not go on"


def test_a_fault_on_the_way_ends_it_and_is_named(parking):
    def break_down() -> bool:
        if parking.moving():
            with parking.board.lock:
                parking.board.firmware.set_cause(Fault.OUTPUT_FAILED, True)
        return False

    with pytest.raises(BoardFaultError, match="not parked: fault 4 OUTPUT_FAILED"):
        park(parking.session, picker(), hurried=break_down)
    assert parking.session.state is State.IDLE


def test_a_way_that_cannot_be_borne_is_not_taken(parking):
    parking.session.model.model = rigid_body().with_payload(0.5)
    before = parking.session.link.telemetry.pulses
    with pytest.raises(InfeasibleError):
        park(parking.session, picker())
    heard = len(parking.said)
    wait_until(lambda: len(parking.said) > heard + 3, "telemetry")
    assert parking.said[-1].pulses == before
