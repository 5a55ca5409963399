"""Parking: the hardware node brings the arm to its rest pose alone, slowly, and gives up where it has to."""

from __future__ import annotations

import numpy as np
import pytest
import session_bench
from arm_fixtures import picker, rigid_body
from session_bench import SERVOS, Rig, make_board
from waiting import until

from picker_dynamics.board.protocol import BoardState, Fault
from picker_dynamics.board.session import State
from picker_dynamics.errors import BoardFaultError, InfeasibleError
from picker_dynamics.nodes.park import TIP_SPEED, park

unhurried = session_bench.unhurried
REST = np.array(SERVOS.rest)
START = REST + [0.4, -0.2, 0.2, 0.3, 0.5]


class Parking(Rig):
    """A session that holds ``START``, and all that its board said while it parks."""

    def setpoints(self) -> tuple[np.ndarray, np.ndarray]:
        """Board time [s] and set-points [rad] of every telemetry so far."""
        times, pulses, _ = (np.array(column) for column in zip(*self.history))
        return times * 1e-6, SERVOS.to_angle(pulses / 8.0)

    def moving(self) -> bool:
        return bool(self.history) and np.abs(self.setpoints()[1][-1] - START).max() > 0.05

    def stands(self) -> None:
        until(lambda: self.session.link.telemetry.state is BoardState.HOLD, "standstill")


@pytest.fixture
def parking(unhurried):
    with make_board(found=START) as board:
        made = Parking(board)
        made.active()
        yield made
        made.session.disconnect()


def test_the_arm_ends_at_its_rest_pose_and_was_never_fast(parking):
    took = park(parking.session, picker())
    assert took > 0.5
    parking.stands()
    times, setpoints = parking.setpoints()
    borne = parking.session.model.settle(setpoints[-1])
    np.testing.assert_allclose(borne, REST, atol=2.0 * SERVOS.model.gap.max())
    apart = np.searchsorted(times, times + 0.1)
    tips = rigid_body().forward_kinematics(setpoints)
    speeds = [np.linalg.norm(tips[j] - tips[i]) / (times[j] - times[i]) for i, j in enumerate(apart) if j < len(times)]
    assert 0.2 * TIP_SPEED < max(speeds) < 1.3 * TIP_SPEED
    assert parking.session.counts.sent > 0 and parking.session.counts.away == 0


def test_an_arm_in_motion_comes_to_rest_first(parking):
    """It does not go back to where it was seen last: a Ctrl-C in mid-motion ends the hardware node before the others."""
    parking.stream_until(START + [1.5, 0.0, 0.0, 0.0, 0.0], lambda: parking.setpoints()[1][-1][0] > START[0] + 0.3, "motion")
    began = parking.setpoints()[0][-1]
    with pytest.raises(BoardFaultError, match="told to end at once"):
        park(parking.session, picker(), hurried=lambda: parking.setpoints()[0][-1] > began + 1.0)
    times, setpoints = parking.setpoints()
    soon = (times > began) & (times < began + 0.25)
    speeds = np.diff(setpoints[soon, 0]) / np.diff(times[soon])
    assert speeds.max() > 0.3, "it was in motion"
    assert speeds.min() > -0.3, "and begins slowly to come back"


def test_a_second_signal_ends_it_where_it_is(parking):
    with pytest.raises(BoardFaultError, match="told to end at once; holding"):
        park(parking.session, picker(), hurried=parking.moving)
    until(lambda: parking.session.link.telemetry.faults == Fault.STOPPED.bit, "the stop")
    parking.stands()
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
    parking.news()
    assert parking.pulses() == before
