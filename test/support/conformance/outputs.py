"""Checks of switching outputs on and off and of owning them.  Joints are switched on where the user says they stand."""

from __future__ import annotations

from collections.abc import Sequence

from picker_dynamics.board.protocol import Adopt, BoardState, Disable, Enable, Nack, Reason, Relax, SetPoint, Telemetry

from .check import Checks
from .host import Host
from .requirements import CheckSkipped, require, require_hold, require_nack, require_queue, require_taken
from .session import Session

check = Checks()


def joints_of(mask: int) -> list[int]:
    """The joints in a mask."""
    return [joint for joint in range(8) if mask >> joint & 1]


def require_outputs(telemetry: Telemetry, live: int, owned: int, pulses: Sequence[int]) -> None:
    """Require these live joints, owned joints and pulses."""
    got = (telemetry.live, telemetry.owned, telemetry.pulses)
    require(
        got == (live, owned, tuple(pulses)),
        f"live {live:#x}, owned {owned:#x}, pulses {tuple(pulses)}",
        f"live {got[0]:#x}, owned {got[1]:#x}, pulses {got[2]}",
    )


def switch_all_off(session: Session, mask: int) -> None:
    """Own these joints, and switch every output off: where switching on begins."""
    session.take(mask)
    session.host.expect_ack(Disable(session.all), "DISABLE of all joints")


def two(session: Session) -> tuple[int, int]:
    """Masks of two joints that may be used."""
    joints = joints_of(session.usable)
    if len(joints) < 2:
        raise CheckSkipped("it takes two joints")
    return 1 << joints[0], 1 << joints[1]


def far_point(session: Session, pulses: Sequence[int], ahead_us: int = 1_000_000) -> SetPoint:
    """A set-point well ahead of now."""
    return SetPoint(session.host.board_now_us() + ahead_us & 2**32 - 1, tuple(pulses))


@check("owned joints stand in HOLD, and the pulses do not change; adopting what is owned already is allowed")
def hold_stands_still(session: Session, host: Host) -> None:
    before = session.take()
    host.expect_ack(Adopt(session.usable), "ADOPT of what is owned already")
    mark = host.mark()
    host.wait(300_000)
    for one in host.since(mark, Telemetry):
        require_hold(one, before.pulses)


@check("ENABLE of a joint that is live is refused with ALREADY_LIVE and the joint: nothing jumps")
def enable_refuses_what_is_live(session: Session, host: Host) -> None:
    before = session.take()
    for joint in joints_of(session.usable):
        message = session.enable(1 << joint)
        host.expect_nack(message, Reason.ALREADY_LIVE, joint, f"ENABLE of joint {joint}")
    require_outputs(host.fresh(), before.live, before.owned, before.pulses)


@check("ENABLE switches on the joints in its mask at their pulses, at once, and the others stay off", off=True)
def enable_starts_where_told(session: Session, host: Host) -> None:
    switch_all_off(session, session.one())
    live, pulses = 0, [0] * session.n
    for joint in joints_of(session.usable):
        host.expect_ack(session.enable(1 << joint), f"ENABLE of joint {joint}")
        live, pulses[joint] = live | 1 << joint, session.start[joint]
        require_outputs(host.fresh(), live, live, pulses)


@check("ENABLE is all or nothing", off=True)
def enable_is_all_or_nothing(session: Session, host: Host) -> None:
    (first, second) = two(session)
    before = session.take(second)
    both = session.enable(first | second)
    host.expect_nack(both, Reason.ALREADY_LIVE, joints_of(second)[0], "ENABLE of a joint that is off and one that is live")
    require_outputs(host.fresh(), before.live, before.owned, before.pulses)
    host.expect_nack(Adopt(first | second), Reason.NOT_LIVE, joints_of(first)[0], "ADOPT of both")


@check("ENABLE with a pulse outside the joint's limits is refused with OUT_OF_LIMITS and the joint", off=True)
def enable_refuses_pulses_outside(session: Session, host: Host) -> None:
    switch_all_off(session, session.one())
    for joint in joints_of(session.usable):
        limit = session.limits[joint]
        for pulse in (limit.lowest - 1, limit.highest + 1, 0):
            pulses = list(session.masked(session.start, session.usable))
            pulses[joint] = pulse
            answer = host.ask(Enable(session.usable, tuple(pulses)))
            require_nack(answer, Reason.OUT_OF_LIMITS, f"ENABLE with joint {joint} at {pulse}", joint)
            require(not host.fresh().live, "nothing to be switched on", f"live {host.telemetry[-1].live:#x}")
        for pulse in (limit.lowest, limit.highest):
            pulses[joint] = pulse
            host.expect_ack(Enable(1 << joint, session.masked(pulses, 1 << joint)), f"ENABLE of joint {joint} at {pulse}")
            host.expect_ack(Disable(1 << joint))


