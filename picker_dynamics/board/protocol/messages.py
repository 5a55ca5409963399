"""The messages: one frozen dataclass each, whose LAYOUT is the payload, field by field, little-endian.

``u16[n]`` is one number per joint of the board (at most eight), in the order of the joints; ``u16[m]`` is
one per set bit of ``feedback_mask``, lowest first.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import ClassVar

from picker_dynamics.errors import InputError, ProtocolError

from .codes import (
    JOINTS_MAX,
    PROTOCOL_VERSION,
    PULSE_MAX,
    PULSE_UNITS_PER_US,
    BoardState,
    Fault,
    MessageType,
    Reason,
    describe_faults,
    faults_in,
)

_CODES = {"u8": "B", "u16": "H", "u32": "I"}
MESSAGES: dict[MessageType, type[Message]] = {}


class Message:
    """Base of all messages: packs its fixed fields, and an array of pulses after them where it has one."""

    TYPE: ClassVar[MessageType]
    LAYOUT: ClassVar[tuple[tuple[str, str], ...]] = ()
    _fixed: ClassVar[tuple[str, ...]]
    _struct: ClassVar[struct.Struct]
    _has_pulses: ClassVar[bool]

    def __init_subclass__(cls):
        fixed = [(name, code) for name, code in cls.LAYOUT if code in _CODES]
        cls._fixed = tuple(name for name, _ in fixed)
        cls._struct = struct.Struct("<" + "".join(_CODES[code] for _, code in fixed))
        cls._has_pulses = ("pulses", "u16[n]") in cls.LAYOUT
        MESSAGES[cls.TYPE] = cls

    def payload(self) -> bytes:
        """The payload's bytes.

        Raises:
            InputError: where a field is no integer or does not fit.
        """
        values = [getattr(self, name) for name in self._fixed]
        try:
            packed = self._struct.pack(*values)
        except struct.error as error:
            fields = ", ".join(f"{name}={value!r}" for name, value in zip(self._fixed, values, strict=True))
            raise InputError(f"{type(self).__name__}({fields}) does not fit its fields: {error}") from error
        return packed + _pack_numbers("pulses", self.pulses, PULSE_MAX) if self._has_pulses else packed

    @classmethod
    def from_payload(cls, payload: bytes) -> Message:
        """The message in ``payload``.

        Raises:
            ProtocolError: where the length is wrong or a number has no meaning.
        """
        size = cls._struct.size
        odd = (len(payload) - size) % 2 if cls._has_pulses else len(payload) - size
        if len(payload) < size or odd:
            raise ProtocolError(f"{cls.__name__} with a payload of {len(payload)} bytes", value=len(payload), limit=size)
        values = cls._struct.unpack_from(payload)
        if cls._has_pulses:
            values += (_unpack_numbers(payload, size, (len(payload) - size) // 2),)
        return cls._of(values)

    @classmethod
    def _of(cls, values: tuple) -> Message:
        return cls(*values)


def _pack_numbers(name: str, numbers, limit: int) -> bytes:
    try:
        if len(numbers) <= JOINTS_MAX and max(numbers, default=0) <= limit:
            return struct.pack(f"<{len(numbers)}H", *numbers)
    except (struct.error, TypeError):
        pass  # the message below says what was expected
    raise InputError(f"{name} {numbers!r} are not at most {JOINTS_MAX} integers within [0, {limit}]", value=numbers, limit=limit)


def _unpack_numbers(payload: bytes, at: int, count: int) -> tuple[int, ...]:
    return struct.unpack_from(f"<{count}H", payload, at)


@dataclass(frozen=True, slots=True)
class Hello(Message):
    """Who are you?  Answered by Info.  Forgets what the board remembers of an earlier host's requests."""

    TYPE = MessageType.HELLO


@dataclass(frozen=True, slots=True)
class Ping(Message):
    """Answered by Ack with the board's time; keeps the board's watch over the host quiet."""

    TYPE = MessageType.PING


@dataclass(frozen=True, slots=True)
class Enable(Message):
    """Switch on the outputs in ``mask``, which are off, at ``pulses`` [1/8 us] (0 for the other joints)."""

    TYPE = MessageType.ENABLE
    LAYOUT = (("mask", "u8"), ("pulses", "u16[n]"))
    mask: int
    pulses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Adopt(Message):
    """Take over the outputs in ``mask``, which are live, at the pulses they have."""

    TYPE = MessageType.ADOPT
    LAYOUT = (("mask", "u8"),)
    mask: int


@dataclass(frozen=True, slots=True)
class Disable(Message):
    """Switch off the outputs in ``mask``, whoever owns them."""

    TYPE = MessageType.DISABLE
    LAYOUT = (("mask", "u8"),)
    mask: int


@dataclass(frozen=True, slots=True)
class SetPoint(Message):
    """Be at ``pulses`` [1/8 us] at board time ``time_us``; what the host does not own ignores its pulse."""

    TYPE = MessageType.SET_POINT
    LAYOUT = (("time_us", "u32"), ("pulses", "u16[n]"))
    time_us: int
    pulses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stop(Message):
    """Flush the queue, decelerate, hold; latched as fault STOPPED."""

    TYPE = MessageType.STOP


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
    LAYOUT = (("period_ms", "u16"),)
    period_ms: int


