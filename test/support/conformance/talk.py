"""Checks of what a board says of itself, and of what it refuses at once: telemetry, HELLO, PING, types, lengths, values."""

from __future__ import annotations

from picker_dynamics.board.protocol import (
    PROTOCOL_VERSION,
    Ack,
    Adopt,
    Disable,
    Enable,
    Hello,
    Info,
    MessageType,
    Nack,
    Ping,
    Reason,
    Telemetry,
    TelemetryPeriod,
    ahead_us,
)
from picker_dynamics.board.protocol.framing import build

from .check import Checks
from .host import Host
from .requirements import CheckSkipped, Violation, require, require_fault, require_nack, told
from .session import PERIOD_MS, Session, spread_us

check = Checks()
JUST_BOOTED_US = 10_000_000
BUILT_US = 1_000
"""How far the building of telemetry may wander from its period: the board may be busy with something else."""


def byte_us(session: Session) -> float:
    """Time that a byte takes on the wire [us]."""
    return 10e6 / session.host.baud


@check("the board sends telemetry from its start on, host or no host, every 20 ms")
def telemetry_from_boot(session: Session, host: Host) -> None:
    if session.first[0].time_us > JUST_BOOTED_US:
        raise CheckSkipped("the board has been running for a while: an earlier host may have set another period")
    spread = spread_us(session.first)[1:]  # the first frame may have waited for the outputs to be set up
    require(len(spread) >= 3, "telemetry before anything was sent", f"{len(spread) + 1} frames")
    require(all(abs(gap - 1000 * PERIOD_MS) <= BUILT_US for gap in spread), "telemetry every 20 ms", f"gaps of {spread} us")


@check("telemetry has n pulses, 0 where the output is off, an ADC value per bit of feedback_mask, and INFO's boot id")
def telemetry_content(session: Session, host: Host) -> None:
    mark = host.mark()
    host.wait(200_000)
    seen = host.since(mark, Telemetry)
    require(len(seen) > 5, "telemetry", f"{len(seen)} frames in 200 ms")
    for one in seen:
        require(len(one.pulses) == session.n, f"{session.n} pulses", len(one.pulses))
        require(one.boot_id == session.info.boot_id, f"boot id {session.info.boot_id}", one.boot_id)
        off = [joint for joint, pulse in enumerate(one.pulses) if bool(pulse) != bool(one.live >> joint & 1)]
        require(not off, "a pulse for each live joint and 0 for the others", f"live {one.live:#x}, pulses {one.pulses}")
        require(not one.live >> session.n, f"live joints among {session.n}", f"live {one.live:#x}")
        require(not one.owned & ~one.live, "owned joints to be live", f"owned {one.owned:#x}, live {one.live:#x}")
        require(
            (one.owned == 0) == (one.state == 0),
            "state IDLE where nothing is owned, and only there",
            f"owned {one.owned:#x}, state {one.state.name}",
        )
    require(all(gap > 0 for gap in spread_us(seen)), "board time that runs forward", f"gaps of {spread_us(seen)} us")


@check("each side counts its own frames, modulo 2^16")
def board_counts_its_frames(session: Session, host: Host) -> None:
    before, mark = host.damaged, host.mark()
    for _ in range(5):
        host.ask(Ping())
    host.wait(100_000)
    numbers = [one.sequence for one in host.heard[mark:]]
    steps = [(b - a) & 0xFFFF for a, b in zip(numbers, numbers[1:])]
    if host.damaged == before:
        require(set(steps) == {1}, "sequences that count up by one", f"steps of {sorted(set(steps))}")


@check("HELLO is answered with INFO, whatever its sequence: who the board is, queue of at least 16, 1 to 8 joints")
def hello_is_answered_with_info(session: Session, host: Host) -> None:
    numbers = (65535, 0, 41)
    for number in numbers:
        info = host.ask(Hello(), number)
        host.restart_sequence(number + 1)
        if not isinstance(info, Info) or info.request != number:
            raise Violation(f"expected INFO about request {number}; got {told(info)}")
        same = {name: getattr(info, name) for name, _ in Info.LAYOUT if name != "request"}
        require(same == {name: getattr(session.info, name) for name in same}, "the same INFO each time", info)
    info = session.info
    require(1 <= info.joints <= 8, "1 to 8 joints", info.joints)
    require(info.queue_capacity >= 16, "a queue of at least 16", info.queue_capacity)
    require(
        info.frame_us >= 1000 and info.resolution_ns and info.host_timeout_ms and info.max_lead_ms,
        "frame, resolution, host timeout and lead above 0",
        info,
    )


