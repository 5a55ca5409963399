"""Conformance check: a rule of the protocol's page, a function that finds out whether a board keeps it, and what it requires."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any

from ..protocol import Ack, BoardState, Fault, Info, Nack, Reason, Telemetry

if TYPE_CHECKING:
    from .host import Host
    from .session import Session

CheckFunction = Callable[["Session", "Host"], None]


class Need(IntEnum):
    """Effect of a check on the arm; the host's user allows it up to one of these."""

    WIRE = 0  # nothing is switched on, nothing moves
    MOTION = 1  # joints are switched on or taken over where they are, and move a little, slowly
    BARE = 2  # fast moves, and requests after which a faulty board might jump: no servo may be connected


class Status(Enum):
    """Result of a check."""

    PASSED = "passed"
    FAILED = "FAILED"
    SKIPPED = "skipped"


class Violation(Exception):
    """A board breaks a rule of the protocol: what was expected, and what it did."""


class CheckSkipped(Exception):
    """A check cannot be made on this board, or in its present condition; why."""


@dataclass(frozen=True)
class Check:
    """A rule of the protocol, and the function that checks it on a board.

    Args:
        name: of the check, for people and tests.
        says: the rule, as the page has it.
        run: takes a Session and its Host; raises Violation where the board breaks the rule, CheckSkipped where that cannot be
            asked.
        need: what the check does to the arm.
        exact: only in simulated time, where nothing is late.
        owned: only on a simulated board, whose owner makes the fault.
        off: only where the outputs were off when the session began: it lets go of the arm.
    """

    name: str
    says: str
    run: CheckFunction
    need: Need = Need.WIRE
    exact: bool = False
    owned: bool = False
    off: bool = False


@dataclass(frozen=True)
class Outcome:
    """Result of a check on one board, with its details.

    Args:
        check: which.
        status: how it ended.
        detail: what was expected and what came instead; why it was skipped; '' where it passed at once.
        attempts: how often it ran.
    """

    check: Check
    status: Status
    detail: str = ""
    attempts: int = 1


class Checks:
    """Registry of a module's checks, filled by decorating their functions."""

    def __init__(self) -> None:
        self.all: list[Check] = []

    def __call__(self, says: str, **options: Any) -> Callable[[CheckFunction], CheckFunction]:
        """A decorator: the function's name, with dashes, is the check's."""

        def add(run: CheckFunction) -> CheckFunction:
            self.all.append(Check(run.__name__.replace("_", "-"), says, run, **options))
            return run

        return add


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
