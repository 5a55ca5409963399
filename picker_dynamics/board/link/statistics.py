"""Statistics of a serial link: counters, kept by the link, and a copy with the figures of the moment for whoever asks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..protocol import Reason


@dataclass
class LinkStatistics:
    """Counters of a link since it was made, and figures of the moment; round trips are those of the last 512 pings.

    Attributes:
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
    connected: bool = False
    retransmissions: int = 0
    round_trip_median_ms: float | None = None
    round_trip_p99_ms: float | None = None
    latency_ms: float = 0.0
    drift_ppm: float = 0.0
    telemetry_age_ms: float | None = None


def share_below(values: list[float], share: float) -> float | None:
    """The value below which ``share`` of the values lie; None of none."""
    return sorted(values)[round(share * (len(values) - 1))] if values else None
