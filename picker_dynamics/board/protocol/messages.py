"""The messages and their codec: one frozen dataclass each, whose annotations are the payload, field by field, little-endian.

``u16[n]`` is one number per joint of the board (at most eight), in the order of the joints; ``u16[m]`` is one per set bit of
``feedback_mask``, lowest first.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum
from inspect import get_annotations
from typing import Annotated, Any, ClassVar, NamedTuple

from picker_dynamics.errors import InputError

from .codes import JOINTS_MAX, PROTOCOL_VERSION, PULSE_MAX, PULSE_UNITS_PER_US, BoardState, MessageType, Reason, describe_faults
from .framing import FrameSplitter, RawFrame, build

U8 = Annotated[int, "u8"]
U16 = Annotated[int, "u16"]
U32 = Annotated[int, "u32"]
Pulses = Annotated[tuple[int, ...], "u16[n]"]
_CODES = {"u8": "B", "u16": "H", "u32": "I"}
MESSAGES: dict[int, type["Message"]] = {}
"""Type byte -> class."""


class Message:
    """Base of all messages: packs fixed fields, and pulses and ADC values after them where there are some.

    Attributes:
        TYPE: second byte of the frame.
        LAYOUT: name and code of each field of the payload, in order, read from the subclass's annotations.
    """

    TYPE: ClassVar[MessageType]
    LAYOUT: ClassVar[tuple[tuple[str, str], ...]]
    _fixed: ClassVar[tuple[str, ...]]
    _struct: ClassVar[struct.Struct]
    _enums: ClassVar[tuple[tuple[int, type[IntEnum]], ...]]

    def __init_subclass__(cls) -> None:
        fields = get_annotations(cls)
        layout = [(name, kind.__metadata__[0]) for name, kind in fields.items()]
        if "feedback" in fields:  # which of the joints it is about
            layout.insert(-2, ("feedback_mask", "u8"))
        cls.LAYOUT = tuple(layout)
        cls._fixed = tuple(name for name, code in layout if code in _CODES)
        cls._struct = struct.Struct("<" + "".join(_CODES.get(code, "") for _, code in layout))
        kinds = [kind.__origin__ for kind in fields.values()]
        cls._enums = tuple((at, kind) for at, kind in enumerate(kinds) if kind in (BoardState, Reason))
        MESSAGES[cls.TYPE] = cls

    def payload(self) -> bytes:
        """The payload's bytes: fixed fields, pulses, and ADC values of the joints that have one.

        Raises:
            InputError: where a field is no integer or does not fit.
        """
        pulses = getattr(self, "pulses", ())
        try:
            numbers = [*pulses, *(value for value in getattr(self, "feedback", ()) if value is not None)]
            if len(pulses) <= JOINTS_MAX and max(pulses, default=0) <= PULSE_MAX:
                values = [getattr(self, name) for name in self._fixed]
                return self._struct.pack(*values) + struct.pack(f"<{len(numbers)}H", *numbers)
            said = f"at most {JOINTS_MAX} pulses within [0, {PULSE_MAX}]"
        except (struct.error, TypeError) as error:
            said = str(error)
        raise InputError(f"{self} does not fit its fields: {said}", value=pulses, limit=PULSE_MAX)

    @classmethod
    def from_payload(cls, payload: bytes) -> "Message":
        """The message in ``payload``.

        Raises:
            ValueError: where the length is wrong or a number has no meaning.
        """
        size = cls._struct.size
        names = [name for name, _ in cls.LAYOUT]
        try:
            values: list[Any] = list(cls._struct.unpack_from(payload))
            numbers = struct.unpack(f"<{(len(payload) - size) // 2}H", payload[size:])
        except struct.error as error:
            raise ValueError(f"{cls.__name__} with a payload of {len(payload)} bytes") from error
        for at, kind in cls._enums:
            values[at] = kind(values[at])
        if "feedback" in names:
            mask = values.pop()
            joints = len(numbers) - mask.bit_count()
            if joints < 0 or mask >> joints:
                raise ValueError(f"{cls.__name__} with feedback mask {mask:#04x} for {joints} joints")
            measured = iter(numbers[joints:])
            values += numbers[:joints], tuple(next(measured) if mask >> joint & 1 else None for joint in range(joints))
        elif "pulses" in names:
            values.append(numbers)
        elif numbers:
            raise ValueError(f"{cls.__name__} with a payload of {len(payload)} bytes")
        return cls(*values)


@dataclass(frozen=True, slots=True)
class Hello(Message):
    """Ask who the board is; answered by Info.  Makes the board forget what it remembers of an earlier host's requests."""

    TYPE = MessageType.HELLO


@dataclass(frozen=True, slots=True)
class Ping(Message):
    """Ask for an Ack, which has the board's time; keeps the board's watch over the host quiet."""

    TYPE = MessageType.PING


@dataclass(frozen=True, slots=True)
class Enable(Message):
    """Switch on the outputs in ``mask``, which are off, at ``pulses`` [1/8 us] (0 for the other joints)."""

    TYPE = MessageType.ENABLE
    mask: U8
    pulses: Pulses


@dataclass(frozen=True, slots=True)
class Adopt(Message):
    """Take over the outputs in ``mask``, which are live, at the pulses they have."""

    TYPE = MessageType.ADOPT
    mask: U8


@dataclass(frozen=True, slots=True)
class Disable(Message):
    """Switch off the outputs in ``mask``, whoever owns them."""

    TYPE = MessageType.DISABLE
    mask: U8


@dataclass(frozen=True, slots=True)
class SetPoint(Message):
    """Be at ``pulses`` [1/8 us] at board time ``time_us``; what the host does not own ignores its pulse."""

    TYPE = MessageType.SET_POINT
    time_us: U32
    pulses: Pulses


