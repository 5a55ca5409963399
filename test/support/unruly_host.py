"""A host with bad manners on a bad line, for tests that compare two boards."""

from __future__ import annotations

import random

from picker_dynamics.board.protocol import (
    Adopt,
    BoardState,
    Disable,
    Enable,
    Hello,
    Ping,
    Relax,
    Reset,
    SetPoint,
    Stop,
    Telemetry,
    TelemetryPeriod,
    encode,
)
from picker_dynamics.board.protocol.framing import build

JOINTS = 5
ALL = 0b11111
DAMAGED = 0.3
"""Share of the frames that the line damages."""


class UnrulyHost:
    """Frames from a host that does nonsense now and then, and gets the arm going again and again; it looks at the telemetry."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.sequence = 0
        self.stamp_us = 0
        self.goal = [12_000] * JOINTS

    def next(self, last: Telemetry, now_us: int) -> bytes:
        """The next frame as it comes out of the line."""
        message = self._helpful(last, now_us) if self.rng.random() < 0.85 else self._any(last, now_us)
        wire = message if isinstance(message, bytes) else encode(message, self._number())
        return self._damaged(wire) if self.rng.random() < DAMAGED else wire

    def silence_us(self) -> int:
        """How long it says nothing, in whole servo frames: now and then so long that the queue runs out, or the host is lost."""
        return 20_000 * self.rng.randrange(3, 25) if self.rng.random() < 0.02 else 0

    def _number(self) -> int:
        roll = self.rng.random()
        if roll < 0.03:  # sent again
            return self.sequence
        self.sequence = self.sequence + (self.rng.randrange(2, 6) if roll < 0.06 else 1) & 0xFFFF
        return self.sequence - 3 & 0xFFFF if roll > 0.98 else self.sequence

    def _helpful(self, last: Telemetry, now_us: int):
        if last.faults:
            return Reset()
        off = ~last.live & ALL
        if off and last.state in (BoardState.IDLE, BoardState.HOLD):
            self.goal = [self.rng.randrange(9500, 19_000) for _ in range(JOINTS)]
            return Enable(off, tuple(goal if off >> joint & 1 else 0 for joint, goal in enumerate(self.goal)))
        if last.owned != ALL and last.state in (BoardState.IDLE, BoardState.HOLD):
            return Adopt(last.live & ~last.owned)
        if last.queue_depth > 12:
            return Ping()
        self.stamp_us = max(self.stamp_us, now_us + 30_000) + self.rng.choice((5_000, 10_000, 20_000, 35_000))
        self.goal = [min(19_900, max(9_000, pulse + self.rng.randrange(-900, 901))) for pulse in last.pulses]
        return SetPoint(self.stamp_us, tuple(self.goal))

    def _any(self, last: Telemetry, now_us: int):
        rng = self.rng
        pulses = tuple(rng.randrange(0, 32_768) for _ in range(JOINTS))
        return rng.choice(
            (
                Hello(),
                Ping(),
                Ping(),
                Ping(),
                Stop(),
                Reset(),
                TelemetryPeriod(rng.choice((0, 1, 1001))),
                Enable(rng.randrange(64), pulses),
                Adopt(rng.randrange(64)),
                Disable(1 << rng.randrange(6)),
                *([Relax()] if rng.random() < 0.2 else []),
                SetPoint(now_us - rng.randrange(50_000), last.pulses),
                SetPoint(now_us + 2_100_000, last.pulses),
                SetPoint(rng.randrange(2**32), pulses),
                SetPoint(now_us + 300_000, pulses),
                SetPoint(now_us + 90_000, pulses[:3]),
                build(2, rng.randrange(256), self._number(), rng.randbytes(rng.randrange(20))),
                build(1, rng.randrange(256), self._number(), rng.randbytes(rng.randrange(20))),
            )
        )

    def _damaged(self, wire: bytes) -> bytes:
        rng, data = self.rng, bytearray(wire)
        at = rng.randrange(len(data))
        kind = rng.randrange(5)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at]
        elif kind == 2:
            data.insert(at, rng.randrange(256))
        elif kind == 3:
            del data[at : at + rng.randrange(1, 8)]
        else:
            data[at:at] = rng.randbytes(rng.randrange(1, 40))
        return bytes(data)
