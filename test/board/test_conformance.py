"""The conformance suite: a sound board passes it, and each broken rule is caught by the check of that rule."""

from dataclasses import replace

import conformance_motion_mutants  # noqa: F401  adds its own to MUTANTS
import conformance_request_mutants  # noqa: F401  so does this
import pytest
from conformance_bench import CHECKS, CONFIG, FROM_OUTSIDE, START, START_US, WIRE, ended, passed, session_with, virtual
from conformance_mutants import MUTANTS
from firmware_bench import golden

from picker_dynamics.board.conformance import Host, LockStepWire, Need, Status, meet, named, run, run_one, why_not
from picker_dynamics.board.conformance.track import on_line, send, wavy
from picker_dynamics.board.protocol import Adopt, BoardState, Fault, JointLimits, encode
from picker_dynamics.board.protocol.framing import build
from picker_dynamics.errors import LinkError, VersionError

# -- sound boards --------------------------------------------------------------------------------------


def test_the_virtual_board_passes_every_check_and_is_left_as_it_was_found():
    board = virtual()
    assert ended(passed(session_with(board)), Status.SKIPPED) == {}
    assert (board.live, board.owned, board.faults) == (0, 0, 0)


def test_a_board_whose_outputs_run_is_checked_without_letting_go_of_the_arm():
    board = virtual(found_us=START_US)
    lowest_live = []
    outcomes = passed(session_with(board, start=()), FROM_OUTSIDE, on_outcome=lambda _: lowest_live.append(board.live))
    assert set(lowest_live) == {0b11111} and board.pulses == START and board.faults == 0
    assert {one.name for one in CHECKS if one.off} <= set(ended(outcomes, Status.SKIPPED))


@pytest.mark.parametrize(
    "config",
    [
        replace(CONFIG, resolution_ns=500),
        replace(CONFIG, queue_capacity=16),
        replace(CONFIG, host_timeout_ms=400),
        replace(CONFIG, joints=CONFIG.joints[:1]),
        replace(CONFIG, joints=(JointLimits(4000, 20000, 400, 40),) * 8),
    ],
    ids=["timer pins", "short queue", "patient", "one joint", "eight joints"],
)
def test_other_boards_pass_too(config):
    start = (*START, 12000, 12000, 12000)[: len(config.joints)]
    passed(session_with(virtual(config=config), limits=config.joints, start=start))


@pytest.mark.parametrize("before_wrap_s", [3, 20, 26])
def test_the_time_stamp_may_wrap_around_in_any_check(before_wrap_s):
    config = replace(CONFIG, start_time_us=2**32 - before_wrap_s * 1_000_000)
    passed(session_with(virtual(config=config)), [one for one in CHECKS if one.name != "telemetry-from-boot"])


def test_the_same_session_twice_says_the_same():
    def told():
        session = session_with(virtual())
        run(session, [one for one in CHECKS if one.need is Need.MOTION])
        return session.host.wire.now_us, len(session.host.heard), session.host.telemetry

    assert told() == told()


# -- what is allowed -----------------------------------------------------------------------------------


def test_without_permission_nothing_is_switched_or_moved():
    board = virtual(found_us=(1500.0, None, 1000.0, None, None))
    sent = []
    receive = board.receive
    board.receive = lambda *data: sent.append((board.pulses, board.owned)) or receive(*data)
    outcomes = passed(session_with(board, allowed=Need.WIRE))
    assert set(sent) == {((12000, 0, 8000, 0, 0), 0)}
    assert all(one.status is Status.SKIPPED for one in outcomes if one.check.need > Need.WIRE)


def test_other_limits_than_the_boards_leave_the_checks_without_motion():
    other = (JointLimits(4000, 20000, 700, 70),) * 5
    session = session_with(virtual(), limits=other)
    assert session.allowed is Need.WIRE and session.limits == ()
    assert why_not(session, named("hold-stands-still")) == "the joints' limits are not those of the servo map"