@check("while the arm moves ENABLE and ADOPT are refused with BUSY")
def switching_on_waits_for_standstill(session: Session, host: Host) -> None:
    session.take()
    host.send(far_point(session, session.start))
    moving = host.fresh()
    require(moving.state is BoardState.MOVE, "MOVE once a set-point is accepted", moving.state.name)
    host.expect_nack(Adopt(session.one()), Reason.BUSY, 0, "ADOPT in motion")
    message = session.enable(session.one())
    answer = host.ask(message)  # live as well: the page does not say which of the two comes first
    require(getattr(answer, "reason", None) in (Reason.BUSY, Reason.ALREADY_LIVE), "NACK BUSY to ENABLE in motion", answer)
    require(session.still().state is BoardState.HOLD, "HOLD after the motion", host.telemetry[-1].state.name)
    host.expect_ack(Adopt(session.one()), "ADOPT after the motion")


@check("while the arm moves an ENABLE of a joint that is off is refused with BUSY", off=True)
def enable_waits_for_standstill(session: Session, host: Host) -> None:
    (first, second) = two(session)
    session.take(first)
    host.send(far_point(session, session.start))
    message = session.enable(second)
    host.expect_nack(message, Reason.BUSY, 0, "ENABLE in motion")
    session.still()
    host.expect_ack(message, "ENABLE after the motion")


@check("the pulse of a joint that the host does not own is ignored, whatever it is", off=True)
def pulses_of_others_are_ignored(session: Session, host: Host) -> None:
    (first, _) = two(session)
    session.take(first)
    for other in (0, 1, 32767):
        mark = host.mark()
        pulses = [other] * session.n
        pulses[joints_of(first)[0]] = session.start[joints_of(first)[0]]
        host.send(far_point(session, pulses, 200_000 + other))
        host.fresh()
        refused = host.since(mark, Nack)
        require_taken(refused, f"a set-point to be accepted whose other pulses are {other}")
    host.wait(300_000)
    session.still()
    require_outputs(host.fresh(), first, first, session.masked(session.start, first))


@check("DISABLE switches off the joints in its mask; the others go on, and the queue stays", off=True)
def disable_leaves_the_others(session: Session, host: Host) -> None:
    (first, second) = two(session)
    session.take(first | second)
    host.send(far_point(session, session.start, 600_000))
    host.expect_ack(Disable(second), "DISABLE of one joint in motion")
    after = host.fresh()
    require_outputs(after, first, first, session.masked(session.start, first))
    require_queue(after, BoardState.MOVE, 1)


@check("when no owned joint is left, the queue is flushed and the state is IDLE", off=True)
def disable_of_the_last_flushes(session: Session, host: Host) -> None:
    mask = session.usable
    session.take()
    host.send(far_point(session, session.start))
    host.fresh()
    host.expect_ack(Disable(mask), "DISABLE of all joints")
    after = host.fresh()
    require_outputs(after, 0, 0, (0,) * session.n)
    require_queue(after, BoardState.IDLE, 0)
    host.expect_nack(far_point(session, session.start), Reason.NOT_ENABLED, 0, "SET_POINT")
    host.expect_ack(session.enable(session.one()), "ENABLE after it")


@check("RELAX flushes the queue and switches all outputs off at once; nothing is latched, nothing owned", off=True)
def relax_lets_go(session: Session, host: Host) -> None:
    session.take()
    host.send(far_point(session, session.start))
    host.fresh()
    host.expect_ack(Relax())
    after = host.fresh()
    require_outputs(after, 0, 0, (0,) * session.n)
    require(
        (after.state, after.queue_depth, after.faults) == (BoardState.IDLE, 0, 0),
        "IDLE, an empty queue, no fault",
        f"{after.state.name}, {after.queue_depth}, {after.fault_text or 'no fault'}",
    )
