"""Checks of what the queue takes and refuses.  Every point stands at where the joints are: nothing moves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from picker_dynamics.board.protocol import TIME_MODULUS, BoardState, Nack, Reason, SetPoint, Telemetry

from .check import Checks
from .host import Host
from .outputs import joints_of
from .requirements import require, require_nack, require_queue, require_rejected, require_taken, told
from .session import Session
from .track import PACE_US

check = Checks()


def send_points(session: Session, stamps: Iterable[int], pulses: Sequence[int] | None = None) -> tuple[Telemetry, list[Nack]]:
    """Send points at these board times; telemetry after they have been handled, and the refusals."""
    host, mark = session.host, session.host.mark()
    for stamp in stamps:
        host.send(SetPoint(stamp % TIME_MODULUS, tuple(pulses or session.start)))
        host.listen(PACE_US)
    after = host.fresh()
    return after, host.since(mark, Nack)


def require_refused(
    session: Session, stamp: int, reason: Reason, what: str, pulses: Sequence[int] | None = None, detail: int = 0
) -> None:
    """Require that one set-point is refused for this reason, and counted."""
    before = session.host.fresh()
    after, refusals = send_points(session, [stamp], pulses)
    require_nack(refusals[0] if refusals else None, reason, what, detail)
    require_rejected(before, after, reason)


def soon(session: Session) -> int:
    """A board time that is ahead of now by enough to send some points."""
    return session.host.board_now_us() + 400_000


@check("a set-point that is taken is not answered: accepted and last_sequence tell")
def taken_points_are_counted_not_answered(session: Session, host: Host) -> None:
    before = session.take()
    begin, mark = soon(session), host.mark()
    numbers = []
    for k in range(3):
        numbers.append(host.send(SetPoint(begin + 20_000 * k & 2**32 - 1, session.start)))
        host.listen(PACE_US)
    after = host.fresh()
    answers = [one for one in host.answers(mark) if one.request in numbers]
    require(not answers, "no answer", [told(one) for one in answers])
    require(after.accepted - before.accepted & 0xFFFF == 3, "3 more accepted", after.accepted - before.accepted)
    require(after.last_sequence == numbers[-1], f"last_sequence {numbers[-1]}", after.last_sequence)
    require_queue(after, BoardState.MOVE, 3)
    require(after.rejected == before.rejected, "none rejected", after.rejected - before.rejected)


@check("the queue takes queue_capacity points, then refuses with QUEUE_FULL and keeps what it has")
def the_queue_is_as_long_as_it_says(session: Session, host: Host) -> None:
    capacity = session.info.queue_capacity
    session.take()
    begin = soon(session)
    step = min(20_000, (session.info.max_lead_ms * 1000 - 700_000) // capacity)
    after, refusals = send_points(session, [begin + step * k for k in range(capacity)])
    require_taken(refusals, f"{capacity} points to be taken")
    require(after.queue_depth == capacity, f"queue_depth {capacity}", after.queue_depth)
    require_refused(session, begin + step * capacity, Reason.QUEUE_FULL, f"point {capacity + 1}")
    require_refused(session, begin + step * (capacity - 1), Reason.NOT_LATER, "a point that is both too many and not later")
    require(host.fresh().queue_depth == capacity, f"queue_depth {capacity}", host.telemetry[-1].queue_depth)


@check("points leave the queue once their time has been evaluated")
def points_leave_the_queue(session: Session, host: Host) -> None:
    session.take()
    begin = soon(session)
    send_points(session, [begin + 60_000 * k for k in range(5)])
    mark = host.mark()
    session.still()
    seen = host.since(mark, Telemetry)
    frame = session.frame_us
    for one in seen:
        passed = (one.time_us - begin + 2**31) % 2**32 - 2**31
        at_most = 5 - max(0, min(5, (passed - frame) // 60_000 + 1))
        at_least = 5 - max(0, min(5, (passed + frame) // 60_000 + 1))
        require(
            at_least <= one.queue_depth <= at_most, f"{at_least} to {at_most} points {passed} us after the first", one.queue_depth
        )
    require(seen[-1].state is BoardState.HOLD, "HOLD at the end, where the points stand still", seen[-1].state.name)


@check("a point that is not after the one queued last is refused with NOT_LATER")
def points_come_in_order(session: Session, host: Host) -> None:
    session.take()
    begin = soon(session) + 200_000
    send_points(session, [begin])
    for stamp in (begin, begin - 1, begin - 100_000):
        require_refused(session, stamp, Reason.NOT_LATER, f"a point {begin - stamp} us before the last")
    after, refusals = send_points(session, [begin + 1])
    require(not refusals and after.queue_depth == 2, "a point 1 us later to be taken", told(refusals[0] if refusals else None))


@check("a pulse outside an owned joint's limits is refused with OUT_OF_LIMITS and the joint, before TOO_FAR and PAST")
def pulses_outside_are_refused(session: Session, host: Host) -> None:
    session.take()
    far = host.fresh().time_us + session.info.max_lead_ms * 1000 - 1_000  # should it be taken, nothing moves far
    for joint in joints_of(session.usable):
        limit = session.limits[joint]
        for pulse in (limit.lowest - 1, limit.highest + 1, 0):
            pulses = list(session.start)
            pulses[joint] = pulse
            try:
                require_refused(session, far, Reason.OUT_OF_LIMITS, f"joint {joint} at {pulse}", pulses, joint)
            except Exception:
                session.forget()
                raise
    pulses = [limit.highest + 1 for limit in session.limits]
    first = joints_of(session.usable)[0]
    for stamp in (far + 2**29, far - 2**30):
        require_refused(session, stamp, Reason.OUT_OF_LIMITS, "a point outside the limits, too far or past", pulses, first)


@check("pulses at the limits themselves are taken")
def pulses_at_the_limits_are_taken(session: Session, host: Host) -> None:
    session.take()
    for name in ("lowest", "highest"):
        pulses = [getattr(limit, name) for limit in session.limits]
        _, refusals = send_points(session, [host.board_now_us() + session.info.max_lead_ms * 1000 - 5_000], pulses)
        require_taken(refusals, f"pulses at their {name} to be taken")
        session.forget()
        session.take()
