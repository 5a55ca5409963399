"""Compile-time configuration of the firmware, and each joint's limits in it: shared by header, host and simulated boards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.robot.servo_map import ServoMap

from ..protocol import Info, JointLimits, limits_checksum
from ..protocol.codes import JOINTS_MAX

ADC_REFERENCE_MV, ADC_COUNTS = 5000, 1024
"""Range of an Uno's analogue inputs [mV], and its steps."""

BRAKE_TIME_S = 0.2
"""In which a board brakes a servo's no-load speed away [s]."""


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
    firmware_version: tuple[int, int, int] = (0, 2, 0)
    start_time_us: int = 0

    def __post_init__(self) -> None:
        if not 0 < len(self.joints) <= JOINTS_MAX:
            raise ConfigurationError(
                f"{len(self.joints)} joints: a board drives at most {JOINTS_MAX}", value=len(self.joints), limit=JOINTS_MAX
            )


def board_limits(servo_map: ServoMap) -> tuple[JointLimits, ...]:
    """Pulse, speed and braking limits of every joint, in the order of the map: one source for firmware, simulation and host.

    The pulses are those of the set-point range, so that the board too knows the ends of the map and how far a joint that grips
    may press; the speed is the fastest that a set-point may move.  It brakes as from the servo's no-load speed in 0.2 s.
    """
    ends = np.sort([servo_map.to_pulse_us(servo_map.setpoint_lower), servo_map.to_pulse_us(servo_map.setpoint_upper)], axis=0)
    limits = []
    for servo, lowest_us, highest_us in zip(servo_map.servos, *ends):
        slope_us = (servo.pulses_us[-1] - servo.pulses_us[0]) / (servo.horn_angles[-1] - servo.horn_angles[0])
        limits.append(
            JointLimits.from_us(
                float(lowest_us),
                float(highest_us),
                servo.setpoint_speed * slope_us,
                frame_s=servo_map.frame_s,
                brake_time_s=BRAKE_TIME_S * servo.setpoint_speed / servo.no_load_speed,
            )
        )
    return tuple(limits)


def board_difference(info: Info, servo_map: ServoMap) -> str:
    """What a board was flashed for where that is not this servo map, with both figures; '' where it is."""
    here, there = limits_checksum(board_limits(servo_map)), info.limits_crc
    if info.joints != servo_map.n:
        return f"{info.joints} joints, the servo map has {servo_map.n}"
    return "" if there == here else f"other pulse or speed limits (checksum {there:#06x}, the servo map's is {here:#06x})"
