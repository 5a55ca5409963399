"""An arm in a script's own process: its control loop in a thread, on virtual time; ``Arm.open`` at a simulated board's port."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from arm_fixtures import picker, servos
from arm_rig import HOME, PERIOD_S, REST, Rig
from spawned_board import running
from waiting import PATIENCE_S, until

from picker_dynamics import Arm
from picker_dynamics.board import hardware_session
from picker_dynamics.errors import ConfigurationError, LinkError, PickerError
from picker_dynamics.scripting.equipment import equipment
from picker_dynamics.session import local
from picker_dynamics.session.local import OpenedSession
from picker_dynamics.session.loop_thread import LoopThread
from picker_dynamics.sim.plant import Plant
from picker_dynamics.sim.virtual_board import VirtualBoard

SERVOS = servos()


def opened(rig: Rig) -> Arm:
    """The rig's arm for a script; its thread alone lets virtual time pass, as fast as it can."""
    rig.session.subscribe(lambda _cycle: rig.board.run(PERIOD_S))
    rig.arm.clock = SimpleNamespace(now=rig.board.now, sleep=lambda _s: time.sleep(1e-3))
    return Arm(equipment(), OpenedSession(rig.arm))


def test_a_script_enables_moves_stops_and_goes_on():
    rig = Rig()
    with opened(rig) as arm:
        assert arm.status().state == "idle" and arm.status().outputs == "running"
        with pytest.raises(PickerError, match="enable it first"):
            arm.move(q=HOME)
        assert "adopted" in arm.enable()
        target = HOME + [0.2, 0.0, 0.0, 0.0, 0.0]
        arm.move(q=target)
        arm.wait(0.5)
        assert np.abs(arm.q - target).max() < 0.02, "modelled"
        assert np.abs(rig.plant.q - target).max() < 0.03, "true"
        arm.payload = 0.02
        move = arm.move(q=HOME, wait=False)
        arm.stop()
        with pytest.raises(PickerError):
            move.wait()
        assert arm.status().stop_latched
        with pytest.raises(PickerError, match="not active: stopped"):
            arm.move(q=HOME)
        arm.wait(0.5)
        arm.reset()
        arm.enable()
        arm.move(q=HOME)
    assert "control loop" not in {thread.name for thread in threading.enumerate()}
    assert rig.board.firmware.live == 0b11111, "it holds"


def test_outputs_that_are_off_are_switched_on_at_the_rest_pose_that_a_person_confirms():
    rig = Rig(off=True)
    with opened(rig) as arm:
        with pytest.raises(PickerError, match="rest pose"):
            arm.enable()
        assert rig.board.firmware.live == 0
        arm.enable(at_rest_pose=True)
        assert rig.board.firmware.live == 0b11111 and arm.status().state == "active"
        assert np.abs(arm.q - REST).max() < 0.1


def test_a_pulled_cable_is_an_error_of_the_script_and_enable_connects_again(tmp_path, monkeypatch):
    """In real time, with a port of the system: a board that a busy machine keeps waiting may take long to answer.

    The board was flashed for another servo map than the script's, and is accepted once.
    """
    monkeypatch.setattr(hardware_session, "REQUEST_TIMEOUT_S", PATIENCE_S)
    monkeypatch.setattr(local, "CONNECT_S", PATIENCE_S)
    port, plant = tmp_path / "port", Plant(picker(), SERVOS, q=SERVOS.home)
    with running(VirtualBoard(plant, SERVOS, port, found=plant.q, boot_silence_s=0.0)) as board, Arm.open(str(port)) as arm:
        with pytest.raises(PickerError, match="flashed for other pulse or speed limits"):
            arm.enable()
        arm.enable(accept_board=True)
        move = arm.move(q=HOME + [0.5, 0.0, 0.0, 0.0, 0.0], wait=False)
        board.answer({"command": "unplug", "seconds": 0.5})
        with pytest.raises(PickerError, match="aborted"):
            move.wait()
        until(lambda: arm.status().reset_needed and arm.status().state != "offline", "the board", step=lambda: arm.wait(0.05))
        with pytest.raises(PickerError, match="reset"):
            arm.enable()
        arm.reset()
        arm.enable()
        assert arm.status().state == "active"


def test_what_cannot_be_opened_is_refused(monkeypatch):
    monkeypatch.setattr(local, "CONNECT_S", 0.2)
    with pytest.raises(LinkError, match="no serial port"):
        Arm.open("/dev/there_is_none")
    with pytest.raises(ConfigurationError, match="needs its servo map"):
        Arm.open(arm="rrp")
    with pytest.raises(ConfigurationError, match="rate_hz is 500"):
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
