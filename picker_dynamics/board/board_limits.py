"""What the board enforces for each joint, derived from the servo map: one source for firmware, simulation and host.

The pulses are those of the set-point range, so that the board too knows the ends of the map and how far a joint
that grips may press; the speed is the servo's without load: a faster set-point could not be followed anyway.
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.robot.servo_map import ServoMap

from .protocol import JointLimits


def board_limits(servo_map: ServoMap) -> tuple[JointLimits, ...]:
    """Pulse, speed and braking limits of every joint, in the order of the map, in the protocol's units."""
    ends = np.sort([servo_map.to_pulse_us(servo_map.setpoint_lower), servo_map.to_pulse_us(servo_map.setpoint_upper)], axis=0)
    limits = []
    for servo, lowest_us, highest_us in zip(servo_map.servos, *ends):
        slope_us = (servo.pulses_us[-1] - servo.pulses_us[0]) / (servo.horn_angles[-1] - servo.horn_angles[0])
        limits.append(
            JointLimits.from_us(float(lowest_us), float(highest_us), servo.no_load_speed * slope_us, frame_s=servo_map.frame_s)
        )
    return tuple(limits)
