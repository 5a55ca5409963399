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
from .protocol import Adopt, BoardState, Disable, Enable, Fault, Hello, Reason, Relax, Reset, Stop, Telemetry, TelemetryPeriod
from .protocol import ahead_us as us

ATTEMPTS = 3
"""A busy machine or a noisy wire may spoil a check, so it is repeated; passing late is said in the outcome."""
JUST_BOOTED_US = 10_000_000
BUILT_US = 1_000
"""How far the building of telemetry may wander from its period: the board may be busy with something else."""
GRAVITY = 2
"""Change of pulses by which gravity compensation may shorten a stop [1/8 us]."""


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
    """

    run: Callable[[DoctorSession], None]
    moves: bool
    off: bool

    @property
    def name(self) -> str:
        return self.run.__name__.replace("_", "-")

    @property
    def says(self) -> str:
        """The rule, as the page has it."""
        return (self.run.__doc__ or "").splitlines()[0].rstrip(".")


CHECKS: list[Check] = []
"""All checks in their order: what needs no motion first."""


def check(moves: bool = False, off: bool = False) -> Callable[[Callable[[DoctorSession], None]], None]:
    """Decorator that registers a check."""
    return lambda run: CHECKS.append(Check(run, moves, off))


# -- nothing moves ---------------------------------------------------------------------------------------------------


@check()
def telemetry_from_boot(board: DoctorSession) -> None:
    """The board sends telemetry from its start on, host or no host, every 20 ms."""
    first = [one for one in board.seen if one.boot_id == board.info.boot_id][:10]
    if first[0].time_us > JUST_BOOTED_US:
        raise CheckSkipped("the board has been running for a while: an earlier host may have set another period")
    _require_period(first[1:], PERIOD_MS)  # the first frame may have waited for the outputs to be set up


@check()
def telemetry_content(board: DoctorSession) -> None:
    """Telemetry has n pulses, 0 where the output is off, an ADC value per bit of feedback_mask, and INFO's boot id."""
    seen = board.watch(0.2)
    require(len(seen) > 5, "telemetry", f"{len(seen)} frames in 200 ms")
    for one in seen:
        live = sum(1 << joint for joint, pulse in enumerate(one.pulses) if pulse)
        require((len(one.pulses), one.boot_id) == (board.n, board.info.boot_id), f"{board.n} pulses, INFO's boot id", one)
        require(live == one.live and not one.owned & ~live, "a pulse for each live joint, and owned ones among them", one)
        require((one.state is BoardState.IDLE) == (not one.owned), "state IDLE where nothing is owned, and only there", one)


@check()
def ping_is_acknowledged(board: DoctorSession) -> None:
    """PING is answered with an ACK: its sequence, its type, the board's time when the answer was built."""
    for _ in range(5):
        before, answered = board.now.time_us, board.ping_us()
        require(us(answered, before) >= 0, f"a time after {before} us", answered)


@check()
def telemetry_period_is_kept(board: DoctorSession) -> None:
    """TELEMETRY_PERIOD takes 2 to 1000 ms, else BAD_VALUE with the period, and the telemetry comes at it."""
    for period in (0, 1, 1001, 65535):
        board.expect(TelemetryPeriod(period), refusal(Reason.BAD_VALUE, period))
    for period in (37, 251, PERIOD_MS):
        board.expect(TelemetryPeriod(period))
        board.fresh()
        _require_period(board.watch(3.5e-3 * period), period)


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


@check()
def adopt_needs_a_live_joint(board: DoctorSession) -> None:
    """ADOPT of a joint whose output is off is refused with NOT_LIVE and the joint."""
    before = board.fresh()
    off = [joint for joint in range(board.n) if not before.live >> joint & 1]
    if not off:
        raise CheckSkipped("every output runs")
    board.expect(Adopt(1 << off[-1]), refusal(Reason.NOT_LIVE, off[-1]))
    board.expect(Adopt(board.all), refusal(Reason.NOT_LIVE, off[0]))
    _require_same(before, board.fresh(), "owned")


