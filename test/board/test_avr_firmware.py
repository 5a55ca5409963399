"""The real firmware on the simulated Uno: motion, outputs, and what the wire may do to it.  All times are simulated."""

import random

import pytest
from avr_bench import ALL, MIDDLE, AvrBench, picker, with_inputs
from firmware_tools import require

from picker_dynamics.board.protocol import Adopt, BoardState, Fault, Hello, Info, Ping, Reason, SetPoint, TelemetryPeriod
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.sim.avr_uno import Cause

require("avr", "sim")


# --- outputs ------------------------------------------------------------------------------------------------------


def test_live_outputs_are_found_kept_and_adopted_at_boot():
    found = (1500.0, 1200.0, None, 1800.0, 1600.0)
    bench = AvrBench(found_us=found)
    before = bench.pulses_us
    bench.run(300_000)
    assert bench.pulses_us == before
    bench.tells(live=0b11011, owned=0, state=BoardState.IDLE)
    for pulse, wanted in zip(bench.last.pulses, found):
        assert pulse / 8 == pytest.approx(wanted or 0.0, abs=2.5)
    assert isinstance(bench.send(Hello()), Info)
    bench.refused(Adopt(ALL), Reason.NOT_LIVE)
    bench.acked(Adopt(0b11011))
    bench.run(100_000).tells(owned=0b11011)
    assert bench.pulses_us == before


def trimmed(servos: ServoMap, oscillator_hz: float) -> ServoMap:
    return ServoMap(servos.servos, servos.frame_s, servos.quantum_us, oscillator_hz, servos.supply)


@pytest.mark.parametrize("true_hz", [24.2e6, 26.1e6])
def test_an_oscillator_that_is_off_is_trimmed_away(true_hz):
    plain = AvrBench(oscillator_hz=true_hz).enabled()
    assert plain.firmware.pulses_us[0] == pytest.approx(1500.0 * 25e6 / true_hz, abs=2.6)
    known = AvrBench(servos=trimmed(picker()[1], true_hz), oscillator_hz=true_hz).enabled()
    assert known.firmware.pulses_us[0] == pytest.approx(1500.0, abs=0.5 * known.uno.chip_count_us + 0.07)


def test_timer_driven_pins_keep_their_pulses_under_load():
    bench = AvrBench("timer").enabled((12_000, 8_000, 9_000, 16_000, 10_000))
    rng = random.Random(3)
    widths = []
    for _ in range(400):
        bench.run(rng.randrange(500, 5_000), host_alive=False, step_us=500)
        bench.write(Ping())
        widths.append(bench.pulses_us)
    for joint, ideal_us in enumerate((1500.0, 1000.0, 1125.0, 2000.0, 1250.0)):
        assert all(abs(pulses[joint] - ideal_us) <= 7.0 for pulses in widths[10:]), joint
    assert bench.uno.statistics.overruns == 0


# --- resets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cause, says", [(Cause.BROWN_OUT, Fault.RESTARTED.bit), (Cause.WATCHDOG, Fault.RESTARTED.bit), (Cause.EXTERNAL, 0)]
)
def test_a_reset_in_mid_motion_leaves_the_outputs_where_they_are(cause, says):
    bench = AvrBench().enabled().moving()
    boot_id = bench.last.boot_id
    bench.uno.reset(cause)
    stood = bench.pulses_us
    begin_us = bench.now_us
    bench.run(400_000)
    assert bench.last.boot_id != boot_id
    assert bench.steps(since_us=begin_us) == [] and bench.pulses_us == stood
    bench.tells(faults=says, live=ALL, owned=0, state=BoardState.IDLE, queue_depth=0)


def test_opening_the_port_resets_an_uno_whose_boot_loader_hides_the_cause():
    bench = AvrBench(hide_cause=True).run(200_000)
    boot_id = bench.last.boot_id
    bench.firmware.reboot(bench.now_us, silence_us=1_000_000)
    said = len(bench.telemetry)
    bench.run(990_000)
    assert len(bench.telemetry) == said and bench.uno.statistics.deaf > 0
    bench.tells(boot_id=boot_id + 1, faults=0)


# --- the wire -------------------------------------------------------------------------------------------------------


def test_a_client_at_another_speed_is_noise_and_no_harm():
    bench = AvrBench().enabled()
    stood = bench.pulses_us
    bench.firmware.line_speed(115_200)
    assert bench.send(Ping()) is None
    bench.run(600_000)
    bench.firmware.line_speed(500_000)
    bench.run(50_000)
    bench.tells(faults=Fault.HOST_LOST.bit)
    assert bench.last.bad_frames > 0 and bench.pulses_us == stood
    bench.acked(Ping())


def test_nothing_is_lost_at_250_set_points_a_second():
    bench = AvrBench().enabled()
    bench.send(TelemetryPeriod(10))
    begin_us, sent = bench.board_us() + 60_000, 500
    for k in range(sent):
        bench.write(SetPoint(begin_us + 4000 * k, tuple(pulse + k for pulse in MIDDLE)))
        bench.run(4000, host_alive=False)
    bench.tells(accepted=sent, rejected=0, bad_frames=0, missed_frames=0)
    bench.require_unhurt()


def test_a_flood_without_a_pause_is_survived():
    bench = AvrBench().enabled()
    rng = random.Random(9)
    bench.firmware.receive(rng.randbytes(20_000), bench.now_us)
    bench.run(500_000)
    bench.require_unhurt()
    bench.write(Ping())
    bench.acked(Ping())
    assert bench.live == ALL


def test_inputs_arrive_in_the_telemetry(tmp_path):
    bench = AvrBench(servos=with_inputs(tmp_path))
    bench.firmware.feedback = (None, 300, None, 700, None)
    bench.firmware.set_supply(6000)
    bench.run(300_000)
    last = bench.last
    assert [value is None for value in last.feedback] == [True, False, True, False, True]
    assert last.feedback[1] == pytest.approx(300, abs=2) and last.feedback[3] == pytest.approx(700, abs=2)
    assert last.supply_mv == pytest.approx(6000, abs=25) and last.faults == 0
