"""The protocol's numbers and what they mean: message types, board states, refusals, faults, joint limits.

docs/protocol.md prints these tables for the people who write firmware; a test compares the two.
"""

from __future__ import annotations

import binascii
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from picker_dynamics.errors import InputError

PROTOCOL_VERSION = 2
JOINTS_MAX = 8
PULSE_UNITS_PER_US = 8
"""Pulses travel in 1/8 us: fine enough for every output, and 15 bits hold 4095 us."""
PULSE_MAX = 0x7FFF
"""Longest pulse [1/8 us].  15 bits let the board interpolate in 32-bit arithmetic."""
TIME_MODULUS = 1 << 32
"""Of the board's microseconds, which wrap around every 71.6 minutes."""


class MessageType(IntEnum):
    """Second byte of every frame.  Bit 7 set: from the board."""

    HELLO = 0x01
    PING = 0x02
    ENABLE = 0x03
    ADOPT = 0x04
    DISABLE = 0x05
    SET_POINT = 0x06
    STOP = 0x07
    RELAX = 0x08
    RESET = 0x09
    TELEMETRY_PERIOD = 0x0A
    HALT = 0x0B
    INFO = 0x81
    ACK = 0x82
    NACK = 0x83
    TELEMETRY = 0x84


class BoardState(IntEnum):
    """State of the board: what it does with the joints that the host owns."""

    IDLE = 0  # the host owns no joint; outputs are as the boot found them, or off
    HOLD = 1  # standing, the pulses do not change
    MOVE = 2  # following the queue
    BRAKE = 3  # decelerating: stop, halt or fault

    @property
    def moves(self) -> bool:
        """Whether the pulses are on their way to another place."""
        return self in (BoardState.MOVE, BoardState.BRAKE)


class Reason(IntEnum):
    """Reason why the board refused a message (Nack, and the telemetry's last_reason)."""

    NONE = 0
    UNKNOWN_TYPE = 1
    BAD_LENGTH = 2
    BAD_VALUE = 3
    OTHER_VERSION = 4
    STALE = 5
    FAULT = 6
    NOT_ENABLED = 7
    ALREADY_LIVE = 8
    NOT_LIVE = 9
    OUT_OF_LIMITS = 10
    PAST = 11
    NOT_LATER = 12
    TOO_FAR = 13
    QUEUE_FULL = 14
    BUSY = 15
    FAULT_PERSISTS = 16
    GAP = 17


REASON_TEXT: dict[Reason, str] = {
    Reason.NONE: "nothing was refused",
    Reason.UNKNOWN_TYPE: "the board does not know this message type",
    Reason.BAD_LENGTH: "the payload's length does not fit the message or the board's joint count",
    Reason.BAD_VALUE: "a mask names no joint or one that the board lacks, or a period is out of range",
    Reason.OTHER_VERSION: "the board speaks another protocol version",
    Reason.STALE: "a later request was already carried out",
    Reason.FAULT: "a fault or a stop is latched: Reset first",
    Reason.NOT_ENABLED: "the host owns no joint: Enable or Adopt first",
    Reason.ALREADY_LIVE: "the joint's output is already live: Adopt or Disable it",
    Reason.NOT_LIVE: "the joint's output is off: Enable it",
    Reason.OUT_OF_LIMITS: "a pulse is outside the joint's limits",
    Reason.PAST: "the time stamp is not after the point played last, or older than the host timeout",
    Reason.NOT_LATER: "the time stamp is not after the one queued last",
    Reason.TOO_FAR: "the time stamp is further ahead than the board allows",
    Reason.QUEUE_FULL: "the set-point queue is full",
    Reason.BUSY: "the arm is moving: wait for HOLD",
    Reason.FAULT_PERSISTS: "the cause of a fault is still there",
    Reason.GAP: "set-points are missing before it: begin anew where the outputs are",
}


class Fault(IntEnum):
    """Latched faults.  Fault n is bit n - 1 of the telemetry's ``faults``."""

    STOPPED = 1
    HOST_LOST = 2
    SUPPLY_LOW = 3
    OUTPUT_FAILED = 4
    RESTARTED = 5

    @property
    def bit(self) -> int:
        """Bit of the fault in the telemetry's fault word."""
        return 1 << (self - 1)


