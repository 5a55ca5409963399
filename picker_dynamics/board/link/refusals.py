"""Refusals of the board as errors that name message, joint and reason."""

from __future__ import annotations

from collections.abc import Sequence

from picker_dynamics.errors import BoardFaultError, PickerError, ProtocolError

from ..protocol import MessageType, Nack, Reason, describe_faults
from ..protocol.codes import REASON_TEXT

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
