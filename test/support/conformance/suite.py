"""All checks in their order, and how they are run: what needs no motion first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from . import exact, fast, framing, motion, outputs, owner, queue, requests, talk, watch
from .check import Check
from .requirements import CheckSkipped, Violation
from .session import Session

MODULES = (talk, framing, requests, outputs, queue, motion, watch, fast, exact, owner)
CHECKS = tuple(one for module in MODULES for one in module.check.all)
NAMED = {one.name: one for one in CHECKS}


class Status(Enum):
    """Result of a check."""

    PASSED = "passed"
    FAILED = "FAILED"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Outcome:
    """Result of a check on one board: what was expected and came instead, or why it was skipped."""

    check: Check
    status: Status
    detail: str = ""


def run(
    session: Session, checks: Iterable[Check] = CHECKS, on_outcome: Callable[[Outcome], None] = lambda _: None
) -> list[Outcome]:
    """Run checks on a board that was met; ``on_outcome`` is called with each outcome as it comes."""
    outcomes = []
    for check in checks:
        outcomes.append(run_one(session, check))
        on_outcome(outcomes[-1])
    return outcomes


def run_one(session: Session, check: Check) -> Outcome:
    """Run one check."""
    if check.off and session.found.live:
        return Outcome(check, Status.SKIPPED, "outputs ran already")
    try:
        session.calm()
        check.run(session, session.host)
        return Outcome(check, Status.PASSED)
    except CheckSkipped as why:
        return Outcome(check, Status.SKIPPED, str(why))
    except Violation as violation:
        return Outcome(check, Status.FAILED, str(violation))
    finally:
        session.settle()
