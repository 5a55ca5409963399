"""A check: a rule of the protocol's page, and a function that finds out whether a board keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .host import Host
from .session import Session

CheckFunction = Callable[[Session, Host], None]


@dataclass(frozen=True)
class Check:
    """A rule, and the function that checks it: raises Violation where the board breaks it, CheckSkipped where it cannot be asked.

    Args:
        off: only where the outputs were off when the session began.
        inside: only the owner of a simulated board can make it.
    """

    name: str
    says: str
    run: CheckFunction
    off: bool = False
    inside: bool = False


class Checks:
    """Registry of a module's checks, filled by decorating their functions; a function's name, with dashes, is the check's."""

    def __init__(self, **options: bool) -> None:
        self.all: list[Check] = []
        self._options = options

    def __call__(self, says: str, **options: bool) -> Callable[[CheckFunction], CheckFunction]:
        def add(run: CheckFunction) -> CheckFunction:
            self.all.append(Check(run.__name__.replace("_", "-"), says, run, **self._options, **options))
            return run

        return add
