"""What a check is: a rule of the protocol's page, and a function that finds out whether a board keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum

from ..protocol import Ack, Info, Nack, Reason


class Need(IntEnum):
    """What a check does to the arm; the host's user allows it up to one of these."""

    WIRE = 0  # nothing is switched on, nothing moves
    MOTION = 1  # joints are switched on or taken over where they are, and move a little, slowly
    BARE = 2  # fast moves, and requests after which a faulty board might jump: no servo may be connected


class Status(Enum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "FAILED"
    SKIPPED = "skipped"


class Violation(Exception):
    """The board does not do what the page says; what was expected, and what it did."""


class CheckSkipped(Exception):
    """A check cannot be made on this board, or in its present condition; why."""


@dataclass(frozen=True)
class Check:
    """One rule.

    Args:
        name: of the check, for people and tests.
        says: the rule, as the page has it.
        run: takes a Session; raises Violation where the board breaks the rule, CheckSkipped where it cannot be asked.
        need: what the check does to the arm.
        exact: only in simulated time, where nothing is late.
        owned: only on a simulated board, whose owner makes the fault.
        off: only where the outputs were off when the session began: it lets go of the arm.
    """

    name: str
    says: str
    run: Callable[..., None]
    need: Need = Need.WIRE
    exact: bool = False
    owned: bool = False
    off: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of a check.

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
    """The checks of a module, collected by decorating their functions."""

    def __init__(self):
        self.all: list[Check] = []

    def __call__(self, says: str, **options) -> Callable:
        """A decorator: the function's name, with dashes, is the check's."""

        def add(run: Callable) -> Callable:
            self.all.append(Check(run.__name__.replace("_", "-"), says, run, **options))
            return run

        return add


def require(condition: object, expected: str, got: object = None) -> None:
    """Raise a Violation unless the condition holds."""
    if not condition:
        raise Violation(f"expected {expected}" + ("" if got is None else f"; got {told(got)}"))


def told(answer: object) -> str:
    """An answer, or the lack of one, in words."""
    if answer is None:
        return "no answer"
    if isinstance(answer, Nack):
        return f"NACK {answer.reason.name} (detail {answer.detail})"
    if isinstance(answer, Ack):
        return "ACK"
    return "INFO" if isinstance(answer, Info) else str(answer)


def require_ack(answer: object, what: str) -> Ack:
    """The answer, which has to be an Ack."""
    require(isinstance(answer, Ack), f"ACK to {what}", told(answer))
    return answer


def require_nack(answer: object, reason: Reason, what: str, detail: int | None = None) -> None:
    """The answer has to be a Nack with this reason, and with this detail where one is given."""
    wanted = f"NACK {reason.name}" + ("" if detail is None else f" (detail {detail})")
    right = isinstance(answer, Nack) and answer.reason is reason and detail in (None, answer.detail)
    require(right, f"{wanted} to {what}", told(answer))
