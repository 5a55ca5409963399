"""Checks of ``picker doctor``: what a person with a board needs to know of it, each a rule of the protocol's page.

Every rule is tried on all boards by the tests; these are the ones that tell a wrong, damaged or half-flashed board.  A check is a
function: its name, with dashes, is the check's, and the first line of its docstring the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from picker_dynamics.errors import InputError

from .doctor_session import PERIOD_MS, SLOW, CheckSkipped, DoctorSession, Pulses, Violation, refusal, require
from .firmware.config import ADC_COUNTS
from .protocol import Adopt, BoardState, Enable, Fault, Reason, Relax, Reset, Stop, Telemetry, TelemetryPeriod, encode
from .protocol import ahead_us as us

ATTEMPTS = 3
"""A busy machine or a noisy wire may spoil a check, so it is repeated; passing late is said in the outcome."""
BUILT_US = 1_000
"""How far the building of telemetry may wander from its period: the board may be busy with something else."""

PASSED, FAILED, SKIPPED = "passed", "FAILED", "skipped"
"""How a check ends."""

Outcome = dict[str, Any]
"""How a check ended on one board, ready for JSON: its ``name``, what it ``says``, its ``status``, its ``attempts``, and
``detail``: what was expected and what came instead, or why it was skipped; '' where it passed at once."""


@dataclass(frozen=True)
class Check:
    """A rule of the protocol, and the function that checks it on a board.

    Args:
        run: raises Violation where the board breaks the rule, CheckSkipped where that cannot be asked.
        moves: joints are switched on or taken over, and move a little.
        off: only where the outputs were off when the session began: it lets go of the arm.
        calm: no fault may be latched; else it looks at what was found.
    """

    run: Callable[[DoctorSession], None]
    moves: bool
    off: bool
    calm: bool

    @property
    def name(self) -> str:
        return self.run.__name__.replace("_", "-")


CHECKS: list[Check] = []
"""All checks in their order: what needs no motion first."""


def check(moves: bool = False, off: bool = False, calm: bool = True) -> Callable[[Callable[[DoctorSession], None]], None]:
    """Decorator that registers a check."""
    return lambda run: CHECKS.append(Check(run, moves, off, calm))


@check(calm=False)
def limits_are_the_servo_maps(board: DoctorSession) -> None:
    """The board has the joints and limits of the servo map; else write its header and flash."""
    require(
        board.limits,
        f"{len(board.joint_names)} joints and their limits",
        f"{board.n} joints, limits {board.info.limits_crc:#06x}",
    )


@check(calm=False)
def outputs_are_the_servo_maps(board: DoctorSession) -> None:
    """Servo frame and smallest step of a pulse are those of the servo map (a PCA9685 steps by 4.9 us, a timer by 0.5)."""
    expected = round(1e6 * board.servos.frame_s), round(1e3 * board.servos.quantum_us)
    got = board.info.frame_us, board.info.resolution_ns
    require(max(map(abs, (a - b for a, b in zip(got, expected)))) <= 5, "{} us, {} ns".format(*expected), got)


@check(calm=False)
def outputs_answer_and_nothing_browned_out(board: DoctorSession) -> None:
    """Neither OUTPUT_FAILED nor RESTARTED is latched: the output stage answers, and the board's own supply lasts."""
    require(not board.found.faults & (Fault.OUTPUT_FAILED.bit | Fault.RESTARTED.bit), "neither", board.found.fault_text)


@check(calm=False)
def supply_is_the_servos(board: DoctorSession) -> None:
    """The servo supply, where it is on and measured, is 60 to 140 % of the servo map's, and no SUPPLY_LOW is latched."""
    volts, nominal = 1e-3 * board.found.supply_mv, board.servos.supply_v
    if volts < 1.0 or not nominal:
        raise CheckSkipped("the supply is off, or not measured" if nominal else "the servo map has no supply_v")
    fits = 0.6 * nominal <= volts <= 1.4 * nominal and not board.found.faults & Fault.SUPPLY_LOW.bit
    require(fits, f"about {nominal:g} V", f"{volts:g} V {board.found.fault_text}")


