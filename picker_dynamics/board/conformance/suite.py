"""All checks in their order, and how they are run: what needs no motion first."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from picker_dynamics.errors import InputError

from . import fast, framing, motion, outputs, queue, requests, talk, watch
from .check import Check, Outcome, Status
from .requirements import CheckSkipped, Need, Violation
from .session import Session

ATTEMPTS = 3
"""Where a busy machine or a noisy wire may spoil a check it is repeated; passing late is told in the outcome."""

CHECKS: tuple[Check, ...] = tuple(
    sorted(
        (one for module in (talk, framing, requests, outputs, queue, motion, watch, fast) for one in module.check.all),
        key=lambda one: one.need,
    )
)


def named(name: str) -> Check:
    """The check with this name.

    Raises:
        InputError: there is none.
    """
    for check in CHECKS:
        if check.name == name:
            return check
    raise InputError(f"there is no check {name}, only {', '.join(one.name for one in CHECKS)}", subject="check", value=name)


def why_not(session: Session, check: Check) -> str:
    """Why a check cannot be made in a session; '' where it can."""
    if check.need > session.allowed:
        if not session.limits:
            return "the joints' limits are not those of the servo map"
        return "moving was not allowed" if check.need is Need.MOTION else "only without servos"
    if check.off and session.found.live:
        return "outputs ran already: the arm would fall"
    return ""


def run(
    session: Session, checks: Iterable[Check] = CHECKS, on_outcome: Callable[[Outcome], None] | None = None
) -> tuple[Outcome, ...]:
    """Run checks on a board that was met; the board is left for :meth:`Session.leave`.

    Args:
        session: a meeting with the board.
        checks: which.
        on_outcome: called with each outcome as it comes.

    Raises:
        LinkError: the board is gone.
    """
    outcomes = []
    for check in checks:
        outcome = run_one(session, check)
        outcomes.append(outcome)
        if on_outcome is not None:
            on_outcome(outcome)
    return tuple(outcomes)


def run_one(session: Session, check: Check) -> Outcome:
    """Run one check; in real time again where it fails."""
    reason = why_not(session, check)
    if reason:
        return Outcome(check, Status.SKIPPED, reason)
    attempts = 1 if session.host.exact else ATTEMPTS
    first = ""
    for attempt in range(1, attempts + 1):
        session.host.late_us = 0
        try:
            session.calm()
            check.run(session, session.host)
            return Outcome(check, Status.PASSED, first and f"not at once: {first}", attempt)
        except CheckSkipped as reason_why:
            return Outcome(check, Status.SKIPPED, str(reason_why), attempt)
        except Violation as violation:
            late = session.host.late_us
            first = first or f"{violation}" + (f" (this machine was away for {late / 1000:.0f} ms)" if late > 50_000 else "")
        finally:
            session.settle()
    return Outcome(check, Status.FAILED, first, attempts)
