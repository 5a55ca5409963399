"""Checks of what a board makes of bytes: delimiters, damage, noise, and the counters that tell of it."""

from __future__ import annotations

import random

from picker_dynamics.board.protocol import (
    Ack,
    Hello,
    MessageType,
    Nack,
    Ping,
    Reason,
    SetPoint,
    Telemetry,
    TelemetryPeriod,
    encode,
)
from picker_dynamics.board.protocol.framing import STUFFED_MAX, crc16, stuff

from .check import Checks
from .host import Host
from .requirements import require, require_ack, require_fault, require_nack, told
from .session import Session

check = Checks()


def bad_frames(session: Session, data: bytes) -> int:
    """How many damaged frames the board counts in ``data``; fails where it answers any of it."""
    host = session.host
    before = host.fresh().bad_frames
    mark = host.mark()
    host.send_bytes(data)
    after = host.fresh().bad_frames
    answers = [one for one in host.answers(mark) if not (isinstance(one, Ack) and one.request_type == MessageType.PING)]
    require(not answers, "no answer to damage", [told(one) for one in answers])
    return after - before & 0xFFFF


@check("lone delimiters are allowed anywhere and mean nothing")
def lone_delimiters_mean_nothing(session: Session, host: Host) -> None:
    require(bad_frames(session, bytes(40)) == 0, "no bad frame from 40 delimiters", host.telemetry[-1].bad_frames)


@check("a frame with a wrong checksum is dropped, counted, and never answered")
def wrong_checksum_is_dropped(session: Session, host: Host) -> None:
    body = encode(Ping(), host.take_sequence())
    for at in range(1, len(body) - 1):
        damaged = bytearray(body)
        damaged[at] = damaged[at] ^ 0x40 or 0x20  # another byte, and no zero
        counted = bad_frames(session, bytes(damaged))
        require(counted == 1, f"one bad frame where byte {at} is damaged", counted)
    bytewise = bytes((1, MessageType.STOP, 9, 9))
    swapped = crc16(bytewise).to_bytes(2, "big")
    require(bad_frames(session, stuff(bytewise + swapped) + b"\0") == 1, "one bad frame for a checksum of the other byte order")
    require_fault(host.fresh(), what="a damaged STOP to do nothing")


@check("stuffing that points past the end, a length byte of 0xFF, and frames below six bytes are damage")
def wrong_stuffing_is_dropped(session: Session, host: Host) -> None:
    frame = encode(SetPoint(1_000_000, (12000,) * session.n), 7)
    past = bytes((0x3F,)) + frame[1:]
    short = [stuff(body + crc16(body).to_bytes(2, "little")) + b"\0" for body in (b"", b"\x01", b"\x01\x02\x05")]
    long = b"\xff" + bytes(range(1, 61)) + b"\0"
    for damaged in (past, long, *short, b"\x01\0", frame[:-2] + b"\0"):
        require(bad_frames(session, damaged) == 1, "one bad frame", damaged.hex())


@check("what is longer than 72 bytes without a delimiter is dropped as one bad frame")
def a_long_run_is_one_bad_frame(session: Session, host: Host) -> None:
    for length in (STUFFED_MAX, STUFFED_MAX + 1, 2 * STUFFED_MAX + 3, 300):
        counted = bad_frames(session, bytes((0x11,)) * length + b"\0")
        require(counted == 1, f"one bad frame of {length} bytes", counted)


@check("a delimiter in front of a frame flushes half a frame")
def a_delimiter_flushes_half_a_frame(session: Session, host: Host) -> None:
    half = encode(SetPoint(1, (12000,) * session.n), 1)[:9]
    before = host.fresh().bad_frames
    mark = host.mark()
    number = host.take_sequence()
    host.send_bytes(half + b"\0" + encode(Ping(), number))
    require_ack(host.answer_to(number, mark), "PING after half a frame and a delimiter")
    require(host.fresh().bad_frames - before & 0xFFFF == 1, "one bad frame", host.telemetry[-1].bad_frames - before)
    number = host.take_sequence()
    before, mark = host.telemetry[-1].bad_frames, host.mark()
    host.send_bytes(half + encode(Ping(), number) + b"\0")
    require(host.answer_to(number, mark) is None, "no answer to a frame glued to half a frame")
    require(host.fresh().bad_frames - before & 0xFFFF == 1, "one bad frame", host.telemetry[-1].bad_frames - before)