@check()
def hello_changes_nothing(board: DoctorSession) -> None:
    """HELLO leaves outputs, ownership and faults as they are."""
    board.expect(Stop())
    before = board.fresh()
    board.expect(Hello(), "INFO")
    _require_same(before, board.fresh(), "state", "faults", "live", "owned", "queue_depth", "pulses", "accepted", "rejected")


# -- slow motion -----------------------------------------------------------------------------------------------------


@check(moves=True)
def hold_stands_still(board: DoctorSession) -> None:
    """Owned joints stand in HOLD; ADOPT moves nothing, and ENABLE of what is live is refused with ALREADY_LIVE and the joint."""
    before = board.take()
    board.expect(Adopt(board.usable))
    for joint in board.joints:
        board.expect(Enable(1 << joint, board.masked(1 << joint)), refusal(Reason.ALREADY_LIVE, joint))
    _require_same(before, board.fresh(), "live", "owned")
    for one in board.watch(0.3):
        _require_hold(one, before.pulses)


@check(moves=True, off=True)
def enable_starts_where_told(board: DoctorSession) -> None:
    """ENABLE switches on the joints in its mask at their pulses, at once, and the others stay off."""
    board.take()
    board.expect(Disable(board.all))
    live = 0
    for joint in board.joints:
        board.expect(Enable(1 << joint, board.masked(1 << joint)))
        live, now = live | 1 << joint, board.fresh()
        got = f"live {now.live:#x}, pulses {now.pulses}"
        require((now.live, now.pulses) == (live, board.masked(live)), f"live {live:#x}, pulses {board.masked(live)}", got)


@check(moves=True)
def pulses_are_interpolated(board: DoctorSession) -> None:
    """Pulses are interpolated between set-points; a motion whose last point repeats the one before ends there."""
    before, speed, every = board.take(), SLOW / 2, 5
    rows = _ramp(board, speed * every, 6)
    seen = board.play([*rows, rows[-1]], every)
    _require_hold(seen[-1], rows[-1])
    _require_same(before, seen[-1], "underruns")
    for joint in board.joints:
        way = [(us(one.time_us, seen[0].time_us), abs(one.pulses[joint] - before.pulses[joint])) for one in seen]
        off = [far - speed * at_us / board.info.frame_us for at_us, far in way if 2 * speed * every <= far <= 5 * speed * every]
        even = len(off) > 5 and max(off) - min(off) <= 1.5 * speed + 2  # a frame holds its pulse for its length
        require(even, f"joint {joint} to move by {speed:g} a frame", way)


@check(moves=True)
def an_underrun_is_braked_and_counted(board: DoctorSession) -> None:
    """A queue that runs out in motion is an underrun: counted, braked, held, no fault; the last point is reached at least."""
    before, rows = board.take(), _ramp(board, SLOW, 8)
    after = board.play(rows)[-1]
    require(after.underruns - before.underruns & 0xFFFF == 1, "1 underrun", after.underruns - before.underruns)
    require((after.state, after.faults) == (BoardState.HOLD, 0), "HOLD without a fault", f"{after.state.name} {after.fault_text}")
    _require_braked(board, rows[-1], after.pulses, SLOW)


@check(moves=True)
def stop_ends_a_motion(board: DoctorSession) -> None:
    """STOP in motion flushes the queue, decelerates and holds; after RESET nothing resumes."""
    board.take()
    rows = _ramp(board, SLOW, 12)
    board.send(rows)
    at_stop = _stopped(board)
    held = board.still()
    _require_braked(board, at_stop.pulses, held.pulses, SLOW)
    unfinished = all(held.pulses[joint] != rows[-1][joint] for joint in board.joints)
    require(unfinished, "the motion not to be finished", held.pulses)
    board.expect(Reset())
    for one in board.watch(0.3):
        _require_hold(one, held.pulses, "nothing to resume after RESET")


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
    board.expect(Reset())
    _require_same(before, board.fresh(), "faults")


