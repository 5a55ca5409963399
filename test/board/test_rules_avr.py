"""The rules of the protocol's page, kept by the real firmware on a simulated Uno."""

import pytest
from avr_bench import AvrBench, with_inputs
from firmware_bench import SUPPLY_MV
from firmware_tools import require
from rules import RULES, talk

require("avr", "sim")


SAID = [("timer", rule) for rule in talk.rule.all]
"""What is said does not depend on what makes the pulses."""
CASES = [(backend, name) for name, rule in RULES.items() for backend in ("pca9685", "timer") if (backend, rule) not in SAID]


@pytest.mark.parametrize("backend, rule", CASES)
def test_the_firmware_keeps(backend, rule, tmp_path):
    bench = AvrBench(backend, servos=with_inputs(tmp_path))
    bench.firmware.set_supply(SUPPLY_MV)
    RULES[rule](bench)
    assert bench.uno.statistics.overruns == 0


def test_the_time_stamp_wraps_around_in_motion(tmp_path):
    RULES["pulses_are_interpolated"](AvrBench(start_us=2**32 - 300_000, folder=tmp_path))
