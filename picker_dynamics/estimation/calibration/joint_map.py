"""Servo map of one joint, pulse <-> position, from where it stands at some pulses: direction, zero, and the map between.

    q_cmd = direction (horn(pulse) - zero),     horn = 0 in the middle of the pulse range

q_cmd is the angle that was read with the sag taken off, as far as the servo is known by now; what is left of it the droop
finds later.  A straight line where it fits, the points themselves where the servo bends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.errors import refuse_if
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.robot.resting import resting_position
from picker_dynamics.robot.servo_map import Servo

from .instruments import SensorModel, sensor_on
from .readings import position
from .servo_figures import horn_slope, with_friction
from .statics import level_joints

STILL = math.radians(2.5), 2e-3
"""A joint that was sent 10 degrees away and turned by less does not move; for this and the next two see ``joint_way``."""

BENT = math.radians(1.5), 1.5e-3
"""Points further from a straight line than this, and than friction explains, make the map a bent one."""

APART = math.radians(15.0), 3e-3
"""Points of a bent map are at least so far apart; nearer ones count together."""

SHARE_MIN, SHARE_MAX = 0.6, 1.6
"""Of the angle per microsecond that was believed: beyond is another servo, or a slip."""


@dataclass(frozen=True)
class MapPoint:
    """A pulse [us] and the set-point ``angle`` that it is [rad, of a sliding joint m].

    Attributes:
        side: from which the joint came there, 0: not known.
        within: what friction, deadband and play may hold it back by [rad or m].
    """

    pulse_us: float
    angle: float
    side: float = 0.0
    within: float = 0.0


def tilted_links(description: ArmDescription, name: str) -> list[SensorModel]:
    """Inclinometers that tell a joint's angle: on its link, after the one on the link before it, if joints tilt that; none for a
    joint whose axis is not level in every pose."""
    level = level_joints(description)
    if name not in level:
        return []
    path = [one for one in description.path_to(description.joint(name).child) if one.movable]
    before = path[-2:-1] if set(level) & {one.name for one in path[:-1]} else []
    return [sensor_on(description, joint.child) for joint in (*before, path[-1])]


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


def setpoint_of(validator: MotionValidator, setpoints, column: int, angle: float, side: float = 0.0) -> float:
    """The set-point [rad] with which a joint rests at ``angle``, the others at their set-points (n,) [rad].

    Args:
        side: from which it came, +1 from below, -1 from above: its friction, typical where the map has none, and its gap keep it
            short of its set-point; 0: not known.
    """
    q, servos, sides = np.array(setpoints, dtype=float), validator.limits.servo_map, np.zeros(len(setpoints))
    q[column], sides[column] = angle, side
    if side:
        servos = replace(servos, servos=tuple(with_friction(one) for one in servos.servos))
    return float(servos.model.setpoint(q, np.zeros_like(q), validator.model.gravity(q), sides)[column])


def resting_at(validator: MotionValidator, setpoints, side: float = 0.0) -> np.ndarray:
    """Rest pose (n,) of the arm with these set-points [rad], by what is believed now; ``side``: from which it came, 0: not known.

    Raises:
        InfeasibleError: a load above stall torque there.
    """
    servo, still = validator.limits.servo_map.model, np.zeros(validator.limits.servo_map.n)

    def pull(q):
        motor = servo.motor_for(validator.model.gravity(q), side)
        return motor, servo.motor_slope(motor, side)[:, None] * validator.model.torque_derivatives(q, still, still)[0]

    q = resting_position(setpoints, pull, 1.0 / servo.stiffness, servo.gap)
    servo.resting_position(setpoints, validator.model.gravity(q))  # refuses a load above stall torque
    return q


def joint_way(servo: Servo, turn: tuple[float, float]) -> float:
    """How far a joint goes for an angle of its servo [rad]; of a sliding one [m], but at least so far that a ruler tells it.

    Args:
        turn: the angle [rad], and the least for a sliding joint [m].
    """
    return max(turn[0] * servo.per_turn, turn[1]) if servo.slides else turn[0]


def held_back(servo: Servo, load: float) -> float:
    """How far from its set-point, its sag aside, a joint under ``load`` [N·m] may rest [rad]; what its map has not is typical."""
    servo = with_friction(servo)
    friction = (servo.load_friction * abs(load) + servo.coulomb) / (1.0 - servo.load_friction)
    return servo.deadband + 0.5 * servo.play + friction / servo.stiffness


def anchored(servo: Servo, point: MapPoint, direction: int = 1) -> Servo:
    """The servo with its zero moved so that the pulse is the angle; ``direction`` -1: turned round."""
    servo = replace(servo, direction=direction * servo.direction)
    horn = float(np.interp(point.pulse_us, servo.pulses_us, servo.horn_angles))
    return replace(servo, zero=horn - servo.direction * point.angle)


def moved_as_told(servo: Servo, before: MapPoint, after: MapPoint) -> int:
    """Whether a joint moved as told, as a sign: 1: it did, -1: it turned the other way, 0: it hardly moved."""
    told = float(servo.to_angle(after.pulse_us) - servo.to_angle(before.pulse_us))
    turned = after.angle - before.angle
    return 0 if abs(turned) < min(joint_way(servo, STILL), 0.5 * abs(told)) else int(math.copysign(1, turned * told))


def mapped(servo: Servo, points: Sequence[MapPoint]) -> tuple[Servo, float]:
    """The servo with the map that the points tell, its pulse range as before; and the points' distance from it [rad, rms].

    Raises:
        InputError: two points at one pulse, or a map that no servo has.
    """
    pulses, angles, within = np.array(sorted((one.pulse_us, one.angle, one.within) for one in points)).T
    name, ends = servo.joint, np.array([servo.pulses_us[0], servo.pulses_us[-1]])
    why = f"{name}: {len(points)} points over {np.ptp(pulses):.0f} us: take two that are further apart"
    refuse_if(len(points) < 2 or np.ptp(pulses) < 50.0, why, name, len(points), 2)
    horns, middle, believed = servo.direction * angles, float(ends.mean()), horn_slope(servo)
    line = np.poly1d(np.polyfit(pulses - middle, horns, 1))
    moves = [position(1e3 * one, servo.slides, ".0f") for one in (line[1], believed)]
    why = f"{name}: moves {moves[0]} in 1000 us, expected about {moves[1]}: a position misread, or another servo?"
    refuse_if(not SHARE_MIN < line[1] / believed < SHARE_MAX, why, name, float(line[1] / believed), SHARE_MAX)
    knots, values = ends, line(ends - middle)
    if len(points) > 2 and (np.abs(horns - line(pulses - middle)) > joint_way(servo, BENT) + within).any():
        knots, values = _bent(pulses, horns, ends, joint_way(servo, APART))
        refuse_if((np.diff(values) <= 0.0).any(), f"{name}: a longer pulse once turned it back: an angle misread?", name)
    zero, off = float(np.interp(middle, knots, values)), horns - np.interp(pulses, knots, values)
    made = replace(servo, zero=-zero, pulses_us=tuple(map(float, knots)), horn_angles=tuple((values - zero).tolist()))
    return made, float(np.sqrt(np.mean(off**2)))


def _bent(pulses: np.ndarray, horns: np.ndarray, ends: np.ndarray, apart: float) -> tuple[np.ndarray, np.ndarray]:
    """Knots of a bent map and the horn there: the points, those nearer than ``apart`` together, and the ends on lines through
    them."""
    from scipy.interpolate import interp1d

    groups = np.split(np.arange(len(pulses)), 1 + np.flatnonzero(np.diff(horns) >= apart))
    through = interp1d(*np.array([(pulses[one].mean(), horns[one].mean()) for one in groups]).T, fill_value="extrapolate")
    knots = np.unique(np.concatenate([ends, through.x[(through.x > ends[0] + 1.0) & (through.x < ends[1] - 1.0)]]))
    return knots, through(knots)
