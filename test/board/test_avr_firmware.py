"""The real firmware on the simulated Uno: outputs, resets, and what wires may do to it.  All times are simulated."""

import random
from dataclasses import replace

import pytest
from avr_bench import COUNT_EIGHTHS, AvrBench, picker
from firmware_tools import require
from inspected_uno import Bus

from picker_dynamics.board.protocol import Adopt, BoardState, Enable, Fault, Hello, Info, Ping, Reason, Reset, SetPoint
from picker_dynamics.sim.avr_firmware import Cause

require("avr", "sim")

ALL, OUTPUT_FAILED = 0b11111, Fault.OUTPUT_FAILED.bit


# --- outputs ------------------------------------------------------------------------------------------------------


def test_live_outputs_are_found_kept_and_adopted_at_boot():
    found = (1500.0, 1200.0, None, 1800.0, 1600.0)
    bench = AvrBench(found_us=found)
    before = bench.pulses_us
    bench.run(300_000)
    told = bench.tells(live=0b11011, owned=0, state=BoardState.IDLE)
    for pulse, wanted in zip(told.pulses, found):
        assert pulse / 8 == pytest.approx(wanted or 0.0, abs=2.5)
    assert isinstance(bench.send(Hello()), Info)
    bench.refused(Adopt(ALL), Reason.NOT_LIVE)
    bench.acked(Adopt(0b11011))
    bench.run(100_000).tells(owned=0b11011)
    assert bench.pulses_us == before


def test_an_oscillator_that_is_off_is_trimmed_away():
    true_hz, servos = 24.2e6, picker()[1]
    for known_hz, expected_us, within_us in ((25e6, 1500.0 * 25e6 / true_hz, 2.7), (true_hz, 1500.0, 2.6)):
        bench = AvrBench(servos=replace(servos, oscillator_hz=known_hz))
        bench.uno.chip_oscillator(true_hz)
        assert bench.enabled().pulses_us[0] == pytest.approx(expected_us, abs=within_us)


def test_timer_driven_pins_keep_their_pulses_under_load():
    bench = AvrBench("timer").enabled((12_000, 8_000, 9_000, 16_000, 10_000))
    rng, widths = random.Random(3), []
    for _ in range(200):
        bench.run(rng.randrange(500, 5_000), host_alive=False)
        bench.write(Ping())
        widths.append(bench.pulses_us)
    for joint, ideal_us in enumerate((1500.0, 1000.0, 1125.0, 2000.0, 1250.0)):
        assert all(abs(pulses[joint] - ideal_us) <= 7.0 for pulses in widths[10:]), joint


# --- resets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cause, says", [(Cause.WATCHDOG, Fault.RESTARTED.bit), (Cause.EXTERNAL, 0)])
def test_a_reset_in_mid_motion_leaves_the_outputs_where_they_are(cause, says):
    bench = AvrBench().enabled().moving(400)
    boot_id = bench.telemetry[-1].boot_id
    bench.uno.reset(cause, 0, False)
    stood, begin_us = bench.pulses_us, bench.now_us
    bench.run(400_000)
    assert bench.steps(since_us=begin_us) == [] and bench.pulses_us == stood
    bench.tells(faults=says, boot_id=boot_id + 1, live=ALL, owned=0, state=BoardState.IDLE, queue_depth=0)


# --- wires ----------------------------------------------------------------------------------------------------------


def test_a_client_at_another_speed_is_noise_and_no_harm():
    bench = AvrBench().enabled()
    stood = bench.pulses_us
    bench.uno.line_speed(115_200)
    assert bench.send(Ping()) is None
    bench.run(600_000)
    bench.uno.line_speed(500_000)
    bench.run(50_000)
    assert bench.tells(faults=Fault.HOST_LOST.bit).bad_frames > 0 and bench.pulses_us == stood
    bench.acked(Ping())


def test_nothing_is_lost_at_250_set_points_a_second_nor_in_a_flood():
    bench = AvrBench().enabled()
    begin_us, sent = bench.board_us() + 60_000, 250
    for k in range(sent):
        bench.write(SetPoint(begin_us + 4000 * k, bench.at(k)))
        bench.run(4000, host_alive=False)
    bench.tells(accepted=sent, rejected=0, bad_frames=0, missed_frames=0)
    bench.raw(random.Random(9).randbytes(20_000))
    bench.run(500_000)
    bench.require_unhurt()
    bench.write(Ping())
    bench.acked(Ping())
    assert bench.live == ALL


def test_wires_that_come_off_in_motion_make_no_jump():
    bench = AvrBench().enabled().moving(400, 20)
    bench.firmware.set_cause(Fault.OUTPUT_FAILED, True)
    stood = bench.pulses_us
    bench.run(400_000).tells(faults=OUTPUT_FAILED)
    assert bench.pulses_us == stood
    bench.firmware.set_cause(Fault.OUTPUT_FAILED, False)
    begin_us = bench.now_us
    bench.run(200_000).acked(Reset())
    bench.tells(live=ALL)
    most = bench.limits[0].speed + COUNT_EIGHTHS
    assert all(abs(step) <= most for joint in range(5) for step in bench.steps(joint, begin_us))


def test_a_chip_that_lost_its_supply_is_not_driven_by_surprise():
    bench = AvrBench().enabled()
    bench.uno.chip_power(False)
    bench.run(100_000).tells(faults=OUTPUT_FAILED)
    bench.uno.chip_power(True)
    bench.run(200_000).tells(live=0)
    assert bench.live == 0
    bench.acked(Reset())
    bench.acked(Enable(ALL, bench.start))
    assert bench.live == ALL


@pytest.mark.parametrize("state", [Bus.SDA_SHORT, Bus.SCL_SHORT])
def test_a_stuck_bus_costs_the_outputs_but_nothing_else(state):
    bench = AvrBench().enabled().moving(400, 20)
    bench.uno.bus(state)
    stood = bench.pulses_us
    bench.uno.clear_statistics()
    before = len(bench.telemetry)
    bench.run(1_000_000)
    bench.require_unhurt()
    assert bench.uno.statistics.resets == 0
    bench.tells(faults=OUTPUT_FAILED)
    assert bench.pulses_us == stood and len(bench.telemetry) - before >= 50
    bench.uno.bus(Bus.FREE)
    bench.run(100_000).acked(Reset())


def test_a_slave_in_the_middle_of_a_byte_is_clocked_out():
    """At boot too, and wherever in a frame it gets stuck."""
    bench = AvrBench(found_us=(1500.0,) * 5)
    bench.uno.bus(Bus.SDA_HELD)
    bench.run(200_000).tells(live=ALL, faults=0)
    bench.acked(Adopt(ALL))
    for _ in range(100):
        bench.run(20_200)
        bench.uno.bus(Bus.SDA_HELD)
        bench.run(60_000).tells(faults=0)
    bench.moving(300, 10).tells(faults=0)