@check("PING is answered with an ACK: its sequence, its type, the board's time when the answer was built")
def ping_is_acknowledged(session: Session, host: Host) -> None:
    for _ in range(5):
        before = host.telemetry[-1].time_us
        ack = host.expect_ack(Ping())
        require(ack.request_type == MessageType.PING, f"request_type {MessageType.PING:#04x}", f"{ack.request_type:#04x}")
        require(ahead_us(ack.time_us, before) >= 0, f"a time after {before} us", f"{ack.time_us} us")
        after = host.fresh().time_us
        require(ahead_us(after, ack.time_us) >= 0, f"a time before {after} us", f"{ack.time_us} us")


@check("PING is no request: the same sequence is answered again with a new time, and never STALE")
def ping_is_not_remembered(session: Session, host: Host) -> None:
    number = host.take_sequence(2)
    first = host.expect_ack(Ping(), sequence=number)
    host.wait(10_000)
    host.expect_ack(TelemetryPeriod(PERIOD_MS), sequence=number + 1)
    second = host.expect_ack(Ping(), "PING with the sequence of an earlier one", sequence=number)
    require(ahead_us(second.time_us, first.time_us) >= 9_000, "the time of the second answer", f"{second.time_us} us")


@check("answers come back in the order of their requests, each once")
def answers_keep_their_order(session: Session, host: Host) -> None:
    mark, number = host.mark(), host.take_sequence(4)
    for k in range(4):
        host.send(Ping(), number + k)
    host.until(lambda: len(host.answers(mark)) >= 4, 500_000)
    host.wait(20_000)
    got = [answer.request for answer in host.answers(mark)]
    require(got == [number + k & 0xFFFF for k in range(4)], "four answers in order", f"answers to {got}")


@check("an unknown type is refused with UNKNOWN_TYPE, and so are the messages of a board")
def unknown_type_is_refused(session: Session, host: Host) -> None:
    for type_id in (0x00, 0x0B, 0x7F, 0x80, 0x85, 0xFF):
        answer = require_nack(host.ask_frame(type_id), Reason.UNKNOWN_TYPE, f"type {type_id:#04x}", 0)
        require(answer.request_type == type_id, f"request_type {type_id:#04x}", f"{answer.request_type:#04x}")
    for message in (session.info, Ack(1, 2, 3), Nack(1, 2, Reason.STALE, 0), session.found):
        host.expect_nack(message, Reason.UNKNOWN_TYPE, 0, f"a {message.TYPE.name}")
        require_nack(host.ask_frame(message.TYPE), Reason.UNKNOWN_TYPE, f"a {message.TYPE.name} without payload", 0)


@check("a payload of any other length is refused with BAD_LENGTH")
def other_length_is_refused(session: Session, host: Host) -> None:
    n = session.n
    right = {
        MessageType.HELLO: 0,
        MessageType.PING: 0,
        MessageType.ENABLE: 1 + 2 * n,
        MessageType.ADOPT: 1,
        MessageType.DISABLE: 1,
        MessageType.SET_POINT: 4 + 2 * n,
        MessageType.STOP: 0,
        MessageType.RELAX: 0,
        MessageType.RESET: 0,
        MessageType.TELEMETRY_PERIOD: 2,
    }
    for kind, length in right.items():
        wrong = {0, length - 2, length - 1, length + 1, length + 2} - {length}
        for size in sorted(one for one in wrong if one >= 0):
            require_nack(host.ask_frame(kind, bytes((1,) * size)), Reason.BAD_LENGTH, f"{kind.name} of {size} bytes", 0)
    require_fault(host.fresh(), what="no fault from a STOP of another length")


