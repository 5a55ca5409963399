"""Serial link to one board: handshake, requests, set-points, telemetry, board time, loss and return.

    own thread   read -> take frames -> repeat unanswered requests -> ping -> watch for silence       a real port
    poll()       the same round, in the caller's thread                                               a port in memory

A port in memory lets simulated time pass while somebody waits for it (``Port.read``), so a link on virtual time is the same code.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from picker_dynamics.errors import BoardFaultError, LinkError, PickerError, ProtocolError, VersionError

from ..clock import SYSTEM_CLOCK, Clock
from ..clock_fit import ClockFit
from ..protocol import (
    PROTOCOL_VERSION,
    Ack,
    FrameDecoder,
    Hello,
    Info,
    Message,
    MessageType,
    Nack,
    Ping,
    Reason,
    SetPoint,
    Telemetry,
    describe_faults,
    encode,
)
from ..protocol.codes import REASON_TEXT
from ..protocol.messages import Unknown
from .port import Port, SerialPort, no_word
from .statistics import LinkStatistics

BAUD = 500_000  # a 16 MHz AVR makes it exactly; it misses 115200 by 2 %
SILENCE_S = 1.5
"""A board that was heard and then says nothing for so long is lost."""
RETRY_S = 0.1
"""Silence after which a request is sent again, with the same sequence number."""
ROUND_TRIPS = 512
PING_PERIOD_S, _POLL_S = 0.1, 0.02
_log = logging.getLogger(__name__)

_OF_A_JOINT = (Reason.ALREADY_LIVE, Reason.NOT_LIVE, Reason.OUT_OF_LIMITS)
_OF_FAULTS = (Reason.FAULT, Reason.FAULT_PERSISTS)


class RefusedError(ProtocolError):
    """The board understood a message and refused it; ``reason`` says why, ``value`` is the Nack's detail."""

    def __init__(self, message: str, *, reason: Reason, subject: str | None = None, value: object = None) -> None:
        super().__init__(message, subject=subject, value=value)
        self.reason = reason


@dataclass
class _Request:
    """A request under way; times are the host's [s]."""

    message: Message
    wire: bytes
    sent_s: float
    timeout_s: float
    attempts: int = 1
    answer: Future[Ack | Info] = field(default_factory=Future)


