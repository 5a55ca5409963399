"""The firmware's compile-time configuration, shared by the header that is written and by every simulated board."""

from __future__ import annotations

from dataclasses import dataclass

from picker_dynamics.errors import InputError

from ..protocol import JointLimits
from ..protocol.codes import JOINTS_MAX


@dataclass(frozen=True)
class FirmwareConfig:
    """Constants compiled into the firmware of one board.

    Args:
        joints: Limits per joint, at most eight.
        queue_capacity: Set-points that fit the queue.
        frame_us: Servo frame [us].
        resolution_ns: Smallest step of an output [ns]: 4883 for a PCA9685 at 50 Hz, 500 for timer pins.
        telemetry_period_ms: Period of the telemetry from boot on [ms].
        host_timeout_ms: Silence of the host after which an arm it owns decelerates and holds [ms].
        max_lead_ms: How far ahead a set-point may be stamped [ms].
        supply_min_mv: Servo supply below which SUPPLY_LOW is raised [mV]; 0 where it is not measured.
        firmware_version: Major, minor, patch.
        start_time_us: Board time at boot [us]; a real board starts at 0, tests start before the wrap-around.
    """

    joints: tuple[JointLimits, ...]
    queue_capacity: int = 24
    frame_us: int = 20_000
    resolution_ns: int = 4883
    telemetry_period_ms: int = 20
    host_timeout_ms: int = 250
    max_lead_ms: int = 2000
    supply_min_mv: int = 0
    firmware_version: tuple[int, int, int] = (0, 1, 0)
    start_time_us: int = 0

    def __post_init__(self) -> None:
        if not 1 <= len(self.joints) <= JOINTS_MAX:
            raise InputError(
                f"{len(self.joints)} joints: a board drives 1 to {JOINTS_MAX}", value=len(self.joints), limit=JOINTS_MAX
            )
