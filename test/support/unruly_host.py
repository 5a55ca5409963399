"""Random host on a bad line, for tests that compare two boards: it does nonsense now and then, and gets the arm going again."""

import random

from picker_dynamics.board.protocol import (
    PROTOCOL_VERSION,
    TIME_MODULUS,
    Adopt,
    BoardState,
    Disable,
    Enable,
    Halt,
    Hello,
    Ping,
    Relax,
    Reset,
    SetPoint,
    Stop,
    TelemetryPeriod,
    ahead_us,
    encode,
)
from picker_dynamics.board.protocol.framing import build

LOWEST, HIGHEST = 9_000, 14_900
"""Where it moves the joints [1/8 us]."""
DAMAGED = 0.3
"""Share of the frames that the line damages."""


class UnrulyHost:
    """Frames of a host that looks at what the board does.

    Args:
        seed: of its whims.
        joints: of the board.
        periods: of telemetry, that it asks for [ms].
    """

    def __init__(self, seed: int, joints: int = 5, periods=(0, 1, 1001)):
        self.rng = random.Random(seed)
        self.joints, self.all, self.periods = joints, (1 << joints) - 1, periods
        self.sequence = 0
        self.stamp_us, self.goal = 0, (LOWEST,) * joints

    def next(self, last, now_us: int) -> bytes:
        """The next frame as it comes out of the line; ``last``: telemetry, or a board."""
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

    def _helpful(self, last, now_us: int):
        if last.faults:
            return Reset()
        off = ~last.live & self.all
        if off and last.state in (BoardState.IDLE, BoardState.HOLD):
            return Enable(off, tuple(self.rng.randrange(LOWEST, HIGHEST) if off >> k & 1 else 0 for k in range(self.joints)))
        if last.owned != self.all and last.state in (BoardState.IDLE, BoardState.HOLD):
            return Adopt(last.live & ~last.owned)
        if last.queue_depth > 12:
            return Ping()
        ahead = max(ahead_us(self.stamp_us, now_us), self.rng.choice((-120_000, 0, 30_000, 60_000)))
        ahead += self.rng.choice((5_000, 10_000, 20_000, 35_000))
        self.stamp_us = (now_us + (ahead if ahead < 2_000_000 else 30_000)) % TIME_MODULUS
        moves = last.state is BoardState.MOVE
        reach = self.rng.choice((0, 90, 900, 900, 900) if moves else (0, 2, 2, 90))
        self.goal = tuple(
            min(max(HIGHEST, pulse), max(min(LOWEST, pulse), pulse + self.rng.randint(-reach, reach)))
            for pulse in (self.goal if moves else last.pulses)
        )
        return SetPoint(self.stamp_us, self.goal)

    def _any(self, last, now_us: int):
        rng = self.rng
        pulses = tuple(rng.randrange(0, 32_768) for _ in range(self.joints))
        wild = lambda version: build(version, rng.randrange(256), self._number(), rng.randbytes(rng.randrange(24)))  # noqa: E731
        point = lambda ahead, at: SetPoint((now_us + ahead) % TIME_MODULUS, at)  # noqa: E731
        choices = [
            *(Hello(), Ping(), Ping(), Ping(), Stop(), Halt(), Reset(), TelemetryPeriod(rng.choice(self.periods))),
            *(
                Enable(rng.randrange(min(256, 2 << self.joints)), pulses),
                Adopt(rng.randrange(min(256, 2 << self.joints))),
                Disable(1 << rng.randrange(min(8, self.joints + 1))),
            ),
            *(point(-rng.randrange(50_000), last.pulses), point(2_100_000, last.pulses), point(rng.randrange(2**32), pulses)),
            SetPoint((self.stamp_us + 300_000) % TIME_MODULUS, last.pulses),
            *(point(300_000, pulses), point(90_000, pulses[:-2]), wild(PROTOCOL_VERSION), wild(PROTOCOL_VERSION + 1)),
            *([Relax()] if rng.random() < 0.2 else []),
        ]
        return rng.choice(choices)

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
