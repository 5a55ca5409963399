"""Model of the board's firmware in Python: no I/O, no plant, no clock of its own.

Its owner brings bytes and time, and takes bytes and pulses.  It is the model for the real firmware and keeps
to what fits an Uno: integers of at most 32 bits, no allocation per joint, one remembered request.
docs/protocol.md describes the same behaviour in words.
"""

from __future__ import annotations

from collections.abc import Sequence

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import (
    PROTOCOL_VERSION,
    PULSE_UNITS_PER_US,
    TIME_MODULUS,
    Ack,
    Adopt,
    BoardState,
    Disable,
    Enable,
    Fault,
    Halt,
    Hello,
    Info,
    Message,
    MessageType,
    Nack,
    Ping,
    Reason,
    Relax,
    Reset,
    SetPoint,
    Stop,
    Telemetry,
    TelemetryPeriod,
    encode,
    limits_checksum,
)
from picker_dynamics.board.protocol.framing import FrameSplitter, RawFrame
from picker_dynamics.board.protocol.messages import Unknown, decode

from .output_motion import OutputMotion

_NO_REQUEST = 0xFFFF
_PERIOD_MS = (2, 1000)


class VirtualFirmware:
    """Firmware of one board, executed in Python.

    The owner calls :meth:`advance` at least once per servo frame, :meth:`receive` with the bytes that came,
    :meth:`transmit` for the bytes to send, and reads :attr:`pulses_us`.

    Args:
        config: What is compiled in.
        now_us: The owner's time at power-on [us]; a Python integer that does not wrap around.
        boot_id: Identifier of the first boot; every reboot adds one.
        found_us: Pulses that the output stage runs already [us], None where it is off; default: all off.
    """

    def __init__(
        self, config: FirmwareConfig, *, now_us: int = 0, boot_id: int = 1, found_us: Sequence[float | None] | None = None
    ):
        self.config = config
        self.boot_id = boot_id & 0xFFFF
        self.feedback: Sequence[int | None] = (None,) * len(config.joints)
        self._supply_mv = 0
        self._causes = 0
        found = found_us or (None,) * len(config.joints)
        self._boot(now_us, [0 if pulse is None else round(pulse * PULSE_UNITS_PER_US) for pulse in found])

    def _boot(self, now_us: int, found: Sequence[int]) -> None:
        config = self.config
        self._booted_us = now_us
        self._next_frame_us = now_us + config.frame_us
        self._next_telemetry_us = now_us
        self._period_us = config.telemetry_period_ms * 1000
        self._heard_us = now_us
        self._splitter = FrameSplitter()
        self._out = bytearray()
        self._sequence = 0
        self._motion = OutputMotion(config, self.board_time_us(now_us))
        self._motion.pulses = list(found)
        self._motion.live = sum(1 << joint for joint, pulse in enumerate(found) if pulse)
        self.faults = 0
        self._newest: int | None = None  # newest sequence number seen
        self._request_age = _NO_REQUEST  # how many frames ago the last request was carried out
        self._request_reply: tuple[Reason, int] = (Reason.NONE, 0)
        self._last_sequence = self._accepted = self._rejected = self._missed = 0
        self._last_reason = Reason.NONE

    # -- what the owner sees -------------------------------------------------------------------------------

    @property
    def pulses(self) -> tuple[int, ...]:
        """Pulses on the outputs [1/8 us]; 0 where an output is off."""
        return tuple(self._motion.pulses)

    @property
    def pulses_us(self) -> tuple[float | None, ...]:
        """Pulses on the outputs [us]; None where an output is off."""
        return tuple(pulse / PULSE_UNITS_PER_US if pulse else None for pulse in self._motion.pulses)

    @property
    def live(self) -> int:
        """Joints whose output runs."""
        return self._motion.live

    @property
    def owned(self) -> int:
        """Joints that the host has enabled or adopted."""
        return self._motion.owned

    @property
    def state(self) -> BoardState:
        """State of the board: what it does with the joints that the host owns."""
        return self._motion.state

    @property
    def due_us(self) -> int:
        """The owner's time [us] of the next servo frame or telemetry: until then nothing happens but what is received."""
        return min(self._next_frame_us, self._next_telemetry_us)

    def board_time_us(self, now_us: int) -> int:
        """Board time [us], modulo 2^32, at the owner's time ``now_us``."""
        return (now_us - self._booted_us + self.config.start_time_us) % TIME_MODULUS

    # -- what the owner brings -----------------------------------------------------------------------------

    def advance(self, now_us: int) -> None:
        """Run servo frames and telemetry that fall due until ``now_us``, in their order."""
        while (due := self.due_us) <= now_us:
            if due == self._next_frame_us:
                self._next_frame_us += self.config.frame_us
                self._frame(due)
            else:
                self._next_telemetry_us += self._period_us
                self._send(self._telemetry(due))

    def receive(self, data: bytes, now_us: int) -> None:
        """Take the bytes that arrived until ``now_us``."""
        if now_us < self._booted_us:  # the boot loader eats them
            return
        frames = self._splitter.split(data)
        if any(raw.version == PROTOCOL_VERSION for raw in frames):
            self._heard_us = max(self._heard_us, now_us)  # an owner that excused silence may bring what came meanwhile
        self.advance(now_us)
        for raw in frames:
            self._handle(raw, now_us)

    def excuse(self, stalled_us: int) -> None:
        """The owner stood still for so long, and brought nothing that the host said: no silence of the host."""
        self._heard_us += stalled_us

    def transmit(self) -> bytes:
        """The bytes to send since the last call."""
        data = bytes(self._out)
        self._out.clear()
        return data

    def reboot(self, now_us: int, *, keep_outputs: bool = True, silence_us: int = 0, fault: Fault | None = None) -> None:
        """Reset the board: new boot id, board time from its start, nothing owned, counters at zero.

        Args:
            now_us: The owner's time [us].
            keep_outputs: True for a PCA9685, whose pulses outlive a reset; False for timer-driven pins.
            silence_us: Time that the boot loader takes before the firmware starts [us].
            fault: A fault that is latched from the start, for example RESTARTED after a brown-out.
        """
        self.advance(now_us)
        self.boot_id = self.boot_id + 1 & 0xFFFF
        found = self._motion.pulses if keep_outputs else [0] * len(self.config.joints)
        self._boot(now_us + silence_us, found)
        if fault is not None:
            self.faults |= fault.bit

    def set_supply(self, supply_mv: int) -> None:
        """The servo supply as the ADC measures it [mV]."""
        self._supply_mv = supply_mv
        self.set_cause(Fault.SUPPLY_LOW, 0 < supply_mv < self.config.supply_min_mv)

    def set_cause(self, fault: Fault, present: bool) -> None:
        """The cause of ``fault`` appears (which latches the fault) or goes (which leaves it latched)."""
        if present:
            self._causes |= fault.bit
            self._latch(fault)
        else:
            self._causes &= ~fault.bit

    # -- inside --------------------------------------------------------------------------------------------

    def _frame(self, start_us: int) -> None:
        if self._motion.owned and start_us - self._heard_us > self.config.host_timeout_ms * 1000:
            self._latch(Fault.HOST_LOST)
        self._motion.frame(self.board_time_us(start_us + self.config.frame_us // 2))

    def _latch(self, fault: Fault) -> None:
        self.faults |= fault.bit
        self._motion.brake()

    def _handle(self, raw: RawFrame, now_us: int) -> None:
        message = decode(raw)
        if raw.version != PROTOCOL_VERSION:
            self._refuse(raw, Reason.OTHER_VERSION, PROTOCOL_VERSION)
            return
        if isinstance(message, Hello):
            self._newest, self._request_age = raw.sequence, _NO_REQUEST
            self._send(self._info(raw.sequence))
            return
        age = self._age(raw.sequence)
        reason = self._not_understood(raw, message)
        if raw.type_id == MessageType.SET_POINT:
            self._set_point(raw, message, reason, now_us)
        elif reason is not Reason.NONE or isinstance(message, Unknown):
            self._refuse(raw, reason, 0)
        elif isinstance(message, Ping):
            self._answer(raw, Reason.NONE, 0, now_us)
        elif age > self._request_age:
            self._answer(raw, Reason.STALE, 0, now_us)
        else:
            if age != self._request_age:  # else a retransmission: the same answer once more
                self._request_reply = self._carry_out(message, now_us)
                self._request_age = age
            self._answer(raw, *self._request_reply, now_us)

    def _not_understood(self, raw: RawFrame, message: Message | Unknown) -> Reason:
        """Why this board can do nothing with a message; NONE where it can."""
        if raw.type_id >= MessageType.INFO:  # from a board: it has lost its way
            return Reason.UNKNOWN_TYPE
        if isinstance(message, Unknown):
            return message.reason
        if isinstance(message, (SetPoint, Enable)) and len(message.pulses) != len(self.config.joints):
            return Reason.BAD_LENGTH
        return Reason.NONE

    def _age(self, sequence: int) -> int:
        """How many frames ago ``sequence`` was the newest; counts the gaps and keeps the newest."""
        if self._newest is None:
            self._newest = sequence - 1
        ahead = (sequence - self._newest) & 0xFFFF
        if 0 < ahead < 0x8000:
            self._missed = self._missed + ahead - 1 & 0xFFFF
            self._newest = sequence
            self._request_age = min(_NO_REQUEST, self._request_age + ahead)
        return (self._newest - sequence) & 0xFFFF

    def _set_point(self, raw: RawFrame, message: Message | Unknown, reason: Reason, now_us: int) -> None:
        detail = 0
        if reason is Reason.NONE and self.faults:
            reason, detail = Reason.FAULT, self.faults
        elif reason is Reason.NONE and isinstance(message, SetPoint):
            reason, detail = self._motion.accept(message, self.board_time_us(now_us), self.config.max_lead_ms * 1000)
        if reason is Reason.NONE:
            self._accepted = self._accepted + 1 & 0xFFFF
            self._last_sequence = raw.sequence
        else:
            self._rejected = self._rejected + 1 & 0xFFFF
            self._last_reason = reason
            self._refuse(raw, reason, detail)

    def _carry_out(self, message: Message, now_us: int) -> tuple[Reason, int]:
        motion = self._motion
        if isinstance(message, Stop):
            self._latch(Fault.STOPPED)
        elif isinstance(message, Halt):
            motion.brake()
        elif isinstance(message, Relax):
            motion.disable((1 << len(self.config.joints)) - 1)
        elif isinstance(message, Reset):
            self.faults &= self._causes
            return (Reason.FAULT_PERSISTS, self.faults) if self.faults else (Reason.NONE, 0)
        elif isinstance(message, TelemetryPeriod):
            return self._set_period(message.period_ms, now_us)
        else:
            assert isinstance(message, (Enable, Adopt, Disable))
            return self._switch(message)
        return Reason.NONE, 0

    def _switch(self, message: Enable | Adopt | Disable) -> tuple[Reason, int]:
        count = len(self.config.joints)
        if not 0 < message.mask < 1 << count:
            return Reason.BAD_VALUE, message.mask
        if isinstance(message, Disable):
            self._motion.disable(message.mask)
            return Reason.NONE, 0
        if self.faults:
            return Reason.FAULT, self.faults
        if isinstance(message, Adopt):
            return self._motion.adopt(message.mask)
        return self._motion.enable(message.mask, message.pulses)

    def _set_period(self, period_ms: int, now_us: int) -> tuple[Reason, int]:
        if not _PERIOD_MS[0] <= period_ms <= _PERIOD_MS[1]:
            return Reason.BAD_VALUE, period_ms
        self._next_telemetry_us = max(now_us, self._next_telemetry_us + period_ms * 1000 - self._period_us)
        self._period_us = period_ms * 1000
        return Reason.NONE, 0

    # -- answers -------------------------------------------------------------------------------------------

    def _answer(self, raw: RawFrame, reason: Reason, detail: int, now_us: int) -> None:
        if reason is Reason.NONE:
            self._send(Ack(raw.sequence, raw.type_id, self.board_time_us(now_us)))
        else:
            self._refuse(raw, reason, detail)

    def _refuse(self, raw: RawFrame, reason: Reason, detail: int) -> None:
        self._send(Nack(raw.sequence, raw.type_id, reason, detail))

    def _send(self, message: Message) -> None:
        self._out += encode(message, self._sequence)
        self._sequence = self._sequence + 1 & 0xFFFF

    def _info(self, request: int) -> Info:
        config = self.config
        return Info(
            request,
            *config.firmware_version,
            len(config.joints),
            self.boot_id,
            config.queue_capacity,
            config.frame_us,
            config.resolution_ns,
            config.host_timeout_ms,
            config.max_lead_ms,
            limits_checksum(config.joints),
        )

    def _telemetry(self, now_us: int) -> Telemetry:
        motion = self._motion
        return Telemetry(
            self.board_time_us(now_us),
            self.boot_id,
            self._last_sequence,
            motion.state,
            self.faults,
            motion.live,
            motion.owned,
            motion.limited,
            len(motion.points),
            motion.behind_ms,
            self._accepted,
            self._rejected,
            self._last_reason,
            self._splitter.broken & 0xFFFF,
            self._missed,
            motion.underruns & 0xFFFF,
            self._supply_mv,
            self.pulses,
            tuple(self.feedback),
        )
