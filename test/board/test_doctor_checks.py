"""The checks of ``picker doctor``, on virtual time: sound boards pass, broken rules are caught, the arm is left as found."""

from dataclasses import replace

import pytest
from arm_fixtures import servos
from avr_bench import AvrBench
from firmware_tools import require
from rules.mutants import apply

from picker_dynamics.board.doctor_checks import CHECKS, FAILED, PASSED, SKIPPED, named, run_one
from picker_dynamics.board.doctor_session import DoctorSession
from picker_dynamics.board.link import Link
from picker_dynamics.board.protocol import Adopt, BoardState, Fault, JointLimits, encode, pulse_units
from picker_dynamics.sim.firmware_core import VirtualFirmware
from picker_dynamics.sim.simulated_board import firmware_config

SERVOS = servos(simulated=False)
CONFIG = replace(firmware_config(SERVOS), supply_min_mv=4500)
START = tuple(pulse_units(pulse) for pulse in SERVOS.to_pulse_us(SERVOS.rest))
START_US = tuple(pulse / 8 for pulse in START)
NAMES = {one.name for one in CHECKS}
CAUGHT = {
    "telemetry-content": "another boot id",
    "ping-is-acknowledged": "stopped clock",
    "clock-keeps-time": "fast clock",
    "damaged-frames-are-ignored": "counts no damage",
    "telemetry-period-is-kept": "one period",
    "stop-is-latched-and-reset-clears-it": "reset needs a fault",
    "hold-stands-still": "creeps",
    "a-motion-ends-at-its-last-point": "never moves",
    "stop-ends-a-motion": "resumes",
    "a-silent-host-is-lost": "lets go of the arm",
    "relax-lets-go": "relax stops",
}
FAULTY = {
    "limits-are-the-servo-maps": {"config": replace(CONFIG, joints=(JointLimits(4000, 20000, 700, 70),) * 5)},
    "outputs-are-the-servo-maps": {"config": replace(CONFIG, resolution_ns=500)},
    "outputs-answer-and-nothing-browned-out": {"fault": Fault.OUTPUT_FAILED},
    "supply-is-the-servos": {"supply_mv": 12_000},
    "pulses-are-within-the-limits": {"found_us": (400.0, *START_US[1:])},
    "potentiometers-are-wired": {"feedback": (None, 0, None, None, None)},
}
"""By the name of a check: a board that it finds faulty at once."""
TICK_S = 5e-4


class Bench:
    """A firmware on virtual time, with a port that a link opens; the clock of link and session."""

    threaded = False

    def __init__(self, *, config=CONFIG, begin_s: float = 0.0, supply_mv: int = 6000, feedback=None, fault=None, **firmware):
        self.firmware, self.ticks, self.each_tick = VirtualFirmware(config, **firmware), 0, lambda: None
        self.firmware.set_supply(supply_mv)
        self.firmware.feedback = feedback or self.firmware.feedback
        if fault:
            self.firmware.set_cause(fault, True)
        self.link = Link("bench", clock=self, open_port=lambda *_: self)

    def now(self):
        return self.ticks * TICK_S

    def sleep(self, seconds):
        for _ in range(max(1, round(seconds / TICK_S))):
            self.read(TICK_S, take=False)
            self.each_tick()
            self.link.poll()

    def read(self, timeout_s, take=True):
        if timeout_s:
            self.ticks += 1
            self.firmware.advance(round(self.now() * 1e6))
        return self.firmware.transmit() if take else b""

    def send(self, data):
        self.firmware.receive(data, round(self.now() * 1e6))

    def close(self):
        pass

    def session(self, may_move=True):
        return DoctorSession(self.link, SERVOS, may_move, self)


def outcomes(session):
    session.watch(0.3)
    found = {one.name: run_one(session, one) for one in CHECKS}
    session.leave()
    return found


def ended(found, status):
    return {name: one["detail"] for name, one in found.items() if one["status"] == status}


