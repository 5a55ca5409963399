"""Conformance check: a rule of the protocol's page, and a function that finds out whether a board keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .host import Host
from .requirements import Need
from .session import Session

CheckFunction = Callable[[Session, Host], None]


class Status(Enum):
    """Result of a check."""

    PASSED = "passed"
    FAILED = "FAILED"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Check:
    """A rule of the protocol, and the function that checks it on a board.

    Args:
        name: of the check, for people and tests.
        says: the rule, as the page has it.
        run: takes a Session and its Host; raises Violation where the board breaks the rule, CheckSkipped where that cannot be
            asked.
        need: what the check does to the arm.
        off: only where the outputs were off when the session began: it lets go of the arm.
    """

    name: str
    says: str
    run: CheckFunction
    need: Need = Need.WIRE
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
