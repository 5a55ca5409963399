"""Host side of the protocol for checks: it sends what a check wants, and keeps every frame that comes back, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from picker_dynamics.errors import LinkError

from ..clock_fit import ClockFit
from ..protocol import (
    PROTOCOL_VERSION,
    TIME_MODULUS,
    Ack,
    FrameDecoder,
    Info,
    Message,
    MessageType,
    Nack,
    Ping,
    Reason,
    Telemetry,
    ahead_us,
    encode,
)
from ..protocol.framing import build
from ..protocol.messages import Unknown
from .requirements import require_ack, require_nack
from .wire import Wire

Answer = Ack | Nack | Info
Kind = TypeVar("Kind", bound=Message)
PING_US = 90_000
"""Silence after which a host that keeps the watch quiet says something."""
SILENCE_US = 1_500_000
"""A board that says nothing for so long is gone."""
PATIENCE_US = {True: 100_000, False: 500_000}
"""How long an answer may take: what the protocol allows in simulated time, more where this machine may be busy."""


@dataclass(frozen=True)
class Heard:
    """A frame from the board: its sequence, what it says, and when it arrived [us, the host's time]."""

    sequence: int
    message: Message | Unknown
    at_us: int


class Host:
    """Host of one board on one wire.

    Args:
        wire: the way to it.

    Attributes:
        heard: every frame from the board.
        telemetry: those of them that are telemetry.
        keep_alive: say Ping where nothing else is said.
        bytes_received: from the board.
        clock: the board's clock against the host's, fitted.
        round_trips_us: of the pings that keep the watch quiet.
        late_us: longest time that this process was away [us]: what a check sees then says little about the board.
    """

    def __init__(self, wire: Wire):
        self.wire = wire
        self.heard: list[Heard] = []
        self.telemetry: list[Telemetry] = []
        self.keep_alive = False
        self.late_us = 0
        self.bytes_received = 0
        self.clock = ClockFit()
        self.round_trips_us: list[int] = []
        self._decoder = FrameDecoder(in_step=False)
        self._sequence = 0
        self._sent_us = self._spoke_us = wire.now_us
        self._stamped_us = 0  # host time at which the newest telemetry arrived
        self._pings: dict[int, int] = {}

    @property
    def exact(self) -> bool:
        """Whether time is simulated."""
        return self.wire.exact

    @property
    def damaged(self) -> int:
        """Frames from the board that were damaged."""
        return self._decoder.counters.broken

    @property
    def lead_us(self) -> int:
        """How far ahead of now a first set-point is stamped, so that it is not late."""
        return 60_000 if self.exact else 300_000

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
        if sequence is None:
            sequence = self.take_sequence()
        self._pings.pop(sequence & 0xFFFF, None)  # a number used again
        self.send_bytes(encode(message, sequence))
        return sequence & 0xFFFF

    def send_frame(
        self, type_id: int, payload: bytes = b"", *, version: int = PROTOCOL_VERSION, sequence: int | None = None
    ) -> int:
        """Send any frame with a right checksum; its sequence."""
        if sequence is None:
            sequence = self.take_sequence()
        self.send_bytes(build(version, type_id, sequence, payload))
        return sequence

    def send_bytes(self, data: bytes) -> None:
        """Send any bytes."""
        self._sent_us = self.wire.now_us
        self.wire.send(data)

    # -- listening -------------------------------------------------------------------------------------

    def mark(self) -> int:
        """Mark in ``heard``: the place where it ends now."""
        return len(self.heard)

    def listen(self, duration_us: int, until: Callable[[], object] | None = None) -> bool:
        """Let time pass; ends early once ``until()`` is true.  Whether it became so.

        Raises:
            LinkError: the board is gone.
        """
        end_us = self.wire.now_us + duration_us
        while not (until is not None and until()):
            now_us = self.wire.now_us
            if now_us >= end_us:
                return False
            wait_us = end_us - now_us
            if self.keep_alive:
                if now_us - self._sent_us >= PING_US:
                    self._ping()
                wait_us = min(wait_us, self._sent_us + PING_US - now_us)
            self._take(self.wire.receive(wait_us))
            self.late_us = max(self.late_us, self.wire.now_us - now_us - wait_us)
        return True

    def wait(self, duration_us: int) -> None:
        """Let so much board time pass, and hear the telemetry of it.

        Raises:
            LinkError: the board is silent, or gone.
        """
        until_us = self.board_now_us() + duration_us
        self.listen(duration_us)
        self.until(lambda: ahead_us(self.telemetry[-1].time_us, until_us) >= -self._telemetry_gap_us(), SILENCE_US)

    def until(self, condition: Callable[[], object], patience_us: int = SILENCE_US) -> bool:
        """Wait for a condition; whether it came.

        Raises:
            LinkError: the board has fallen silent.
        """
        came = self.listen(patience_us, condition)
        if not came and self.wire.now_us - self._spoke_us >= SILENCE_US:
            raise LinkError(f"the board on {self.wire.name} has fallen silent", value=SILENCE_US * 1e-6)
        return came

    def board_now_us(self) -> int:
        """Board time [us] as the newest telemetry lets it be known: late by the way that it took."""
        return (self.telemetry[-1].time_us + self.wire.now_us - self._stamped_us) % TIME_MODULUS

    def since(self, mark: int, kind: type[Kind]) -> list[Kind]:
        """Messages of a kind that arrived after ``mark()`` gave this mark."""
        return [one.message for one in self.heard[mark:] if isinstance(one.message, kind)]

    def answers(self, mark: int) -> list[Answer]:
        """Answers that arrived after ``mark()`` gave this mark, those to the host's own pings left out."""
        return [
            one.message
            for one in self.heard[mark:]
            if isinstance(one.message, Answer) and not (isinstance(one.message, Ack) and one.message.request in self._pings)
        ]

    # -- asking ----------------------------------------------------------------------------------------

    def ask(self, message: Message, sequence: int | None = None) -> Answer | None:
        """Send a message and wait for its answer; None where none comes in time."""
        mark = self.mark()
        return self.answer_to(self.send(message, sequence), mark)

    def ask_frame(
        self, type_id: int, payload: bytes = b"", *, version: int = PROTOCOL_VERSION, sequence: int | None = None
    ) -> Answer | None:
        """Send any frame and wait for its answer, as :meth:`ask` does with a message."""
        mark = self.mark()
        return self.answer_to(self.send_frame(type_id, payload, version=version, sequence=sequence), mark)

    def expect_ack(self, message: Message, what: str = "", *, sequence: int | None = None) -> Ack:
        """Ask for what the board has to acknowledge.

        Raises:
            Violation: it does not.
        """
        return require_ack(self.ask(message, sequence), what or message.TYPE.name)

    def expect_nack(
        self, message: Message, reason: Reason, detail: int | None = None, what: str = "", *, sequence: int | None = None
    ) -> Nack:
        """Ask for what the board has to refuse, for this reason.

        Raises:
            Violation: it does not.
        """
        return require_nack(self.ask(message, sequence), reason, what or message.TYPE.name, detail)

    def answer_to(self, sequence: int, mark: int) -> Answer | None:
        """The first answer to a sequence since a mark, waited for; None where none comes in time."""
        found: list[Answer] = []
        at = mark

        def came() -> list[Answer]:
            nonlocal at
            new = self.heard[at:]
            at = len(self.heard)
            found.extend(one.message for one in new if isinstance(one.message, Answer) and one.message.request == sequence)
            return found

        self.listen(PATIENCE_US[self.exact], came)
        return found[0] if found else None

    def fresh(self) -> Telemetry:
        """Telemetry built after everything that was sent so far has been handled.

        Raises:
            LinkError: Ping is not answered, or no telemetry comes.
        """
        for _ in range(3):
            answer = self.ask(Ping())
            if isinstance(answer, Ack):
                break
        else:
            raise LinkError(f"the board on {self.wire.name} does not answer PING")
        count = len(self.telemetry)
        if not self.until(lambda: any(ahead_us(one.time_us, answer.time_us) >= 0 for one in self.telemetry[count:])):
            raise LinkError(f"the board on {self.wire.name} sends no telemetry")
        return self.telemetry[-1]

    # -- inside ----------------------------------------------------------------------------------------

    def _telemetry_gap_us(self) -> int:
        """Time between the last two telemetry frames, at least a servo frame."""
        if len(self.telemetry) < 2:
            return 20_000
        return max(20_000, ahead_us(self.telemetry[-1].time_us, self.telemetry[-2].time_us)) + 2_000

    def _ping(self) -> None:
        now_us = self.wire.now_us
        self._pings[self.send(Ping())] = now_us

    def _take(self, data: bytes) -> None:
        if not data:
            return
        now_us = self.wire.now_us
        self.bytes_received += len(data)
        for sequence, message in self._decoder.feed(data):
            self._spoke_us = now_us
            self.heard.append(Heard(sequence, message, now_us))
            if isinstance(message, Telemetry):
                if self.telemetry and message.boot_id != self.telemetry[-1].boot_id:
                    self.clock.restart()
                self.telemetry.append(message)
                self._stamped_us = now_us
                self.clock.add(now_us * 1e-6, message.time_us)
            elif isinstance(message, Ack) and message.request_type == MessageType.PING:
                self._round_trip(message, now_us)

    def _round_trip(self, ack: Ack, now_us: int) -> None:
        sent_us = self._pings.get(ack.request)
        if sent_us is not None and now_us - sent_us < SILENCE_US:
            self.round_trips_us.append(now_us - sent_us)
            self.clock.add_round_trip(sent_us * 1e-6, ack.time_us, now_us * 1e-6)
