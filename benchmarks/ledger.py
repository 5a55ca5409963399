"""Audit of a board, independent of its firmware: what became of each set-point that reached it.

It sees the bytes that come and go and the outputs after each servo frame, and knows the protocol, nothing of the firmware's
inside.  A set-point was *accepted* where no refusal was sent; it was *executed* where the outputs ran along the line between
the accepted points until its time was past, which is computed here anew; it was *dropped* where the board, by a fault, a stop
or a reset, left that line before.  Lines are evaluated where docs/protocol.md has the play clock in each frame.  The depth of
the queue, the delay, and the count of accepted set-points that the board's telemetry tells have to be those of the books.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from picker_dynamics.board.protocol import (
    Ack,
    BoardState,
    Disable,
    FrameDecoder,
    Hello,
    Info,
    JointLimits,
    MessageType,
    Nack,
    Reason,
    Relax,
    SetPoint,
    Stop,
    Telemetry,
    ahead_us,
)

TOLERANCE = 2
"""By how much an output may miss the line [1/8 us]: the board's integers round fraction and result."""

FULL_RATE = 256
"""Rate at which the board plays as fast as time passes."""

EVENTS_MAX = 10_000


@dataclass
class Counts:
    """Counts of the audit.  Of the set-points that ``arrived`` each is in one of deaf, rejected and accepted.

    Attributes:
        deaf: came while the boot loader ran.
        rejected, accepted, executed, dropped: see the module.
        dropped_without_cause: dropped though no fault was latched, and no reset happened.
        repeated: accepted though not later than the one accepted before.
        frames, frames_compared, frames_off_line: servo frames in all, those in motion whose outputs were compared with the
            line, and those that were not on it.
        telemetry_compared, telemetry_wrong: telemetry whose depth of the queue, delay and count of accepted set-points were
            compared with the books, and those that told otherwise.
        lost_frames, lost_frames_without_cause: gaps in the host's sequence numbers; without a fault on the wire.
        stops: stop requests, retransmissions included.
        worst_step_share: largest step of an output in a frame, over what its servo can do.
    """

    arrived: int = 0
    deaf: int = 0
    rejected: int = 0
    accepted: int = 0
    executed: int = 0
    dropped: int = 0
    dropped_without_cause: int = 0
    repeated: int = 0
    frames: int = 0
    frames_compared: int = 0
    frames_off_line: int = 0
    telemetry_compared: int = 0
    telemetry_wrong: int = 0
    lost_frames: int = 0
    lost_frames_without_cause: int = 0
    stops: int = 0
    worst_step_share: float = 0.0
    worst_step: str = ""
    first_trouble: str = ""
    rejected_by_reason: Counter = field(default_factory=Counter)


