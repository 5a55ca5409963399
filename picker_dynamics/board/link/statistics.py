"""Statistics of a serial link: counters and round trips, kept by the link, read as a frozen snapshot."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..protocol import Reason

ROUND_TRIPS = 512


@dataclass(frozen=True)
class LinkStatistics:
    """Snapshot of a link's counters.  They run since the Link was made; round trips are those of the last 512 pings.

    Args:
        connected: True while the board is heard.
        frames_sent, frames_received: Good frames.
        frames_damaged: Frames from the board with wrong stuffing, length or checksum.
        frames_missed: Gaps in the board's sequence numbers.
        telemetry_received: Telemetry frames.
        setpoints_sent: Set-points handed to the operating system.
        setpoints_not_sent: Set-points that failed with a LinkError: the board takes no data, or the link is lost.
        setpoints_refused: Set-points that the board refused, by reason.
        retransmissions: Requests sent again.
        losses, connections: Times that the link was lost, and made.
        board_restarts: Boot id changes seen.
        round_trip_median_ms, round_trip_p99_ms: Ping to Ack; None before the first.
        latency_ms: Least one-way delay of telemetry.
        drift_ppm: How much faster the board's clock runs than the host's.
        telemetry_age_ms: Time since the last telemetry; None before the first.
    """

    connected: bool
    frames_sent: int
    frames_received: int
    frames_damaged: int
    frames_missed: int
    telemetry_received: int
    setpoints_sent: int
    setpoints_not_sent: int
    setpoints_refused: Mapping[Reason, int]
    retransmissions: int
    losses: int
    connections: int
    board_restarts: int
    round_trip_median_ms: float | None
    round_trip_p99_ms: float | None
    latency_ms: float
    drift_ppm: float
    telemetry_age_ms: float | None


@dataclass
class LinkCounters:
    """The counters behind the snapshot; the names are those of :class:`LinkStatistics`."""

    frames_sent: int = 0
    frames_received: int = 0
    frames_damaged: int = 0
    frames_missed: int = 0
    telemetry_received: int = 0
    setpoints_sent: int = 0
    setpoints_not_sent: int = 0
    setpoints_refused: Counter[Reason] = field(default_factory=Counter)
    losses: int = 0
    connections: int = 0
    board_restarts: int = 0
    round_trips_s: deque[float] = field(default_factory=lambda: deque(maxlen=ROUND_TRIPS))

    def snapshot(self, **rest: Any) -> LinkStatistics:
        """The counters, frozen, with the figures that the link knows."""
        counters = {name: value for name, value in vars(self).items() if name != "round_trips_s"}
        counters["setpoints_refused"] = MappingProxyType(dict(self.setpoints_refused))
        trips = sorted(1e3 * trip for trip in tuple(self.round_trips_s))
        return LinkStatistics(**counters, **rest, round_trip_median_ms=_share(trips, 0.5), round_trip_p99_ms=_share(trips, 0.99))


def _share(rising: list[float], share: float) -> float | None:
    """The value below which ``share`` of the sorted values lie; None of none."""
    return rising[round(share * (len(rising) - 1))] if rising else None
