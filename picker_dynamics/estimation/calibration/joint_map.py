"""Servo map of one joint, pulse <-> position, from where it stands at some pulses: direction, zero and scale.

    q_cmd = direction (scale horn(pulse) - zero)

q_cmd is the angle that was read with the sag taken off, as far as the servo is known by now; what is left of it the droop
finds later.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from picker_dynamics.errors import refuse_if
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.servo_map import Servo

from .instruments import Inclinometer, inclinometer_on
from .statics import level_joints

SHARE_MIN, SHARE_MAX = 0.6, 1.6
"""Of the angle per microsecond that was believed: beyond is another servo, or a slip."""


def tilted_links(description: ArmDescription, name: str) -> list[Inclinometer]:
    """Inclinometers that tell a joint's angle: on its link, after the one on the link before it, if joints tilt that; none for a
    joint whose axis is not level in every pose."""
    level = level_joints(description)
    if name not in level:
        return []
    path = [one for one in description.path_to(description.joint(name).child) if one.movable]
    before = path[-2:-1] if set(level) & {one.name for one in path[:-1]} else []
    return [inclinometer_on(description, joint.child) for joint in (*before, path[-1])]


def tilt(description: ArmDescription, name: str, q: np.ndarray, values: Sequence[float]) -> tuple[float, float]:
    """The joint's angle by the readings of its ``tilted_links``, and what the last one was expected to be after the others [rad].

    Args:
        q: (n,) where joints are believed to be [rad or m].
        values: one or two readings [rad].
    """
    sensors, poses, column = tilted_links(description, name), link_poses(description, q), description.joint_names.index(name)
    off = [math.remainder(value - float(one.of(poses)), 2.0 * math.pi) for one, value in zip(sensors, values)]
    rates = [one.rates(description, poses) for one in sensors]
    carried = 0.0
    if len(sensors) > 1:  # what tilts the link before it tilts its own as much, or the other way
        both = int(np.abs(rates[0]).argmax())
        carried = off[0] * rates[1][both] / rates[0][both]
    return float(q[column] + (off[-1] - carried) / rates[-1][column]), float(sensors[-1].of(poses)) + carried


def anchored(servo: Servo, pulse_us: float, angle: float, direction: int = 1) -> Servo:
    """The servo with its zero moved so that a pulse [us] is the set-point ``angle`` [rad or m]; ``direction`` -1: reversed."""
    servo = replace(servo, direction=direction * servo.direction)
    horn = float(np.interp(pulse_us, servo.pulses_us, servo.horn_angles))
    return replace(servo, zero=horn - servo.direction * angle)


def mapped(servo: Servo, points: Sequence[tuple[float, float]]) -> Servo:
    """The servo with the zero and the scale that points tell: pulses [us] and set-points [rad or m].

    Raises:
        InputError: a scale that no servo has.
    """
    pulses, angles = np.array(points).T
    horns, name = np.interp(pulses, servo.pulses_us, servo.horn_angles), servo.joint
    share, offset = np.polyfit(horns, servo.direction * angles, 1)
    why = f"{name}: moves {share:.2f} times as far as the servo map says: a position misread, or another servo?"
    refuse_if(not SHARE_MIN < share < SHARE_MAX, why, name, float(share), SHARE_MAX)
    return replace(servo, zero=-float(offset), horn_angles=tuple(float(share * horn) for horn in servo.horn_angles))
