"""Servo map of one joint, pulse <-> position, from where it stands at some pulses: direction, zero, and the map between.

    q_cmd = direction (horn(pulse) - zero),     horn = 0 in the middle of the pulse range

q_cmd is the angle that was read with the sag taken off, as far as the servo is known by now; what is left of it the droop
finds later.  A straight line where it fits, the points themselves where the servo bends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from picker_dynamics.errors import refuse_if
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import Pose, link_poses
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


@dataclass(frozen=True)
class Levelled:
    """Joint angle by an inclinometer: sign (elevation of ``child`` - parent_sign elevation of ``parent`` - offset).

    ``parent`` is None where no joint tilts it.
    """

    child: str
    parent: str | None
    sign: float
    offset: float
    parent_sign: float = 1.0

    @property
    def links(self) -> tuple[str, ...]:
        """Links whose elevation has to be read."""
        return (self.child,) if self.parent is None else (self.parent, self.child)

    def angle(self, elevations: Mapping[str, float]) -> float:
        """The joint's angle [rad] from elevations [rad] by link, within ±pi."""
        parent = 0.0 if self.parent is None else elevations[self.parent]
        return math.remainder(self.sign * (elevations[self.child] - self.parent_sign * parent - self.offset), 2.0 * math.pi)

    def expected(self, angle: float, elevations: Mapping[str, float]) -> float:
        """The elevation of ``child`` [rad] at an angle of the joint, from that of ``parent``."""
        parent = 0.0 if self.parent is None else elevations[self.parent]
        return self.sign * angle + self.parent_sign * parent + self.offset


def levelled(description: ArmDescription, name: str, pose) -> Levelled | None:
    """Relation of a joint's angle to an inclinometer; None for a joint whose axis is not level in every pose.

    Args:
        pose: (n,) of the arm around which to look [rad].
    """
    if name not in level_joints(description):
        return None
    joint, column = description.joint(name), description.joint_names.index(name)
    held = [one for one in description.path_to(joint.child)[:-1] if one.movable]
    parent = held[-1].child if held else description.root
    q = np.array(pose, dtype=float)
    q[column] = 0.0
    poses = link_poses(description, q)
    axis = poses[joint.child].rotation @ joint.axis
    child, below = sensor_on(description, joint.child), sensor_on(description, parent)
    sign, parent_sign = (_rising(poses[one.link], one, axis) for one in (child, below))
    tilts = set(level_joints(description)) & {one.name for one in held}
    offset = float(child.of(poses))
    if not tilts:
        return Levelled(joint.child, None, sign, offset)
    return Levelled(joint.child, parent, sign, offset - sign * parent_sign * float(below.of(poses)), sign * parent_sign)


def _rising(pose: Pose, sensor: SensorModel, axis) -> float:
    """1 where a turn about ``axis`` (3,) lets the elevation rise, -1 where it lets it fall."""
    return math.copysign(1.0, float(pose.rotation @ np.cross(sensor.ahead, sensor.up) @ axis))


def setpoint_of(validator: MotionValidator, setpoints, column: int, angle: float, side: float = 0.0) -> float:
    """The set-point [rad] with which a joint rests at ``angle``, the others at their set-points (n,) [rad].

    Args:
        side: from which it came, +1 from below, -1 from above: its friction, typical where the map has none, and its gap keep it
            short of its set-point; 0: not known.
    """
    q, servos = np.array(setpoints, dtype=float), validator.limits.servo_map
    q[column] = angle
    if side:
        servos = replace(servos, servos=tuple(with_friction(one) for one in servos.servos))
    sides = np.zeros_like(q)
    sides[column] = side
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


def anchored(servo: Servo, point: MapPoint) -> Servo:
    """The servo with its zero moved so that the pulse is the angle."""
    horn = float(np.interp(point.pulse_us, servo.pulses_us, servo.horn_angles))
    return replace(servo, zero=horn - servo.direction * point.angle)


