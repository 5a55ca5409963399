"""Audit of a board, independent of its firmware: what became of each set-point that reached it.

It sees the bytes that come and go and the outputs after each servo frame, and knows the protocol, nothing of the firmware's
inside.  A set-point was *accepted* where no refusal was sent; it was *executed* where the outputs ran along the line between
the accepted points until its time was past, which is computed here anew; it was *dropped* where the board, by a fault, a stop
or a reset, left that line before.  Lines are evaluated at the middle of each frame, as docs/protocol.md says.  The depth of
the queue and the count of accepted set-points that the board's telemetry tells have to be those of the books.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from picker_dynamics.board.protocol import (
    BoardState,
    Disable,
    FrameDecoder,
    Hello,
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
        telemetry_compared, telemetry_wrong: telemetry whose depth of the queue and count of accepted set-points were compared
            with the books, and those that told otherwise.
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
        self._anchor: tuple[int, tuple[int, ...]] | None = None
        self._last_accepted_us: int | None = None
        self._boot_id: int | None = None
        self._accepted_in_boot: int | None = None
        self._frame = -1
        self._played_us = 0
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
        for point in self._asked.values():
            self._accept(point)
        self._asked.clear()

    def _accept(self, point: SetPoint) -> None:
        self.counts.accepted += 1
        if self._accepted_in_boot is not None:
            self._accepted_in_boot += 1
        if not self._points:
            self._anchor = None  # the line starts where the outputs are
        if self._last_accepted_us is not None and self._points and ahead_us(point.time_us, self._last_accepted_us) <= 0:
            self.counts.repeated += 1
        self._last_accepted_us = point.time_us
        self._points.append((point.time_us, point.pulses))

    def look(self, firmware, now_us: int) -> None:
        """Look at the outputs; called at least once a frame, after the firmware has advanced to ``now_us``."""
        if firmware.boot_id != self._boot_id:
            self._reset(firmware.boot_id)
        board_us = firmware.board_time_us(now_us)
        frame = -1 if board_us >= 1 << 31 else board_us // self._frame_us - 1
        if frame <= self._frame or frame < 0:
            return
        self._frame = frame
        self._played_us = frame * self._frame_us + self._frame_us + self._frame_us // 2
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
        while self._points and ahead_us(self._points[0][0], self._played_us) <= 0:
            self._anchor = self._points.popleft()
            self.counts.executed += 1
        if state is BoardState.MOVE and self._anchor is not None and self._points:
            self._compare_line(firmware)
        elif state is not BoardState.MOVE and self._points:
            self._drop(0)
        if state is not BoardState.MOVE:
            self._anchor = None

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
        ours = (len(self._points), self._accepted_in_boot & 0xFFFF)
        if (told.queue_depth, told.accepted) != ours:
            self.counts.telemetry_wrong += 1
            self._trouble(
                f"the board tells of {told.queue_depth} queued and {told.accepted} accepted set-points, the books of "
                f"{ours[0]} and {ours[1]}"
            )

    def _trouble(self, text: str) -> None:
        self.counts.first_trouble = self.counts.first_trouble or f"board time {self._played_us} us: {text}"

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