def test_slow_checks_move_slowly_and_stay_near():
    board = virtual(found_us=START_US)
    track = []
    advance, board.advance = board.advance, lambda now_us: (advance(now_us), track.append(board.pulses))
    passed(session_with(board, allowed=Need.MOTION, start=()), FROM_OUTSIDE)
    frames = [pulses for pulses, after in zip(track, track[1:]) if pulses != after]
    assert len(frames) > 200
    assert max(abs(pulse - start) for pulses in frames for pulse, start in zip(pulses, START)) <= 340  # 42 us, under 4 degrees
    assert max(abs(b - a) for one, two in zip(track, track[1:]) for a, b in zip(one, two)) <= 40  # 250 us/s


def test_a_joint_outside_its_limits_is_left_alone():
    board = virtual(found_us=(490.0, *START_US[1:]))
    session = session_with(board, start=(), allowed=Need.MOTION)
    passed(session)
    assert session.usable == 0b11110
    assert board.pulses[0] == 3920 and not board.owned & 1


@pytest.mark.parametrize("allowed", [Need.WIRE, Need.MOTION])
def test_joints_that_a_lost_host_left_behind_are_no_trouble(allowed):
    board = virtual(found_us=START_US)
    board.receive(encode(Adopt(0b11111), 900), 0)
    board.advance(600_000)
    assert board.faults == Fault.HOST_LOST.bit
    passed(meet(Host(LockStepWire(board, now_us=600_000)), limits=CONFIG.joints, allowed=allowed), FROM_OUTSIDE)
    assert (board.live, board.owned, board.pulses) == (0b11111, 0b11111, START)


def test_a_latched_fault_whose_cause_stays_is_told_and_moves_nothing():
    board = virtual()
    board.set_supply(3000)
    skipped = ended(passed(session_with(board), WIRE), Status.SKIPPED)
    assert skipped and all("SUPPLY_LOW" in detail for detail in skipped.values())


def test_hurry_stops_before_it_leaves():
    board = virtual(found_us=START_US)
    session = session_with(board, start=())
    session.take()
    send(session, wavy(session))
    session.host.listen(150_000)
    assert board.state is BoardState.MOVE
    session.leave(hurry=True)
    assert (board.live, board.pulses, board.faults) == (0b11111, START, 0)


# -- no board, another board ---------------------------------------------------------------------------


class Speaker:
    """Something that says the same over and over."""

    def __init__(self, data):
        self.transmit = lambda: data
        self.advance = self.receive = lambda *_: None


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (b"", LinkError, "silent for 4 s"),
        (b"hello world\0", LinkError, "speaks something else: .* at 500000 baud"),
        (build(2, 0x84, 1, b"whatever it says"), VersionError, "speaks protocol version 2, this program 1"),
    ],
    ids=["silent", "something else", "another version"],
)
def test_what_is_no_board_is_told(data, error, text):
    with pytest.raises(error, match=text):
        meet(Host(LockStepWire(Speaker(data))))


def test_a_reset_while_the_port_is_opened_is_no_gap():
    board = virtual()
    host = Host(LockStepWire(board))
    host.listen(50_000)
    board.reboot(50_000, silence_us=300_000)
    session = meet(host, limits=CONFIG.joints, start=START)
    assert {one.boot_id for one in session.first} == {session.info.boot_id} == {2}
    passed(session, [named("telemetry-from-boot")])


def test_a_board_that_falls_silent_ends_the_suite():
    board = virtual()
    session = session_with(board)
    board.transmit = bytes
    with pytest.raises(LinkError, match="does not answer PING|fallen silent"):
        run(session)


# -- broken boards -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("check", "mutant"), MUTANTS, ids=[f"{kind.__name__}-{check}" for check, kind in MUTANTS])
def test_each_broken_rule_is_caught(check, mutant):
    outcome = run_one(session_with(virtual(mutant)), next(one for one in CHECKS if one.name == check))
    assert outcome.status is Status.FAILED, outcome
    assert outcome.detail.startswith("expected ")


def test_every_check_has_caught_something():
    assert {check for check, _ in MUTANTS} == {one.name for one in CHECKS}


@golden("interpolation", "at_us")
def test_the_suites_own_line_is_the_golden_one(vector):
    assert on_line(vector["start_us"], vector["start"], vector["end_us"], vector["end"], vector["at_us"]) == vector["pulse"]
