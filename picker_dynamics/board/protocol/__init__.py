"""The serial protocol between host and board: frames <-> bytes, no I/O.  docs/protocol.md specifies it.

    wire = encode(SetPoint(time_us, pulses), sequence)
    for sequence, message in FrameDecoder().feed(wire): ...

What only those need who look at bytes or tables stands in ``framing``, ``messages`` and ``codes``.
"""

from .codes import (
    PROTOCOL_VERSION,
    PULSE_UNITS_PER_US,
    TIME_MODULUS,
    BoardState,
    Fault,
    JointLimits,
    MessageType,
    Reason,
    ahead_us,
    describe_faults,
    limits_checksum,
    pulse_units,
)
from .messages import (
    Ack,
    Adopt,
    Disable,
    Enable,
    FrameDecoder,
    Halt,
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
    encode,
)

__all__ = [
    "PROTOCOL_VERSION",
    "PULSE_UNITS_PER_US",
    "TIME_MODULUS",
    "Ack",
    "Adopt",
    "BoardState",
    "Disable",
    "Enable",
    "Fault",
    "FrameDecoder",
    "Halt",
    "Hello",
    "Info",
    "JointLimits",
    "Message",
    "MessageType",
    "Nack",
    "Ping",
    "Reason",
    "Relax",
    "Reset",
    "SetPoint",
    "Stop",
    "Telemetry",
    "TelemetryPeriod",
    "ahead_us",
    "describe_faults",
    "encode",
    "limits_checksum",
    "pulse_units",
]
