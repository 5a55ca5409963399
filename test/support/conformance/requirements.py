"""Requirements of a board's answers: what was expected, and what it did."""

from __future__ import annotations

from collections.abc import Sequence

from picker_dynamics.board.protocol import Ack, BoardState, Fault, Info, Nack, Reason, Telemetry


class Violation(Exception):
    """A board breaks a rule of the protocol: what was expected, and what it did."""


class CheckSkipped(Exception):
    """A check cannot be made on this board, or in its present condition; why."""


def require(condition: object, expected: str, got: object = None) -> None:
    """Raise a Violation unless the condition holds."""
    if not condition:
        raise Violation(f"expected {expected}" + ("" if got is None else f"; got {told(got)}"))


def told(answer: object) -> str:
    """An answer of the board, or the lack of one, in words."""
    if answer is None:
        return "no answer"
    if isinstance(answer, Nack):
        return f"NACK {answer.reason.name} (detail {answer.detail})"
    if isinstance(answer, Ack):
        return "ACK"
    return "INFO" if isinstance(answer, Info) else str(answer)


def require_ack(answer: object, what: str) -> Ack:
    """Return the answer, which has to be an Ack."""
    if not isinstance(answer, Ack):
        raise Violation(f"expected ACK to {what}; got {told(answer)}")
    return answer


def require_nack(answer: object, reason: Reason, what: str, detail: int | None = None) -> Nack:
    """Return the answer, which has to be a Nack with this reason, and with this detail where one is given."""
    wanted = f"NACK {reason.name}" + ("" if detail is None else f" (detail {detail})")
    if not isinstance(answer, Nack) or answer.reason is not reason or detail not in (None, answer.detail):
        raise Violation(f"expected {wanted} to {what}; got {told(answer)}")
    return answer


def require_taken(refusals: Sequence[Nack], what: str) -> None:
    """Raise a Violation where a set-point was refused."""
    require(not refusals, what, told(refusals[0]) if refusals else None)


def require_rejected(before: Telemetry, after: Telemetry, reason: Reason) -> None:
    """Require that between the two one set-point was refused, for this reason, and none accepted."""
    got = after.rejected - before.rejected & 0xFFFF, after.last_reason
    require(got == (1, reason), f"one more rejected, {reason.name}", f"{got[0]} more, {got[1].name}")
    taken = (after.accepted, after.last_sequence) == (before.accepted, before.last_sequence)
    require(taken, "nothing accepted", f"{after.accepted - before.accepted} more")


def require_fault(telemetry: Telemetry, fault: Fault | None = None, what: str = "") -> None:
    """Require that this fault is latched and no other; None: none at all."""
    expected = what or (fault.name if fault else "no fault")
    require(telemetry.faults == (fault.bit if fault else 0), expected, telemetry.fault_text or "no fault")


def require_underruns(before: Telemetry, after: Telemetry, count: int = 0) -> None:
    """Require that the queue ran out in motion so many times between the two."""
    got = after.underruns - before.underruns & 0xFFFF
    require(got == count, f"{count} underruns", got)


def require_hold(telemetry: Telemetry, pulses: Sequence[int], what: str = "") -> None:
    """Require that the arm stands at these pulses."""
    got = telemetry.state, telemetry.pulses
    require(got == (BoardState.HOLD, pulses), what or f"HOLD at {pulses}", f"{got[0].name} at {got[1]}")


def require_queue(telemetry: Telemetry, state: BoardState, depth: int) -> None:
    """Require that the board is in this state, with so many points waiting."""
    got = telemetry.state, telemetry.queue_depth
    require(got == (state, depth), f"{state.name} with {depth} points waiting", f"{got[0].name} with {got[1]}")
