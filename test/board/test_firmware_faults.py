"""Stop, faults, a lost host, a reset of the board: in simulated time."""

from firmware_bench import ALL, FRAME_US, LIMITS, MIDDLE, Bench, steps

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import (
    Adopt,
    BoardState,
    Disable,
    Enable,
    Fault,
    Hello,
    Ping,
    Reason,
    Relax,
    Reset,
    SetPoint,
    Stop,
)
from picker_dynamics.board.protocol.framing import build

# -- stop, faults, reset -------------------------------------------------------------------------------


def test_stop_flushes_decelerates_holds_and_latches():
    bench = Bench().enabled().moving(speed=200)
    bench.track = [bench.pulses]
    bench.acked(Stop())
    bench.run(1_000_000)
    assert steps(bench.track)[:6] == [160, 120, 80, 40, 0, 0]
    bench.tells(state=BoardState.HOLD, faults=1, queue_depth=0, live=ALL, owned=ALL)
    bench.refused(SetPoint(bench.now_us + 50_000, MIDDLE), Reason.FAULT, Fault.STOPPED.bit)
    held = bench.pulses
    bench.acked(Reset())
    bench.run(500_000)
    assert bench.pulses == held  # nothing resumes
    assert bench.send(SetPoint(bench.now_us + 50_000, held)) is None


def test_stop_is_latched_even_when_nothing_moves_or_is_owned():
    bench = Bench()
    bench.send(Stop())
    bench.refused(Enable(ALL, MIDDLE), Reason.FAULT)
    bench.refused(Adopt(ALL), Reason.FAULT)
    bench.send(Reset())
    bench.acked(Enable(ALL, MIDDLE))


def test_an_arm_can_be_relaxed_and_disabled_while_stopped():
    bench = Bench().enabled()
    bench.send(Stop())
    bench.acked(Disable(0b001))
    bench.acked(Relax())
    assert bench.live == 0


def test_a_lost_host_means_standstill_within_half_a_second_and_holding_for_ever():
    bench = Bench().enabled().moving(speed=300, lead_us=200_000)  # never refilled
    bench.send(Ping())
    lost_us = bench.now_us
    bench.track = [bench.pulses]
    bench.run(60_000_000, host_alive=False)
    assert max(steps(bench.track)) <= 300
    still = next(k for k in range(len(bench.track)) if bench.track[k] == bench.track[-1])
    assert still * FRAME_US <= 500_000
    latched = next(one for one in bench.telemetry if one.faults)
    assert latched.faults == Fault.HOST_LOST.bit
    assert 250_000 < latched.time_us - lost_us <= 290_000
    bench.tells(live=ALL, owned=ALL)
    bench.acked(Reset())
    assert bench.faults == 0


def test_a_host_lost_long_before_its_queue_ends_is_not_followed():
    bench = Bench().enabled().run(FRAME_US)
    bench.stream([(bench.now_us + 1_900_000, (18000,) * 3)])
    bench.run(3_000_000, host_alive=False)
    bench.tells(faults=Fault.HOST_LOST.bit, queue_depth=0)
    assert bench.pulses[0] < 12000 + 6000 * 400 / 1900


def test_any_valid_frame_keeps_the_watch_quiet_and_damage_does_not():
    bench = Bench().enabled()
    for _ in range(50):
        bench.run(200_000, host_alive=False)
        bench.send(Ping())
    assert bench.faults == 0
    for _ in range(5):
        bench.run(60_000, host_alive=False)
        bench.send_bytes(b"\x55\x66\x00" + build(2, 2, 0, b""))  # noise, and another version
    assert bench.faults == Fault.HOST_LOST.bit


def test_an_idle_board_misses_no_host():
    Bench(found_us=(1500.0,) * 3).run(10_000_000, host_alive=False).tells(faults=0)


def test_a_fault_stays_latched_until_its_cause_is_gone():
    bench = Bench().enabled().moving()
    bench.firmware.set_cause(Fault.OUTPUT_FAILED, True)
    bench.run(500_000)
    bench.tells(faults=Fault.OUTPUT_FAILED.bit, state=BoardState.HOLD)
    bench.send(Stop())
    bench.refused(Reset(), Reason.FAULT_PERSISTS, Fault.OUTPUT_FAILED.bit)
    assert bench.faults == Fault.OUTPUT_FAILED.bit  # the stop, whose cause is gone, was cleared
    bench.firmware.set_cause(Fault.OUTPUT_FAILED, False)
    assert bench.faults == Fault.OUTPUT_FAILED.bit
    bench.acked(Reset())
    assert bench.faults == 0


def test_low_supply_is_a_fault_where_it_is_measured():
    bench = Bench(FirmwareConfig(LIMITS, supply_min_mv=4800)).enabled()
    bench.firmware.set_supply(5900)
    bench.run(FRAME_US).tells(supply_mv=5900, faults=0)
    bench.firmware.set_supply(4700)
    bench.tells(faults=0)  # telemetry was built before
    bench.run(FRAME_US).tells(faults=Fault.SUPPLY_LOW.bit)
    bench.firmware.set_supply(5900)
    bench.acked(Reset())


# -- reset of the board --------------------------------------------------------------------------------


def test_a_reset_in_mid_motion_keeps_the_pulses_and_tells_by_its_boot_id():
    bench = Bench(boot_id=65535).enabled().moving()
    frozen = bench.pulses
    bench.firmware.reboot(bench.now_us, keep_outputs=True, silence_us=1_000_000)
    sent_before = len(bench.telemetry)
    bench.run(900_000, host_alive=False)
    assert len(bench.telemetry) == sent_before and bench.pulses == frozen
    assert bench.send(Hello()) is None  # the boot loader eats it
    bench.run(200_000, host_alive=False)
    first = bench.telemetry[sent_before]
    assert (first.boot_id, first.time_us, first.live, first.owned) == (0, 0, ALL, 0)
    assert (first.pulses, first.accepted, first.faults, first.queue_depth) == (frozen, 0, 0, 0)
    bench.refused(SetPoint(200_000, MIDDLE), Reason.NOT_ENABLED)
    assert bench.pulses == frozen
    bench.acked(Adopt(ALL))


def test_timer_driven_pins_stop_at_a_reset():
    bench = Bench().enabled()
    bench.firmware.reboot(bench.now_us, keep_outputs=False, fault=Fault.RESTARTED)
    bench.run(FRAME_US).tells(live=0, faults=Fault.RESTARTED.bit)
    bench.refused(Enable(ALL, MIDDLE), Reason.FAULT)
