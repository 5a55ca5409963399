"""Checks of requests that are answered once and carried out once, and of what an idle board refuses."""

from __future__ import annotations

from picker_dynamics.board.protocol import (
    Adopt,
    BoardState,
    Disable,
    Enable,
    Fault,
    Hello,
    MessageType,
    Ping,
    Reason,
    Relax,
    Reset,
    SetPoint,
    Stop,
    Telemetry,
    TelemetryPeriod,
)

from .check import Checks
from .host import Host
from .requirements import CheckSkipped, require, require_ack, require_fault, require_nack, require_rejected, told
from .session import PERIOD_MS, Session, spread_us

check = Checks()


def period_ms(session: Session) -> int:
    """The telemetry period that the board keeps now [ms]: the visible effect of a harmless request."""
    host = session.host
    host.fresh()
    mark = host.mark()
    host.until(lambda: len(host.since(mark, Telemetry)) >= 3)
    return round(spread_us(host.since(mark, Telemetry))[-1] / 1000)


def require_period(session: Session, expected_ms: int, what: str = "it to be carried out") -> None:
    """Require this telemetry period, which tells whether a request was carried out."""
    got = period_ms(session)
    require(got == expected_ms, what, f"{got} ms")


def unowned(session: Session) -> Telemetry:
    """Telemetry of a board on which the host owns nothing."""
    telemetry = session.host.fresh()
    if telemetry.owned:
        raise CheckSkipped("joints are owned, by an earlier host or by this one")
    return telemetry


@check("a request sent again, with the same sequence, gets the answer given before, and is not carried out again")
def a_request_is_carried_out_once(session: Session, host: Host) -> None:
    number = host.take_sequence()
    host.expect_ack(TelemetryPeriod(30), sequence=number)
    host.expect_ack(TelemetryPeriod(10), "the same sequence again", sequence=number)
    require_period(session, 30, "the first of them to have been carried out, and no other")
    number = host.take_sequence()
    host.expect_nack(TelemetryPeriod(0), Reason.BAD_VALUE, 0, "a period of 0", sequence=number)
    host.expect_nack(
        TelemetryPeriod(10), Reason.BAD_VALUE, 0, "the same sequence again: the answer given before", sequence=number
    )


@check("a request older than the one carried out last is refused with STALE: an old RESET does not undo a newer STOP")
def an_older_request_is_stale(session: Session, host: Host) -> None:
    first = host.take_sequence(3)
    host.expect_ack(Reset(), sequence=first)
    host.expect_ack(Stop(), sequence=first + 1)
    host.expect_nack(Reset(), Reason.STALE, what="an older RESET", sequence=first)
    require(host.fresh().faults & Fault.STOPPED.bit, "the stop to stay latched", host.telemetry[-1].faults)
    host.expect_ack(Reset(), "a new RESET", sequence=host.take_sequence())
    host.expect_nack(Stop(), Reason.STALE, what="an older STOP", sequence=first + 1)
    require_fault(host.fresh(), what="an older STOP to do nothing")


@check("a request whose first copy was lost is carried out when it comes again, after later frames")
def a_lost_request_is_carried_out_late(session: Session, host: Host) -> None:
    number = host.take_sequence()
    host.expect_ack(Ping())
    host.expect_ack(TelemetryPeriod(40), "a request that comes after a later PING", sequence=number)
    require_period(session, 40)


@check("what is refused with BAD_LENGTH or UNKNOWN_TYPE is not remembered as a request")
def what_is_not_understood_is_not_remembered(session: Session, host: Host) -> None:
    for type_id, reason in ((MessageType.TELEMETRY_PERIOD, Reason.BAD_LENGTH), (0x7F, Reason.UNKNOWN_TYPE)):
        number = host.take_sequence()
        require_nack(host.ask_frame(type_id, b"\x1e", sequence=number), reason, f"type {type_id:#04x} with one byte", 0)
        host.expect_ack(TelemetryPeriod(30), "a request with the same sequence", sequence=number)
        require_period(session, 30)
        host.expect_ack(TelemetryPeriod(PERIOD_MS))


@check("HELLO makes the board forget an earlier host's requests: lower sequences are new ones")
def hello_begins_anew(session: Session, host: Host) -> None:
    host.restart_sequence(5000)
    host.expect_ack(TelemetryPeriod(40))
    missed = host.fresh().missed_frames
    host.restart_sequence(3)
    host.ask(Hello())
    require(host.fresh().missed_frames == missed, "HELLO to make no gap", host.telemetry[-1].missed_frames - missed)
    host.expect_ack(TelemetryPeriod(PERIOD_MS), "a request with a lower sequence, after HELLO")
    require_period(session, PERIOD_MS)
    number = host.take_sequence()
    host.expect_ack(TelemetryPeriod(30), sequence=number)
    host.restart_sequence(number)
    host.ask(Hello())
    host.expect_ack(TelemetryPeriod(PERIOD_MS), "the same sequence after HELLO: a new request", sequence=number)
    host.restart_sequence(number + 1)
    require_period(session, PERIOD_MS)


@check("a long stream between two requests does not make the second one stale (request_age stops at 65535)")
def a_long_stream_makes_nothing_stale(session: Session, host: Host) -> None:
    first = host.take_sequence()
    host.expect_ack(TelemetryPeriod(PERIOD_MS), sequence=first)
    for step in range(20_000, 131_072, 20_000):
        host.expect_ack(Ping(), sequence=first + step)
    host.restart_sequence(first + 131_072)  # the number of the first request, two turns later
    host.expect_ack(TelemetryPeriod(30), "a request two turns later")
    require_period(session, 30)


