"""Pending requests of the serial link: retransmission, answers turned into exceptions; no I/O, no clock."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from picker_dynamics.errors import BoardFaultError, LinkError, PickerError, ProtocolError

from ..protocol import Ack, Info, Message, MessageType, Nack, Reason, describe_faults
from ..protocol.codes import REASON_TEXT

RETRY_S = 0.1
"""Silence after which a request is sent again, with the same sequence number."""
_OF_A_JOINT = (Reason.ALREADY_LIVE, Reason.NOT_LIVE, Reason.OUT_OF_LIMITS)
_OF_FAULTS = (Reason.FAULT, Reason.FAULT_PERSISTS)


class RefusedError(ProtocolError):
    """The board understood a message and refused it; ``reason`` says why, ``value`` is the Nack's detail."""

    def __init__(self, message: str, *, reason: Reason, subject: str | None = None, value: object = None) -> None:
        super().__init__(message, subject=subject, value=value)
        self.reason = reason


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


@dataclass
class _Pending:
    wire: bytes
    type_id: int
    future: Future[Ack | Info]
    retry_at_s: float
    give_up_at_s: float
    timeout_s: float
    attempts: int = 1


class PendingRequests:
    """The requests under way, by sequence number.  All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, _Pending] = {}
        self.retransmissions = 0

    def add(self, sequence: int, message: Message, wire: bytes, now_s: float, timeout_s: float) -> Future[Ack | Info]:
        """Remember a request that is about to be sent; the future gets its Ack, its Info, or an exception."""
        future: Future[Ack | Info] = Future()
        future.set_running_or_notify_cancel()
        with self._lock:
            self._waiting[sequence] = _Pending(wire, message.TYPE, future, now_s + RETRY_S, now_s + timeout_s, timeout_s)
        return future

    def finish(self, sequence: int, outcome: Ack | Info | PickerError) -> None:
        """Give a request its answer, or the error it failed with; nothing where none waits for it any more."""
        with self._lock:
            pending = self._waiting.pop(sequence, None)
        if pending is None:
            return
        if not isinstance(outcome, PickerError) and isinstance(outcome, Info) != (pending.type_id == MessageType.HELLO):
            said = f"the board answers {message_name(pending.type_id)} with {outcome.TYPE.name}: does it keep this protocol?"
            outcome = LinkError(said)
        if isinstance(outcome, PickerError):
            pending.future.set_exception(outcome)
        else:
            pending.future.set_result(outcome)

    def due(self, now_s: float) -> list[bytes]:
        """The frames to send again now; requests that waited too long fail."""
        with self._lock:
            late = [sequence for sequence, one in self._waiting.items() if now_s >= one.give_up_at_s]
            given_up = [self._waiting.pop(sequence) for sequence in late]
            again = [one for one in self._waiting.values() if now_s >= one.retry_at_s]
            for one in again:
                one.retry_at_s = now_s + RETRY_S
                one.attempts += 1
            self.retransmissions += len(again)
        for one in given_up:
            error = LinkError(
                f"no answer from the board to {message_name(one.type_id)}: {one.attempts} attempts in {one.timeout_s:g} s",
                value=one.timeout_s,
            )
            one.future.set_exception(error)
        return [one.wire for one in again]

    def fail_all(self, error: PickerError) -> None:
        """The link is gone, or the board has started anew: nothing may be sent again."""
        with self._lock:
            waiting, self._waiting = list(self._waiting.values()), {}
        for one in waiting:
            one.future.set_exception(error)
