"""The real firmware on the simulated Uno: motion, outputs, and what the wire may do to it.  All times are simulated."""

import random

import pytest
from avr_bench import ALL, COUNT_EIGHTHS, FRAME_US, MIDDLE, SPEED, AvrBench, picker, started_at, with_inputs
from firmware_tools import require

from picker_dynamics.board.firmware.config import board_limits
from picker_dynamics.board.protocol import (
    Ack,
    Adopt,
    BoardState,
    Fault,
    Hello,
    Info,
    Nack,
    Ping,
    Reason,
    SetPoint,
    TelemetryPeriod,
)
from picker_dynamics.robot.servo_map import ServoMap
from picker_dynamics.sim.avr_uno import Cause

require("avr", "sim")


def ramp(start_us, count, *, spacing_us=FRAME_US, speed=300):
    """Points from the middle on at ``speed`` [1/8 us per frame], ``count`` of them later standing at the end."""
    values = [speed * k * spacing_us // FRAME_US for k in range(count + 1)]
    return [
        (start_us + spacing_us * k, tuple(pulse + value for pulse in MIDDLE)) for k, value in enumerate([*values, values[-1]])
    ]


def test_the_speed_limit_is_the_one_that_these_tests_assume():
    assert {limits.speed for limits in board_limits(picker()[1])} == {SPEED}


def test_a_motion_is_played_to_half_a_count():
    bench = AvrBench().enabled()
    start_us = bench.board_us() + 60_000
    offset_us = bench.firmware.board_time_us(0)
    bench.stream(ramp(start_us, 16))
    bench.run(600_000)
    bench.tells(state=BoardState.HOLD, faults=0, underruns=0)
    for time_us, pulses in bench.track:
        board_us = time_us + offset_us
        played_us = board_us // FRAME_US * FRAME_US + FRAME_US // 2  # the frame that this sample lies in
        if start_us <= played_us <= start_us + 16 * FRAME_US and board_us % FRAME_US > 3000:  # it is on the outputs by then
            ideal = MIDDLE[0] + 300 * (played_us - start_us) / FRAME_US
            assert 8 * pulses[0] == pytest.approx(ideal, abs=0.5 * COUNT_EIGHTHS + 1)
    assert len(set(pulses for _, pulses in bench.track)) > 15


def test_jitter_of_20_ms_on_the_host_leaves_the_pulses_unchanged():
    def played(jitter_us):
        bench = AvrBench().enabled()
        rng = random.Random(4)
        begin_us, board_us = bench.now_us, bench.board_us()
        for k, (time_us, pulses) in enumerate(ramp(board_us + 60_000, 60, spacing_us=10_000, speed=60)):
            at_us = begin_us + 10_000 * k + rng.randrange(jitter_us + 1)
            bench.run(max(0, at_us - bench.now_us), host_alive=False, step_us=500)
            bench.write(SetPoint(time_us, pulses))
        bench.run(300_000).tells(rejected=0, underruns=0)
        grid = {time_us: pulses for time_us, pulses in bench.track if time_us % FRAME_US == 15_000}
        return [grid[time_us] for time_us in sorted(grid) if begin_us < time_us < begin_us + 900_000]

    punctual, late = played(0), played(20_000)
    assert punctual == late
    assert len(set(punctual)) > 25


def test_time_stamps_wrap_around(tmp_path):
    def played(bench):
        bench.enabled()
        bench.moving(300, 23)
        bench.run(500_000)
        return bench

    before, usual = played(AvrBench(elf=started_at(2**32 - 330_000, tmp_path))), played(AvrBench())
    assert before.telemetry[0].time_us >= 2**32 - 330_000 and before.telemetry[-1].time_us < 2_000_000
    assert before.track == usual.track
    before.tells(accepted=23, rejected=0)


def test_the_queue_holds_24_points_and_refuses_the_next():
    bench = AvrBench().enabled()
    points = ramp(bench.board_us() + 500_000, 22)
    bench.stream([*points, (points[-1][0] + FRAME_US, MIDDLE)])
    bench.run(60_000)
    [refusal] = [answer for answer in bench.answers if not isinstance(answer, Ack)]
    assert isinstance(refusal, Nack) and refusal.reason is Reason.QUEUE_FULL
    bench.tells(queue_depth=24, accepted=24, rejected=1)
    bench.run(1_000_000)
    assert bench.pulses_us[0] * 8 == pytest.approx(points[-1][1][0], abs=COUNT_EIGHTHS)


def test_an_underrun_brakes_within_the_limit_and_is_counted_once():
    bench = AvrBench().enabled().moving(700, 8).run(1_000_000)
    bench.tells(underruns=1, faults=0, state=BoardState.HOLD)
    steps = bench.steps()
    assert max(map(abs, steps)) <= SPEED + COUNT_EIGHTHS
    assert steps[-1] < 200  # it did not stop dead


def test_a_leap_is_played_at_the_speed_limit():
    bench = AvrBench().enabled()
    far = bench.board_us() + 60_000
    bench.stream([(far, MIDDLE), (far + FRAME_US, (16_000,) * 5), (far + 2 * FRAME_US, (16_000,) * 5)])
    bench.run(400_000)
    assert max(bench.steps()) <= SPEED + COUNT_EIGHTHS
    assert bench.pulses_us[0] == pytest.approx(2000.0, abs=2.5)


# --- outputs ------------------------------------------------------------------------------------------------------


def test_nothing_moves_before_the_host_asks():
    bench = AvrBench().run(500_000)
    assert bench.pulses_us == (None,) * 5
    bench.tells(live=0, owned=0)


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


def test_timer_driven_pins_stop_with_a_reset():
    bench = AvrBench("timer").enabled().run(100_000)
    bench.firmware.reboot(bench.now_us)
    bench.run(200_000).tells(live=0)
    assert bench.pulses_us == (None,) * 5


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


def test_two_runs_are_the_same_to_the_bit():
    def run():
        rng = random.Random(11)
        bench = AvrBench().enabled()
        bench.moving()
        for _ in range(50):
            bench.firmware.receive(rng.randbytes(rng.randrange(60)), bench.now_us)
            bench.run(rng.randrange(200, 30_000))
        return bench.telemetry, bench.answers, bench.track, bench.uno.statistics, bench.uno.markers()

    assert run() == run()
