"""Every fault at every stage of a motion: the arm decelerates and holds, says why, waits to be told, and never jumps."""

from __future__ import annotations

import contextlib
import math
import threading
import time

import numpy as np
import pytest
import session_bench
from board_on_cable import BoardOnCable
from board_on_pty import ALL, NAMES
from session_bench import HOME, LEAD_S, LIMITS, PERIOD_S, SERVOS, UNHURRIED_MS, Rig
from waiting import PATIENCE_S, begun, until

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import BoardState, Fault
from picker_dynamics.board.session import State
from picker_dynamics.errors import LinkError, PickerError

REST = np.array(SERVOS.rest)
SWING = np.array([0.5, -0.1, 0.1, 0.2, -0.4])
STEPS = 50

quick_enabling, unhurried = session_bench.quick_enabling, session_bench.unhurried
STAGES = {"holding": 0.0, "accelerating": 0.2, "cruising": 0.5, "braking": 0.85, "just there": 1.0}
"""Share of the time of the motion at which the fault comes."""


def smooth(share: float) -> float:
    return share**3 * (10.0 - 15.0 * share + 6.0 * share**2)


class CableRig(Rig):
    """A session on a board that outlives its cable; it goes on sending its last target, as a controller does."""

    def __init__(self, directory, *, live: bool = True, host_timeout_ms: int = UNHURRIED_MS, **options):
        port = directory / "tty"
        found = [round(8.0 * pulse) / 8.0 for pulse in SERVOS.to_pulse_us(HOME)] if live else None
        super().__init__(
            BoardOnCable(port, FirmwareConfig(LIMITS, host_timeout_ms=host_timeout_ms), found_us=found, **options), str(port)
        )
        self.stamp_s, self.target = 0.0, None

    def step(self) -> None:
        self.send_target()
        super().step()
        time.sleep(PERIOD_S)

    def looking(self) -> threading.Thread:
        """A thread that looks for a board that is away."""
        thread = begun(self.session.connect)
        until(lambda: "no serial port" in self.session.problem, "looking for it")
        return thread

    def send_target(self) -> None:
        if self.target is None:
            return
        now = time.monotonic()
        self.stamp_s = max(now + LEAD_S, self.stamp_s + PERIOD_S)
        try:
            self.session.command(self.stamp_s, self.target, now)
        except PickerError as error:
            assert isinstance(error, LinkError), error

    def move(self, until_share: float) -> None:
        """Go the first ``until_share`` of the way from home to home + SWING, and leave it going."""
        start = self.session.setpoint.copy()
        for step in range(round(STEPS * until_share) + 1):
            self.target = start + smooth(step / STEPS) * SWING
            self.step()

    def stands(self) -> tuple[int, ...]:
        """Wait until the board has come to rest; its pulses."""

        def still():
            with self.board.lock:
                return self.firmware.state in (BoardState.HOLD, BoardState.IDLE)

        self.tick_until(still, "standstill")
        return self.firmware.pulses

    def rush(self) -> None:
        """Turn the base to and fro, and return while it is fast, with most of a second in which it stays so."""
        start, begin, way = self.session.setpoint.copy(), time.monotonic(), -1.4

        def fast() -> bool:
            nonlocal start, begin, way
            passed_s = time.monotonic() - begin
            if passed_s > 1.5:  # at its end; or it went by unseen
                start, begin, way, passed_s = self.target, time.monotonic(), math.copysign(2.8, -way), 0.0
            gone = 5.0 * min(passed_s, 0.275) ** 2 + 2.75 * max(passed_s - 0.275, 0.0)
            self.target = start + math.copysign(min(gone, abs(way)), way) * np.eye(5)[0]
            return abs(way) > 2.0 and self.base_steps()[-1:] >= [3 * LIMITS[0].brake]

        self.tick_until(fast, "speed")

    def base_steps(self) -> list[int]:
        """How far the base's output moved, from each frame of motion to the next [1/8 us]."""
        with self.board.lock:
            pulses = [frame.pulses[0] for frame in self.board.frames]
        return [abs(after - before) for before, after in zip(pulses, pulses[1:])]

    def require_no_step(self) -> None:
        """No output ever moved by more in a servo frame than its servo can."""
        for before, now in zip(self.board.frames, self.board.frames[1:]):
            for joint, limits in enumerate(LIMITS):
                if before.live & now.live & 1 << joint:
                    assert abs(now.pulses[joint] - before.pulses[joint]) <= limits.speed, NAMES[joint]


