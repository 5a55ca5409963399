"""The picker's gravity, as the firmware computes it: three moments and three pulse maps.

    t_i = g P_i cos a_i,    shoulder = t1 + t2 + t3,    elbow = t2 + t3,    wrist = t3

with the closed form's P_i (docs/derivations.md, "Strawberry picker").  A map is pieces of straight lines, and each piece has
the gain 1/(K slope) that turns a change of torque into a change of the pulse; see core/gravity.h of the firmware.
"""

from __future__ import annotations

import numpy as np

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.picker_shape import read_shape
from picker_dynamics.robot.servo_map import Servo, ServoMap

from ..protocol import PULSE_UNITS_PER_US, pulse_units

CHANGE_MAX = 32766
"""Largest change of a pulse [1/8 us]: 16 bits, rounded."""


Pieces = list[tuple[int, float, float, float]]
"""Straight pieces of a joint's map: where one starts [1/8 us], the joint's angle there [rad], its slope [rad per 1/8 us], and
the gain 1/(K slope) [1/8 us per N·m]."""


def gravity_model(servo_map: ServoMap, description: ArmDescription) -> tuple[list[int], list[float], list[Pieces]]:
    """The gravity of an arm of the picker's shape: shoulder, elbow and wrist among the joints, g P1 to g P3 [N·m], their maps.

    Args:
        servo_map: of the description's joints, in their order.

    Raises:
        DescriptionError: the arm has another shape; says in what.
        ConfigurationError: a servo so soft that the change of its pulse does not fit the firmware's numbers.
    """
    k = lagrangian.from_description(description).constants
    moments = [k.g * k.P1, k.g * k.P2, k.g * k.P3]
    pitch = list(read_shape(description).columns[1:])
    maps = [_pieces(servo_map.servos[joint]) for joint in pitch]
    for joint, pieces in zip(pitch, maps):
        largest = 2.0 * sum(moments) * max(abs(gain) for *_, gain in pieces)
        if largest > CHANGE_MAX:
            name, stiffness = servo_map.joint_names[joint], servo_map.servos[joint].stiffness
            raise ConfigurationError(
                f"{name}: stiffness {stiffness} N·m/rad is too low for the firmware's gravity",
                name,
                stiffness,
                stiffness * largest / CHANGE_MAX,
            )
    return pitch, moments, maps


def _pieces(servo: Servo) -> Pieces:
    """The map's pieces; points between two units are moved to the nearest, along the line."""
    pulses = [pulse_units(pulse_us) for pulse_us in servo.pulses_us]
    angles = servo.to_angle(np.array(pulses) / PULSE_UNITS_PER_US)
    slopes = np.diff(angles) / np.diff(pulses)
    return list(zip(pulses, angles.tolist(), slopes.tolist(), (1.0 / (servo.stiffness * slopes)).tolist()))
