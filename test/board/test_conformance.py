"""The conformance suite: a sound board passes it, and each broken rule is caught by the check of that rule."""

from dataclasses import replace

import conformance.motion_mutants
import conformance.request_mutants  # noqa: F401  so does this
import pytest
from conformance import Host, Status, meet, run
from conformance.bench import CONFIG, FROM_OUTSIDE, START, START_US, ended, passed, session_with, virtual
from conformance.mutants import MUTANTS
from conformance.suite import CHECKS, NAMED, run_one
from conformance.track import on_line
from firmware_bench import golden

from picker_dynamics.board.protocol import JointLimits

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


def test_a_session_after_a_reset_is_one_of_the_new_start():
    board = virtual()
    board.advance(50_000)
    board.reboot(50_000, silence_us=300_000)
    session = meet(Host(board, now_us=50_000), limits=CONFIG.joints, start=START)
    passed(session, [NAMED["telemetry-from-boot"]])
    assert session.info.boot_id == 2


# -- broken boards -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("check", "mutant"), MUTANTS, ids=[f"{kind.__name__}-{check}" for check, kind in MUTANTS])
def test_each_broken_rule_is_caught(check, mutant):
    outcome = run_one(session_with(virtual(mutant)), NAMED[check])
    assert outcome.status is Status.FAILED, outcome
    assert outcome.detail.startswith("expected ")


def test_every_check_has_caught_something():
    assert {check for check, _ in MUTANTS} == set(NAMED)


@golden("interpolation", "at_us")
def test_the_suites_own_line_is_the_golden_one(vector):
    assert on_line(vector["start_us"], vector["start"], vector["end_us"], vector["end"], vector["at_us"]) == vector["pulse"]


def test_two_sessions_are_alike_to_the_bit():
    def heard():
        session = session_with(virtual())
        run(session, FROM_OUTSIDE[:20])
        return session.host.heard

    assert heard() == heard()
