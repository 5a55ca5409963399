"""Checks of the board's watch over its host, and of what a lost host means for the arm."""

from __future__ import annotations

from picker_dynamics.board.protocol import (
    BoardState,
    Fault,
    MessageType,
    Ping,
    Reason,
    Reset,
    SetPoint,
    Telemetry,
    ahead_us,
    encode,
)
from picker_dynamics.board.protocol.framing import build

from .check import Checks
from .host import LEAD_US, Host
from .motion import begin_us, even, slow
from .requirements import require, require_fault
from .session import Session
from .track import send

check = Checks()
SLACK_US = 2_000


def fall_silent(session: Session, for_us: int) -> tuple[int, list[Telemetry]]:
    """Say a last word, and nothing for a while; board time of the last word, and the telemetry since."""
    host = session.host
    host.keep_alive = False
    mark = host.mark()
    last = host.expect_ack(Ping())
    host.listen(for_us)
    host.until(lambda: ahead_us(host.telemetry[-1].time_us, last.time_us) >= for_us - session.frame_us)
    return last.time_us, host.since(mark, Telemetry)


def require_lost_in_time(session: Session, last_us: int, seen: list[Telemetry]) -> Telemetry:
    """Require HOST_LOST at the first servo frame after the timeout; the first telemetry that has it."""
    timeout_us = session.info.host_timeout_ms * 1000
    lost = [one for one in seen if one.faults & Fault.HOST_LOST.bit]
    require(lost, f"HOST_LOST within {timeout_us + session.frame_us} us of silence", "no fault")
    kept = [one for one in seen if not one.faults]
    early, late = ahead_us(lost[0].time_us, last_us), ahead_us(kept[-1].time_us, last_us)
    require(early > timeout_us, f"no HOST_LOST within {timeout_us} us", f"it {early} us after the last word")
    require(
        late <= timeout_us + session.frame_us + SLACK_US,
        f"HOST_LOST within {timeout_us + session.frame_us} us",
        f"no fault {late} us after the last word",
    )
    return lost[0]


@check("no valid frame for more than host_timeout_ms, while the host owns a joint, is HOST_LOST; the arm goes on holding")
def a_silent_host_is_lost(session: Session, host: Host) -> None:
    before = session.take()
    last_us, seen = fall_silent(session, 1_000 * session.info.host_timeout_ms + 300_000)
    require_lost_in_time(session, last_us, seen)
    after = seen[-1]
    require(after.faults == Fault.HOST_LOST.bit, "HOST_LOST and no other fault", after.fault_text)
    require(
        (after.state, after.live, after.owned, after.pulses) == (BoardState.HOLD, before.live, before.owned, before.pulses),
        "HOLD, everything live and owned as before",
        f"{after.state.name}, live {after.live:#x}, owned {after.owned:#x}",
    )
    host.expect_nack(SetPoint(begin_us(session), session.start), Reason.FAULT, Fault.HOST_LOST.bit)
    host.expect_ack(Reset(), "RESET: that it arrives shows that the cause is gone")
    host.keep_alive = True
    require_fault(host.fresh(), what="no fault after RESET")


@check("a lost host's queue is flushed and its motion braked")
def a_lost_host_is_not_followed(session: Session, host: Host) -> None:
    session.take()
    speed, timeout_us = slow(session), session.info.host_timeout_ms * 1000
    frames = min(session.info.queue_capacity - 1, 15)
    begin = host.board_now_us() + LEAD_US
    points = [(begin + 2 * session.frame_us * k, pulses) for k, (_, pulses) in enumerate(even(session, speed, frames, begin))]
    send(session, points)
    last_us, seen = fall_silent(session, timeout_us + 300_000)
    lost = require_lost_in_time(session, last_us, seen)
    require(lost.queue_depth == 0, "an empty queue", lost.queue_depth)
    held = seen[-1]
    require(
        (held.state, held.faults) == (BoardState.HOLD, Fault.HOST_LOST.bit),
        "HOLD, HOST_LOST",
        f"{held.state.name}, {held.fault_text}",
    )
    require(held.pulses != points[-1][1], "the motion not to be finished", held.pulses)
    still = next(one for one in seen if one.pulses == held.pulses)
    way_us = ahead_us(still.time_us, last_us)
    require(way_us <= 500_000 + 2 * session.frame_us, "standstill within 0.5 s of the last word", f"{way_us} us")


@check("any valid frame keeps the watch quiet; damaged frames and those of another version do not")
def only_valid_frames_count(session: Session, host: Host) -> None:
    session.take()
    host.wait(3_000 * session.info.host_timeout_ms)
    require_fault(host.fresh(), what="no fault while the host sends PING every 90 ms")
    host.keep_alive = False
    mark = host.mark()
    last = host.expect_ack(Ping())
    damaged = bytearray(encode(Ping(), 0))
    damaged[-2] ^= 1 if damaged[-2] != 1 else 2
    until_us = session.info.host_timeout_ms * 1000 + 200_000
    while ahead_us(host.board_now_us(), last.time_us) < until_us:
        host.send_bytes(bytes(damaged) + build(2, MessageType.PING, 0, b"") + b"noise\0")
        host.listen(40_000)
    require_lost_in_time(session, last.time_us, host.since(mark, Telemetry))
