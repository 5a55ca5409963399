"""Checks of requests that are answered once and carried out once, and of what an idle board refuses."""

from __future__ import annotations

from ..protocol import (
    Adopt,
    BoardState,
    Disable,
    Enable,
    Fault,
    Hello,
    MessageType,
    Ping,
    Reason,
    Reset,
    SetPoint,
    Stop,
    Telemetry,
    TelemetryPeriod,
)
from .check import Checks, CheckSkipped, Need, require, require_ack, require_nack, told
from .session import PERIOD_MS, Session, spread_us

check = Checks()


def period_ms(session: Session) -> int:
    """The telemetry period that the board keeps now [ms]: the visible effect of a harmless request."""
    host = session.host
    host.fresh()
    mark = host.mark()
    host.until(lambda: len(host.since(mark, Telemetry)) >= 3)
    return round(spread_us(host.since(mark, Telemetry))[-1] / 1000)


def unowned(session: Session) -> Telemetry:
    """Telemetry of a board on which the host owns nothing."""
    telemetry = session.host.fresh()
    if telemetry.owned:
        raise CheckSkipped("joints are owned, by an earlier host or by this one")
    return telemetry


@check("a request sent again, with the same sequence, gets the answer given before, and is not carried out again")
def a_request_is_carried_out_once(session: Session) -> None:
    host = session.host
    number = host.take_sequence()
    require_ack(host.ask(TelemetryPeriod(30), number), "TELEMETRY_PERIOD")
    require_ack(host.ask(TelemetryPeriod(10), number), "the same sequence again")
    require(period_ms(session) == 30, "the first of them to have been carried out, and no other", f"{period_ms(session)} ms")
    number = host.take_sequence()
    require_nack(host.ask(TelemetryPeriod(0), number), Reason.BAD_VALUE, "a period of 0", 0)
    require_nack(host.ask(TelemetryPeriod(10), number), Reason.BAD_VALUE, "the same sequence again: the answer given before", 0)


@check("a request older than the one carried out last is refused with STALE: an old RESET does not undo a newer STOP")
def an_older_request_is_stale(session: Session) -> None:
    host = session.host
    first = host.take_sequence(3)
    require_ack(host.ask(Reset(), first), "RESET")
    require_ack(host.ask(Stop(), first + 1), "STOP")
    require_nack(host.ask(Reset(), first), Reason.STALE, "an older RESET")
    require(host.fresh().faults & Fault.STOPPED.bit, "the stop to stay latched", host.telemetry[-1].faults)
    require_ack(host.ask(Reset(), host.take_sequence()), "a new RESET")
    require_nack(host.ask(Stop(), first + 1), Reason.STALE, "an older STOP")
    require(not host.fresh().faults, "an older STOP to do nothing", host.telemetry[-1].fault_text)


@check("a request whose first copy was lost is carried out when it comes again, after later frames")
def a_lost_request_is_carried_out_late(session: Session) -> None:
    host = session.host
    number = host.take_sequence()
    require_ack(host.ask(Ping()), "PING")
    require_ack(host.ask(TelemetryPeriod(40), number), "a request that comes after a later PING")
    require(period_ms(session) == 40, "it to be carried out", f"{period_ms(session)} ms")


@check("what is refused with BAD_LENGTH or UNKNOWN_TYPE is not remembered as a request")
def what_is_not_understood_is_not_remembered(session: Session) -> None:
    host = session.host
    for type_id, reason in ((MessageType.TELEMETRY_PERIOD, Reason.BAD_LENGTH), (0x7F, Reason.UNKNOWN_TYPE)):
        number, mark = host.take_sequence(), host.mark()
        host.send_frame(type_id, b"\x1e", sequence=number)
        require_nack(host.answer_to(number, mark), reason, f"type {type_id:#04x} with one byte", 0)
        require_ack(host.ask(TelemetryPeriod(30), number), "a request with the same sequence")
        require(period_ms(session) == 30, "it to be carried out", f"{period_ms(session)} ms")
        require_ack(host.ask(TelemetryPeriod(PERIOD_MS)), "TELEMETRY_PERIOD")


