"""Switching outputs on and off, owning them, stops and faults, and what the queue takes: nothing moves here."""

import pytest
from firmware_bench import FRAME_US, SUPPLY_MV, Bench, require_nack

from picker_dynamics.board.protocol import (
    Adopt,
    BoardState,
    Disable,
    Enable,
    Fault,
    Reason,
    Relax,
    Reset,
    SetPoint,
    Stop,
    Telemetry,
)

from .rule import Rules

rule = Rules()
FIRST, SECOND = 0b01, 0b10
PCA9685_NS, PIN_US = 2_500, 7.0
"""A resolution above this means a PCA9685 [ns]; how far a pin's pulse may be off where interrupts get in its way [us]."""


def masked(bench: Bench, mask: int) -> tuple[int, ...]:
    """The pulses at which joints start, 0 for those not in the mask."""
    return tuple(pulse if mask >> joint & 1 else 0 for joint, pulse in enumerate(bench.start))


def enable(bench: Bench, mask: int) -> Enable:
    """The message that switches on these joints."""
    return Enable(mask, masked(bench, mask))


def same(before: Telemetry, *names: str) -> dict[str, object]:
    """Fields of telemetry, as a later one has to have them."""
    return {name: getattr(before, name) for name in names}


def keeps_outputs(bench: Bench) -> bool:
    """Whether the outputs are a PCA9685's, which outlive a reset of the board."""
    return bench.config.resolution_ns > PCA9685_NS


# -- stop and faults -------------------------------------------------------------------------------------------------


@rule
def a_set_point_is_refused_for_the_first_reason_and_counted(bench: Bench) -> None:
    """BAD_LENGTH, FAULT, NOT_ENABLED, then what the queue says."""
    before, far = bench.greeted().last, bench.board_us() + 2**30
    expected = [
        (SetPoint(far % 2**32, (1,) * bench.n), Reason.NOT_ENABLED),
        (SetPoint(0, (1,) * (bench.n - 1)), Reason.BAD_LENGTH),
    ]
    for count, (message, reason) in enumerate(expected, 1):
        bench.refused(message, reason, 0)
        bench.tells(rejected=before.rejected + count, last_reason=reason, accepted=0, queue_depth=0)
    bench.acked(Stop())
    bench.refused(expected[0][0], Reason.FAULT, 1)
    bench.refused(expected[1][0], Reason.BAD_LENGTH, 0)


@rule
def an_idle_board_misses_no_host(bench: Bench) -> None:
    """While the host owns nothing, its silence is no fault."""
    bench.greeted().run(3_000 * bench.config.host_timeout_ms, host_alive=False)
    bench.tells(faults=0, state=BoardState.IDLE)


@rule
def disable_stop_and_relax_are_always_carried_out(bench: Bench) -> None:
    """Of what is off too, and while a fault is latched."""
    bench.enabled().acked(Stop())
    for message in (Disable(bench.all), Disable(bench.all), Stop(), Relax()):
        bench.acked(message)
        bench.tells(live=bench.live, owned=0, state=BoardState.IDLE)
    bench.tells(live=0)


@rule
def a_low_supply_is_a_fault(bench: Bench) -> None:
    """Raised where it falls below its minimum, latched until it is back and RESET comes."""
    least = bench.config.supply_min_mv
    if not least:
        pytest.skip("the board does not measure its supply")
    bench.greeted().run(100_000)
    assert abs(bench.last.supply_mv - SUPPLY_MV) <= 60
    bench.firmware.set_supply(least - 300)
    bench.run(200_000).tells(faults=Fault.SUPPLY_LOW.bit)
    bench.refused(Reset(), Reason.FAULT_PERSISTS, Fault.SUPPLY_LOW.bit)
    bench.firmware.set_supply(SUPPLY_MV)
    bench.run(200_000).tells(faults=Fault.SUPPLY_LOW.bit)
    bench.acked(Reset())
    bench.tells(faults=0)