@pytest.fixture
def bench(tmp_path, quick_enabling, unhurried):
    with contextlib.ExitStack() as made:

        def make(**options) -> CableRig:
            one = CableRig(tmp_path, **options)
            made.enter_context(one.board)
            made.callback(one.session.disconnect)
            return one

        yield make


# -- the faults: each does it, waits until the session has noticed, and leaves the board ready to be told -----------


def pull_the_cable(bench: CableRig) -> str:
    bench.board.unplug()
    bench.comes_to(State.OFFLINE)
    returning = bench.looking()
    bench.stands()
    bench.board.plug_in()
    returning.join(PATIENCE_S)
    return "the board is back and holds"


def pull_the_cable_that_feeds_the_board(bench: CableRig) -> str:
    """An Uno without a supply of its own: it starts anew, the output stage goes on."""
    bench.board.unplug()
    bench.board.reset()
    bench.comes_to(State.OFFLINE)
    bench.board.plug_in()
    bench.connected()
    return "was reset meanwhile (boot id 7 -> 8)"


def reset_the_board(bench: CableRig) -> str:
    bench.board.reset()
    return "the board was reset (boot id 7 -> 8)"


def stop_from_the_host(bench: CableRig) -> str:
    bench.session.stop()
    return "stopped"


def stop_at_the_board(bench: CableRig) -> str:
    bench.board.touch(Fault.STOPPED)
    return "fault 1 STOPPED"


def dip_the_supply(bench: CableRig) -> str:
    bench.board.touch(Fault.SUPPLY_LOW)
    return "fault 3 SUPPLY_LOW"


FAULTS = (
    pull_the_cable,
    pull_the_cable_that_feeds_the_board,
    reset_the_board,
    stop_from_the_host,
    stop_at_the_board,
    dip_the_supply,
)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_hold_say_why_wait_and_never_jump(bench, fault, stage):
    rig = bench()
    session = rig.active()
    rig.move(STAGES[stage])
    said = fault(rig)
    rig.comes_to(State.IDLE)
    assert said in session.problem
    held = rig.stands()
    seen = len(rig.board.frames)
    rig.tick_for(0.1)
    assert session.state is State.IDLE and rig.firmware.pulses == held and len(rig.board.frames) == seen
    rig.not_activated("call reset first", at_rest_pose=True)
    session.reset()
    rig.tick_until(lambda: session.state is State.IDLE and session.problem == "", "reset")
    assert rig.firmware.pulses == held
    rig.adopted()
    assert rig.firmware.pulses == held
    rig.target, rig.stamp_s = session.setpoint, 0.0
    rig.tick_for(0.1)
    assert session.state is State.ACTIVE
    np.testing.assert_allclose(rig.firmware.pulses, held, atol=1.0)
    rig.require_no_step()


@pytest.mark.parametrize("fault", [stop_from_the_host, stop_at_the_board, dip_the_supply], ids=lambda fault: fault.__name__)
def test_what_stops_a_fast_arm_lets_it_decelerate(bench, fault):
    rig = bench()
    rig.active()
    rig.rush()
    fault(rig)
    rig.stands()
    steps, brake = [*rig.base_steps(), 0], LIMITS[0].brake
    assert [1 for before, after in zip(steps[-4:], steps[-3:]) if 0 < before - after <= brake + 1] == [1, 1, 1], steps[-6:]