FAULT_TEXT: dict[Fault, tuple[str, str]] = {
    Fault.STOPPED: ("the host asked for a stop", "make the arm safe, then Reset"),
    Fault.HOST_LOST: (
        "no valid frame arrived in time while the host owned a joint",
        "check the cable and the host's load, reconnect, then Reset",
    ),
    Fault.SUPPLY_LOW: (
        "the servo supply fell below its minimum",
        "check the supply and its wiring, wait until it is back, then Reset",
    ),
    Fault.OUTPUT_FAILED: ("the output stage (PCA9685 or timer) does not answer", "check its wiring and supply, then Reset"),
    Fault.RESTARTED: (
        "the board was restarted by a brown-out or by its own watchdog",
        "check the board's supply, Reset, then Adopt or Disable what still runs",
    ),
}
"""Each fault in words: what happened, and what a person does about it."""


def faults_in(bits: int) -> tuple[Fault, ...]:
    """The known faults in a fault word, in order of their numbers."""
    return tuple(fault for fault in Fault if bits & fault.bit)


def describe_faults(bits: int) -> str:
    """A fault word in words, for example ``fault 2 HOST_LOST (no valid frame ...)``; '' where none is set."""
    known = [f"fault {fault:d} {fault.name} ({'; '.join(FAULT_TEXT[fault])})" for fault in faults_in(bits)]
    rest = bits & ~sum(fault.bit for fault in Fault)
    return ", ".join(known + [f"fault {number} (unknown)" for number in range(1, 17) if rest >> number - 1 & 1])


def pulse_units(pulse_us: float) -> int:
    """A pulse [us] in the protocol's unit [1/8 us], rounded to nearest.

    Raises:
        InputError: where the pulse is not finite or does not fit 15 bits.
    """
    limit = PULSE_MAX / PULSE_UNITS_PER_US
    if not 0.0 <= pulse_us <= limit:  # also refuses NaN
        raise InputError(f"a pulse of {pulse_us} us is outside [0, {limit}] us", value=pulse_us, limit=limit)
    return int(pulse_us * PULSE_UNITS_PER_US + 0.5)


@dataclass(frozen=True)
class JointLimits:
    """Limits that the board enforces for one joint; the real firmware has it compiled in from a generated header.

    Args:
        lowest: Shortest pulse [1/8 us].
        highest: Longest pulse [1/8 us].
        speed: Largest change of the pulse per servo frame [1/8 us].
        brake: Change of that speed per servo frame when decelerating [1/8 us per frame].
    """

    lowest: int
    highest: int
    speed: int
    brake: int

    def __post_init__(self) -> None:
        if not (0 < self.lowest < self.highest <= PULSE_MAX and 0 < self.brake <= self.speed <= PULSE_MAX):
            text = f"{self} needs 0 < lowest < highest <= {PULSE_MAX} and 0 < brake <= speed <= {PULSE_MAX}"
            raise InputError(text, value=self.lowest, limit=PULSE_MAX)

    @classmethod
    def from_us(
        cls, lowest_us: float, highest_us: float, speed_us_per_s: float, *, frame_s: float = 0.020, brake_time_s: float = 0.2
    ) -> JointLimits:
        """Limits from microseconds: full speed is braked away in ``brake_time_s``.

        Speed and brake round up to at least one unit, so that a slow joint still moves and still stops.
        """
        speed = max(1, round(speed_us_per_s * frame_s * PULSE_UNITS_PER_US))
        brake = min(speed, max(1, -int(-speed * frame_s // brake_time_s)))
        return cls(pulse_units(lowest_us), pulse_units(highest_us), speed, brake)


def limits_checksum(limits: Iterable[JointLimits]) -> int:
    """CRC-16 of the table of limits, as Info carries it: a board flashed with other limits is noticed."""
    table = b"".join(struct.pack("<HHHH", one.lowest, one.highest, one.speed, one.brake) for one in limits)
    return binascii.crc_hqx(table, 0xFFFF)


def ahead_us(later: int, earlier: int) -> int:
    """Signed distance later - earlier [us] in [-2^31, 2^31), as ``(int32_t)(later - earlier)`` in C (RFC 1982)."""
    half = TIME_MODULUS >> 1
    return ((later - earlier + half) & (TIME_MODULUS - 1)) - half
