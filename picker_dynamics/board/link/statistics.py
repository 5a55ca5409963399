"""Counters and figures of a serial link."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..protocol import Reason


@dataclass
class LinkStatistics:
    """Counters of a link since it was made, and figures of the moment; round trips are those of the last 512 pings.

    Attributes:
        frames_received: Good frames.
        frames_damaged: Frames from the board with wrong stuffing, length or checksum.
        frames_missed: Gaps in the board's sequence numbers.
        setpoints_sent: Set-points handed to the operating system.
        setpoints_not_sent: Set-points that failed with a LinkError: the board takes no data, or the link is lost.
        setpoints_refused: Set-points that the board refused, by reason.
        losses: Times that the link was lost.
        retransmissions: Requests sent again.
        connected: True while the board is heard.
        round_trip_median_ms, round_trip_p99_ms: Ping to Ack; None before the first.
        latency_ms: Least one-way delay of telemetry.
        drift_ppm: How much faster the board's clock runs than the host's.
    """

    frames_received: int = 0
    frames_damaged: int = 0
    frames_missed: int = 0
    setpoints_sent: int = 0
    setpoints_not_sent: int = 0
    setpoints_refused: Counter[Reason] = field(default_factory=Counter)
    losses: int = 0
    retransmissions: int = 0
    connected: bool = False
    round_trip_median_ms: float | None = None
    round_trip_p99_ms: float | None = None
    latency_ms: float = 0.0
    drift_ppm: float = 0.0