@pytest.mark.parametrize(
    "fault", [pull_the_cable, stop_from_the_host, stop_at_the_board, reset_the_board], ids=lambda fault: fault.__name__
)
def test_a_fault_while_outputs_are_switched_on(bench, fault):
    """Those that run stay, those that are off stay off, and the rest is switched on only when somebody vouches again."""
    rig = bench(live=False)
    session = rig.enabling()
    rig.tick_until(lambda: rig.firmware.live == 0b11, "the second joint")
    said = fault(rig)
    rig.comes_to(State.IDLE)
    assert said in session.problem
    rig.tick_for(0.3)
    live = rig.firmware.live
    assert live & 0b11 == 0b11 and live != ALL
    rig.not_activated("call reset first", at_rest_pose=True)
    session.reset()
    rig.not_activated("pose is unknown", at_rest_pose=False)
    session.activate(at_rest_pose=True)
    rig.comes_to(State.ACTIVE)
    np.testing.assert_allclose(rig.firmware.pulses, 8.0 * SERVOS.to_pulse_us(REST), atol=1.0)
    rig.require_no_step()


def test_a_board_whose_outputs_go_off_with_the_reset_while_enabling_starts_from_the_beginning(bench):
    rig = bench(live=False)
    rig.enabling()
    rig.tick_until(lambda: rig.firmware.live == 0b11, "the second joint")
    rig.board.reset(keep_outputs=False)
    rig.comes_to(State.IDLE)
    rig.tick_for(0.3)
    assert rig.firmware.live == 0


@pytest.mark.parametrize(
    "fault", [pull_the_cable, pull_the_cable_that_feeds_the_board, reset_the_board], ids=lambda fault: fault.__name__
)
def test_a_stop_outlives_what_happens_to_the_board(bench, fault):
    """Latched on the host: a board that comes back, or starts anew, is told again."""
    rig = bench()
    session = rig.active()
    rig.move(0.5)
    session.stop()
    rig.stopped()
    held = rig.stands()
    fault(rig)
    rig.tick_until(lambda: session.state is State.IDLE and rig.firmware.faults & Fault.STOPPED.bit, "the stop again")
    assert session.stop_latched and rig.firmware.pulses == held
    rig.not_activated("stop is latched", at_rest_pose=True)


def test_a_stop_while_the_cable_is_out_is_told_when_it_is_back(bench):
    rig = bench()
    session = rig.active()
    rig.move(0.5)
    rig.board.unplug()
    rig.comes_to(State.OFFLINE)
    session.stop()
    rig.board.plug_in()
    rig.connected()
    assert "a stop is latched: reset, then enable" in session.problem
    rig.stopped()


def test_a_host_that_dies_leaves_an_arm_that_holds(bench):
    """No word any more, in mid-motion: the board's own watch brakes, and a new host adopts what it finds."""
    rig = bench(host_timeout_ms=200)
    session = rig.active()
    rig.move(0.5)
    session.disconnect()
    rig.target = None
    until(lambda: rig.firmware.faults == Fault.HOST_LOST.bit, "the board's watch")
    held = rig.stands()
    rig.connected()
    rig.adopted()
    assert rig.firmware.pulses == held and session.state is State.ACTIVE
    rig.require_no_step()


def test_a_port_that_returns_is_not_waited_for_out_of_habit(bench, monkeypatch):
    """However long it was away: what ends the pause is the port, so that three seconds are enough with a slow boot loader."""
    monkeypatch.setattr("picker_dynamics.board.link.connection.BACK_OFF_S", (60.0, 60.0))
    rig = bench()
    session = rig.connected()
    rig.board.unplug()
    rig.comes_to(State.OFFLINE)
    returning = rig.looking()
    rig.board.plug_in()
    returning.join(PATIENCE_S)
    assert session.state is State.IDLE


def test_a_stop_is_never_kept_waiting_while_outputs_are_switched_on(bench):
    """The board does not answer, and is asked again; no tick waits for it."""
    rig = bench(live=False)
    session = rig.enabling()
    rig.tick_until(lambda: rig.firmware.live == 0b1, "the first joint")
    with rig.board.lock:  # deaf, and mute
        ticks, until_s = 0, time.monotonic() + 0.4
        while time.monotonic() < until_s:
            session.tick(time.monotonic())
            ticks += 1
            time.sleep(0.002)
        assert session.state is State.ENABLING and ticks > 20, "ticks that wait for an answer: three or four"
        session.stop()
    rig.stopped()
    assert rig.firmware.live != ALL