@check("HELLO makes the board forget an earlier host's requests: lower sequences are new ones")
def hello_begins_anew(session: Session) -> None:
    host = session.host
    host.restart_sequence(5000)
    require_ack(host.ask(TelemetryPeriod(40)), "TELEMETRY_PERIOD")
    missed = host.fresh().missed_frames
    host.restart_sequence(3)
    host.ask(Hello())
    require(host.fresh().missed_frames == missed, "HELLO to make no gap", host.telemetry[-1].missed_frames - missed)
    require_ack(host.ask(TelemetryPeriod(PERIOD_MS)), "a request with a lower sequence, after HELLO")
    require(period_ms(session) == PERIOD_MS, "it to be carried out", f"{period_ms(session)} ms")
    number = host.take_sequence()
    require_ack(host.ask(TelemetryPeriod(30), number), "TELEMETRY_PERIOD")
    host.restart_sequence(number)
    host.ask(Hello())
    require_ack(host.ask(TelemetryPeriod(PERIOD_MS), number), "the same sequence after HELLO: a new request")
    host.restart_sequence(number + 1)
    require(period_ms(session) == PERIOD_MS, "it to be carried out", f"{period_ms(session)} ms")


@check("a long stream between two requests does not make the second one stale (request_age stops at 65535)")
def a_long_stream_makes_nothing_stale(session: Session) -> None:
    host = session.host
    first = host.take_sequence()
    require_ack(host.ask(TelemetryPeriod(PERIOD_MS), first), "TELEMETRY_PERIOD")
    for step in range(20_000, 131_072, 20_000):
        require_ack(host.ask(Ping(), first + step), "PING")
    host.restart_sequence(first + 131_072)  # the number of the first request, two turns later
    require_ack(host.ask(TelemetryPeriod(30)), "a request two turns later")
    require(period_ms(session) == 30, "it to be carried out", f"{period_ms(session)} ms")


@check("STOP is latched, moving or not; RESET clears it; a RESET with nothing to clear is acknowledged")
def stop_is_latched_and_reset_clears_it(session: Session) -> None:
    host = session.host
    require_ack(host.ask(Reset()), "RESET without a fault")
    before = host.fresh()
    require_ack(host.ask(Stop()), "STOP")
    after = host.fresh()
    require(after.faults == Fault.STOPPED.bit, "fault STOPPED, bit 0", after.faults)
    require(
        (after.live, after.owned, after.pulses) == (before.live, before.owned, before.pulses),
        "outputs as before",
        f"live {after.live:#x}, pulses {after.pulses}",
    )
    require_ack(host.ask(Reset()), "RESET")
    require(not host.fresh().faults, "no fault", host.telemetry[-1].fault_text)


@check("while a fault is latched SET_POINT, ENABLE and ADOPT are refused with FAULT and the fault word")
def faults_refuse(session: Session) -> None:
    host = session.host
    require_ack(host.ask(Stop()), "STOP")
    for message in (SetPoint(host.board_now_us(), (12000,) * session.n), Enable(1, (12000,) * session.n), Adopt(1)):
        require_nack(host.ask(message), Reason.FAULT, message.TYPE.name, Fault.STOPPED.bit)
    require_nack(host.ask(Enable(1, (12000,) * (session.n - 1))), Reason.BAD_LENGTH, "an ENABLE with a pulse too few, first", 0)