def turned_round(servo: Servo, point: MapPoint) -> Servo:
    """A servo that turns the other way, through the same point."""
    return anchored(replace(servo, direction=-servo.direction), point)


def moved_as_told(servo: Servo, before: MapPoint, after: MapPoint) -> int:
    """Whether a joint moved as told, as a sign: 1: it did, -1: it turned the other way, 0: it hardly moved."""
    told = float(servo.to_angle(after.pulse_us) - servo.to_angle(before.pulse_us))
    turned = after.angle - before.angle
    if abs(turned) < min(joint_way(servo, STILL), 0.5 * abs(told)):
        return 0
    return 1 if turned * told > 0.0 else -1


def mapped(servo: Servo, points: Sequence[MapPoint]) -> tuple[Servo, float]:
    """The servo with the map that the points tell, its pulse range as before; and the points' distance from it [rad, rms].

    Raises:
        InputError: two points at one pulse, or a map that no servo has.
    """
    points = sorted(points, key=lambda one: one.pulse_us)
    pulses, angles, within = np.array([(one.pulse_us, one.angle, one.within) for one in points]).T
    name, middle = servo.joint, 0.5 * (servo.pulses_us[0] + servo.pulses_us[-1])
    refuse_if(
        len(points) < 2 or pulses[-1] - pulses[0] < 50.0,
        f"{name}: {len(points)} points over {pulses[-1] - pulses[0]:.0f} us: take two that are further apart",
        name,
        len(points),
        2,
    )
    horns, slides = servo.direction * angles, servo.slides
    slope, at_middle = np.polyfit(pulses - middle, horns, 1)
    believed = horn_slope(servo)
    refuse_if(
        not SHARE_MIN < slope / believed < SHARE_MAX,
        f"{name}: moves {position(1e3 * slope, slides, '.0f')} in 1000 us, expected about "
        f"{position(1e3 * believed, slides, '.0f')}: {'a place' if slides else 'an angle'} misread, or another servo?",
        name,
        float(slope / believed),
        SHARE_MAX,
    )
    off = horns - (at_middle + slope * (pulses - middle))
    ends = np.array([servo.pulses_us[0], servo.pulses_us[-1]])
    knots, values = ends, at_middle + slope * (ends - middle)
    if len(points) > 2 and (np.abs(off) > joint_way(servo, BENT) + within).any():
        knots, values = _bent(pulses, horns, ends, joint_way(servo, APART))
        off = horns - np.interp(pulses, knots, values)
        refuse_if((np.diff(values) <= 0.0).any(), f"{name}: a longer pulse once turned it back: an angle misread?", name)
    zero = float(np.interp(middle, knots, values))
    return replace(servo, zero=-zero, pulses_us=tuple(map(float, knots)), horn_angles=tuple((values - zero).tolist())), float(
        np.sqrt(np.mean(off**2))
    )


def _bent(pulses, horns, ends, apart: float) -> tuple[np.ndarray, np.ndarray]:
    """Knots of a bent map: the points, those nearer than ``apart`` together; the ends of the pulses on lines through them."""
    groups: list[list[int]] = [[0]]
    for i in range(1, len(pulses)):
        if abs(horns[i] - horns[groups[-1][0]]) < apart:
            groups[-1].append(i)
        else:
            groups.append([i])
    knots = np.array([[pulses[group].mean(), horns[group].mean()] for group in groups])
    if len(knots) < 2:
        knots = np.array([[pulses[0], horns[0]], [pulses[-1], horns[-1]]])
    for end, at, inner, outer in ((ends[0], 0, 1, 0), (ends[1], len(knots), -2, -1)):
        (x0, y0), (x1, y1) = knots[inner], knots[outer]
        if abs(end - x1) > 1.0:
            knots = np.insert(knots, at if at == 0 else len(knots), [end, y1 + (end - x1) * (y1 - y0) / (x1 - x0)], axis=0)
    return knots[:, 0], knots[:, 1]
