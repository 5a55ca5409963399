"""Clock fit: offset and drift of the board's clock against the host's, from arrivals that may be late but never early.

A telemetry frame that left at board time b arrives at host time h = a + r b + (delay beyond the least one).
The line (a, r) is the one that lies below all arrivals and closest to them [1]: an edge of their lower convex
hull, the one above the middle of the window.  Late arrivals, however many, do not move it.  The least delay
itself is taken from round trips: half way between sending and receiving it was the board's time of answer.

References:
    [1] S. Moon, P. Skelly, D. Towsley, "Estimation and Removal of Clock Skew from Network Delay
        Measurements", INFOCOM 1999.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from picker_dynamics.errors import LinkError

from .protocol import TIME_MODULUS, ahead_us

WINDOW_S = 10.0
BUCKET_S = 0.25
SLOPE_SPAN_S = 0.5
"""Before this much time has been seen the board's clock counts as exact."""
DRIFT_MAX = 0.01
"""A resonator is off by up to 0.5 %; what looks worse is jitter."""
EARLY_S = 0.02
"""An arrival this much before the line: the board's time has jumped, begin anew."""
LATE_S = 0.005
LATE_BUCKETS = 8
"""So many buckets in a row with no arrival closer to the line than LATE_S: begin anew from them."""
LATENCY_MAX_S = 0.05
ROUND_TRIPS = 32
ROUND_TRIPS_MIN = 5
"""Fewer may all have been slow ones."""


class _Line(NamedTuple):
    """Arrival h = offset + rate b, both in seconds since the first sample (host_0 [s], board_0 [us])."""

    host_0: float
    board_0: int
    offset: float
    rate: float

    def delay(self, b: float, h: float) -> float:
        """How much later than the line the sample (b, h) arrived [s]."""
        return h - self.offset - self.rate * b


class ClockFit:
    """Offset and drift of the board's clock, fitted over a sliding window.

    One thread adds, any thread asks: the fitted line is replaced as a whole.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget everything: the board has started anew."""
        self._line: _Line | None = None
        self._latency_s = 0.0
        self._newest_us = 0  # board time of the newest sample, since the first one, without wrap-around
        self._closed: deque[tuple[float, float]] = deque(maxlen=round(WINDOW_S / BUCKET_S))
        self._open = (0.0, 0.0)  # the best sample of the present bucket
        self._open_until = BUCKET_S
        self._late = 0
        self._round_trips: deque[tuple[float, float, float]] = deque(maxlen=ROUND_TRIPS)

    @property
    def drift(self) -> float:
        """How much faster than the host's the board's clock runs, as a share (0.005: 5 ms a second ahead)."""
        line = self._line
        return 1.0 / line.rate - 1.0 if line else 0.0

    @property
    def latency_s(self) -> float:
        """Least one-way delay of telemetry [s]; 0 before the first round trip."""
        return self._latency_s

    def add(self, host_s: float, board_us: int) -> None:
        """Telemetry built at board time ``board_us`` (modulo 2^32) arrived at ``host_s`` [s, monotonic].

        A board time that runs backwards, or an arrival far too early, means another clock: begin anew.
        """
        line = self._line
        if line is None:
            self._line = _Line(host_s, board_us, 0.0, 1.0)
            return
        since_first_us = self._newest_us + ahead_us(board_us, line.board_0 + self._newest_us)
        b, h = since_first_us * 1e-6, host_s - line.host_0
        delay = line.delay(b, h)
        if since_first_us <= self._newest_us or delay < -EARLY_S:
            self.restart()
            self.add(host_s, board_us)
            return
        self._newest_us = since_first_us
        if b >= self._open_until:
            self._close_bucket(line)
            self._open, self._open_until = (b, h), b + BUCKET_S
            self._fit(line)
        elif delay < line.delay(*self._open):
            self._open = (b, h)
            if delay < 0.0:
                self._fit(line)

    def add_round_trip(self, sent_s: float, board_us: int, received_s: float) -> None:
        """The board answered at ``board_us`` [us] to what left at ``sent_s``; back at ``received_s`` [s]."""
        line = self._line
        if line is None:
            return
        middle = (sent_s + received_s) / 2.0
        b = (self._newest_us + ahead_us(board_us, line.board_0 + self._newest_us)) * 1e-6
        self._round_trips.append((received_s - sent_s, b, middle - line.host_0))
        self._measure_latency(line)

    def board_us(self, host_s: float) -> int:
        """Board time [us], modulo 2^32, at host time ``host_s`` [s, monotonic].

        Raises:
            LinkError: before the first sample.
        """
        line = self._line
        if line is None:
            raise LinkError("the board's time is not known yet: no telemetry has arrived")
        b = (host_s - line.host_0 + self._latency_s - line.offset) / line.rate
        return (line.board_0 + round(b * 1e6)) % TIME_MODULUS

    def _close_bucket(self, line: _Line) -> None:
        self._late = self._late + 1 if line.delay(*self._open) > LATE_S else 0
        self._closed.append(self._open)
        if self._late >= LATE_BUCKETS:
            self._closed = deque(list(self._closed)[-LATE_BUCKETS:], maxlen=self._closed.maxlen)
            self._round_trips.clear()
            self._late = 0

    def _fit(self, line: _Line) -> None:
        samples = [*self._closed, self._open]
        rate = _slope(samples) if samples[-1][0] - samples[0][0] >= SLOPE_SPAN_S else 1.0
        rate = min(max(rate, 1.0 - DRIFT_MAX), 1.0 + DRIFT_MAX)
        self._line = line._replace(offset=min(h - rate * b for b, h in samples), rate=rate)
        self._measure_latency(self._line)

    def _measure_latency(self, line: _Line) -> None:
        if len(self._round_trips) >= ROUND_TRIPS_MIN:
            _, b, middle = min(self._round_trips)  # the shortest is the one whose middle is known best
            self._latency_s = min(max(-line.delay(b, middle), 0.0), LATENCY_MAX_S)


def _slope(samples: list[tuple[float, float]]) -> float:
    """Slope of the line below all ``samples`` (b, h) that is highest at their mean b: it passes through two of them."""
    b, h = np.array(samples).T
    first, second = np.triu_indices(len(b), 1)
    slopes = (h[second] - h[first]) / (b[second] - b[first])
    highest = (h - np.outer(slopes, b)).min(axis=1) + slopes * b.mean()
    return float(slopes[highest.argmax()])
