"""Goals that wait to be looked at: the newest of each track counts, and looking takes no more than a share of the time.

A goal is checked over its whole length before it starts, which takes a millisecond or, for a long one, half a second.  Whoever
sends goals faster than that must not keep the reference waiting: a goal that a newer one overtakes is answered unchecked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

REST = 1.0
"""After a check as long a rest as it took, times this: checks take no more than half of the time."""


@dataclass(frozen=True)
class Waiting(Generic[T]):
    """A request, and from when on it may be looked at [s]."""

    request: T
    due_s: float = 0.0


class Inbox(Generic[T]):
    """One place for each track; times are seconds on any one clock."""

    def __init__(self):
        self._waiting: dict[str, Waiting[T]] = {}
        self._rested_s = 0.0
        self.overtaken = 0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, track: str, request: T) -> T | None:
        """Take a request; returns the one that it overtakes, which has to be answered."""
        before = self._waiting.pop(track, None)
        self._waiting[track] = Waiting(request)
        self.overtaken += before is not None
        return before.request if before else None

    def remove(self, wanted: Callable[[T], bool]) -> list[T]:
        """Withdraw those requests; returns them."""
        gone = {track: waiting for track, waiting in self._waiting.items() if wanted(waiting.request)}
        for track in gone:
            del self._waiting[track]
        return [waiting.request for waiting in gone.values()]

    def next(self, now_s: float) -> tuple[str, T] | None:
        """The track and request that may be looked at now, which leave the inbox; the first that came goes first."""
        if now_s < self._rested_s:
            return None
        for track, waiting in self._waiting.items():
            if now_s >= waiting.due_s:
                del self._waiting[track]
                return track, waiting.request
        return None

    def put_back(self, track: str, request: T, due_s: float) -> None:
        """It cannot be looked at before ``due_s``; a newer one that came meanwhile keeps its place."""
        self._waiting.setdefault(track, Waiting(request, due_s))

    def looked(self, begin_s: float, end_s: float) -> None:
        """A check took from ``begin_s`` to ``end_s``."""
        self._rested_s = end_s + REST * (end_s - begin_s)