def test_a_sound_board_passes_at_once_and_is_left_off():
    bench = Bench()
    found = outcomes(bench.session())
    assert ended(found, PASSED).keys() == NAMES and not any(one["detail"] for one in found.values())
    assert (bench.firmware.live, bench.firmware.owned, bench.firmware.faults) == (0, 0, 0)


def test_the_real_firmware_passes_what_moves_nothing():
    require("avr", "sim")
    bench = Bench()
    bench.firmware = AvrBench().firmware
    bench.firmware.set_supply(6000)
    found = outcomes(bench.session(False))
    assert ended(found, FAILED) == {} and len(ended(found, PASSED)) >= 11, found


def test_an_arm_that_stands_is_moved_slowly_stays_near_and_is_never_let_go():
    bench = Bench(found_us=START_US)
    track = [START]
    bench.each_tick = lambda: track.append(bench.firmware.pulses)
    found = outcomes(bench.session())
    assert ended(found, FAILED) == {} and bench.firmware.pulses == START and bench.firmware.faults == 0
    assert len(set(track)) > 30 and all(all(pulses) for pulses in track)
    assert max(abs(a - b) for pulses in track for a, b in zip(pulses, START)) <= 340  # 43 us, about 4 degrees
    steps = [max(abs(a - b) for a, b in zip(one, two)) for one, two in zip(track, track[1:])]
    assert max(steps) <= 40  # 250 us/s
    assert ended(found, SKIPPED).keys() == {"relax-lets-go"}


def test_without_permission_nothing_is_switched_or_moved():
    bench, seen = Bench(found_us=(1500.0, None, 1000.0, None, None)), set()
    bench.each_tick = lambda: seen.add((bench.firmware.pulses, bench.firmware.owned))
    found = outcomes(bench.session(False))
    assert seen == {((12000, 0, 8000, 0, 0), 0)} and ended(found, FAILED) == {}
    assert ended(found, SKIPPED)["hold-stands-still"] == "moving was not allowed"


def test_joints_that_a_lost_host_left_behind_are_no_trouble():
    bench = Bench(found_us=START_US)
    bench.firmware.receive(encode(Adopt(0b11111), 900), 0)
    bench.sleep(0.6)
    assert bench.firmware.faults == Fault.HOST_LOST.bit
    assert ended(outcomes(bench.session()), FAILED) == {}
    assert (bench.firmware.live, bench.firmware.owned, bench.firmware.pulses) == (0b11111, 0b11111, START)


def test_a_latched_fault_whose_cause_stays_is_told_and_moves_nothing():
    found = outcomes(Bench(supply_mv=3000).session())
    skipped = ended(found, SKIPPED)
    assert skipped.keys() == CAUGHT.keys() and all("SUPPLY_LOW" in detail for detail in skipped.values())
    assert ended(found, FAILED).keys() == {"supply-is-the-servos"}


def test_hurry_stops_before_it_leaves():
    bench = Bench(found_us=START_US)
    session = bench.session()
    session.take()
    session.send([session.moved(20 * k) for k in range(10)])
    assert bench.firmware.state is BoardState.MOVE
    seen = set()
    bench.each_tick = lambda: seen.add(Fault.STOPPED.bit & bench.firmware.faults)
    session.leave(hurry=True)
    assert Fault.STOPPED.bit in seen
    assert (bench.firmware.live, bench.firmware.pulses, bench.firmware.faults) == (0b11111, START, 0)


@pytest.mark.parametrize("check", sorted(NAMES))
def test_a_fault_is_found_by_the_check_that_looks_for_it(monkeypatch, check):
    if check in CAUGHT:
        apply(monkeypatch, CAUGHT[check])
    session = Bench(**FAULTY.get(check, {})).session()
    session.watch(0.3)
    outcome = run_one(session, named(check))
    assert outcome["status"] == FAILED and outcome["detail"].startswith("expected "), outcome