@dataclass(frozen=True, slots=True)
class Info(Message):
    """What the board is; the answer to Hello, whose sequence number is ``request``."""

    TYPE = MessageType.INFO
    LAYOUT = (
        ("request", "u16"),
        ("firmware_major", "u8"),
        ("firmware_minor", "u8"),
        ("firmware_patch", "u8"),
        ("joints", "u8"),
        ("boot_id", "u16"),
        ("queue_capacity", "u8"),
        ("frame_us", "u16"),
        ("resolution_ns", "u16"),
        ("host_timeout_ms", "u16"),
        ("max_lead_ms", "u16"),
        ("limits_crc", "u16"),
    )
    request: int
    firmware_major: int
    firmware_minor: int
    firmware_patch: int
    joints: int
    boot_id: int
    queue_capacity: int
    frame_us: int
    resolution_ns: int
    host_timeout_ms: int
    max_lead_ms: int
    limits_crc: int

    @property
    def protocol_version(self) -> int:
        """The protocol's version: the one in the frame's first byte, or it would not have been understood."""
        return PROTOCOL_VERSION

    @property
    def firmware_version(self) -> str:
        """The firmware's version, for example ``0.1.0``."""
        return f"{self.firmware_major}.{self.firmware_minor}.{self.firmware_patch}"


@dataclass(frozen=True, slots=True)
class Ack(Message):
    """Request ``request`` of type ``request_type`` was carried out; the board's time at this answer."""

    TYPE = MessageType.ACK
    LAYOUT = (("request", "u16"), ("request_type", "u8"), ("time_us", "u32"))
    request: int
    request_type: int
    time_us: int


@dataclass(frozen=True, slots=True)
class Nack(Message):
    """Message number ``request`` was refused.  ``detail`` is a joint's index or a fault word, see Reason."""

    TYPE = MessageType.NACK
    LAYOUT = (("request", "u16"), ("request_type", "u8"), ("reason", "u8"), ("detail", "u16"))
    request: int
    request_type: int
    reason: Reason
    detail: int

    @classmethod
    def _of(cls, values: tuple) -> Nack:
        request, request_type, reason, detail = values
        return cls(request, request_type, _meaning(Reason, reason), detail)


@dataclass(frozen=True, slots=True)
class Telemetry(Message):
    """What the board does now.  Counters run modulo their width and start at zero with each boot.

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
    LAYOUT = (
        ("time_us", "u32"),
        ("boot_id", "u16"),
        ("last_sequence", "u16"),
        ("state", "u8"),
        ("faults", "u16"),
        ("live", "u8"),
        ("owned", "u8"),
        ("limited", "u8"),
        ("queue_depth", "u8"),
        ("accepted", "u16"),
        ("rejected", "u16"),
        ("last_reason", "u8"),
        ("bad_frames", "u16"),
        ("missed_frames", "u16"),
        ("underruns", "u16"),
        ("supply_mv", "u16"),
        ("feedback_mask", "u8"),
        ("pulses", "u16[n]"),
        ("feedback", "u16[m]"),
    )
    time_us: int
    boot_id: int
    last_sequence: int
    state: BoardState
    faults: int
    live: int
    owned: int
    limited: int
    queue_depth: int
    accepted: int
    rejected: int
    last_reason: Reason
    bad_frames: int
    missed_frames: int
    underruns: int
    supply_mv: int
    pulses: tuple[int, ...]
    feedback: tuple[int | None, ...]

    @property
    def feedback_mask(self) -> int:
        """Joints that have an ADC value."""
        return sum(1 << joint for joint, value in enumerate(self.feedback) if value is not None)

    def payload(self) -> bytes:
        """The payload's bytes; ADC values follow the pulses, only for joints that have one."""
        if len(self.feedback) != len(self.pulses):
            raise InputError(
                f"{len(self.feedback)} feedback values for {len(self.pulses)} joints",
                value=len(self.feedback),
                limit=len(self.pulses),
            )
        measured = [value for value in self.feedback if value is not None]
        return Message.payload(self) + _pack_numbers("feedback", measured, 0xFFFF)

    @classmethod
    def from_payload(cls, payload: bytes) -> Telemetry:
        """The message in ``payload``; see :meth:`Message.from_payload`."""
        size = cls._struct.size
        if len(payload) < size or (len(payload) - size) % 2:
            raise ProtocolError(f"Telemetry with a payload of {len(payload)} bytes", value=len(payload), limit=size)
        *fixed, mask = cls._struct.unpack_from(payload)
        measured = bin(mask).count("1")
        joints = (len(payload) - size) // 2 - measured
        if joints < 0 or mask >> joints:
            raise ProtocolError(f"Telemetry with feedback mask {mask:#04x} for {joints} joints", value=mask, limit=joints)
        values = iter(_unpack_numbers(payload, size + 2 * joints, measured))
        feedback = tuple(next(values) if mask >> joint & 1 else None for joint in range(joints))
        fixed[3] = _meaning(BoardState, fixed[3])
        fixed[11] = _meaning(Reason, fixed[11])
        return cls(*fixed, _unpack_numbers(payload, size, joints), feedback)

    @property
    def fault_numbers(self) -> tuple[Fault, ...]:
        """The latched faults that this version knows."""
        return faults_in(self.faults)

    @property
    def fault_text(self) -> str:
        """The latched faults in words; '' where there is none."""
        return describe_faults(self.faults)

    @property
    def pulses_us(self) -> tuple[float | None, ...]:
        """Pulses now commanded [us]; None where the output is off."""
        return tuple(pulse / PULSE_UNITS_PER_US if self.live >> joint & 1 else None for joint, pulse in enumerate(self.pulses))


def _meaning(kind, number: int):
    try:
        return kind(number)
    except ValueError as error:
        raise ProtocolError(f"{kind.__name__} {number} has no meaning in this version", value=number) from error
