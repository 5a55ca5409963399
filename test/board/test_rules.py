"""The rules of the protocol's page: sound boards keep them, and each broken one is noticed."""

from dataclasses import replace

import pytest
from firmware_bench import CONFIG, SUPPLY_MV, Bench, golden
from rules import RULES
from rules.motion import on_line

from picker_dynamics.board.protocol import JointLimits

OTHER = replace(CONFIG, joints=(JointLimits(4000, 20000, 407, 77),) * 8, resolution_ns=500, host_timeout_ms=400)


def bench(config=CONFIG) -> Bench:
    made = Bench(config)
    made.firmware.set_supply(SUPPLY_MV)
    return made


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "config",
    [CONFIG, replace(OTHER, start_time_us=2**32 - 300_000)],
    ids=["PCA9685", "eight pins, patient, over the wrap of the clock"],
)
def test_the_virtual_board_keeps(rule, config):
    RULES[rule](bench(config))


@golden("interpolation", "at_us")
def test_the_rules_own_line_is_the_golden_one(vector):
    assert on_line(vector["start_us"], vector["start"], vector["end_us"], vector["end"], vector["at_us"]) == vector["pulse"]
