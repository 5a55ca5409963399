"""The rules of the protocol's page, kept by the real firmware on a simulated Uno."""

import pytest
from avr_bench import AvrBench, with_inputs
from firmware_bench import SUPPLY_MV
from firmware_tools import require
from rules import RULES

require("avr", "sim")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("backend", ["pca9685", "timer"])
def test_the_firmware_keeps(backend, rule, tmp_path):
    bench = AvrBench(backend, servos=with_inputs(tmp_path))
    bench.firmware.set_supply(SUPPLY_MV)
    RULES[rule](bench)
    assert bench.uno.statistics.overruns == 0


def test_the_time_stamp_wraps_around_in_motion(tmp_path):
    for name in ("pulses_are_interpolated", "stop_brakes_evenly_and_nothing_resumes", "a_silent_host_is_lost"):
        RULES[name](AvrBench(start_us=2**32 - 300_000, folder=tmp_path))


def test_two_runs_are_alike_to_the_bit():
    benches = [AvrBench(), AvrBench()]
    for bench in benches:
        RULES["good_frames_pass_through_a_storm"](bench)
    assert benches[0].heard == benches[1].heard
