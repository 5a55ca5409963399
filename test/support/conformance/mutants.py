"""Firmwares that each break one rule of the protocol, and the check that has to notice: this is how the suite is tested."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from picker_dynamics.board.firmware.config import FirmwareConfig
from picker_dynamics.board.protocol import Ack, MessageType, Reason
from picker_dynamics.board.protocol.framing import FrameSplitter, RawFrame, crc16, unstuff
from picker_dynamics.board.protocol.messages import decode
from picker_dynamics.errors import ProtocolError
from picker_dynamics.sim.firmware_core import VirtualFirmware
from picker_dynamics.sim.output_motion import OutputMotion
from picker_dynamics.sim.setpoint_queue import SetPointQueue

MUTANTS: list[tuple[str, type]] = []


class Mutant(VirtualFirmware):
    """A firmware whose parts, and whose configuration, may be other ones."""

    motion: ClassVar[type] = OutputMotion
    queue: ClassVar[type] = SetPointQueue
    splitter: ClassVar[type] = FrameSplitter
    changes: ClassVar[dict] = {}

    def __init__(self, config: FirmwareConfig, **firmware):
        super().__init__(replace(config, **self.changes), **firmware)

    def _boot(self, now_us, found):
        super()._boot(now_us, found)
        self._motion.__class__ = self.motion
        self._motion.queue.__class__ = self.queue
        self._splitter.__class__ = self.splitter


def breaks(check: str):
    """Register a mutant and the check that has to catch it.  A part alone is put into an otherwise sound firmware."""

    def add(kind: type) -> type:
        for name, part in (("motion", OutputMotion), ("queue", SetPointQueue), ("splitter", FrameSplitter)):
            if issubclass(kind, part):
                kind = type(kind.__name__, (Mutant,), {name: kind, "__doc__": kind.__doc__})
        MUTANTS.append((check, kind))
        return kind

    return add


def configured(check: str, name: str, **changes) -> None:
    """Register a firmware with other figures compiled in."""
    MUTANTS.append((check, type(name, (Mutant,), {"changes": changes})))


def message_of(raw: RawFrame):
    """What a frame says."""
    return decode(raw)


class Obeys(Mutant):
    """Carries out one ``kind`` of message in its own way: ``obey`` returns the answer, or None to do as others do."""

    def _carry_out(self, message, *when):
        answer = self.obey(message) if isinstance(message, self.kind) else None
        return super()._carry_out(message, *when) if answer is None else answer


def acked(firmware: Mutant, raw: RawFrame) -> None:
    """Acknowledge a set-point."""
    firmware._send(Ack(raw.sequence, raw.type_id, 0))


# -- what the board says of itself ---------------------------------------------------------------------

configured("telemetry-from-boot", "SlowTelemetry", telemetry_period_ms=25)
configured("hello-is-answered-with-info", "ShortQueue", queue_capacity=12)
configured("hello-is-answered-with-info", "NoLead", max_lead_ms=0)


@breaks("telemetry-content")
class OtherBootIdInTelemetry(Mutant):
    def _telemetry(self, now_us):
        return replace(super()._telemetry(now_us), boot_id=self.boot_id + 7)


@breaks("board-counts-its-frames")
class CountsEveryOther(Mutant):
    def _send(self, message, *, droppable=False):
        super()._send(message, droppable=droppable)
        self._sequence = self._sequence + 1 & 0xFFFF


@breaks("hello-is-answered-with-info")
class InfoAboutNothing(Mutant):
    def _info(self, request):
        return super()._info(0)


@breaks("ping-is-acknowledged")
class StoppedClockInAcks(Mutant):
    def _answer(self, raw, reason, detail, now_us):
        super()._answer(raw, reason, detail, 0 if raw.type_id == MessageType.PING else now_us)


@breaks("one-clock")
class FastClock(Mutant):
    def board_time_us(self, now_us):
        return super().board_time_us(now_us * 103 // 100)


@breaks("ping-is-not-remembered")
class PingIsARequest(Mutant):
    def _handle(self, raw, now_us):
        behind = (self._newest or 0) - raw.sequence & 0xFFFF
        if raw.type_id == MessageType.PING and self._request_age < behind < 0x8000:
            self._answer(raw, Reason.STALE, 0, now_us)
        else:
            super()._handle(raw, now_us)


@breaks("answers-keep-their-order")
class AnswersTwice(Mutant):
    def _answer(self, *rest):
        for _ in range(2):
            super()._answer(*rest)


# -- what it refuses at once ---------------------------------------------------------------------------


@breaks("unknown-type-is-refused")
class IgnoresUnknownTypes(Mutant):
    def _refuse(self, raw, reason, *rest):
        if reason is not Reason.UNKNOWN_TYPE:
            super()._refuse(raw, reason, *rest)


@breaks("other-length-is-refused")
class CutsLongPayloads(Mutant):
    def _handle(self, raw, now_us):
        right = {MessageType.STOP: 0, MessageType.RESET: 0, MessageType.ADOPT: 1}.get(raw.type_id)
        super()._handle(raw if right is None else raw._replace(payload=raw.payload[:right]), now_us)


@breaks("other-mask-is-refused")
class CutsMasks(Mutant):
    def _switch(self, message):
        return super()._switch(replace(message, mask=message.mask & (1 << len(self.config.joints)) - 1 or 1))


@breaks("telemetry-period-is-kept")
class AnyPeriod(Mutant):
    def _set_period(self, period_ms, *when):
        super()._set_period(period_ms, *when)
        return Reason.NONE, 0


@breaks("a-shorter-period-begins-at-once")
class WaitsForTheOldPeriod(Mutant):
    def _set_period(self, period_ms, *when):
        due_us = self._next_telemetry_us
        refusal = super()._set_period(period_ms, *when)
        self._next_telemetry_us = due_us
        return refusal


@breaks("other-version-is-refused")
class AnyVersion(Mutant):
    def _handle(self, raw, now_us):
        super()._handle(raw._replace(version=1), now_us)


# -- bytes ---------------------------------------------------------------------------------------------


@breaks("lone-delimiters-mean-nothing")
class CountsDelimiters(FrameSplitter):
    def _end(self, frames):
        self.counters.bad += not self._buffer
        super()._end(frames)


def parsed(stuffed: bytes, checked: bool = True) -> RawFrame | None:
    """A frame as a careless parser sees it."""
    body = unstuff(stuffed)
    if len(body) < 6:
        return None
    if checked and int.from_bytes(body[-2:], "little") != crc16(body[:-2]):
        raise ProtocolError("checksum")
    return RawFrame(body[0], body[1], int.from_bytes(body[2:4], "little"), body[4:-2])


class Careless(FrameSplitter):
    """Hands each frame to ``look``, which may raise a ProtocolError."""

    def _end(self, frames):
        stuffed, skipped = bytes(self._buffer), self._skipping or self._joining
        self._buffer.clear()
        self._skipping = self._joining = False
        if skipped or not stuffed:
            return
        try:
            frame = self.look(stuffed)
            if frame is not None:
                frames.append(frame)
        except ProtocolError:
            self.counters.bad += 1


@breaks("wrong-checksum-is-dropped")
class NoChecksum(Careless):
    def look(self, stuffed):
        return parsed(stuffed, checked=False)


@breaks("wrong-stuffing-is-dropped")
class ShortFramesAreNoDamage(Careless):
    def look(self, stuffed):
        return parsed(stuffed)


@breaks("a-long-run-is-one-bad-frame")
class CountsEveryFullBuffer(FrameSplitter):
    def _take(self, chunk):
        super()._take(chunk)
        if len(chunk) > 144:
            self.counters.oversize += 1


class LosesTheNext(FrameSplitter):
    """After a damaged frame the next one is lost too."""

    def feed(self, data):
        before = self.counters.broken
        frames = super().feed(data)
        if self.counters.broken > before or getattr(self, "after_damage", False):
            self.after_damage = self.counters.broken > before and not frames
            return frames[1:]
        return frames


breaks("good-frames-pass-through-a-storm")(LosesTheNext)
breaks("a-delimiter-flushes-half-a-frame")(LosesTheNext)


@breaks("frames-come-as-they-like")
class ForgetsHalves(FrameSplitter):
    def feed(self, data):
        self._buffer.clear()
        return super().feed(data)


@breaks("zeros-are-unstuffed")
class DropsZeros(Careless):
    def look(self, stuffed):
        frame = parsed(stuffed)
        return frame and frame._replace(payload=frame.payload.rstrip(b"\0"))