@check(moves=True, off=True)
def relax_lets_go(board: DoctorSession) -> None:
    """RELAX flushes the queue and switches all outputs off at once; nothing is latched, nothing owned."""
    board.take()
    board.send(_ramp(board, SLOW, 4))
    board.expect(Relax())
    after = board.fresh()
    got = after.state, after.live, after.owned, after.queue_depth, after.faults
    require(got == (BoardState.IDLE, 0, 0, 0, 0), "IDLE, all off, an empty queue, no fault", got)


# -- requirements ----------------------------------------------------------------------------------------------------


def _require_period(seen: list[Telemetry], period_ms: int) -> None:
    gaps = [us(b.time_us, a.time_us) for a, b in zip(seen, seen[1:])]
    even = len(gaps) > 1 and all(abs(gap - 1000 * period_ms) <= BUILT_US for gap in gaps)
    require(even, f"telemetry every {period_ms} ms", f"gaps of {gaps} us")


def _require_same(before: Telemetry, after: Telemetry, *names: str) -> None:
    for name in names:
        require(getattr(after, name) == getattr(before, name), f"{name} {getattr(before, name)}", getattr(after, name))


def _require_hold(telemetry: Telemetry, pulses: Pulses, what: str = "") -> None:
    got = telemetry.state, telemetry.pulses
    require(got == (BoardState.HOLD, pulses), what or f"HOLD at {pulses}", f"{got[0].name} at {got[1]}")


def _require_braked(board: DoctorSession, last: Pulses, held: Pulses, speed: int) -> None:
    """Require each joint to stand at or beyond a point, no further than braking from a speed takes it."""
    for joint in board.joints:
        way = 2 * speed + sum(range(speed, 0, -board.limits[joint].brake))
        ahead = 1 if board.moved(1)[joint] > board.start[joint] else -1
        beyond = ahead * (held[joint] - last[joint])
        require(-GRAVITY <= beyond <= way, f"joint {joint} to stand 0 to {way} beyond {last[joint]}", held[joint])


def _ramp(board: DoctorSession, speed: float, count: int) -> list[Pulses]:
    """Rows of an even motion, one a servo frame."""
    return [board.moved(speed * k) for k in range(count + 1)]


def _stopped(board: DoctorSession) -> Telemetry:
    """Send STOP; telemetry as of then."""
    board.expect(Stop())
    now = board.fresh()
    got = f"faults {now.faults}, {now.queue_depth} points"
    require(now.faults & Fault.STOPPED.bit and not now.queue_depth, "STOPPED and an empty queue", got)
    return now


# -- running them ----------------------------------------------------------------------------------------------------


def named(name: str) -> Check:
    """The check with this name.

    Raises:
        InputError: there is none.
    """
    found = {one.name: one for one in CHECKS}
    if name not in found:
        raise InputError(f"there is no check {name}, only {', '.join(found)}", subject="check", value=name)
    return found[name]


def run_one(board: DoctorSession, one: Check) -> Outcome:
    """Run one check, again where it fails; the board is left for ``DoctorSession.leave``.

    Raises:
        LinkError: the board is gone.
    """

    def ended(status: str, detail: str, attempts: int = 1) -> Outcome:
        return {"name": one.name, "says": one.says, "status": status, "detail": detail, "attempts": attempts}

    if one.moves and not board.may_move:
        return ended(SKIPPED, "moving was not allowed" if board.limits else "the joints' limits are not those of the servo map")
    if one.off and board.found.live:
        return ended(SKIPPED, "outputs ran already: the arm would fall")
    first = ""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            board.calm()
            one.run(board)
            return ended(PASSED, first and f"not at once: {first}", attempt)
        except CheckSkipped as why:
            return ended(SKIPPED, str(why), attempt)
        except Violation as violation:
            first = first or str(violation)
    return ended(FAILED, first, ATTEMPTS)
