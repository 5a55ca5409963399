"""Map step: pulse and position of every joint of which no droop tells, at the rest pose and 10 degrees from there, then near
both ends of its range.

It comes to the ends from both sides: friction and gap cancel in the mean.  Where it stands at some pulses gives direction, zero
and scale of

    q_cmd = direction (scale horn(pulse) - zero)

q_cmd is the angle that was read with the sag taken off, as far as the servo is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from picker_dynamics.errors import InputError, PickerError, refuse_if
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.servo_map import Servo
from picker_dynamics.robot.units import told

from .. import readings
from ..arm_estimate import ArmEstimate
from ..instruments import ANGLE_SD, RULER_SD
from ..mover import WATCHED_SPEED
from ..poses import SIDES, least_height, passes, stand_off, way
from ..questions import Context, LeaveError
from ..servo_figures import angle_figures

NAME, TITLE, MINUTES = "map", "pulse and angle of joints that do not sag", 8
INTRODUCTION = (
    "Each joint is sent to some pulses, and you read where it stands by ruler, from the zero of the URDF, in degrees, as "
    "52 mm at 300 mm, or in mm."
)
NUDGE, TOLERANCE, STILL = math.radians(10.0), math.radians(25.0), 0.25
"""Turn of a servo in its first move: enough to see which way it goes; of a reading that is doubted, more than a horn that is one
tooth off [rad]; share of a move below which a joint has not moved."""

EDGE = 0.1
"""Share of the range that places stay away from its ends."""

CONTACT = math.radians(3.0)
"""A joint that grips is not mapped nearer to where it touches [rad]."""

SHARE_MIN, SHARE_MAX = 0.6, 1.6
"""Of the angle per microsecond that was believed: beyond is another servo, or a slip."""


def run_step(context: Context, estimate: ArmEstimate) -> ArmEstimate:
    """Maps of all joints of which no droop tells."""
    wanted, first = [column for column, name in enumerate(estimate.servos.joint_names) if name not in estimate.loaded], {}
    for column in wanted:
        estimate, first[column] = _first_two(context, estimate, column)
    for column in wanted:
        estimate = _across(context, estimate, column, first[column])
    return estimate


def _first_two(context: Context, estimate: ArmEstimate, column: int) -> tuple[ArmEstimate, list[tuple[float, float]]]:
    """Where a joint stands, and a little from there: zero and direction.

    Raises:
        LeaveError: it does not move.
    """
    given, described = estimate.servos.servos[column], estimate.description.movable[column]
    name = given.joint
    middle = 0.0 if described.type == "continuous" else 0.5 * (described.lower + described.upper)
    first = _place(context, estimate, column, "0")
    there = estimate.with_servo(anchored(given, *first))
    nudge = min(NUDGE * given.per_turn, 0.5 * (described.upper - described.lower))
    second = _place(context, there, column, "1", math.copysign(nudge, middle - first[1]))
    asked = float(there.servos.servos[column].to_angle(second[0])) - first[1]
    moved = second[1] - first[1]
    if abs(moved) < STILL * abs(asked):
        for number in (0, 1):
            context.forget(f"{name}.{number}.")
        sent, went = (told(abs(one), given.position_unit) for one in (asked, moved))
        raise LeaveError(
            f"{name} does not move: it was sent {sent} away and went {went}. Is its plug on channel {given.channel}, the right "
            "way round, and the servo supply on? Does the horn's screw hold? Put it right, then run the same command"
        )
    direction = int(math.copysign(1, moved * asked))
    if direction < 0:
        context.tell(f"{name} goes the other way than the servo map says: its direction is {-given.direction:+d} now", "warning")
    return estimate.with_servo(anchored(given, *second, direction)), [first, second]


def _across(context: Context, estimate: ArmEstimate, column: int, points: list[tuple[float, float]]) -> ArmEstimate:
    """Read near both ends of the range, come to from both sides; the map that all points tell, and the joint's figures."""
    given = estimate.servos.servos[column]
    name = given.joint
    ends = []
    for number, share in enumerate((0.0, 1.0), start=2):
        read = [_place(context, estimate, column, f"{number}{side:+.0f}", share, side) for side in SIDES]
        ends.append(tuple(np.mean(read, axis=0).tolist()))
    try:
        servo = mapped(given, [*points, *ends])
    except InputError as error:
        context.forget(f"{name}.")
        raise LeaveError(f"{error}  Run the same command: all of {name} again") from error
    pulses, angles = np.array(ends).T
    found = angle_figures(servo, servo.to_angle(pulses), angles, RULER_SD if servo.slides else ANGLE_SD)
    return replace(estimate.with_servo(servo), angles={**estimate.angles, name: found})