@rule
def a_dead_output_is_a_fault(bench: Bench) -> None:
    """A motion is braked; what was disabled meanwhile is off, and the rest runs on, once it answers and RESET comes."""
    if not keeps_outputs(bench):
        pytest.skip("pins cannot be unplugged")
    bench.enabled().moving(60, 15)
    bench.firmware.set_cause(Fault.OUTPUT_FAILED, True)
    bench.run(300_000)
    failed = bench.tells(faults=Fault.OUTPUT_FAILED.bit, state=BoardState.HOLD, queue_depth=0)
    assert failed.pulses[0] < bench.at(60 * 15)[0]
    bench.refused(Reset(), Reason.FAULT_PERSISTS, Fault.OUTPUT_FAILED.bit)
    bench.acked(Disable(FIRST))
    bench.firmware.set_cause(Fault.OUTPUT_FAILED, False)
    bench.run(300_000).acked(Reset())
    kept = bench.all & ~FIRST
    assert bench.tells(faults=0, live=kept).live == bench.live == kept
    require_true(bench, bench.config.resolution_ns * 1e-3)


@rule
def a_reset_of_the_board_keeps_the_outputs(bench: Bench) -> None:
    """Of a PCA9685; nothing is owned, counters are 0, and the boot id is another.  Nothing changes before a host says so."""
    before, kept = bench.enabled().moving(30).still(), keeps_outputs(bench)
    bench.firmware.reboot(bench.now_us, keep_outputs=kept, silence_us=100_000)
    bench.run(400_000, host_alive=False)
    after, step = bench.last, -(-bench.config.resolution_ns // 125)
    assert after.boot_id != before.boot_id and (after.live, after.owned) == (bench.all if kept else 0, 0)
    assert all(abs(a - b) <= step if kept else not b for a, b in zip(before.pulses, after.pulses))
    counters = (after.accepted, after.rejected, after.underruns, after.bad_frames, after.faults, after.queue_depth)
    assert counters == (0,) * 6 and after.state is BoardState.IDLE
    bench.refused(SetPoint(bench.board_us(), bench.start), Reason.NOT_ENABLED)
    bench.tells(**same(after, "pulses", "live"))
    if kept:
        bench.acked(Adopt(bench.all))


@rule
def a_restart_is_latched(bench: Bench) -> None:
    """By a brown-out or the board's own watchdog, until RESET."""
    bench.enabled().firmware.reboot(bench.now_us, keep_outputs=keeps_outputs(bench), fault=Fault.RESTARTED)
    bench.run(200_000).tells(faults=Fault.RESTARTED.bit)
    for message in (Adopt(1), enable(bench, 1)):
        bench.refused(message, Reason.FAULT, Fault.RESTARTED.bit)
    bench.acked(Reset())
    bench.tells(faults=0)


# -- outputs ---------------------------------------------------------------------------------------------------------


def require_true(bench: Bench, within_us: float) -> None:
    """Require the outputs to carry what telemetry says."""
    told = bench.run(60_000).last.pulses
    for true, pulse in zip(bench.pulses_us, told):
        assert (true is None) == (not pulse) and abs((true or 0.0) - pulse / 8) <= within_us, (bench.pulses_us, told)


@rule
def outputs_carry_the_pulses(bench: Bench) -> None:
    """To half a step of a PCA9685, to 7 us of a pin."""
    bench.enabled().moving(37, 12).still()
    require_true(bench, bench.config.resolution_ns * 0.5e-3 + 0.5 if keeps_outputs(bench) else PIN_US)


@rule
def enable_switches_on_what_it_names(bench: Bench) -> None:
    """At its pulse, at once, and nothing else; all or nothing."""
    bench.greeted()
    bench.refused(Adopt(bench.all), Reason.NOT_LIVE, 0)
    for joint in range(bench.n):
        bench.acked(enable(bench, 1 << joint))
        live = (2 << joint) - 1
        bench.tells(live=live, owned=live, pulses=masked(bench, live))
    bench.acked(Disable(FIRST))
    before = bench.last
    bench.refused(enable(bench, FIRST | SECOND), Reason.ALREADY_LIVE, 1)
    bench.refused(Adopt(FIRST | SECOND), Reason.NOT_LIVE, 0)
    bench.tells(**same(before, "live", "owned", "pulses"))


@rule
def enable_refuses_pulses_outside(bench: Bench) -> None:
    """With OUT_OF_LIMITS and the joint; the limits themselves are inside."""
    bench.greeted()
    for joint, limit in enumerate(bench.limits):
        for pulse in (limit.lowest - 1, limit.highest + 1, 0):
            pulses = tuple(pulse if j == joint else start for j, start in enumerate(bench.start))
            bench.refused(Enable(bench.all, pulses), Reason.OUT_OF_LIMITS, joint)
        assert not bench.live
        for pulse in (limit.lowest, limit.highest):
            bench.acked(Enable(1 << joint, tuple(pulse * (j == joint) for j in range(bench.n))))
            bench.acked(Disable(1 << joint))


@rule
def switching_on_waits_for_standstill(bench: Bench) -> None:
    """While the arm moves ENABLE and ADOPT are refused with BUSY."""
    bench.greeted().acked(enable(bench, FIRST))
    assert bench.points((bench.board_us() + 300_000, bench.start)) == []
    bench.tells(state=BoardState.MOVE)
    bench.refused(Adopt(FIRST), Reason.BUSY, 0)
    bench.refused(enable(bench, SECOND), Reason.BUSY, 0)
    assert bench.still().state is BoardState.HOLD
    bench.acked(enable(bench, SECOND))


@rule
def pulses_of_joints_that_are_not_owned_are_ignored(bench: Bench) -> None:
    """Whatever they are."""
    bench.greeted().acked(enable(bench, FIRST))
    for k, other in enumerate((0, 1, 32767)):
        assert bench.points((bench.board_us() + 100_000 * (k + 2), (bench.start[0],) + (other,) * (bench.n - 1))) == []
    bench.still()
    bench.tells(live=FIRST, owned=FIRST, pulses=masked(bench, FIRST))


@rule
def disable_leaves_the_others(bench: Bench) -> None:
    """And the queue stays; with the last owned joint it is flushed."""
    bench.enabled().points((bench.board_us() + 800_000, bench.start))
    bench.acked(Disable(SECOND))
    others = bench.all & ~SECOND
    bench.tells(live=others, owned=others, pulses=masked(bench, others), state=BoardState.MOVE, queue_depth=1)
    bench.acked(Disable(others))
    bench.tells(live=0, owned=0, state=BoardState.IDLE, queue_depth=0)
    bench.refused(SetPoint(bench.board_us() + 100_000, bench.start), Reason.NOT_ENABLED, 0)
    bench.acked(enable(bench, bench.all))


@rule
def relax_lets_go(bench: Bench) -> None:
    """All outputs at once; nothing is latched, nothing owned."""
    bench.enabled().points((bench.board_us() + 800_000, bench.start))
    bench.acked(Relax())
    bench.tells(live=0, owned=0, pulses=(0,) * bench.n, state=BoardState.IDLE, queue_depth=0, faults=0)


# -- the queue -------------------------------------------------------------------------------------------------------


@rule
def taken_points_are_counted_not_answered(bench: Bench) -> None:
    """``accepted`` and ``last_sequence`` tell."""
    bench.enabled()
    begin, heard, number = bench.board_us() + 500_000, len(bench.heard), bench.sequence
    assert bench.points(*((begin + FRAME_US * k, bench.start) for k in range(3))) == []
    assert not any(getattr(one, "request_type", 0) == SetPoint.TYPE for _, one in bench.heard[heard:])
    bench.tells(accepted=3, rejected=0, last_sequence=number + 2, queue_depth=3, state=BoardState.MOVE)


@rule
def the_queue_is_as_long_as_it_says(bench: Bench) -> None:
    """Then QUEUE_FULL, after NOT_LATER; points leave it once their time has been evaluated."""
    capacity, begin = bench.enabled().info.queue_capacity, bench.board_us() + 400_000
    assert bench.points(*((begin + FRAME_US * k, bench.start) for k in range(capacity))) == []
    bench.refused(SetPoint((begin + FRAME_US * capacity) % 2**32, bench.start), Reason.QUEUE_FULL, 0)
    bench.refused(SetPoint((begin + FRAME_US * (capacity - 1)) % 2**32, bench.start), Reason.NOT_LATER, 0)
    bench.tells(queue_depth=capacity)
    for one in bench.run(500_000).telemetry[-5:]:
        passed = ((one.time_us - begin + 2**31) % 2**32 - 2**31) / FRAME_US
        assert abs(capacity - one.queue_depth - passed - 0.5) <= 1.6
    assert bench.still().state is BoardState.HOLD


@rule
def points_come_in_order(bench: Bench) -> None:
    """What is not after the one queued last is refused with NOT_LATER."""
    begin = bench.enabled().board_us() + 400_000
    assert bench.points((begin, bench.start)) == []
    for before_us in (0, 1, 100_000):
        bench.refused(SetPoint((begin - before_us) % 2**32, bench.start), Reason.NOT_LATER, 0)
    assert bench.points((begin + 1, bench.start)) == []


@rule
def points_outside_the_limits_are_refused(bench: Bench) -> None:
    """With the joint, before TOO_FAR and PAST; the limits themselves are inside."""
    bench.enabled()
    for joint, limit in enumerate(bench.limits):
        for pulse in (limit.lowest - 1, limit.highest + 1, 0):
            pulses = tuple(pulse if j == joint else start for j, start in enumerate(bench.start))
            for ahead_us in (1_900_000, 2**29, -(2**29)):
                refusals = bench.points((bench.board_us() + ahead_us, pulses))
                require_nack(refusals[0] if refusals else None, Reason.OUT_OF_LIMITS, joint)
    ends = [tuple(getattr(limit, name) for limit in bench.limits) for name in ("lowest", "highest")]
    refusals = bench.points(*((bench.board_us() + 1_900_000 + k, end) for k, end in enumerate(ends)))
    assert [one.reason for one in refusals] == [Reason.GAP, Reason.GAP]  # they are not near


@rule
def time_stamps_are_neither_past_nor_too_far(bench: Bench) -> None:
    """PAST up to the point played last and from host_timeout_ms ago on, TOO_FAR from max_lead_ms on."""
    lead_us, silent_us = 1000 * bench.config.max_lead_ms, 1000 * bench.config.host_timeout_ms
    last_us = bench.enabled().board_us() + 40_000
    assert bench.points((last_us, bench.start)) == []
    bench.still()
    for time_us, reason in (
        (last_us - 1, Reason.PAST),
        (last_us, Reason.PAST),
        (bench.board_us() - silent_us - 1_000, Reason.PAST),
        (last_us + 1, None),
        (bench.board_us() + lead_us + 25_000, Reason.TOO_FAR),
        (bench.board_us() + lead_us - 1_000, None),
    ):
        refusals = bench.points((time_us, bench.start))
        assert [one.reason for one in refusals] == ([reason] if reason else []), time_us


@rule
def a_motion_begins_where_the_outputs_are(bench: Bench) -> None:
    """A first point is refused with GAP and the joint where that is further from it than a quarter of ``speed``."""
    bench.enabled()
    for joint, limit in enumerate(bench.limits):
        for by in (limit.speed // 4 + 1, -limit.speed // 4 - 1, limit.speed // 4):
            pulses = tuple(start + by * (j == joint) for j, start in enumerate(bench.start))
            refusals = bench.points((bench.board_us() + 300_000, pulses))
            if by == limit.speed // 4:
                assert refusals == []
            else:
                require_nack(refusals[0] if refusals else None, Reason.GAP, joint)
        bench.acked(Disable(bench.all))
        bench.acked(enable(bench, bench.all))


@rule
def no_point_is_missing_between_two(bench: Bench) -> None:
    """One that is later than host_timeout_ms after the one before is refused with GAP, unless nothing moves."""
    silent_us, begin_us = 1000 * bench.config.host_timeout_ms, bench.enabled().board_us() + 300_000
    assert bench.points((begin_us, bench.start)) == []
    bench.refused(SetPoint((begin_us + silent_us + 1) % 2**32, bench.at(1)), Reason.GAP, 0)
    assert bench.points((begin_us + silent_us + 1, bench.start), (begin_us + 2 * silent_us + 1, bench.at(1))) == []
