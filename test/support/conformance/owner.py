"""Checks that only the owner of a simulated board can make: faults of the supply and the outputs, resets, true pulses."""

from __future__ import annotations

from picker_dynamics.board.protocol import (
    PULSE_UNITS_PER_US,
    Adopt,
    BoardState,
    Disable,
    Fault,
    Reason,
    Reset,
    SetPoint,
    Telemetry,
    ahead_us,
)

from .check import Checks
from .host import Host
from .motion import begin_us, even, slow
from .requirements import CheckSkipped, require, require_fault
from .session import PERIOD_MS, Session, meet, spread_us
from .track import play, send, watch_closely, wavy

check = Checks(inside=True)
PIN_US = 7.0
"""How far a pulse of a timer-driven pin may be off, where interrupts get in its way [us]."""


@check("the outputs carry what telemetry says, to half a step of a PCA9685, to 7 us of a pin")
def outputs_carry_the_pulses(session: Session, host: Host) -> None:
    session.take()
    watch_closely(session)
    step_us = session.info.resolution_ns * 1e-3
    worst, limit = 0.0, step_us / 2 + 0.5 if session.keeps_outputs else PIN_US
    send(session, wavy(session))
    while host.telemetry[-1].state is BoardState.MOVE:
        host.listen(500)
    host.wait(3 * session.frame_us)
    true, told = host.owner.pulses_us, host.telemetry[-1].pulses
    for joint, pulse in enumerate(true):
        require((pulse is None) == (told[joint] == 0), f"joint {joint} to be off where its pulse is 0", pulse)
        if pulse is not None:
            worst = max(worst, abs(pulse - told[joint] / PULSE_UNITS_PER_US))
    require(worst <= limit, f"outputs within {limit:.2f} us of what telemetry says", f"{worst:.2f} us")


@check("SUPPLY_LOW is raised where the supply falls below its minimum, brakes, and stays until it is back")
def a_low_supply_is_a_fault(session: Session, host: Host) -> None:
    owner = host.owner
    least = getattr(owner.config, "supply_min_mv", 0)
    if not least:
        raise CheckSkipped("the board does not measure its supply")
    owner.set_supply(least + 800)
    host.wait(200_000)
    require(abs(host.fresh().supply_mv - least - 800) <= 60, f"a supply of {least + 800} mV", host.telemetry[-1].supply_mv)
    try:
        owner.set_supply(least - 300)
        host.wait(300_000)
        low = host.fresh()
        require_fault(low, Fault.SUPPLY_LOW)
        host.expect_nack(Reset(), Reason.FAULT_PERSISTS, Fault.SUPPLY_LOW.bit, "RESET while the supply is low")
    finally:
        owner.set_supply(least + 800)
    host.wait(300_000)
    require_fault(host.fresh(), Fault.SUPPLY_LOW, "SUPPLY_LOW to stay latched")
    host.expect_ack(Reset(), "RESET once the supply is back")
    require_fault(host.fresh())


@check("OUTPUT_FAILED is raised where the output stage does not answer; a motion is braked; RESET clears it once it is back")
def a_dead_output_is_a_fault(session: Session, host: Host) -> None:
    owner = host.owner
    if not session.keeps_outputs:
        raise CheckSkipped("pins cannot be unplugged")
    session.take()
    begin = begin_us(session)
    points = [(begin + 3 * session.frame_us * k, at) for k, (_, at) in enumerate(even(session, slow(session), 14, begin))]
    send(session, points)
    host.wait(ahead_us(begin & 0xFFFF_FFFF, host.board_now_us()) + 200_000)
    try:
        owner.set_cause(Fault.OUTPUT_FAILED, True)
        host.wait(300_000)
        failed = session.still()
        require_fault(failed, Fault.OUTPUT_FAILED)
        require((failed.state, failed.queue_depth) == (BoardState.HOLD, 0), "HOLD, an empty queue", failed.state.name)
        require(failed.pulses != points[-1][1], "the motion not to be finished", failed.pulses)
        host.expect_nack(Reset(), Reason.FAULT_PERSISTS, Fault.OUTPUT_FAILED.bit, "RESET while it does not answer")
        host.expect_ack(Disable(session.one()), "DISABLE of a joint while it does not answer")
    finally:
        owner.set_cause(Fault.OUTPUT_FAILED, False)
    host.wait(300_000)
    host.expect_ack(Reset(), "RESET once the output stage answers")
    after = host.fresh()
    require(not after.faults, "no fault", after.fault_text)
    kept = failed.live & ~session.one()
    require(after.live == kept, f"live {kept:#x}: all but what was disabled", f"live {after.live:#x}")
    host.wait(3 * session.frame_us)
    running = sum(1 << joint for joint, pulse in enumerate(owner.pulses_us) if pulse is not None)
    require(running == kept, f"outputs {kept:#x} to run", f"{running:#x}")
    step_us = session.info.resolution_ns * 1e-3
    for joint, pulse in enumerate(owner.pulses_us):
        told = host.telemetry[-1].pulses[joint] / PULSE_UNITS_PER_US
        require(abs((pulse or 0.0) - told) <= step_us, f"joint {joint} to be told as it runs, {pulse} us", f"{told} us")


