"""The serial protocol between host and board: frames <-> bytes, no I/O.  docs/protocol.md specifies it.

wire = encode(SetPoint(time_us, pulses), sequence)
for sequence, message in FrameDecoder().feed(wire): ...
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from picker_dynamics.errors import ProtocolError

from .codes import (
    FAULT_TEXT,
    JOINTS_MAX,
    PROTOCOL_VERSION,
    PULSE_MAX,
    PULSE_UNITS_PER_US,
    REASON_TEXT,
    BoardState,
    Fault,
    FaultText,
    JointLimits,
    MessageType,
    Reason,
    describe_faults,
    faults_in,
    limits_checksum,
    pulse_units,
)
from .framing import STUFFED_MAX, FrameCounters, FrameSplitter, RawFrame, build, crc16, parse, stuff, unstuff
from .messages import (
    MESSAGES,
    Ack,
    Adopt,
    Disable,
    Enable,
    Hello,
    Info,
    Message,
    Nack,
    Ping,
    Relax,
    Reset,
    SetPoint,
    Stop,
    Telemetry,
    TelemetryPeriod,
)
from .time32 import TIME_MODULUS, ahead_us

__all__ = [
    "FAULT_TEXT",
    "JOINTS_MAX",
    "MESSAGES",
    "PROTOCOL_VERSION",
    "PULSE_MAX",
    "PULSE_UNITS_PER_US",
    "REASON_TEXT",
    "STUFFED_MAX",
    "TIME_MODULUS",
    "Ack",
    "Adopt",
    "BoardState",
    "Disable",
    "Enable",
    "Fault",
    "FaultText",
    "Frame",
    "FrameCounters",
    "FrameDecoder",
    "FrameSplitter",
    "Hello",
    "Info",
    "JointLimits",
    "Message",
    "MessageType",
    "Nack",
    "Ping",
    "RawFrame",
    "Reason",
    "Relax",
    "Reset",
    "SetPoint",
    "Stop",
    "Telemetry",
    "TelemetryPeriod",
    "Unknown",
    "ahead_us",
    "build",
    "crc16",
    "decode",
    "describe_faults",
    "encode",
    "faults_in",
    "limits_checksum",
    "parse",
    "pulse_units",
    "stuff",
    "unstuff",
]


@dataclass(frozen=True)
class Unknown:
    """A frame with a right checksum that this side does not understand.

    Args:
        version: Protocol version of the frame.
        type_id: Its type byte.
        reason: OTHER_VERSION, UNKNOWN_TYPE, BAD_LENGTH or BAD_VALUE.
    """

    version: int
    type_id: int
    reason: Reason


class Frame(NamedTuple):
    """A sequence number and the message that it belongs to."""

    sequence: int
    message: Message | Unknown


def encode(message: Message, sequence: int) -> bytes:
    """The bytes of one message on the wire, delimiter included.

    Args:
        message: What to send.
        sequence: Number of the frame; taken modulo 2^16.

    Raises:
        InputError: where a field does not fit.
    """
    return build(PROTOCOL_VERSION, message.TYPE, sequence & 0xFFFF, message.payload())


def decode(raw: RawFrame) -> Message | Unknown:
    """The message in a frame whose checksum was right; Unknown where it cannot be understood."""
    if raw.version != PROTOCOL_VERSION:
        return Unknown(raw.version, raw.type_id, Reason.OTHER_VERSION)
    kind = MESSAGES.get(raw.type_id)
    if kind is None:
        return Unknown(raw.version, raw.type_id, Reason.UNKNOWN_TYPE)
    try:
        return kind.from_payload(raw.payload)
    except ProtocolError:
        return Unknown(raw.version, raw.type_id, Reason.BAD_LENGTH)


class FrameDecoder:
    """Bytes in, messages out.  Never raises for what the bytes contain; damage is counted in ``counters``."""

    def __init__(self, *, in_step: bool = True):
        self._splitter = FrameSplitter(in_step=in_step)

    @property
    def counters(self) -> FrameCounters:
        """Frames seen so far, good and broken."""
        return self._splitter.counters

    def feed(self, data: bytes) -> list[Frame]:
        """All messages that ``data`` completes, in order."""
        return [Frame(raw.sequence, decode(raw)) for raw in self._splitter.feed(data)]