@check("STOP is latched, moving or not; RESET clears it; a RESET with nothing to clear is acknowledged")
def stop_is_latched_and_reset_clears_it(session: Session, host: Host) -> None:
    host.expect_ack(Reset(), "RESET without a fault")
    before = host.fresh()
    host.expect_ack(Stop())
    after = host.fresh()
    require(after.faults == Fault.STOPPED.bit, "fault STOPPED, bit 0", after.faults)
    require(
        (after.live, after.owned, after.pulses) == (before.live, before.owned, before.pulses),
        "outputs as before",
        f"live {after.live:#x}, pulses {after.pulses}",
    )
    host.expect_ack(Reset())
    require_fault(host.fresh())


@check("while a fault is latched SET_POINT, ENABLE and ADOPT are refused with FAULT and the fault word")
def faults_refuse(session: Session, host: Host) -> None:
    host.expect_ack(Stop())
    for message in (SetPoint(host.board_now_us(), (12000,) * session.n), Enable(1, (12000,) * session.n), Adopt(1)):
        host.expect_nack(message, Reason.FAULT, Fault.STOPPED.bit)
    host.expect_nack(Enable(1, (12000,) * (session.n - 1)), Reason.BAD_LENGTH, 0, "an ENABLE with a pulse too few, first")


@check("a set-point that is refused is counted in rejected, with its reason; it is not accepted")
def refusals_are_counted(session: Session, host: Host) -> None:
    before = unowned(session)
    host.expect_nack(SetPoint(0, (12000,) * session.n), Reason.NOT_ENABLED, 0, "SET_POINT to a board that is not owned")
    one = host.fresh()
    host.expect_nack(SetPoint(0, (12000,) * (session.n - 1)), Reason.BAD_LENGTH, 0, "SET_POINT with a pulse too few")
    two = host.fresh()
    require_rejected(before, one, Reason.NOT_ENABLED)
    require_rejected(one, two, Reason.BAD_LENGTH)
    answer = host.ask_frame(MessageType.SET_POINT, b"\x01\x02\x03")
    require_nack(answer, Reason.BAD_LENGTH, "SET_POINT of three bytes", 0)
    three = host.fresh().rejected
    require(three - two.rejected & 0xFFFF == 1, "a SET_POINT of three bytes to count as rejected", three - two.rejected)
    require(two.queue_depth == before.queue_depth, "nothing queued", two.queue_depth)


@check("a set-point is refused for the first that applies: BAD_LENGTH, FAULT, NOT_ENABLED, ...")
def idle_reasons_in_order(session: Session, host: Host) -> None:
    unowned(session)
    impossible = SetPoint(host.board_now_us() + 2**30 & 2**32 - 1, (1,) * session.n)
    host.expect_nack(impossible, Reason.NOT_ENABLED, 0, "a SET_POINT too far ahead to a board that is not owned")
    host.expect_ack(Stop())
    host.expect_nack(impossible, Reason.FAULT, 1, "a SET_POINT while stopped and not owned")
    longer = SetPoint(0, (1,) * (session.n - 1))
    host.expect_nack(longer, Reason.BAD_LENGTH, 0, "a SET_POINT with a pulse too few while stopped")


@check("ADOPT of a joint whose output is off is refused with NOT_LIVE and the joint")
def adopt_needs_a_live_joint(session: Session, host: Host) -> None:
    off = [joint for joint in range(session.n) if not host.fresh().live >> joint & 1]
    if not off:
        raise CheckSkipped("every output runs")
    before = host.telemetry[-1].owned
    host.expect_nack(Adopt(1 << off[-1]), Reason.NOT_LIVE, off[-1], f"ADOPT of joint {off[-1]}")
    host.expect_nack(Adopt(session.all), Reason.NOT_LIVE, off[0], "ADOPT of all joints")
    require(host.fresh().owned == before, "nothing to be owned: all or nothing", f"owned {host.telemetry[-1].owned:#x}")


@check("while the host owns nothing, its silence is no fault")
def an_idle_board_misses_no_host(session: Session, host: Host) -> None:
    unowned(session)
    host.listen(3_000 * session.info.host_timeout_ms)
    after = host.fresh()
    require(
        not after.faults and after.state is BoardState.IDLE,
        "IDLE without a fault",
        f"{after.state.name}, {after.fault_text or 'no fault'}",
    )


@check("HELLO leaves outputs, ownership and faults as they are")
def hello_changes_nothing(session: Session, host: Host) -> None:
    host.expect_ack(Stop())
    before = host.fresh()
    host.ask(Hello())
    after = host.fresh()
    for name in ("state", "faults", "live", "owned", "queue_depth", "pulses", "accepted", "rejected"):
        require(getattr(after, name) == getattr(before, name), f"{name} {getattr(before, name)}", getattr(after, name))


@check("DISABLE, STOP and RELAX are always carried out, also of what is off, and also while a fault is latched", off=True)
def disable_is_always_carried_out(session: Session, host: Host) -> None:
    session.take(session.one())
    host.expect_ack(Stop())
    for _ in range(2):
        answer = host.ask(Disable(session.all))
        require_ack(answer, "DISABLE of all joints while stopped")
        after = host.fresh()
        require((after.live, after.owned, after.state) == (0, 0, BoardState.IDLE), "all off", told(after.state.name))
    for message in (Stop(), Relax()):
        host.expect_ack(message)
