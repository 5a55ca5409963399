"""The checks of ``picker doctor``, on virtual time: sound boards pass, broken rules are caught, the arm is left as found."""

import conformance.motion_mutants
import conformance.request_mutants  # noqa: F401  so does this
import pytest
from conformance.bench import CONFIG, SERVOS, START, START_US, virtual
from conformance.mutants import MUTANTS

from picker_dynamics.board.doctor_checks import CHECKS, Status, named, run_one
from picker_dynamics.board.doctor_session import DoctorSession, Need
from picker_dynamics.board.link import Link
from picker_dynamics.board.protocol import Adopt, BoardState, Fault, JointLimits, encode

NAMES = [one.name for one in CHECKS]
FINE = {"Truncates", "Impatient", "Patient"}
"""What only the suite finds, on simulated time: the last bit, and 30 ms of patience."""
CAUGHT = [(check, kind) for check, kind in MUTANTS if check in NAMES and kind.__name__ not in FINE]
TICK_S = 5e-4


class Bench:
    """A firmware on virtual time, with a port that a link opens; the clock of link and session."""

    threaded = False

    def __init__(self, firmware, now_us=0):
        self.firmware, self.ticks, self.each_tick = firmware, round(now_us * 1e-6 / TICK_S), lambda: None
        self.link = Link("bench", clock=self, open_port=lambda *_: self)

    def now(self):
        return self.ticks * TICK_S

    def sleep(self, seconds):
        for _ in range(max(1, round(seconds / TICK_S))):
            self.ticks += 1
            self.firmware.advance(self.now_us)
            self.each_tick()
            self.link.poll()

    @property
    def now_us(self):
        return round(self.now() * 1e6)

    def read(self, timeout_s):
        if timeout_s:
            self.ticks += 1
            self.firmware.advance(self.now_us)
        return self.firmware.transmit()

    def send(self, data):
        self.firmware.receive(data, self.now_us)

    def flush(self):
        pass

    close = flush

    def session(self, allowed=Need.BARE):
        return DoctorSession(self.link, SERVOS, allowed, self)


def outcomes(session):
    session.watch(0.3)
    found = {one.name: run_one(session, one) for one in CHECKS}
    session.leave()
    return found


def ended(found, status):
    return {name: one.detail for name, one in found.items() if one.status is status}


def test_there_are_as_many_as_a_person_needs_and_the_suite_has_them_all():
    assert 15 <= len(NAMES) == len(set(NAMES)) <= 22
    assert set(NAMES) == {check for check, _ in CAUGHT}


def test_a_sound_board_passes_at_once_and_is_left_off():
    bench = Bench(virtual())
    found = outcomes(bench.session())
    assert ended(found, Status.PASSED).keys() == set(NAMES) and not any(one.detail for one in found.values())
    assert (bench.firmware.live, bench.firmware.owned, bench.firmware.faults) == (0, 0, 0)


def test_an_arm_that_stands_is_moved_slowly_stays_near_and_is_never_let_go():
    bench = Bench(virtual(found_us=START_US))
    track = [START]
    bench.each_tick = lambda: track.append(bench.firmware.pulses)
    found = outcomes(bench.session(Need.MOTION))
    assert ended(found, Status.FAILED) == {} and bench.firmware.pulses == START and bench.firmware.faults == 0
    assert len({pulses for pulses in track}) > 80
    assert all(all(pulses) for pulses in track)
    assert max(abs(a - b) for pulses in track for a, b in zip(pulses, START)) <= 340  # 43 us, about 4 degrees
    steps = [max(abs(a - b) for a, b in zip(one, two)) for one, two in zip(track, track[1:])]
    assert max(steps) <= 40  # 250 us/s
    off = {"enable-starts-where-told", "relax-lets-go", "enable-refuses-pulses-outside"}
    assert off <= ended(found, Status.SKIPPED).keys()


def test_without_permission_nothing_is_switched_or_moved():
    bench = Bench(virtual(found_us=(1500.0, None, 1000.0, None, None)))
    seen = set()
    bench.each_tick = lambda: seen.add((bench.firmware.pulses, bench.firmware.owned))
    found = outcomes(bench.session(Need.WIRE))
    assert seen == {((12000, 0, 8000, 0, 0), 0)}
    assert ended(found, Status.FAILED) == {}
    assert ended(found, Status.SKIPPED)["hold-stands-still"] == "moving was not allowed"


def test_a_board_of_another_arm_is_not_moved():
    config = type(CONFIG)(joints=(JointLimits(4000, 20000, 700, 70),) * 5)
    session = Bench(virtual(config=config)).session()
    assert session.allowed is Need.WIRE and session.limits == ()
    assert run_one(session, named("hold-stands-still")).detail == "the joints' limits are not those of the servo map"


def test_a_joint_outside_its_limits_is_left_alone():
    bench = Bench(virtual(found_us=(490.0, *START_US[1:])))
    assert ended(outcomes(bench.session(Need.MOTION)), Status.FAILED) == {}
    assert bench.firmware.pulses[0] == 3920 and not bench.firmware.owned & 1


@pytest.mark.parametrize("allowed", [Need.WIRE, Need.MOTION])
def test_joints_that_a_lost_host_left_behind_are_no_trouble(allowed):
    board = virtual(found_us=START_US)
    board.receive(encode(Adopt(0b11111), 900), 0)
    board.advance(600_000)
    assert board.faults == Fault.HOST_LOST.bit
    assert ended(outcomes(Bench(board, 600_000).session(allowed)), Status.FAILED) == {}
    assert (board.live, board.owned, board.pulses) == (0b11111, 0b11111, START)


def test_a_latched_fault_whose_cause_stays_is_told_and_moves_nothing():
    board = virtual()
    board.set_supply(3000)
    skipped = ended(outcomes(Bench(board).session()), Status.SKIPPED)
    assert skipped.keys() == set(NAMES) and all("SUPPLY_LOW" in detail for detail in skipped.values())


def test_hurry_stops_before_it_leaves():
    bench = Bench(virtual(found_us=START_US))
    session = bench.session()
    session.take()
    session.send([session.moved(20 * k) for k in range(10)])
    assert bench.firmware.state is BoardState.MOVE
    session.leave(hurry=True)
    assert (bench.firmware.live, bench.firmware.pulses, bench.firmware.faults) == (0b11111, START, 0)


@pytest.mark.parametrize(("check", "mutant"), CAUGHT, ids=[f"{kind.__name__}-{check}" for check, kind in CAUGHT])
def test_a_broken_rule_is_caught(check, mutant):
    session = Bench(virtual(mutant)).session()
    session.watch(0.3)
    outcome = run_one(session, named(check))
    assert outcome.status is Status.FAILED and outcome.detail.startswith("expected "), outcome
