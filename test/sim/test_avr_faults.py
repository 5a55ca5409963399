"""The real firmware on the simulated Uno: what it does when something breaks.  All times are simulated."""

import pytest
from avr_bench import ALL, COUNT_EIGHTHS, MIDDLE, SPEED, AvrBench
from firmware_tools import require
from inspected_uno import Bus

from picker_dynamics.board.protocol import Enable, Fault, Hello, Info, Ping, Reason, Reset

require("avr", "sim")

OUTPUT_FAILED = Fault.OUTPUT_FAILED.bit


# --- the output stage -------------------------------------------------------------------------------------------------


def test_a_missing_chip_is_reported_and_found_when_it_comes():
    bench = AvrBench()
    bench.uno.chip_connected(False)
    bench.uno.reset()
    bench.run(200_000).tells(faults=OUTPUT_FAILED)
    bench.refused(Reset(), Reason.FAULT_PERSISTS, OUTPUT_FAILED)
    bench.uno.chip_connected(True)
    bench.run(100_000)
    bench.acked(Reset())
    bench.enabled()
    assert bench.pulses_us[0] == pytest.approx(1500.0, abs=2.5)


def test_wires_that_come_off_in_motion():
    bench = AvrBench().enabled().moving(500, 20)
    bench.firmware.set_cause(Fault.OUTPUT_FAILED, True)
    stood = bench.pulses_us
    bench.run(400_000).tells(faults=OUTPUT_FAILED)
    assert bench.pulses_us == stood
    bench.firmware.set_cause(Fault.OUTPUT_FAILED, False)
    begin_us = bench.now_us
    bench.run(200_000)
    bench.acked(Reset())
    bench.tells(live=ALL)
    assert all(abs(step) <= SPEED + COUNT_EIGHTHS for joint in range(5) for step in bench.steps(joint, begin_us))


def test_a_chip_that_lost_its_supply_is_not_driven_by_surprise():
    bench = AvrBench().enabled()
    bench.uno.chip_power(False)
    bench.run(100_000).tells(faults=OUTPUT_FAILED)
    bench.uno.chip_power(True)
    bench.run(200_000).tells(live=0)
    assert bench.live == 0
    bench.acked(Reset())
    bench.acked(Enable(ALL, MIDDLE))
    assert bench.live == ALL


@pytest.mark.parametrize("state", [Bus.SDA_SHORT, Bus.SCL_SHORT])
def test_a_stuck_bus_costs_the_outputs_but_nothing_else(state):
    bench = AvrBench().enabled().moving(500, 20)
    bench.uno.bus(state)
    stood = bench.pulses_us
    bench.uno.clear_statistics()
    before = len(bench.telemetry)
    bench.run(1_000_000)
    bench.require_unhurt()
    assert bench.uno.statistics.resets == 0
    bench.tells(faults=OUTPUT_FAILED)
    assert bench.pulses_us == stood and len(bench.telemetry) - before >= 50
    bench.acked(Ping())
    bench.uno.bus(Bus.FREE)
    bench.run(100_000)
    bench.acked(Reset())


def test_a_slave_in_the_middle_of_a_byte_is_clocked_out():
    bench = AvrBench().enabled()
    bench.uno.bus(Bus.SDA_HELD)
    bench.run(100_000)
    if bench.last.faults:
        bench.tells(faults=OUTPUT_FAILED)
        bench.acked(Reset())
    bench.moving(300, 10).tells(faults=0)


def test_a_bus_that_is_stuck_at_boot_is_clocked_free():
    bench = AvrBench(found_us=(1500.0,) * 5)
    bench.uno.bus(Bus.SDA_HELD)
    bench.run(200_000).tells(live=ALL, faults=0)
    assert isinstance(bench.send(Hello()), Info)
