"""Events of the execution: what became of goals and streams, as types with their numbers; the words are for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from picker_dynamics.errors import PickerError

from .lease import Holder, in_words

if TYPE_CHECKING:  # clients read events without what makes motions
    from .motion import Motion, Phase


class Severity(Enum):
    """Severity of an event: how much it matters to who watches."""

    OK = auto()
    WARN = auto()
    ERROR = auto()


class EventKind(Enum):
    """Kind of event: the outcome as it is published (empty: no goal's), and its severity."""

    REMARK = ("", Severity.OK)
    NOTICE = ("", Severity.WARN)
    PROBLEM = ("", Severity.ERROR)
    ACCEPTED = ("accepted", Severity.OK)
    DONE = ("done", Severity.OK)
    CANCELLED = ("cancelled", Severity.WARN)
    OVERTAKEN = ("refused", Severity.WARN)
    REFUSED = ("refused", Severity.ERROR)
    PREEMPTED = ("aborted", Severity.WARN)
    ABORTED = ("aborted", Severity.ERROR)

    @property
    def outcome(self) -> str:
        """Outcome of the goal, as published."""
        return self.value[0]

    @property
    def severity(self) -> Severity:
        return self.value[1]


@dataclass(frozen=True)
class Event:
    """Event of an execution: one thing that happened.

    Attributes:
        kind: what.
        text: in words.
        phase: of the reference, right after it.
        identifier: what the sender calls the goal; empty: no goal's.
        motion: what the goal became.
        error: why it was refused.
        holders: who moves the arm, right after it.
    """

    kind: EventKind
    text: str
    phase: Phase
    identifier: str = ""
    motion: Motion | None = None
    error: PickerError | None = None
    holders: tuple[Holder, ...] = ()

    @property
    def lease(self) -> str:
        """Holders of the arm, in words: who moves it; empty: nobody."""
        return in_words(self.holders)