@check("a set-point that is refused is counted in rejected, with its reason; it is not accepted")
def refusals_are_counted(session: Session) -> None:
    host = session.host
    before = unowned(session)
    require_nack(host.ask(SetPoint(0, (12000,) * session.n)), Reason.NOT_ENABLED, "SET_POINT to a board that is not owned", 0)
    one = host.fresh()
    require_nack(host.ask(SetPoint(0, (12000,) * (session.n - 1))), Reason.BAD_LENGTH, "SET_POINT with a pulse too few", 0)
    two = host.fresh()
    require(
        (one.rejected - before.rejected & 0xFFFF, one.last_reason) == (1, Reason.NOT_ENABLED),
        "rejected 1, NOT_ENABLED",
        f"rejected {one.rejected - before.rejected}, {one.last_reason.name}",
    )
    require(
        (two.rejected - one.rejected & 0xFFFF, two.last_reason) == (1, Reason.BAD_LENGTH),
        "rejected 1, BAD_LENGTH",
        f"rejected {two.rejected - one.rejected}, {two.last_reason.name}",
    )
    mark = host.mark()
    answer = host.answer_to(host.send_frame(MessageType.SET_POINT, b"\x01\x02\x03"), mark)
    require_nack(answer, Reason.BAD_LENGTH, "SET_POINT of three bytes", 0)
    three = host.fresh().rejected
    require(three - two.rejected & 0xFFFF == 1, "a SET_POINT of three bytes to count as rejected", three - two.rejected)
    require(
        (two.accepted, two.last_sequence, two.queue_depth) == (before.accepted, before.last_sequence, before.queue_depth),
        "nothing accepted",
        f"accepted {two.accepted}, last_sequence {two.last_sequence}, queue {two.queue_depth}",
    )


@check("a set-point is refused for the first that applies: BAD_LENGTH, FAULT, NOT_ENABLED, ...")
def idle_reasons_in_order(session: Session) -> None:
    host = session.host
    unowned(session)
    impossible = SetPoint(host.board_now_us() + 2**30 & 2**32 - 1, (1,) * session.n)
    require_nack(host.ask(impossible), Reason.NOT_ENABLED, "a SET_POINT too far ahead to a board that is not owned", 0)
    require_ack(host.ask(Stop()), "STOP")
    require_nack(host.ask(impossible), Reason.FAULT, "a SET_POINT while stopped and not owned", 1)
    longer = SetPoint(0, (1,) * (session.n - 1))
    require_nack(host.ask(longer), Reason.BAD_LENGTH, "a SET_POINT with a pulse too few while stopped", 0)


@check("ADOPT of a joint whose output is off is refused with NOT_LIVE and the joint")
def adopt_needs_a_live_joint(session: Session) -> None:
    host = session.host
    off = [joint for joint in range(session.n) if not host.fresh().live >> joint & 1]
    if not off:
        raise CheckSkipped("every output runs")
    before = host.telemetry[-1].owned
    require_nack(host.ask(Adopt(1 << off[-1])), Reason.NOT_LIVE, f"ADOPT of joint {off[-1]}", off[-1])
    require_nack(host.ask(Adopt(session.all)), Reason.NOT_LIVE, "ADOPT of all joints", off[0])
    require(host.fresh().owned == before, "nothing to be owned: all or nothing", f"owned {host.telemetry[-1].owned:#x}")


@check("while the host owns nothing, its silence is no fault")
def an_idle_board_misses_no_host(session: Session) -> None:
    host = session.host
    unowned(session)
    host.listen(3_000 * session.info.host_timeout_ms)
    after = host.fresh()
    require(
        not after.faults and after.state is BoardState.IDLE,
        "IDLE without a fault",
        f"{after.state.name}, {after.fault_text or 'no fault'}",
    )


@check("HELLO leaves outputs, ownership and faults as they are")
def hello_changes_nothing(session: Session) -> None:
    host = session.host
    require_ack(host.ask(Stop()), "STOP")
    before = host.fresh()
    host.ask(Hello())
    after = host.fresh()
    for name in ("state", "faults", "live", "owned", "queue_depth", "pulses", "accepted", "rejected"):
        require(getattr(after, name) == getattr(before, name), f"{name} {getattr(before, name)}", getattr(after, name))


@check("DISABLE is always carried out, also of what is off, and also while a fault is latched", need=Need.MOTION, off=True)
def disable_is_always_carried_out(session: Session) -> None:
    host = session.host
    session.take(session.one())
    require_ack(host.ask(Stop()), "STOP")
    for _ in range(2):
        answer = host.ask(Disable(session.all))
        require_ack(answer, "DISABLE of all joints while stopped")
        after = host.fresh()
        require((after.live, after.owned, after.state) == (0, 0, BoardState.IDLE), "all off", told(after.state.name))