@check(calm=False)
def pulses_are_within_the_limits(board: DoctorSession) -> None:
    """Every output that runs has a pulse within its joint's limits, to a step of the output."""
    if not board.limits:
        raise CheckSkipped("the joints' limits are not those of the servo map")
    slack = -(-board.info.resolution_ns // 125)
    for name, limit, pulse in zip(board.joint_names, board.limits, board.found.pulses):
        fits = not pulse or limit.lowest - slack <= pulse <= limit.highest + slack
        require(fits, f"{name} within {limit.lowest / 8:g} to {limit.highest / 8:g} us", f"{pulse / 8:g} us")


@check(calm=False)
def potentiometers_are_wired(board: DoctorSession) -> None:
    """The joints with a potentiometer are the servo map's, and no wiper stands at an end, as one without a lead does."""
    joints = tuple(servo.feedback_adc is not None for servo in board.servos.servos)
    got = board.found.feedback
    require(tuple(value is not None for value in got) == joints, f"potentiometers at joints {joints}", got)
    require(all(value is None or 0 < value < ADC_COUNTS - 1 for value in got), "no wiper at an end", got)


@check()
def telemetry_content(board: DoctorSession) -> None:
    """Telemetry has n pulses, 0 where the output is off, an ADC value per bit of feedback_mask, and INFO's boot id."""
    for one in board.watch(0.2):
        live = sum(1 << joint for joint, pulse in enumerate(one.pulses) if pulse)
        require((len(one.pulses), one.boot_id) == (board.n, board.info.boot_id), f"{board.n} pulses, INFO's boot id", one)
        require(live == one.live and not one.owned & ~live, "a pulse for each live joint, and owned ones among them", one)
        require((one.state is BoardState.IDLE) == (not one.owned), "state IDLE where nothing is owned, and only there", one)


@check()
def telemetry_period_is_kept(board: DoctorSession) -> None:
    """TELEMETRY_PERIOD sets the period of the telemetry, which is 20 ms from boot on."""
    for period in (37, PERIOD_MS):
        board.expect(TelemetryPeriod(period))
        board.fresh()
        seen = board.watch(3.5e-3 * period)
        gaps = [us(b.time_us, a.time_us) for a, b in zip(seen, seen[1:])]
        even = len(gaps) > 1 and all(abs(gap - 1000 * period) <= BUILT_US for gap in gaps)
        require(even, f"telemetry every {period} ms", f"gaps of {gaps} us")


@check()
def ping_is_acknowledged(board: DoctorSession) -> None:
    """PING is answered with an ACK: its sequence, its type, the board's time when the answer was built."""
    for _ in range(5):
        before, answered = board.now.time_us, board.ping_us()
        require(us(answered, before) >= 0, f"a time after {before} us", answered)


@check()
def clock_keeps_time(board: DoctorSession) -> None:
    """The board's clock runs as fast as this machine's, to 1 %."""
    begin_us, begin_s = board.ping_us(), board.clock.now()
    board.watch(1.0)
    passed_s, host_s = 1e-6 * us(board.ping_us(), begin_us), board.clock.now() - begin_s
    require(abs(passed_s - host_s) <= 0.01 * host_s + 0.005, f"{host_s:.3f} s to pass", f"{passed_s:.3f} s")


@check()
def damaged_frames_are_ignored(board: DoctorSession) -> None:
    """A frame whose checksum is wrong is counted in bad_frames, and not carried out."""
    before, wire = board.fresh(), bytearray(encode(Stop(), 0))
    wire[-2] = wire[-2] % 255 + 1
    board.link.send_bytes(bytes(wire))
    _require_same(before, board.fresh(), "faults", "live", "owned", "pulses")
    require(board.now.bad_frames - before.bad_frames & 0xFFFF == 1, "1 damaged frame", board.now.bad_frames - before.bad_frames)


@check()
def stop_is_latched_and_reset_clears_it(board: DoctorSession) -> None:
    """STOP is latched, moving or not, and refuses ENABLE and ADOPT with FAULT; RESET clears it."""
    board.expect(Reset())
    before = board.fresh()
    board.expect(Stop())
    _require_same(before, board.fresh(), "live", "owned", "pulses")
    require(board.now.faults == Fault.STOPPED.bit, "fault STOPPED, bit 0", board.now.faults)
    for message in (Enable(1, (12000,) * board.n), Adopt(1)):
        board.expect(message, refusal(Reason.FAULT, Fault.STOPPED.bit))
    board.expect(Reset())
    _require_same(before, board.fresh(), "faults")


@check(moves=True)
def hold_stands_still(board: DoctorSession) -> None:
    """Owned joints stand in HOLD; ADOPT moves nothing, and ENABLE of what is live is refused with ALREADY_LIVE and the joint."""
    before = board.take()
    board.expect(Adopt(board.usable))
    for joint in board.joints:
        board.expect(Enable(1 << joint, board.masked(1 << joint)), refusal(Reason.ALREADY_LIVE, joint))
    _require_same(before, board.fresh(), "live", "owned")
    _require_hold(board.watch(0.3), before.pulses)


@check(moves=True)
def a_motion_ends_at_its_last_point(board: DoctorSession) -> None:
    """A motion whose last point repeats the one before ends there, without an underrun, in HOLD."""
    before, rows = board.take(), _ramp(board, 12)
    seen = board.play([*rows, rows[-1]])
    between = {one.pulses for one in seen} - {rows[0], rows[-1]}
    require(len(between) > 3, "pulses on the way", between)
    _require_hold(seen[-1:], rows[-1])
    _require_same(before, seen[-1], "underruns")


@check(moves=True)
def stop_ends_a_motion(board: DoctorSession) -> None:
    """STOP in motion flushes the queue, decelerates and holds; after RESET nothing resumes."""
    board.take()
    rows = _ramp(board, 12)
    board.send(rows)
    board.expect(Stop())
    held = board.still()
    got = f"faults {held.faults}, {held.queue_depth} points"
    require(held.faults & Fault.STOPPED.bit and not held.queue_depth, "STOPPED and an empty queue", got)
    unfinished = all(held.pulses[joint] != rows[-1][joint] for joint in board.joints)
    require(unfinished, "the motion not to be finished", held.pulses)
    board.expect(Reset())
    _require_hold(board.watch(0.3), held.pulses)


@check(moves=True)
def a_silent_host_is_lost(board: DoctorSession) -> None:
    """No valid frame for more than host_timeout_ms, while the host owns a joint, is HOST_LOST; the arm goes on holding."""
    before, timeout_s = board.take(), 1e-3 * board.info.host_timeout_ms
    faults = any(one.faults for one in board.watch(3.0 * timeout_s))
    require(not faults, "no fault while the host sends PING", board.now.fault_text)
    board.link.close()
    board.clock.sleep(timeout_s + 0.3)
    if board.link.open().boot_id != before.boot_id:
        raise CheckSkipped("opening the port resets the board")
    after = board.fresh()
    require(after.faults == Fault.HOST_LOST.bit, "HOST_LOST and no other fault", after.fault_text or "no fault")
    _require_same(before, after, "state", "live", "owned", "pulses")


@check(moves=True, off=True)
def relax_lets_go(board: DoctorSession) -> None:
    """RELAX flushes the queue and switches all outputs off at once; nothing is latched, nothing owned."""
    board.take()
    board.send(_ramp(board, 4))
    board.expect(Relax())
    after = board.fresh()
    got = after.state, after.live, after.owned, after.queue_depth, after.faults
    require(got == (BoardState.IDLE, 0, 0, 0, 0), "IDLE, all off, an empty queue, no fault", got)


def _require_same(before: Telemetry, after: Telemetry, *names: str) -> None:
    for name in names:
        require(getattr(after, name) == getattr(before, name), f"{name} {getattr(before, name)}", getattr(after, name))


def _require_hold(seen: list[Telemetry], pulses: Pulses) -> None:
    for one in seen:
        got = one.state, one.pulses
        require(got == (BoardState.HOLD, pulses), f"HOLD at {pulses}", f"{got[0].name} at {got[1]}")


def _ramp(board: DoctorSession, count: int) -> list[Pulses]:
    """Rows of a slow, even motion, one a servo frame."""
    return [board.moved(SLOW * k) for k in range(count + 1)]


def named(name: str) -> Check:
    """The check with this name.

    Raises:
        InputError: there is none.
    """
    found = {one.name: one for one in CHECKS}
    if name not in found:
        raise InputError(f"there is no check {name}, only {', '.join(found)}", "check", name)
    return found[name]


def run_one(board: DoctorSession, one: Check) -> Outcome:
    """Run one check, again where it fails; the board is left for ``DoctorSession.leave``.

    Raises:
        LinkError: the board is gone.
    """

    def ended(status: str, detail: str, attempts: int = 1) -> Outcome:
        says = (one.run.__doc__ or "").splitlines()[0].rstrip(".")
        return {"name": one.name, "says": says, "status": status, "detail": detail, "attempts": attempts}

    if one.moves and not board.may_move:
        return ended(SKIPPED, "moving was not allowed" if board.limits else "the joints' limits are not those of the servo map")
    if one.off and board.found.live:
        return ended(SKIPPED, "outputs ran already: the arm would fall")
    first = ""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            if one.calm:
                board.calm()
            one.run(board)
            return ended(PASSED, first and f"not at once: {first}", attempt)
        except CheckSkipped as why:
            return ended(SKIPPED, str(why), attempt)
        except Violation as violation:
            first = first or str(violation)
    return ended(FAILED, first, ATTEMPTS)
