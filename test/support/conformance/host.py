"""Host of one simulated board: sends what a check wants, keeps every frame that comes back, and lets the board's time pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from picker_dynamics.board.protocol import (
    PROTOCOL_VERSION,
    TIME_MODULUS,
    Ack,
    FrameDecoder,
    Info,
    Message,
    Nack,
    Ping,
    Reason,
    Telemetry,
    ahead_us,
    encode,
)
from picker_dynamics.board.protocol.framing import build
from picker_dynamics.board.protocol.messages import Unknown

from .requirements import Violation, require_ack, require_nack

Answer = Ack | Nack | Info
Kind = TypeVar("Kind", bound=Message)
PING_US = 90_000
"""Silence after which a host that keeps the watch quiet says something."""
SILENCE_US = 1_500_000
"""A board that says nothing for so long is gone."""
PATIENCE_US = 100_000
"""How long an answer may take."""
LEAD_US = 60_000
"""How far ahead of now a first set-point is stamped, so that it is not late."""


class Heard(NamedTuple):
    """A frame from the board: its sequence, and what it says."""

    sequence: int
    message: Message | Unknown


class Host:
    """Host of a board whose time runs only while the host waits.

    Args:
        owner: a board with ``advance``, ``receive`` and ``transmit``, as ``VirtualFirmware`` has them.
        baud: speed [bit/s] that the board is made for.
        now_us: the board's time so far [us].
        tick_us: how finely its time is cut [us].

    Attributes:
        heard: every frame from the board.
        telemetry: those of them that are telemetry.
        keep_alive: say Ping where nothing else is said.
    """

    def __init__(self, owner: Any, *, baud: int = 500_000, now_us: int = 0, tick_us: int = 500):
        self.owner, self.baud, self.now_us, self._tick_us = owner, baud, now_us, tick_us
        self.heard: list[Heard] = []
        self.telemetry: list[Telemetry] = []
        self.keep_alive = False
        self._decoder = FrameDecoder(in_step=False)
        self._sequence = 0
        self._sent_us = self._stamped_us = now_us  # of the last word, and of the newest telemetry
        self._pings: set[int] = set()

    @property
    def damaged(self) -> int:
        """Frames from the board that were damaged."""
        return self._decoder.counters.broken

    # -- sending ---------------------------------------------------------------------------------------

    def take_sequence(self, count: int = 1) -> int:
        """Reserve ``count`` numbers for frames of the caller's own; the first of them."""
        first = self._sequence
        self._sequence = first + count & 0xFFFF
        return first

    def restart_sequence(self, sequence: int) -> None:
        """Number what follows from ``sequence`` on; what was sent before is answered no more."""
        self._sequence = sequence & 0xFFFF

    def send(self, message: Message, sequence: int | None = None) -> int:
        """Send a message; its sequence."""
        sequence = (self.take_sequence() if sequence is None else sequence) & 0xFFFF
        self._pings.discard(sequence)  # a number used again
        self.send_bytes(encode(message, sequence))
        return sequence

    def send_bytes(self, data: bytes) -> None:
        """Send any bytes."""
        self._sent_us = self.now_us
        self.owner.receive(data, self.now_us)

    # -- listening -------------------------------------------------------------------------------------

    def mark(self) -> int:
        """Mark in ``heard``: the place where it ends now."""
        return len(self.heard)

    def listen(self, duration_us: int, until: Callable[[], object] = lambda: False) -> bool:
        """Let time pass; ends early once ``until()`` is true.  Whether it became so."""
        end_us = self.now_us + duration_us
        while not until():
            if self.now_us >= end_us:
                return False
            if self.keep_alive and self.now_us - self._sent_us >= PING_US:
                self._pings.add(self.send(Ping()))
            self.now_us += min(end_us - self.now_us, self._tick_us)
            self.owner.advance(self.now_us)
            for sequence, message in self._decoder.feed(self.owner.transmit()):
                self.heard.append(Heard(sequence, message))
                if isinstance(message, Telemetry):
                    self.telemetry.append(message)
                    self._stamped_us = self.now_us
        return True

    def wait(self, duration_us: int) -> None:
        """Let so much board time pass, and hear the telemetry of it."""
        until_us = self.board_now_us() + duration_us
        self.listen(duration_us)
        gap_us = max(20_000, ahead_us(self.telemetry[-1].time_us, self.telemetry[-2].time_us)) + 2_000
        self.until(lambda: ahead_us(self.telemetry[-1].time_us, until_us) >= -gap_us)

    def until(self, condition: Callable[[], object], patience_us: int = SILENCE_US) -> bool:
        """Wait for a condition; whether it came."""
        return self.listen(patience_us, condition)

    def board_now_us(self) -> int:
        """Board time [us] as the newest telemetry lets it be known: late by the way that it took."""
        return (self.telemetry[-1].time_us + self.now_us - self._stamped_us) % TIME_MODULUS

    def since(self, mark: int, kind: type[Kind]) -> list[Kind]:
        """Messages of a kind that arrived after ``mark()`` gave this mark."""
        return [one.message for one in self.heard[mark:] if isinstance(one.message, kind)]

    def answers(self, mark: int) -> list[Answer]:
        """Answers that arrived after ``mark()`` gave this mark, those to the host's own pings left out."""
        return [
            one.message for one in self.heard[mark:] if isinstance(one.message, Answer) and one.message.request not in self._pings
        ]

    # -- asking ----------------------------------------------------------------------------------------

    def ask(self, message: Message, sequence: int | None = None) -> Answer | None:
        """Send a message and wait for its answer; None where none comes in time."""
        mark = self.mark()
        return self.answer_to(self.send(message, sequence), mark)

    def ask_frame(
        self, type_id: int, payload: bytes = b"", *, version: int = PROTOCOL_VERSION, sequence: int | None = None
    ) -> Answer | None:
        """Send any frame with a right checksum and wait for its answer."""
        mark = self.mark()
        sequence = self.take_sequence() if sequence is None else sequence
        self.send_bytes(build(version, type_id, sequence, payload))
        return self.answer_to(sequence, mark)

    def expect_ack(self, message: Message, what: str = "", *, sequence: int | None = None) -> Ack:
        """Ask for what the board has to acknowledge; raises a Violation where it does not."""
        return require_ack(self.ask(message, sequence), what or message.TYPE.name)

    def expect_nack(
        self, message: Message, reason: Reason, detail: int | None = None, what: str = "", *, sequence: int | None = None
    ) -> Nack:
        """Ask for what the board has to refuse, for this reason; raises a Violation where it does not."""
        return require_nack(self.ask(message, sequence), reason, what or message.TYPE.name, detail)

    def answer_to(self, sequence: int, mark: int) -> Answer | None:
        """The first answer to a sequence since a mark, waited for; None where none comes in time."""
        found: list[Answer] = []

        def came() -> list[Answer]:
            nonlocal mark
            new, mark = self.heard[mark:], len(self.heard)
            found.extend(one.message for one in new if isinstance(one.message, Answer) and one.message.request == sequence)
            return found

        self.listen(PATIENCE_US, came)
        return found[0] if found else None

    def fresh(self) -> Telemetry:
        """Telemetry built after everything that was sent so far has been handled."""
        answer, count = require_ack(self.ask(Ping()), "PING"), len(self.telemetry)
        if not self.until(lambda: any(ahead_us(one.time_us, answer.time_us) >= 0 for one in self.telemetry[count:])):
            raise Violation("expected telemetry; got none")
        return self.telemetry[-1]