@check("a mask that names no joint, or one that the board lacks, is refused with BAD_VALUE and the mask")
def other_mask_is_refused(session: Session, host: Host) -> None:
    masks = [0] if session.n == 8 else [0, 1 << session.n, 0x80, 0xFF & ~session.all]
    before = host.fresh()
    for mask in masks:
        for message in (Adopt(mask), Disable(mask), Enable(mask, (0,) * session.n)):
            host.expect_nack(message, Reason.BAD_VALUE, mask, f"{message.TYPE.name} of mask {mask:#04x}")
    after = host.fresh()
    require(
        (after.live, after.owned) == (before.live, before.owned),
        "that nothing is switched",
        f"live {after.live:#x}, owned {after.owned:#x}",
    )


@check("TELEMETRY_PERIOD takes 2 to 1000 ms, else BAD_VALUE with the period, and the telemetry comes at it")
def telemetry_period_is_kept(session: Session, host: Host) -> None:
    for period in (0, 1, 1001, 65535):
        host.expect_nack(TelemetryPeriod(period), Reason.BAD_VALUE, period, f"a period of {period} ms")
    fastest = max(2, -(-int(byte_us(session) * 1.3 * (39 + 4 * session.n)) // 1000))
    for period in (2, 1000):
        host.expect_ack(TelemetryPeriod(period), f"a period of {period} ms")
    for period in (fastest, 37, 251, PERIOD_MS):
        mark = host.mark()
        ack = host.expect_ack(TelemetryPeriod(period), f"a period of {period} ms")
        host.wait(3_500 * period)
        seen = [one for one in host.since(mark, Telemetry) if ahead_us(one.time_us, ack.time_us) > 1000 * period]
        gaps = spread_us(seen)
        require(
            gaps and all(abs(gap - 1000 * period) <= BUILT_US for gap in gaps),
            f"telemetry every {period} ms",
            f"gaps of {gaps} us",
        )


@check("a new period counts from the telemetry sent last; where it is over already, the next goes out at once")
def a_shorter_period_begins_at_once(session: Session, host: Host) -> None:
    host.expect_ack(TelemetryPeriod(1000), "a period of 1000 ms")
    host.listen(300_000)
    mark = host.mark()
    ack = host.expect_ack(TelemetryPeriod(PERIOD_MS), "a period of 20 ms")
    host.until(lambda: len(host.since(mark, Telemetry)) >= 2)
    after = [ahead_us(one.time_us, ack.time_us) for one in host.since(mark, Telemetry)[:2]]
    require(after and abs(after[0]) <= BUILT_US, "telemetry as soon as the period is shorter", f"it {after[0]} us after the ACK")
    require(abs(after[1] - after[0] - 1000 * PERIOD_MS) <= BUILT_US, "the next 20 ms later", f"{after[1] - after[0]} us later")


@check("a frame of another version with a right checksum is answered with OTHER_VERSION, in the board's version")
def other_version_is_refused(session: Session, host: Host) -> None:
    before = host.fresh()
    for version in (0, 2, 255):
        for type_id, payload in ((MessageType.PING, b""), (0x55, b"any length")):
            answer = host.ask_frame(type_id, payload, version=version)
            answer = require_nack(answer, Reason.OTHER_VERSION, f"version {version}", PROTOCOL_VERSION)
            require(answer.request_type == type_id, f"request_type {type_id:#04x}", f"{answer.request_type:#04x}")
    host.send_bytes(build(2, MessageType.STOP, host.take_sequence(), b""))
    require(host.fresh().faults == before.faults, "a STOP of another version to do nothing", host.telemetry[-1].fault_text)


@check("board time in ACKs and telemetry is one clock, that runs as the host's does to 1 %")
def one_clock(session: Session, host: Host) -> None:
    stamps = []
    for _ in range(2):
        ack = host.expect_ack(Ping())
        stamps.append((host.now_us, ack.time_us))
        host.wait(500_000)
    elapsed, told_us = stamps[1][0] - stamps[0][0], ahead_us(stamps[1][1], stamps[0][1])
    slack = 0.01 * elapsed + 2_000
    require(abs(told_us - elapsed) <= slack, f"{elapsed} us on the board's clock", f"{told_us} us")