class Ledger:
    """Audit of one board.

    Args:
        limits: of its joints.
        frame_us: servo frame [us].
        joint_names: for messages.
    """

    def __init__(self, limits: Sequence[JointLimits], frame_us: int, joint_names: Sequence[str]):
        self.counts = Counts()
        self.stop_times_s: deque[float] = deque(maxlen=EVENTS_MAX)
        self.plug_times_s: deque[float] = deque(maxlen=EVENTS_MAX)
        self._limits, self._frame_us, self._names = tuple(limits), frame_us, tuple(joint_names)
        self._incoming, self._outgoing = FrameDecoder(in_step=False), FrameDecoder(in_step=False)
        self._sequence: int | None = None
        self._disturbed, self._excuse_gap, self._excuse_drop = False, True, False
        self._asked: dict[int, SetPoint] = {}
        self._points: deque[tuple[int, tuple[int, ...]]] = deque()
        self._anchor: tuple[int, tuple[int, ...]] | None = None  # None: the outputs were moved otherwise since
        self._ends_at_rest, self._rate, self._follow_us = False, 0, 0
        self._board: Any = None
        self._last_accepted_us: int | None = None
        self._boot_id: int | None = None
        self._accepted_in_boot: int | None = None
        self._frame = -1
        self._played_us = self._frame_at_us = 0
        self._outputs: tuple[tuple[int, ...], int] | None = None

    def as_dict(self) -> dict:
        """Audit, ready for JSON; ``queued`` are the accepted set-points whose time is still to come."""
        counts = asdict(self.counts) | {"queued": len(self._points)}
        counts["rejected_by_reason"] = dict(self.counts.rejected_by_reason)
        return counts | {"stop_times_s": list(self.stop_times_s), "plug_times_s": list(self.plug_times_s)}

    # -- the cable -----------------------------------------------------------------------------------------

    def plugged_in(self) -> None:
        """Note that the port is there again."""
        self.plug_times_s.append(time.monotonic())

    def disturbed(self) -> None:
        """Bytes are being lost or damaged on purpose, or the cable is out."""
        self._disturbed = self._excuse_gap = True

    def quiet(self) -> None:
        """Note that the wire is whole again; the frame that was cut at the seam is still excused."""
        self._disturbed = False

    def received(self, data: bytes, deaf: bool) -> None:
        """Bytes have arrived, before the firmware has them; ``deaf``: its boot loader eats them."""
        for sequence, message in self._incoming.feed(data):
            self._note_gap(sequence, message)
            if isinstance(message, SetPoint):
                self.counts.arrived += 1
                if deaf:
                    self.counts.deaf += 1
                else:
                    self._asked[sequence] = message
            elif isinstance(message, (Stop, Relax, Disable)) and not deaf:
                self._excuse_drop = True
                if isinstance(message, Stop):
                    self.counts.stops += 1
                    self.stop_times_s.append(time.monotonic())

    def _note_gap(self, sequence: int, message) -> None:
        ahead = 1 if self._sequence is None or isinstance(message, Hello) else (sequence - self._sequence) & 0xFFFF
        if ahead >= 0x8000 or ahead == 0:  # a retransmission
            return
        if ahead > 1:
            self.counts.lost_frames += ahead - 1
            if not self._excuse_gap:
                self.counts.lost_frames_without_cause += ahead - 1
        self._sequence, self._excuse_gap = sequence, self._disturbed

    # -- the board -----------------------------------------------------------------------------------------

    def answered(self, data: bytes) -> None:
        """Take what the firmware sent in answer to all that was received: what it did not refuse it has accepted."""
        for _, message in self._outgoing.feed(data):
            if isinstance(message, Nack) and message.request_type == MessageType.SET_POINT:
                if self._asked.pop(message.request, None) is not None:
                    self.counts.rejected += 1
                    self.counts.rejected_by_reason[Reason(message.reason).name] += 1
            elif isinstance(message, Telemetry):
                self._compare_telemetry(message)
            elif isinstance(message, Info):
                self._follow_us = 1000 * message.host_timeout_ms
            elif isinstance(message, Ack) and message.request_type in (MessageType.ENABLE, MessageType.ADOPT):
                self._anchor = None
        for point in self._asked.values():
            self._accept(point)
        self._asked.clear()

    def _accept(self, point: SetPoint) -> None:
        self.counts.accepted += 1
        if self._accepted_in_boot is not None:
            self._accepted_in_boot += 1
        before = self._points[-1] if self._points else self._anchor
        if not self._points and self._begins_anew(point):
            self._played_us = self._frame_at_us + min(0, ahead_us(point.time_us, self._frame_at_us) - self._frame_us)
            self._anchor = before = self._played_us, self._board.pulses
            self._rate = FULL_RATE
        self._ends_at_rest = before is not None and self._same(before[1], point.pulses)
        if self._last_accepted_us is not None and self._points and ahead_us(point.time_us, self._last_accepted_us) <= 0:
            self.counts.repeated += 1
        self._last_accepted_us = point.time_us
        self._points.append((point.time_us, point.pulses))

    def _begins_anew(self, point: SetPoint) -> bool:
        """Whether the line starts where the outputs are, and not at the point passed last."""
        if self._anchor is None:
            return True
        far = (abs(a - b) > limits.speed // 4 for a, b, limits in zip(self._board.pulses, point.pulses, self._limits))
        late = ahead_us(point.time_us, self._anchor[0]) > self._follow_us and not self._same(self._anchor[1], point.pulses)
        return late or self._ends_at_rest and not any(f and self._board.owned >> joint & 1 for joint, f in enumerate(far))

    def _same(self, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        return all(a == b for joint, (a, b) in enumerate(zip(one, other)) if self._board.owned >> joint & 1)

    def look(self, firmware, now_us: int) -> None:
        """Look at the outputs; called at least once a frame, after the firmware has advanced to ``now_us``."""
        self._board = firmware
        if firmware.boot_id != self._boot_id:
            self._reset(firmware.boot_id)
        board_us = firmware.board_time_us(now_us)
        frame = -1 if board_us >= 1 << 31 else board_us // self._frame_us - 1
        if frame <= self._frame or frame < 0:
            return
        self._frame = frame
        self._frame_at_us = frame * self._frame_us + self._frame_us + self._frame_us // 2
        self.counts.frames += 1
        self._follow(firmware)
        self._compare_step(firmware)
        self._excuse_drop = False

    def _reset(self, boot_id: int) -> None:
        """A board that has started anew has forgotten its queue."""
        self.counts.dropped += len(self._points)
        self._points.clear()
        self._accepted_in_boot = 0
        self._boot_id, self._frame, self._anchor = boot_id, -1, None

    def _follow(self, firmware) -> None:
        state, faults = firmware.state, firmware.faults
        if faults or state is BoardState.IDLE:
            self._drop(faults)
            return
        if self._points or state is BoardState.MOVE:
            self._play()
        elif self._anchor is not None and ahead_us(self._frame_at_us, self._anchor[0]) > self._follow_us:
            self._anchor = None
        if state is BoardState.MOVE:
            if self._anchor is not None and self._points:
                self._compare_line(firmware)
        elif self._points:
            self._drop(0)
        else:
            self._rate = FULL_RATE if self._ends_at_rest else 0

    def _play(self) -> None:
        """Advance the play clock by a frame."""
        left = ahead_us(self._points[-1][0], self._played_us) if self._points else 0
        self._rate = min(self._rate + FULL_RATE * self._frame_us // 500_000, FULL_RATE)
        if not self._ends_at_rest:
            self._rate = min(self._rate, FULL_RATE * left // 40_000)
        self._pass(self._played_us + (left if left <= 2_000 else min(left, self._frame_us * self._rate // FULL_RATE)))
        while self._points and self._anchor and ahead_us(self._frame_at_us, self._played_us) > 0:
            end_us, pulses = self._points[0]
            if not self._same(self._anchor[1], pulses):
                break
            self._pass(end_us if ahead_us(end_us, self._frame_at_us) < 0 else self._frame_at_us)

    def _pass(self, played_us: int) -> None:
        self._played_us = played_us
        while self._points and ahead_us(self._points[0][0], played_us) <= 0:
            self._anchor = self._points.popleft()
            self.counts.executed += 1

    def _drop(self, faults: int) -> None:
        self.counts.dropped += len(self._points)
        if not (faults or self._excuse_drop):
            self.counts.dropped_without_cause += len(self._points)
        self._points.clear()
        self._anchor = None

    def _compare_line(self, firmware) -> None:
        """Whether the outputs are on the line from the point passed last to the next one."""
        (start_us, start), (end_us, end) = self._anchor, self._points[0]
        share = ahead_us(self._played_us, start_us) / ahead_us(end_us, start_us)
        self.counts.frames_compared += 1
        for joint, pulse in enumerate(firmware.pulses):
            if not firmware.owned >> joint & 1:
                continue
            wanted = start[joint] + share * (end[joint] - start[joint])
            before = self._outputs[0][joint] if self._outputs else pulse
            limited = abs(wanted - before) >= self._limits[joint].speed
            if abs(pulse - wanted) > TOLERANCE and not limited:
                self.counts.frames_off_line += 1
                self._trouble(f"{self._names[joint]} at {pulse}, the line is at {wanted:.1f} (1/8 us)")
                return

    def _compare_telemetry(self, told: Telemetry) -> None:
        """Telemetry of the frame looked at last, and of this boot, tells what the books tell."""
        if told.boot_id != self._boot_id or told.time_us // self._frame_us - 1 != self._frame:
            return
        self.counts.telemetry_compared += 1
        on_way = self._points or (self._anchor is not None and not self._ends_at_rest)
        behind_ms = ahead_us(self._frame_at_us, self._played_us) // 1000 if on_way else 0
        ours = (len(self._points), behind_ms, self._accepted_in_boot & 0xFFFF)
        said = told.queue_depth, told.behind_ms, told.accepted
        if said != ours:
            self.counts.telemetry_wrong += 1
            self._trouble(f"set-points queued, how far behind [ms], accepted: the board tells of {said}, the books of {ours}")

    def _trouble(self, text: str) -> None:
        self.counts.first_trouble = self.counts.first_trouble or f"board time {self._frame_at_us} us: {text}"

    def _compare_step(self, firmware) -> None:
        pulses, live = firmware.pulses, firmware.live
        if self._outputs is not None:
            before, was_live = self._outputs
            for joint, limits in enumerate(self._limits):
                if live & was_live & 1 << joint:
                    share = abs(pulses[joint] - before[joint]) / limits.speed
                    if share > self.counts.worst_step_share:
                        self.counts.worst_step_share = share
                        self.counts.worst_step = f"{self._names[joint]}, {before[joint]} -> {pulses[joint]} (1/8 us)"
        self._outputs = pulses, live
