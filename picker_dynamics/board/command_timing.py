"""Command timing: when commands hold on the board's clock, and how regularly they come."""

from __future__ import annotations

import math

import numpy as np

from .protocol import TIME_MODULUS, ahead_us

SLOWEST = 0.9
"""Share of its pace at which a board's time runs on for set-points while the estimate of it is corrected backwards."""

CORRECTION_MAX_US = 100_000
"""Beyond this it is another clock, and set-points are stamped anew [us]."""

REACH_S = 0.015
"""A set-point that is sent now can be played so much later at the earliest [s]: half a servo frame, and the wire."""

LATEST_S = 0.2
"""A set-point that comes so long after the one before should have held is not followed [s]."""

RAMP_S = 0.5
"""In which set-points that were waited for come up to their pace again [s]: about a period of the arm on its servos, so that it
hardly swings (with 0.2 s its tip went 1.5 times as fast as the set-points, with 0.5 s 1.1 times)."""

START_S = 0.05
"""For the way from the outputs to a first set-point, at least [s]."""


class CatchUp:
    """Play times of set-points: as far apart as they were meant to be, however late they come.

        p = p0 + t - t0                                   in motion
        p = now + REACH_S + w(t - t0)                     where the board has run out of them, and so stands
        p = max(p0 + step, now + REACH_S, t)              where the set-point stands
        p = max(max(p0, now) + START_S, t)                the first one

    with t, p the times at which a set-point should hold and at which it does, t0, p0 those of the one before, w the way up to
    pace: w(s) = sqrt(2 s RAMP_S), and s + RAMP_S / 2 from s = RAMP_S / 2 on.  So a stall of who sends them delays a motion and
    never makes it faster; p - t is at most the longest stall and RAMP_S / 2, not the sum of all, and what was lost is made up
    where nothing moves.
    """

    def __init__(self) -> None:
        self._time_s: float | None = None
        self._played_s = -math.inf
        self._begun: tuple[float, float] | None = None

    @property
    def delay_s(self) -> float:
        """Delay of the set-point sent last: how much later than it should it is played [s]."""
        return 0.0 if self._time_s is None else self._played_s - self._time_s

    def late_s(self, now_s: float) -> float:
        """How long after its own time the last set-point is over when the next comes now; 0 where the board still plays [s]."""
        earliest_s = now_s + REACH_S
        return 0.0 if self._time_s is None or earliest_s <= self._played_s else earliest_s - self._time_s

    def restart(self) -> None:
        """Begin anew: the next set-point follows nothing, but is played after what is on its way."""
        self._time_s = None

    def played_s(self, time_s: float, now_s: float, stands: bool, step_s: float) -> float:
        """Play time [s] of a set-point for ``time_s`` that is sent now; ``stands``: it is the one before once more.

        Where nothing moves that is at least ``step_s`` after the one before [s].
        """
        earliest_s = now_s + REACH_S
        if self._time_s is None:
            self._begun = None
            return max(max(self._played_s, now_s) + START_S, time_s)
        if stands:
            self._begun = None
            return max(self._played_s + step_s, earliest_s, time_s)
        if earliest_s > self._played_s:
            self._begun = self._time_s, earliest_s
        if self._begun is None:
            return self._played_s + time_s - self._time_s
        way_s = time_s - self._begun[0]
        return self._begun[1] + (math.sqrt(2.0 * RAMP_S * way_s) if way_s < 0.5 * RAMP_S else way_s + 0.5 * RAMP_S)

    def sent(self, time_s: float, played_s: float) -> None:
        """Note that the set-point for ``time_s`` [s] was sent, to be played at ``played_s`` [s]."""
        self._time_s, self._played_s = time_s, played_s

    def stood(self, time_s: float) -> None:
        """Note that the set-point for ``time_s`` was the last one once more, and is not sent: so much is made up."""
        self._time_s, self._played_s = time_s, max(self._played_s, time_s)


class Stamps:
    """Board times of successive set-points, each after the one before, whatever becomes of the estimate of the board's clock.

    The estimate gets better, and with a fast answer after slow ones it steps back by up to 50 ms: stamped with it, the next
    set-points would lie before those that the board has queued, and it would refuse them.  So where commands start anew, too:
    the board plays what it was sent before.  Only another clock, of a board that was reset, is followed at once.
    """

    def __init__(self) -> None:
        self._last: tuple[float, int] | None = None

    def stamp(self, time_s: float, board_us: int) -> int:
        """Board time [us], modulo 2^32, for what holds at host time ``time_s``, which is ``board_us`` as far as is known."""
        if self._last is not None and time_s > self._last[0]:
            least = self._last[1] + round(SLOWEST * (time_s - self._last[0]) * 1e6)
            if 0 < ahead_us(least, board_us) < CORRECTION_MAX_US:
                board_us = least % TIME_MODULUS
        self._last = time_s, board_us
        return board_us


class CommandTiming:
    """Statistics of arrivals: noted at next to no cost; the arithmetic is done once for many."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, float]] = []

    def note(self, arrived_s: float, holds_s: float) -> None:
        """A command came at ``arrived_s`` that holds at ``holds_s``, on one clock."""
        self._rows.append((arrived_s, holds_s))

    def take(self) -> dict[str, float] | None:
        """Figures of the commands that came since the last call [ms]; None of fewer than three.

        How many came, the median and the longest time between two, the 99th percentile of what differs from the median; how long
        before it holds a command came, in the median and at worst; how many periods were longer than one and a half, and how many
        commands came after the moment at which they should have held.
        """
        rows, self._rows = self._rows, self._rows[-1:]
        if len(rows) < 3:
            return None
        arrived, holds = 1e3 * np.array(rows).T
        periods, ahead = np.diff(arrived), (holds - arrived)[1:]
        median = float(np.median(periods))
        return {
            "commands": len(periods),
            "period_ms": median,
            "period_longest_ms": float(periods.max()),
            "jitter_p99_ms": float(np.percentile(np.abs(periods - median), 99)),
            "ahead_ms": float(np.median(ahead)),
            "ahead_least_ms": float(ahead.min()),
            "missed": int((periods > 1.5 * median).sum()),
            "late": int((ahead < 0.0).sum()),
        }
