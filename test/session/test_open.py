"""``Arm.open``: an arm behind a port, its control loop in a thread of this process, against a simulated board in real time."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from arm_fixtures import picker, servos
from spawned_board import running
from waiting import until

from picker_dynamics import Arm
from picker_dynamics.errors import ConfigurationError, InputError, LinkError, PickerError
from picker_dynamics.session.loop_thread import LoopThread
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.virtual_board import VirtualBoard

SERVOS = servos()


@pytest.fixture
def board(tmp_path):
    """A board whose outputs run at home, and an arm that hangs from them."""
    plant = Plant(picker(), SERVOS, q=SERVOS.home)
    with running(VirtualBoard(plant, SERVOS, tmp_path / "port", live=True, boot_silence_s=0.0)) as board:
        board.name = str(tmp_path / "port")
        yield board


def test_a_script_opens_enables_moves_stops_and_goes_on(board):
    with Arm.open(board.name) as arm:
        assert arm.status().state == "idle" and arm.status().outputs == "running"
        with pytest.raises(PickerError, match="enable it first"):
            arm.move(q=SERVOS.home)
        assert "adopted" in arm.enable()
        target = np.array(SERVOS.home) + [0.2, 0.0, 0.0, 0.0, 0.0]
        arm.move(q=target)
        arm.wait(0.5)
        assert np.abs(arm.q - target).max() < 0.02, "modelled"
        assert np.abs(board.plant.q - target).max() < 0.03, "true"
        arm.payload = 0.02
        move = arm.move(q=SERVOS.home, wait=False)
        arm.stop()
        with pytest.raises(PickerError):
            move.wait()
        assert arm.status().stop_latched
        with pytest.raises(PickerError, match="not active: stopped"):
            arm.move(q=SERVOS.home)
        arm.wait(0.5)
        arm.reset()
        arm.enable()
        arm.move(q=SERVOS.home)
    assert "control loop" not in {thread.name for thread in threading.enumerate()}
    assert board.firmware.live == 0b11111, "it holds"


def test_outputs_that_are_off_are_switched_on_at_the_rest_pose_that_a_person_confirms(tmp_path):
    plant = Plant(picker(), SERVOS, q=SERVOS.rest, support=True)
    with (
        running(VirtualBoard(plant, SERVOS, tmp_path / "port", boot_silence_s=0.0)) as board,
        Arm.open(str(tmp_path / "port")) as arm,
    ):
        with pytest.raises(PickerError, match="rest pose"):
            arm.enable()
        assert board.firmware.live == 0
        arm.enable(at_rest_pose=True)
        assert board.firmware.live == 0b11111 and arm.status().state == "active"
        assert np.abs(arm.q - SERVOS.rest).max() < 0.1


def test_a_pulled_cable_is_an_error_of_the_script_and_enable_connects_again(board):
    with Arm.open(board.name) as arm:
        arm.enable()
        move = arm.move(q=np.array(SERVOS.home) + [0.5, 0.0, 0.0, 0.0, 0.0], wait=False)
        board.answer({"command": "unplug", "seconds": 0.5})
        with pytest.raises(PickerError, match="aborted"):
            move.wait()
        assert arm.status().state == "offline" and arm.status().reset_needed
        arm.wait(0.6)
        with pytest.raises(PickerError, match="reset"):
            arm.enable()
        arm.reset()
        arm.enable()
        assert arm.status().state == "active"


def test_what_cannot_be_opened_is_refused():
    with pytest.raises(LinkError, match="no serial port"):
        Arm.open("/dev/there_is_none")
    with pytest.raises(ConfigurationError, match="needs its servo map"):
        Arm.open(arm="rrp")
    with pytest.raises(InputError, match="rate_hz is 500"):
        Arm.open(rate_hz=500.0)


def test_periods_that_were_missed_are_not_made_up():
    class Slow:
        """Time that passes in cycles and while waiting."""

        time_s = 0.0

        def now(self):
            return self.time_s

        def sleep(self, seconds):
            self.time_s += seconds

    clock, begun = Slow(), []

    def cycle():
        begun.append(clock.now())
        clock.time_s += 0.05 if len(begun) == 3 else 0.001
        if len(begun) == 6:
            raise StopIteration

    loop = LoopThread(cycle, 0.01, clock)
    until(lambda: not loop.running, "the end", step=lambda: time.sleep(1e-3))
    assert begun == pytest.approx([0.0, 0.01, 0.02, 0.07, 0.08, 0.09])