@dataclass(frozen=True, slots=True)
class Stop(Message):
    """Flush the queue, decelerate, hold; latched as fault STOPPED."""

    TYPE = MessageType.STOP


@dataclass(frozen=True, slots=True)
class Halt(Message):
    """Flush the queue, decelerate, hold; latches nothing."""

    TYPE = MessageType.HALT


@dataclass(frozen=True, slots=True)
class Relax(Message):
    """Flush the queue and switch all outputs off at once."""

    TYPE = MessageType.RELAX


@dataclass(frozen=True, slots=True)
class Reset(Message):
    """Clear the faults whose cause is gone.  Moves nothing, enables nothing, resumes nothing."""

    TYPE = MessageType.RESET


@dataclass(frozen=True, slots=True)
class TelemetryPeriod(Message):
    """Send telemetry every ``period_ms`` [2, 1000]."""

    TYPE = MessageType.TELEMETRY_PERIOD
    period_ms: U16


@dataclass(frozen=True, slots=True)
class Info(Message):
    """Board's own description: the answer to Hello, whose sequence number is ``request``."""

    TYPE = MessageType.INFO
    request: U16
    firmware_major: U8
    firmware_minor: U8
    firmware_patch: U8
    joints: U8
    boot_id: U16
    queue_capacity: U8
    frame_us: U16
    resolution_ns: U16
    host_timeout_ms: U16
    max_lead_ms: U16
    limits_crc: U16

    @property
    def firmware_version(self) -> str:
        """The firmware's version, for example ``0.1.0``."""
        return f"{self.firmware_major}.{self.firmware_minor}.{self.firmware_patch}"


@dataclass(frozen=True, slots=True)
class Ack(Message):
    """Request ``request`` of type ``request_type`` was carried out; the board's time at this answer."""

    TYPE = MessageType.ACK
    request: U16
    request_type: U8
    time_us: U32


@dataclass(frozen=True, slots=True)
class Nack(Message):
    """Message number ``request`` was refused.  ``detail`` is a joint's index or a fault word, see Reason."""

    TYPE = MessageType.NACK
    request: U16
    request_type: U8
    reason: Annotated[Reason, "u8"]
    detail: U16


@dataclass(frozen=True, slots=True)
class Telemetry(Message):
    """State of the board, as it reports it periodically.  Counters run modulo their width and start at zero with each boot.

    Args:
        time_us: Board time when this frame was built [us], modulo 2^32.
        boot_id: Changes with each start of the board.
        last_sequence: Sequence number of the set-point accepted last.
        state: What the board does with the joints that the host owns.
        faults: Latched faults, bit n - 1 for fault n.
        live: Joints whose output runs.
        owned: Joints that the host has enabled or adopted since the board started.
        limited: Joints that the speed limit held back in the last servo frame.
        queue_depth: Set-points waiting.
        behind_ms: How far behind its time the board plays them [ms], because they came late; 0 where it is on no way.
        accepted: Set-points accepted.
        rejected: Set-points refused.
        last_reason: Why the last of them was refused.
        bad_frames: Frames from the host that were damaged.
        missed_frames: Gaps in the host's sequence numbers.
        underruns: Times that the queue ran out in motion.
        supply_mv: Servo supply [mV]; 0 where it is not measured.
        pulses: Pulses now commanded [1/8 us]; 0 where the output is off.
        feedback: Raw ADC value per joint (10 bits on an Uno), None where there is none.
    """

    TYPE = MessageType.TELEMETRY
    time_us: U32
    boot_id: U16
    last_sequence: U16
    state: Annotated[BoardState, "u8"]
    faults: U16
    live: U8
    owned: U8
    limited: U8
    queue_depth: U8
    behind_ms: U16
    accepted: U16
    rejected: U16
    last_reason: Annotated[Reason, "u8"]
    bad_frames: U16
    missed_frames: U16
    underruns: U16
    supply_mv: U16
    pulses: Pulses
    feedback: Annotated[tuple[int | None, ...], "u16[m]"]

    @property
    def feedback_mask(self) -> int:
        """Joints that have an ADC value."""
        return sum(1 << joint for joint, value in enumerate(self.feedback) if value is not None)

    @property
    def fault_text(self) -> str:
        """The latched faults in words; '' where there is none."""
        return describe_faults(self.faults)

    @property
    def pulses_us(self) -> tuple[float | None, ...]:
        """Pulses now commanded [us]; None where the output is off."""
        return tuple(pulse / PULSE_UNITS_PER_US if self.live >> joint & 1 else None for joint, pulse in enumerate(self.pulses))


@dataclass(frozen=True)
class Unknown:
    """A frame with a right checksum that this side does not understand.

    Args:
        version: Protocol version of the frame.
        reason: OTHER_VERSION, UNKNOWN_TYPE, or BAD_LENGTH (also of a number without meaning).
    """

    version: int
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
        return Unknown(raw.version, Reason.OTHER_VERSION)
    if raw.type_id not in MESSAGES:
        return Unknown(raw.version, Reason.UNKNOWN_TYPE)
    try:
        return MESSAGES[raw.type_id].from_payload(raw.payload)
    except ValueError:
        return Unknown(raw.version, Reason.BAD_LENGTH)


class FrameDecoder(FrameSplitter):
    """Bytes in, messages out.  Never raises for what the bytes contain."""

    def feed(self, data: bytes) -> list[Frame]:
        """All messages that ``data`` completes, in order."""
        return [Frame(raw.sequence, decode(raw)) for raw in self.split(data)]