@check("frames may come byte by byte, or several at once")
def frames_come_as_they_like(session: Session, host: Host) -> None:
    number, mark = host.take_sequence(), host.mark()
    for byte in encode(Ping(), number):
        host.send_bytes(bytes((byte,)))
        host.listen(3_000)
    require_ack(host.answer_to(number, mark), "PING sent byte by byte")
    first, mark = host.take_sequence(3), host.mark()
    host.send_bytes(b"\0\0".join(encode(Ping(), first + k) for k in range(3)))
    host.until(lambda: len(host.answers(mark)) >= 3, 500_000)
    got = [one.request for one in host.answers(mark) if isinstance(one, Ack)]
    require(got == [first + k & 0xFFFF for k in range(3)], "three ACKs to three frames at once", got)


@check("every zero in a frame is stuffed: sequence 0, lengths and values of zero are understood")
def zeros_are_unstuffed(session: Session, host: Host) -> None:
    answer = host.ask_frame(MessageType.SET_POINT, bytes(4 + 2 * session.n))
    require(
        isinstance(answer, Nack) and answer.request_type == MessageType.SET_POINT and answer.reason is not Reason.BAD_LENGTH,
        "a SET_POINT of nothing but zeros to be understood, and refused",
        told(answer),
    )


@check("through a storm of damage every good frame is answered and every bad one counted")
def good_frames_pass_through_a_storm(session: Session, host: Host) -> None:
    noise = random.Random(1)
    before = host.fresh()
    good, bad = [], 0
    mark = host.mark()
    for _ in range(60):
        if noise.random() < 0.3:
            frame = bytearray(encode(Ping(), noise.randrange(65536)))
            at = noise.randrange(1, len(frame) - 1)
            frame[at] ^= 1 << noise.randrange(8)
            frame[at] = frame[at] or 0xFF
            bad += 1
            host.send_bytes(bytes(frame))
        else:
            good.append(host.take_sequence())
            host.send(Ping(), good[-1])
        host.listen(3_000)
    host.until(lambda: len(host.answers(mark)) >= len(good), 300_000)
    got = [one.request for one in host.answers(mark)]
    after = host.fresh()
    require(got == good, f"{len(good)} answers in order", f"{len(got)} answers")
    counted = after.bad_frames - before.bad_frames & 0xFFFF
    require(counted == bad, f"{bad} bad frames", counted)
    require(after.missed_frames == before.missed_frames, "no gap", f"{after.missed_frames - before.missed_frames} missed")


@check("missed_frames counts the gaps in the host's sequence; older frames and HELLO make none")
def gaps_are_counted(session: Session, host: Host) -> None:
    host.ask(Ping())
    before = host.fresh().missed_frames
    for jump, gap in ((1, 0), (4, 3), (1, 0), (-2, 0), (101, 100)):
        number = host.take_sequence(0) + jump - 1 & 0xFFFF
        host.expect_ack(Ping(), sequence=number)
        if jump > 0:
            host.restart_sequence(number + 1)
        missed = host.fresh().missed_frames - before & 0xFFFF
        require(missed == gap, f"{gap} frames missed where the sequence goes by {jump:+d}", missed)
        before = host.telemetry[-1].missed_frames


@check("the sequence wraps around from 65535 to 0 without a gap")
def the_sequence_wraps(session: Session, host: Host) -> None:
    before = _hello(session, 65530).missed_frames
    for _ in range(12):
        host.expect_ack(Ping())
    missed = host.fresh().missed_frames - before & 0xFFFF
    require(missed == 0, "no gap", missed)


@check("damaged frames and frames of another version leave the count of sequences alone")
def only_good_frames_are_counted(session: Session, host: Host) -> None:
    before = host.fresh().missed_frames
    number = host.take_sequence(0)
    damaged = bytearray(encode(Ping(), number + 40))
    damaged[-2] ^= 1 if damaged[-2] != 1 else 2
    host.send_bytes(bytes(damaged))
    answer = host.ask_frame(MessageType.PING, version=2, sequence=number + 50 & 0xFFFF)
    require_nack(answer, Reason.OTHER_VERSION, "version 2")
    missed = host.fresh().missed_frames - before & 0xFFFF
    require(missed == 0, "no gap", missed)
    host.expect_ack(TelemetryPeriod(20))


def _hello(session: Session, sequence: int) -> Telemetry:
    """HELLO with a sequence of its own; telemetry after it."""
    host = session.host
    host.restart_sequence(sequence)
    host.ask(Hello())
    return host.fresh()
