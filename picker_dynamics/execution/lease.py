"""Lease on an arm: who moves it, until when, and who may take it from whom.

Goals, streams and drivers need it, by whichever interface they come; readers of set-points look up their holder here.

=============================  ==============  =============  =============  ================
asks \\ holds it               goal, its track goal, another  stream         driver
=============================  ==============  =============  =============  ================
goal of the arm                takes it        takes it       refused        refused
goal of a side track (gripper) takes it        refused        refused        refused
stream                         refused         refused        refused        refused
driver                         refused         refused        refused        refused
=============================  ==============  =============  =============  ================

A goal that asks for a free arm (``Holder.if_free``) never replaces another: of two scripts that ask at once the first gets it.
A stream and a driver do not refuse requests of their own name: a driver sends goals and streams of its own.
Goals that move different joints, on different tracks, hold leases side by side.
A goal holds it until it is answered or cancelled; a stream and a driver until a time of silence.
Anyone may stop; a stop revokes all leases.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from picker_dynamics.errors import BlockedError, PickerError

MAIN_TRACK = "arm"
"""Track of goals of the arm; one of another track (the gripper) goes on beside it."""

IF_FREE = "if_free_"
"""With which the name of a goal begins that takes the arm from no other goal; read where its message is taken."""

PAUSE_S = 2.0
"""After a stop of a stream or driver no stream or driver gets the lease for this long [s]: time to send a goal."""

LEAP = 400
"""Largest step in the numbers of one sender's samples: who stood still for the time of a lease has missed so many at 800 Hz."""


class Kind(Enum):
    """Kind of holder: what moves the arm, or wants to."""

    GOAL = "goal"
    STREAM = "stream"
    DRIVER = "driver"
    """Who took the arm for as long as it says that it is there, for goals and streams of its own."""


@dataclass(frozen=True)
class Holder:
    """Holder of the arm: who moves it, or wants to.

    Attributes:
        kind: what it does.
        name: of the driver, or of whoever streams; empty: it does not say.
        track: of a goal.
        identifier: of a goal, as its sender calls it.
        if_free: of a goal: it takes the arm from no other goal.
    """

    kind: Kind
    name: str = ""
    track: str = MAIN_TRACK
    identifier: str = ""
    if_free: bool = False

    def __str__(self) -> str:
        what, name = self.kind.value, self.name or self.identifier
        return f"{what} {name}" if name else what

    def may_displace(self, other: Holder) -> bool:
        """Whether the holder takes the arm from another who moves the same joints."""
        if other.kind is Kind.GOAL:
            return self.kind is Kind.GOAL and self.track in (MAIN_TRACK, other.track) and not self.if_free
        return bool(self.name) and self.name == other.name


def in_words(holders: Iterable[Holder]) -> str:
    """Holders in words; empty: nobody."""
    return ", ".join(map(str, holders))


class HeldError(PickerError):
    """The arm is somebody else's; subject is who, ``left_s`` how long yet [s]."""

    def __init__(self, message: str, *, subject: str, left_s: float):
        super().__init__(message, subject=subject, value=left_s)
        self.left_s = left_s


@dataclass
class _Grant:
    """What somebody has: these joints, until then; ``number`` of the newest sample."""

    joints: frozenset[int]
    until_s: float
    number: int | None = None

    def follows(self, number: int | None) -> bool:
        """Whether a sample of this number can be the next of those who have it."""
        return number is None or self.number is None or self.number < number <= self.number + LEAP


class Lease:
    """Keeps who has which joints; times are seconds on any one clock.

    Attributes:
        blocked: why nobody gets the arm; empty: somebody may.
    """

    def __init__(self) -> None:
        self.blocked = ""
        self._grants: dict[Holder, _Grant] = {}
        self._streamed_s = self._paused_s = -float("inf")

    @property
    def holders(self) -> tuple[Holder, ...]:
        """Holders of the arm, as last looked at."""
        return tuple(self._grants)

    def __str__(self) -> str:
        """Holders of the arm in words; empty: nobody."""
        return in_words(self.holders)

    def require(self, asker: Holder, joints: Iterable[int], now_s: float, number: int | None = None) -> None:
        """Let somebody pass who may have these joints now.

        Args:
            asker: who.
            joints: indices, that are asked for.
            number: of the sample, where its sender counts them: two senders of one name count apart.

        Raises:
            HeldError: somebody else has them, and is named.
            BlockedError: nobody may have them.
        """
        if self.blocked:
            raise BlockedError(self.blocked, subject="reference")
        if asker.kind is Kind.DRIVER and asker in self._grants and not _lapsed(asker, self._grants[asker], now_s):
            return
        wanted = frozenset(joints)
        for holder, grant in self._grants.items():
            if _lapsed(holder, grant, now_s) or not wanted & grant.joints:
                continue
            same = holder == asker
            if grant.follows(number) if same else asker.may_displace(holder):
                continue
            left_s = max(grant.until_s - now_s, 0.0)
            left = f" for another {left_s:.2f} s" + ("" if holder.kind is Kind.GOAL else " at least") if left_s else ""
            raise HeldError(
                f"{'another' if same else 'a'} {holder} moves the arm{left}: this {asker.kind.value} is refused until that ends, "
                "or is stopped",
                subject=str(holder),
                left_s=left_s,
            )
        if asker.kind is not Kind.GOAL and now_s < self._paused_s:
            left_s = self._paused_s - now_s
            raise HeldError(f"the arm was stopped: a {asker} may move it in {left_s:.2f} s", subject="stop", left_s=left_s)

    def has(self, holder: Holder, now_s: float) -> bool:
        """Whether a holder has joints, and was not silent for too long."""
        grant = self._grants.get(holder)
        return grant is not None and not _lapsed(holder, grant, now_s)

    def grant(self, holder: Holder, joints: Iterable[int], until_s: float, number: int | None = None) -> bool:
        """Let somebody have these joints, or go on having them, until then; a goal's end is only what is planned.

        Returns:
            Whether it did not have them before.
        """
        if holder.kind is not Kind.GOAL:
            self._streamed_s = max(self._streamed_s, until_s)
        new = holder not in self._grants
        self._grants[holder] = _Grant(frozenset(joints), until_s, number)
        return new

    def end(self, holder: Holder) -> None:
        """End the grant of a holder, who does not move the arm any more."""
        self._grants.pop(holder, None)

    def leave(self, holder: Holder) -> None:
        """End the grant of a holder who gives the arm back: a stop after that does not keep it out."""
        self.end(holder)
        self._streamed_s = -float("inf")

    def end_kind(self, kind: Kind) -> None:
        """End the grants of all holders of a kind, none of whom moves the arm any more."""
        for holder in [one for one in self._grants if one.kind is kind]:
            self.end(holder)

    def end_all(self) -> None:
        """Nobody moves the arm any more."""
        self._grants.clear()

    def stop(self, now_s: float) -> None:
        """Take the arm from everybody: it was stopped.

        Who streamed or drove a moment ago, and lost it by a gap, does not have it back at once either.
        """
        self.lapsed(now_s)
        if now_s < self._streamed_s + PAUSE_S:
            self._paused_s = now_s + PAUSE_S
        self.end_all()

    def lapsed(self, now_s: float) -> list[Holder]:
        """Holders that have been silent for too long; they do not have the arm any more."""
        gone = [holder for holder, grant in self._grants.items() if _lapsed(holder, grant, now_s)]
        for holder in gone:
            self.end(holder)
            self._streamed_s = now_s
        return gone


def _lapsed(holder: Holder, grant: _Grant, now_s: float) -> bool:
    return holder.kind is not Kind.GOAL and now_s >= grant.until_s