@check("after a reset what ran keeps running (a PCA9685), nothing is owned, counters are 0, the boot id is another")
def a_reset_keeps_the_outputs(session: Session, host: Host) -> None:
    owner = host.owner
    session.take()
    play(session, even(session, slow(session), 4, begin_us(session)))
    before = host.fresh()
    host.keep_alive = False
    mark = host.mark()
    owner.reboot(host.now_us, keep_outputs=session.keeps_outputs, silence_us=200_000)
    after = _first_after_reset(session, before, mark)
    kept = session.keeps_outputs
    require(after.boot_id != before.boot_id, "another boot id", after.boot_id)
    require(
        (after.live, after.owned, after.state) == (before.live if kept else 0, 0, BoardState.IDLE),
        f"live {before.live if kept else 0:#x}, nothing owned, IDLE",
        f"live {after.live:#x}, owned {after.owned:#x}, {after.state.name}",
    )
    step = -(-session.info.resolution_ns // 125)
    for joint, (a, b) in enumerate(zip(before.pulses, after.pulses)):
        require(abs(a - b) <= step if kept else not b, f"joint {joint} at {a if kept else 0}", b)
    require(
        (after.accepted, after.rejected, after.underruns, after.bad_frames, after.faults, after.queue_depth) == (0,) * 6,
        "counters at 0 and no fault",
        after,
    )
    again = _meet_again(session)
    require(again.info.boot_id == after.boot_id, f"boot id {after.boot_id} in INFO", again.info.boot_id)
    spread = spread_us(again.first)
    require(all(abs(gap - 1000 * PERIOD_MS) <= 1_000 for gap in spread), "telemetry every 20 ms again", spread)
    host.expect_nack(SetPoint(begin_us(session), session.start), Reason.NOT_ENABLED, 0, "SET_POINT after the reset")
    mark = host.mark()
    host.wait(200_000)
    for one in host.since(mark, Telemetry):
        require(one.pulses == after.pulses, "nothing to change before the host says so", one.pulses)
    if kept:
        host.expect_ack(Adopt(after.live & session.usable), "ADOPT of what still runs")


@check("a restart by a brown-out or the board's own watchdog is RESTARTED, latched until RESET")
def a_restart_is_latched(session: Session, host: Host) -> None:
    owner = host.owner
    session.take()
    before = host.fresh()
    host.keep_alive = False
    mark = host.mark()
    owner.reboot(host.now_us, keep_outputs=session.keeps_outputs, fault=Fault.RESTARTED)
    after = _first_after_reset(session, before, mark)
    require_fault(after, Fault.RESTARTED)
    _meet_again(session)
    host.expect_nack(Adopt(1), Reason.FAULT, Fault.RESTARTED.bit)
    host.expect_nack(session.enable(1), Reason.FAULT, Fault.RESTARTED.bit)
    host.expect_ack(Reset())
    require_fault(host.fresh())


def _first_after_reset(session: Session, before: Telemetry, mark: int) -> Telemetry:
    """The first telemetry of the new start."""
    host = session.host

    def anew() -> list[Telemetry]:
        return [
            one
            for one in host.since(mark, Telemetry)
            if one.boot_id != before.boot_id or ahead_us(one.time_us, before.time_us) < 0
        ]

    require(host.listen(4_000_000, anew), "telemetry after a reset", "none in 4 s")
    session.phase_us = None
    return anew()[0]


def _meet_again(session: Session) -> Session:
    """Shake hands as a new host does."""
    host = session.host
    host.telemetry.clear()
    return meet(host, limits=session.limits, start=session.start)
