"""The conformance suite on the real firmware, executed by a simulated Uno."""

from avr_bench import avr, started_at, with_inputs
from firmware_tools import require

require("avr", "sim")

import pytest  # noqa: E402
from conformance import Status, run  # noqa: E402
from conformance.bench import FROM_OUTSIDE, START, START_US, SUPPLY_MV, ended, passed, session_with  # noqa: E402


def uno(*backend, **options):
    """The picker's board, switched on, with its supply."""
    board = avr(*backend, **options)
    board.set_supply(SUPPLY_MV)
    return board


@pytest.mark.parametrize(
    ("backend", "inputs", "baud", "skipped"),
    [
        ("pca9685", False, 500_000, {"a-low-supply-is-a-fault"}),
        ("pca9685", True, 115_200, set()),
        ("timer", True, 500_000, {"a-dead-output-is-a-fault"}),
    ],
    ids=["PCA9685", "PCA9685 with inputs at 115200", "timer pins with inputs"],
)
def test_the_firmware_passes_every_check(backend, inputs, baud, skipped, tmp_path):
    servos = with_inputs(tmp_path) if inputs else None
    board = uno(backend, servos=servos, baud=baud)
    assert set(ended(passed(session_with(board, baud=baud)), Status.SKIPPED)) == skipped
    assert board.pulses_us == (None,) * 5 and board.uno.statistics.overruns == 0


def test_outputs_that_run_already_are_kept():
    board = uno(found_us=START_US)
    found = board.pulses_us
    passed(session_with(board, start=()), FROM_OUTSIDE)
    assert board.live == 0b11111 and board.pulses_us == pytest.approx(found, abs=4.9)


def test_the_time_stamp_may_wrap_around(tmp_path):
    passed(session_with(uno(elf=started_at(2**32 - 22_000_000, tmp_path))))


def test_two_runs_are_alike_to_the_bit():
    def told():
        session = session_with(uno(), start=START)
        run(session, FROM_OUTSIDE[:35])
        return session.host.heard

    assert told() == told()