def _place(
    context: Context, estimate: ArmEstimate, column: int, number: str, place: float | None = None, side: float = 0.0
) -> tuple[float, float]:
    """Pulse [us] and set-point [rad or m] at one place.

    Args:
        place: None: as it stands; number 1: by an angle from there [rad or m]; else a share of the range.
        side: from which it comes, 0: any.
    """
    key, validator = f"{estimate.servos.joint_names[column]}.{number}", estimate.validator()
    if (known := context.known(f"{key}.pulses")) is None:
        known = context.note(f"{key}.pulses", _moved(context, estimate, column, number, place, side))
    pulses, servos = np.array(known), estimate.servos

    def sag(q: np.ndarray) -> np.ndarray:
        return validator.servos.model.offset(validator.model.gravity(q))

    setpoints = servos.to_angle(np.clip(pulses, servos.pulse_lower_us, servos.pulse_upper_us))
    q = setpoints - sag(setpoints)
    angle = _standing(context, estimate, key, column, q)
    if context.on:  # the board may have stopped while a person read
        context.arm(estimate).wait(0.0)
    if not servos.servos[column].slides:
        angle = q[column] + math.remainder(angle - q[column], 2.0 * math.pi)  # a joint may stand beyond half a turn
    q[column] = angle
    return float(pulses[column]), float(angle + sag(q)[column])


def _moved(context: Context, estimate: ArmEstimate, column: int, number: str, place: float | None, side: float) -> list[float]:
    """Go to a place, see ``_place``: the pulses there (n,) [us]."""
    mover, validator = context.arm(estimate), estimate.validator()
    servo, start = estimate.servos.servos[column], mover.setpoint(validator.servos)
    if place is not None and number == "1":
        mover.line(validator, start + place * np.eye(len(start))[column], WATCHED_SPEED)
    elif place is not None:
        goal = held_place(validator, estimate, column, place, start)
        context.tell(f"{servo.joint} goes to {told(goal[column], servo.position_unit)}.", "hint")
        if side:
            mover.travel(validator, np.clip(stand_off(estimate.servos, goal, side, [column]), *mover.reach(validator.servos)))
        mover.travel(validator, goal)
    mover.wait(context.settle_s)
    return list(map(float, mover.pulses_us))


def _standing(context: Context, estimate: ArmEstimate, key: str, column: int, q: np.ndarray) -> float:
    """Where a joint stands [rad or m], as a person reads it; ``q``: (n,) where joints are believed to be."""
    servo, joint = estimate.servos.servos[column], estimate.description.movable[column]
    name, near = joint.name, {"expected": q[column], "within": TOLERANCE * servo.per_turn}
    unit, low, high = "deg", -readings.TURN, readings.TURN
    if servo.slides:  # it may be off by as much as its way is long
        unit, low, high = "mm", 2.0 * joint.lower - joint.upper, 2.0 * joint.upper - joint.lower
    text = f"{name}: where does it stand, from its zero"
    return float(context.read(f"{key}.angle", text, name, unit, low, high, about=("joint", name), **near))


def held_place(validator: MotionValidator, estimate: ArmEstimate, column: int, share: float, start: np.ndarray) -> np.ndarray:
    """Set-points (n,) [rad] with a joint at a share of what it can hold, the others at home, at rest, or as at ``start``.

    The nearest to it to which there is a way from ``start`` (n,) [rad].

    Raises:
        InputError: it can hold nothing there.
        PickerError: there is no way to any of it.
    """
    servos, least = validator.servos, least_height(estimate.description, validator.servos)
    low = max(estimate.description.lower[column], servos.setpoint_lower[column])
    high = min(estimate.description.upper[column], servos.setpoint_upper[column])
    servo = servos.servos[column]
    edge = EDGE * (high - low)
    lowest = low + edge if servo.grip is None else max(low + edge, servo.grip.contact + CONTACT * servo.per_turn)
    why: PickerError = InputError(
        f"{servo.joint}: its servo cannot surely hold it anywhere, the others at home or at rest", servo.joint
    )
    for others in (servos.home, servos.rest, start):  # a weak arm cannot surely hold itself at home
        places = np.tile(np.asarray(others, dtype=float), (33, 1))
        places[:, column] = np.linspace(lowest, high - edge, 33)
        held = [q for q in places if passes(validator, q) and validator.model.forward_kinematics(q)[2] > least]
        for number in sorted(range(len(held)), key=lambda one: abs(one - round(share * (len(held) - 1)))):
            goal = servos.to_angle(servos.quantise_us(servos.to_pulse_us(held[number])))
            try:
                way(validator, start, goal)
                return goal
            except PickerError as error:
                why = error
    raise why


# -- one joint by its points ----------------------------------------------------------------------------------------------


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