class Link:
    """Serial link to one board: opened, kept alive, watched, and opened again where it was lost.

    A thread of its own reads, pings (which keeps the board's watch over the host quiet), and repeats unanswered requests; without
    one :meth:`poll` does.  Callbacks run there: they return soon, and never call :meth:`request` or :meth:`close`.
    All host times are the clock's [s].

    Args:
        port: Device, for example ``/dev/ttyUSB0``.
        baud: Speed [bit/s]; must be the firmware's.
        joint_names: Names in the order of the board's joints, for messages.
        clock: Host time.
        open_port: Called with port and baud; returns the open port.  One whose ``threaded`` is False needs :meth:`poll`.

    Attributes:
        info: The board's own description; None before the handshake.
        telemetry, telemetry_s: The latest, None before the first, and the host time of its arrival [s].
        bytes_received: Since the port was opened.
        lost: Why the link is lost; None where it is not.
        on_telemetry: Called with (telemetry, host time of its arrival).
        on_refused: Called with the error for each set-point that the board refused.
    """

    def __init__(
        self,
        port: str,
        *,
        baud: int = BAUD,
        joint_names: Sequence[str] = (),
        clock: Clock = SYSTEM_CLOCK,
        open_port: Callable[[str, int], Port] = SerialPort,
    ):
        self.port, self.baud, self.joint_names = port, baud, tuple(joint_names)
        self.on_telemetry: Callable[[Telemetry, float], object] | None = None
        self.on_refused: Callable[[PickerError], object] | None = None
        self.clock, self._host, self._open_port = ClockFit(), clock, open_port
        self._counters = LinkStatistics()
        self._round_trips_ms: deque[float] = deque(maxlen=ROUND_TRIPS)
        self._requests: dict[int, _Request] = {}
        self._port: Port | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.RLock()
        self._closing = False
        self._sequence = 0
        self._forget()

    def _forget(self) -> None:
        """Start of a connection: nothing is known of the board."""
        self._decoder = FrameDecoder(in_step=False)
        self._board_sequence: int | None = None
        self.info: Info | None = None
        self.telemetry: Telemetry | None = None
        self._heard_s = self.telemetry_s = 0.0
        self.bytes_received = 0
        self._other_version: int | None = None
        self.lost: LinkError | None = None
        self._ready, self._next_ping_s = False, 0.0
        self.clock.restart()

    def open(self, timeout_s: float = 3.0) -> Info:
        """Open the port, wait until the board speaks, shake hands.

        Opening resets many boards, and their boot loader eats bytes: nothing is sent before the board speaks.

        Args:
            timeout_s: How long to wait for its first frame, and then for its answer [s].

        Raises:
            LinkError: no such port, no permission, busy, silent, speaks something else, pulled.
            VersionError: the board speaks another protocol version.
        """
        if self._thread is not None:
            raise LinkError(f"{self.port} is open already")
        self._forget()
        self._port = port = self._open_port(self.port, self.baud)
        self._closing = False
        if port.threaded:
            thread = threading.Thread(target=self._run, args=(port,), name=f"link {self.port}", daemon=True)
            thread.start()
            self._thread = thread  # not before it runs: close() may come at any moment, and joins it
        try:
            self._wait_for(lambda: self._heard_s, timeout_s)
            info = self._result(self._submit(Hello(), timeout_s))
            if not isinstance(info, Info):
                raise LinkError(f"the board on {self.port} answers HELLO with {info.TYPE.name}: does it keep this protocol?")
            self.info = info
            self._wait_for(lambda: self.telemetry, timeout_s)
        except BaseException:
            self.close()
            raise
        self._ready = True
        if self.lost:  # just now, when nobody was told yet
            self.close()
            raise self.lost
        return info

    def close(self) -> None:
        """Stop the thread and close the port.  Sends nothing: what the arm does then is for the caller."""
        self._ready, self._closing = False, True
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        with self._lock:
            if self._port is not None:
                self._port.close()
                self._port = None
        self._fail_all(LinkError(f"{self.port} was closed"))

    def __enter__(self) -> Link:
        self.open()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # -- what is known ---------------------------------------------------------------------------------

    @property
    def connected(self) -> bool:
        """True from the handshake to loss or close."""
        return self._ready and self.lost is None

    @property
    def statistics(self) -> LinkStatistics:
        """A copy of the counters, with the figures of now."""
        trips_ms = list(self._round_trips_ms)
        median_ms, p99_ms = np.percentile(trips_ms, (50, 99)).tolist() if trips_ms else (None, None)
        return replace(
            self._counters,
            setpoints_refused=Counter(self._counters.setpoints_refused),
            connected=self.connected,
            round_trip_median_ms=median_ms,
            round_trip_p99_ms=p99_ms,
            latency_ms=1e3 * self.clock.latency_s,
            drift_ppm=1e6 * self.clock.drift,
        )

    def board_time_us(self, host_s: float | None = None) -> int:
        """Board time [us], modulo 2^32, at a host time [s; default: now]."""
        return self.clock.board_us(self._host.now() if host_s is None else host_s)

    # -- sending ---------------------------------------------------------------------------------------

    def send_setpoint(self, time_us: int, pulses: Sequence[int]) -> int:
        """Send one set-point and return its sequence number; its refusal arrives at ``on_refused``.

        Args:
            time_us: Board time at which it holds [us], modulo 2^32.
            pulses: One per joint [1/8 us]; 0 for joints that are off.

        Raises:
            LinkError: where the link is lost or the board takes no data.
            InputError: where a pulse does not fit its field.
        """
        try:
            sequence = self.send(SetPoint(time_us, tuple(pulses)))
        except LinkError:
            self._counters.setpoints_not_sent += 1
            raise
        self._counters.setpoints_sent += 1
        return sequence

    def send(self, message: Message) -> int:
        """Send one message, wait for nothing, and return its sequence number."""
        self._require_connection()
        with self._lock:
            sequence = self._next_sequence()
            self._write(encode(message, sequence))
        return sequence

    def send_bytes(self, wire: bytes) -> None:
        """Send bytes as they are: a frame that is damaged on purpose."""
        self._require_connection()
        with self._lock:
            self._write(wire)

    def request(self, message: Message, timeout_s: float = 0.5) -> Ack | Info:
        """Send a request, again while it is not answered, and wait for the answer.

        Raises:
            RefusedError: the board refused it; ``.reason`` says why.
            BoardFaultError: it refused it because of a latched fault.
            LinkError: no answer, or the link was lost, or the board has started anew meanwhile.
        """
        return self._result(self.request_async(message, timeout_s))

    def request_async(self, message: Message, timeout_s: float = 0.5) -> Future[Ack | Info]:
        """Send a request as :meth:`request` does, but return at once; the future gets the answer or the exception."""
        self._require_connection()
        return self._submit(message, timeout_s)

    def _submit(self, message: Message, timeout_s: float) -> Future[Ack | Info]:
        with self._lock:
            sequence = self._next_sequence()
            request = _Request(message, encode(message, sequence), self._host.now(), timeout_s)
            self._requests[sequence] = request
            try:
                self._write(request.wire)
            except LinkError as error:
                del self._requests[sequence]
                request.answer.set_exception(error)
        return request.answer

    def _next_sequence(self) -> int:
        sequence, self._sequence = self._sequence, self._sequence + 1 & 0xFFFF
        return sequence

    def _write(self, wire: bytes) -> None:
        """Hand ``wire`` to the port; the lock is held."""
        if self._port is None:
            raise LinkError(f"{self.port} is not open")
        self._port.send(wire)

    def _require_connection(self) -> None:
        if not self.connected:
            raise LinkError(str(self.lost) if self.lost else f"{self.port} is not connected")

    # -- the thread ------------------------------------------------------------------------------------

    def poll(self) -> None:
        """Do once what the thread of a link does; for a port without a thread."""
        port = self._port
        if port is not None and not port.threaded and self.lost is None:
            with self._losing():
                self._round(port, 0.0)

    def _run(self, port: Port) -> None:
        with self._losing():
            while not self._closing:
                self._round(port, _POLL_S)

    @contextmanager
    def _losing(self) -> Iterator[None]:
        try:
            yield
        except LinkError as error:
            self._lose(error)
        except Exception as error:  # nobody would hear of it, and the link would seem to be connected
            _log.exception("the serial link failed")
            self._lose(LinkError(f"the link to {self.port} failed: {type(error).__name__}: {error}"))

    def _round(self, port: Port, wait_s: float) -> None:
        """Read for at most ``wait_s`` [s], repeat requests, ping; raises a LinkError where the board is silent."""
        self._take_bytes(port.read(wait_s))
        now_s = self._host.now()
        with self._lock:
            if self._port is None:  # closed meanwhile, by somebody who did not wait for this thread
                return
            self._repeat(now_s)
            if self._ready and now_s >= self._next_ping_s:
                self._next_ping_s = now_s + PING_PERIOD_S
                self._submit(Ping(), RETRY_S)
        if self._ready and now_s - self._heard_s > SILENCE_S:
            raise LinkError(f"the board on {self.port} is silent for {SILENCE_S} s", value=SILENCE_S)

    def _repeat(self, now_s: float) -> None:
        """Send requests without an answer again; those that waited too long fail."""
        for sequence, one in list(self._requests.items()):
            if now_s >= one.sent_s + one.timeout_s:
                name = message_name(one.message.TYPE)
                said = f"no answer from the board to {name}: {one.attempts} attempts in {one.timeout_s:g} s"
                self._requests.pop(sequence).answer.set_exception(LinkError(said, value=one.timeout_s))
            elif now_s >= one.sent_s + one.attempts * RETRY_S:
                one.attempts += 1
                self._counters.retransmissions += 1
                self._write(one.wire)

    def _fail_all(self, error: LinkError) -> None:
        """Fail all requests: the link is gone, or the board has started anew, and nothing may be sent again."""
        with self._lock:
            waiting, self._requests = list(self._requests.values()), {}
        for one in waiting:
            one.answer.set_exception(error)

    def _result(self, answer: Future[Ack | Info]) -> Ack | Info:
        """The board's answer; a port without a thread is read until it comes."""
        while not answer.done() and (port := self._port) is not None and not port.threaded:
            self._pass_time()
        return answer.result()

    def _pass_time(self) -> None:
        """Let a moment pass in which the port is read."""
        port = self._port
        if port is None or port.threaded:
            self._host.sleep(0.005)
        else:
            with self._losing():
                self._round(port, _POLL_S)

    def _take_bytes(self, data: bytes) -> None:
        arrived_s = self._host.now()
        self.bytes_received += len(data)
        damaged = self._decoder.broken
        for sequence, message in self._decoder.feed(data):
            self._take(sequence, message, arrived_s)
        self._counters.frames_damaged += self._decoder.broken - damaged

    def _take(self, sequence: int, message: Message | Unknown, arrived_s: float) -> None:
        if isinstance(message, Unknown):
            if message.reason is Reason.OTHER_VERSION:
                self._other_version = message.version
            return
        self._counters.frames_received += 1
        self._heard_s = arrived_s
        if isinstance(message, Telemetry):
            self._take_telemetry(message, arrived_s)
        elif isinstance(message, (Ack, Nack, Info)):
            self._take_answer(message, arrived_s)
        if self._board_sequence is not None:
            self._counters.frames_missed += (sequence - self._board_sequence - 1) & 0xFFFF
        self._board_sequence = sequence

    def _take_telemetry(self, telemetry: Telemetry, arrived_s: float) -> None:
        if self._ready and self.info and telemetry.boot_id != self.info.boot_id:
            self._board_sequence = None
            self.info = replace(self.info, boot_id=telemetry.boot_id)
            self.clock.restart()
            self._fail_all(LinkError(f"the board on {self.port} has started anew"))
        self.clock.add(arrived_s, telemetry.time_us)
        self.telemetry, self.telemetry_s = telemetry, arrived_s
        self._call(self.on_telemetry, telemetry, arrived_s)

    def _take_answer(self, answer: Ack | Nack | Info, arrived_s: float) -> None:
        if isinstance(answer, Nack) and answer.request_type == MessageType.SET_POINT:
            self._counters.setpoints_refused[answer.reason] += 1
            self._call(self.on_refused, refusal(answer, self.joint_names))
            return
        with self._lock:
            request = self._requests.pop(answer.request, None)
        if request is None:  # nobody waits for it any more
            return
        if isinstance(answer, Nack):
            request.answer.set_exception(refusal(answer, self.joint_names))
            return
        if isinstance(answer, Ack) and isinstance(request.message, Ping) and request.attempts == 1:
            self._round_trips_ms.append(1e3 * (arrived_s - request.sent_s))
            self.clock.add_round_trip(request.sent_s, answer.time_us, arrived_s)
        request.answer.set_result(answer)

    def _lose(self, error: LinkError) -> None:
        self.lost = error
        self._fail_all(error)
        if self._ready:
            self._counters.losses += 1

    @staticmethod
    def _call(callback: Callable[..., object] | None, *arguments: object) -> None:
        try:
            if callback is not None:
                callback(*arguments)
        except Exception:
            _log.exception("a callback of the serial link failed")

    def _wait_for(self, word: Callable[[], object], timeout_s: float) -> None:
        """Part of the handshake: wait until ``word()`` is true, or say why it never came."""

        until_s = self._host.now() + timeout_s
        while not (word() or self.lost or self._other_version or self._closing) and self._host.now() < until_s:
            self._pass_time()
        if self.lost or self._closing:
            raise LinkError(str(self.lost or f"{self.port} was closed"))
        if self._other_version:
            raise VersionError(
                f"the board on {self.port} speaks protocol version {self._other_version}, this program "
                f"{PROTOCOL_VERSION}: flash the firmware that belongs to it",
                value=self._other_version,
                limit=PROTOCOL_VERSION,
            )
        if not word():
            raise LinkError(no_word(self.port, self.baud, self.bytes_received, timeout_s), value=timeout_s)


def refusal(nack: Nack, joint_names: Sequence[str] = ()) -> PickerError:
    """A Nack as the error to raise: BoardFaultError for a latched fault, RefusedError otherwise.

    Args:
        nack: The board's refusal.
        joint_names: Names of the joints in the order of the board.
    """
    name = message_name(nack.request_type)
    if nack.reason in _OF_FAULTS:
        return BoardFaultError(
            f"the board refuses {name}: {REASON_TEXT[nack.reason]}: {describe_faults(nack.detail)}", value=nack.detail
        )
    joint = None
    if nack.reason in _OF_A_JOINT:
        joint = joint_names[nack.detail] if nack.detail < len(joint_names) else f"#{nack.detail}"
    about = f" (joint {joint})" if joint else ""
    return RefusedError(
        f"the board refuses {name}{about}: {REASON_TEXT[nack.reason]}", reason=nack.reason, subject=joint, value=nack.detail
    )


def message_name(type_id: int) -> str:
    """A message type in words, for errors."""
    try:
        return MessageType(type_id).name
    except ValueError:
        return f"message type {type_id:#04x}"
