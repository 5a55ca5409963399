"""Every fault at every stage of a motion: the arm decelerates and holds, says why, waits to be told, and never jumps."""

import numpy as np
import pytest
from session_rig import ALL, HOME, LIMITS, PERIOD_S, SERVOS, Rig, units

from picker_dynamics.board.hardware_session import State
from picker_dynamics.board.protocol import Fault
from picker_dynamics.errors import LinkError

SWING = np.array([0.5, -0.1, 0.1, 0.2, -0.4])
STEPS = 50
STAGES = {"accelerating": 0.2, "braking": 0.85}
"""Share of the time of the motion at which the fault comes."""


def smooth(share: float) -> float:
    return share**3 * (10.0 - 15.0 * share + 6.0 * share**2)


class FaultRig(Rig):
    """A session whose controller goes on sending its last target, whatever happens."""

    target: np.ndarray | None = None

    def move(self, until_share: float) -> None:
        """Go the first ``until_share`` of the way from home to home + SWING, and leave it going."""
        start = self.session.setpoint.copy()
        for step in range(round(STEPS * until_share) + 1):
            self.target = start + smooth(step / STEPS) * SWING
            self.go_on()

    def go_on(self, seconds: float = PERIOD_S) -> None:
        for _ in range(round(seconds / PERIOD_S)):
            if self.target is not None and self.session.state is not State.OFFLINE:
                try:
                    self.send(self.target)
                except LinkError:
                    assert not self.bench.plugged
            self.step()

    def comes_to(self, state: State) -> None:
        for _ in range(500):
            if self.session.state is state:
                return
            self.go_on()
        raise AssertionError(f"{self.session.state}: {self.session.problem}")

    def stands(self) -> tuple[int, ...]:
        """Wait until the board has come to rest; its pulses."""
        while self.firmware.state.moves:
            self.go_on()
        return self.firmware.pulses


# -- the faults: each does it, waits until the session has noticed, and leaves the board ready to be told -----------


def pull_the_cable(rig: FaultRig) -> str:
    rig.bench.unplug()
    rig.comes_to(State.OFFLINE)
    rig.stands()
    rig.bench.plug_in()
    rig.connected()
    return "the board is back: reset, then enable"


def pull_the_cable_that_feeds_the_board(rig: FaultRig) -> str:
    """An Uno without a supply of its own: it starts anew, the output stage goes on."""
    rig.bench.unplug()
    rig.bench.reset()
    rig.comes_to(State.OFFLINE)
    rig.bench.plug_in()
    rig.connected()
    return "reset meanwhile (boot id 1 -> 2)"


def reset_the_board(rig: FaultRig) -> str:
    rig.bench.reset()
    return "the board was reset (boot id 1 -> 2)"


def stop_from_the_host(rig: FaultRig) -> str:
    rig.session.stop()
    return "stopped"


def stop_at_the_board(rig: FaultRig) -> str:
    rig.bench.touch(Fault.STOPPED)
    return "fault 1 STOPPED"


def dip_the_supply(rig: FaultRig) -> str:
    rig.bench.touch(Fault.SUPPLY_LOW)
    return "fault 3 SUPPLY_LOW"


STOPPING = (stop_from_the_host, stop_at_the_board, dip_the_supply)
FAULTS = (pull_the_cable, pull_the_cable_that_feeds_the_board, reset_the_board, *STOPPING)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_hold_say_why_wait_and_never_jump(fault, stage):
    rig = FaultRig()
    session = rig.active()
    rig.move(STAGES[stage])
    said = fault(rig)
    rig.comes_to(State.IDLE)
    assert said in session.problem
    held, seen = rig.stands(), len(rig.bench.frames)
    rig.go_on(0.2)
    assert session.state is State.IDLE and rig.pulses() == held and len(rig.bench.frames) == seen
    rig.refused("call reset first", at_rest_pose=True)
    session.reset()
    rig.go_on(0.1)
    assert session.state is State.IDLE and session.problem == "" and rig.pulses() == held
    rig.adopted()
    assert rig.pulses() == held
    rig.target = session.setpoint
    rig.go_on(0.2)
    assert session.state is State.ACTIVE
    np.testing.assert_allclose(rig.pulses(), held, atol=1.0)
    rig.require_no_step()


@pytest.mark.parametrize("fault", STOPPING, ids=lambda fault: fault.__name__)
def test_what_stops_a_fast_arm_lets_it_decelerate(fault):
    """The base turns at 2.75 rad/s."""
    rig = FaultRig(HOME - 1.0 * np.eye(5)[0])
    start, begin_s = rig.active().setpoint.copy(), rig.now
    while (passed_s := rig.now - begin_s) < 0.6:
        gone = 5.0 * min(passed_s, 0.275) ** 2 + 2.75 * max(passed_s - 0.275, 0.0)
        rig.target = start + gone * np.eye(5)[0]
        rig.go_on()
    fault(rig)
    rig.stands()
    base = [frame.pulses[0] for frame in rig.bench.frames]
    steps, brake = [*np.abs(np.diff(base)).tolist(), 0], LIMITS[0].brake
    assert max(steps) >= 3 * brake
    assert [1 for before, after in zip(steps[-4:], steps[-3:]) if 0 < before - after <= brake + 1] == [1, 1, 1], steps[-6:]


@pytest.mark.parametrize("fault", [*FAULTS[:1], *FAULTS[2:5]], ids=lambda fault: fault.__name__)
def test_a_fault_while_outputs_are_switched_on(fault):
    """Those that run stay, those that are off stay off, and the rest is switched on only when somebody vouches again."""
    rig = FaultRig(None)
    session = rig.enabling()
    rig.until(lambda: rig.firmware.live == 0b11, "the second joint")
    said = fault(rig)
    rig.comes_to(State.IDLE)
    assert said in session.problem
    rig.run(0.5)
    assert rig.firmware.live & 0b11 == 0b11 and rig.firmware.live != ALL
    rig.refused("call reset first", at_rest_pose=True)
    session.reset()
    rig.refused("pose is unknown", at_rest_pose=False)
    session.activate(at_rest_pose=True)
    rig.comes_to(State.ACTIVE)
    assert rig.pulses() == units(SERVOS.rest)
    rig.require_no_step()


@pytest.mark.parametrize("fault", FAULTS[:3], ids=lambda fault: fault.__name__)
def test_a_stop_outlives_what_happens_to_the_board(fault):
    """Latched on the host: a board that comes back, or starts anew, is told again."""
    rig = FaultRig()
    session = rig.active()
    rig.move(0.5)
    session.stop()
    rig.go_on(0.1)
    held = rig.stands()
    fault(rig)
    rig.comes_to(State.IDLE)
    rig.until(lambda: rig.firmware.faults & Fault.STOPPED.bit, "the stop again")
    assert session.stop_latched and rig.pulses() == held
    rig.refused("stop is latched", at_rest_pose=True)


def test_a_stop_is_never_kept_waiting_while_outputs_are_switched_on():
    """The board does not answer, and is asked again; no tick waits for it."""
    rig = FaultRig(None)
    session = rig.enabling()
    rig.until(lambda: rig.firmware.live == 0b1, "the first joint")
    rig.bench.deaf = rig.bench.muted = True
    for _ in range(20):
        before_s = rig.now
        session.tick(before_s)
        assert rig.now == before_s
        rig.bench.run(0.01)
    assert session.state is State.ENABLING
    session.stop()
    rig.bench.deaf = rig.bench.muted = False
    rig.until(lambda: rig.firmware.faults & Fault.STOPPED.bit, "the stop")
    assert rig.firmware.live != ALL
