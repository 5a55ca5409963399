"""A line between host and board that loses, damages, holds and delays, by a script, on virtual time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from picker_dynamics.board.protocol import FrameDecoder, SetPoint
from picker_dynamics.sim.board_in_memory import BoardInMemory

TO_BOARD, TO_HOST = "to the board", "to the host"


@dataclass(frozen=True)
class Fault:
    """What the line does from ``begin_s`` on, for ``seconds``.

    Attributes:
        hold: bytes wait until the fault is over; else they are lost where ``lose`` says so.
        lose: share of pieces (a frame of the host, what the board said at once) that are lost.
        damage: share of bytes that are damaged.
        late_s, jitter_s: by which what gets through is late, and by how much more at the most; the order stays.
        ways: on which it does that.
        only: pieces that it is about; default: all.
    """

    begin_s: float
    seconds: float
    hold: bool = False
    lose: float = 0.0
    damage: float = 0.0
    late_s: float = 0.0
    jitter_s: float = 0.0
    ways: tuple[str, ...] = (TO_BOARD, TO_HOST)
    only: Callable[[bytes], bool] = lambda _data: True


class BadLine(BoardInMemory):
    """A board in memory behind a line with faults, whose times count from ``begin`` on."""

    def __init__(self, *arguments, faults=(), seed=0, **options):
        self.faults: tuple[Fault, ...] = tuple(faults)
        self.begun_s, self._rng = float("inf"), np.random.default_rng(seed)
        self._on_way: dict[str, deque[tuple[float, bytes]]] = {TO_BOARD: deque(), TO_HOST: deque()}
        super().__init__(*arguments, **options)

    def begin(self) -> None:
        """Let the times of the faults count from now on."""
        self.begun_s = self.time_s

    def send(self, data: bytes) -> None:
        self._require_plugged()
        self._take(TO_BOARD, data)

    def deliver(self, data: bytes) -> None:
        self._take(TO_HOST, data)

    def _advance_firmware(self) -> None:
        self._hand_on()
        super()._advance_firmware()

    def _due_s(self) -> float | None:
        due = [way[0][0] for way in self._on_way.values() if way]
        own = super()._due_s()
        return min([*due, *([] if own is None else [own])], default=None)

    def _take(self, way: str, data: bytes) -> None:
        at_s = self.time_s
        for fault in self.faults:
            since_s = self.time_s - self.begun_s - fault.begin_s
            if way not in fault.ways or not 0.0 <= since_s < fault.seconds or not fault.only(data):
                continue
            if self._rng.random() < fault.lose:
                return
            if fault.damage:
                hit = self._rng.random(len(data)) < fault.damage
                data = bytes(byte ^ int(self._rng.integers(1, 256)) if one else byte for byte, one in zip(data, hit))
            if fault.hold:
                at_s = self.begun_s + fault.begin_s + fault.seconds
            at_s = max(at_s, self.time_s + fault.late_s + fault.jitter_s * self._rng.random())
        waiting = self._on_way[way]
        waiting.append((max(at_s, waiting[-1][0]) if waiting else at_s, data))
        self._hand_on()

    def _hand_on(self) -> None:
        for way, waiting in self._on_way.items():
            while waiting and waiting[0][0] <= self.time_s + 1e-9:
                data = waiting.popleft()[1]
                if way == TO_BOARD:
                    self._receive(data, self.time_s)
                else:
                    super().deliver(data)


def carries_setpoint(data: bytes) -> bool:
    """Whether these bytes of the host hold a set-point."""
    return any(isinstance(message, SetPoint) for _, message in FrameDecoder().feed(data))


FAULT_S = 0.8

PASSING = {
    "holds bytes for 0.1 s": Fault(FAULT_S, 0.1, hold=True),
    "holds bytes for 0.2 s": Fault(FAULT_S, 0.2, hold=True),
    "loses all for 0.1 s": Fault(FAULT_S, 0.1, lose=1.0),
    "loses all for 0.2 s": Fault(FAULT_S, 0.2, lose=1.0),
    "damages one byte of a hundred": Fault(FAULT_S, 0.3, damage=0.01),
    "is 90 to 120 ms late for 1.5 s": Fault(FAULT_S, 1.5, late_s=0.09, jitter_s=0.03),
}
"""What delays a motion, and no more."""

BROKEN = {
    "loses all for 0.9 s": Fault(FAULT_S, 0.9, lose=1.0),
    "holds bytes for 1.2 s": Fault(FAULT_S, 1.2, hold=True),
    "damages one byte of ten": Fault(FAULT_S, 1.0, damage=0.1),
    "loses set-points alone for a bit more than the board bridges": Fault(
        FAULT_S, 0.26, lose=1.0, ways=(TO_BOARD,), only=carries_setpoint
    ),
    "loses set-points alone for 1 s": Fault(FAULT_S, 1.0, lose=1.0, ways=(TO_BOARD,), only=carries_setpoint),
}
"""What ends it."""
