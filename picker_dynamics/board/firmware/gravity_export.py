"""The picker's gravity, as the firmware computes it: three moments and three pulse maps.

    t_i = g P_i cos a_i,    shoulder = t1 + t2 + t3,    elbow = t2 + t3,    wrist = t3

with the closed form's P_i (docs/derivations.md, "Strawberry picker").  A map is pieces of straight lines, and each piece has
the gain 1/(K slope) that turns a change of torque into a change of the pulse; see core/gravity.h of the firmware.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.picker_shape import read_shape
from picker_dynamics.robot.servo_map import Servo, ServoMap

from ..protocol import PULSE_UNITS_PER_US, pulse_units

CHANGE_MAX = 32766
"""Largest change of a pulse [1/8 us]: 16 bits, rounded."""


@dataclass(frozen=True)
class MapPiece:
    """A straight piece of a joint's map.

    Attributes:
        pulse: where it starts [1/8 us].
        angle: of the joint there [rad].
        slope: [rad per 1/8 us].
        gain: 1/(K slope) [1/8 us per N·m].
    """

    pulse: int
    angle: float
    slope: float
    gain: float


@dataclass(frozen=True)
class GravityModel:
    """Constants of the firmware's gravity compensation, as gravity.h's struct of the same name holds them.

    Attributes:
        pitch: indices of shoulder, elbow and wrist among the joints.
        moments: g P1, g P2, g P3 [N·m].
        maps: pieces of shoulder, elbow and wrist.
    """

    pitch: tuple[int, int, int]
    moments: tuple[float, float, float]
    maps: tuple[tuple[MapPiece, ...], ...]


def gravity_model(servo_map: ServoMap, description: ArmDescription) -> GravityModel:
    """The gravity of an arm of the picker's shape.

    Args:
        servo_map: of the description's joints, in their order.

    Raises:
        DescriptionError: the arm has another shape; says in what.
        ConfigurationError: a servo so soft that the change of its pulse does not fit the firmware's numbers.
    """
    k = lagrangian.from_description(description).constants
    moments = (k.g * k.P1, k.g * k.P2, k.g * k.P3)
    pitch = read_shape(description).columns[1:]
    maps = tuple(_pieces(servo_map.servos[joint]) for joint in pitch)
    for joint, pieces in zip(pitch, maps):
        largest = 2.0 * sum(moments) * max(abs(piece.gain) for piece in pieces)
        if largest > CHANGE_MAX:
            name, stiffness = servo_map.joint_names[joint], servo_map.servos[joint].stiffness
            raise ConfigurationError(
                f"{name}: stiffness {stiffness} N·m/rad is too low for the firmware's gravity",
                subject=name,
                value=stiffness,
                limit=stiffness * largest / CHANGE_MAX,
            )
    return GravityModel(pitch, moments, maps)


def _pieces(servo: Servo) -> tuple[MapPiece, ...]:
    """The map's pieces; points between two units are moved to the nearest, along the line."""
    pulses = [pulse_units(pulse_us) for pulse_us in servo.pulses_us]
    angles = servo.to_angle(np.array(pulses) / PULSE_UNITS_PER_US)
    slopes = np.diff(angles) / np.diff(pulses)
    return tuple(
        MapPiece(pulse, float(angle), float(slope), float(1.0 / (servo.stiffness * slope)))
        for pulse, angle, slope in zip(pulses, angles, slopes)
    )
