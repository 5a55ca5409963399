"""Map step: pulse and angle of every joint, first at the rest pose and 10 degrees from there, then across its range.

Of a joint that slides: pulse and place, by a ruler; what is an angle below is then what its pinion makes of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from picker_dynamics.errors import InputError, PickerError
from picker_dynamics.execution.validator import MotionValidator
from picker_dynamics.robot.servo_map import Servo

from .. import pose_figure, readings
from ..arm_estimate import ArmEstimate
from ..droop_model import PRIORS
from ..instruments import ANGLE_SD, RULER_SD
from ..joint_map import (
    MapPoint,
    anchored,
    held_back,
    joint_way,
    mapped,
    moved_as_told,
    resting_at,
    setpoint_of,
    tilt,
    tilted_links,
)
from ..mover import JOG_SPEED
from ..person import LeaveError
from ..poses import least_height, passes, way
from ..servo_figures import ServoFigures, angle_figures, with_friction
from ..step_context import StepContext

NAME, TITLE, MINUTES = "map", "pulse and angle of each joint", 15
NUDGE = math.radians(10.0), 5e-3
"""Of the first move of a joint: enough to see which way it goes; for this and the next three see ``joint_way``."""

EDGE = 0.1
"""Share of the range that points stay away from its ends."""

TOLERANCE = math.radians(25.0), 5e-3
"""A reading further from what is expected is doubted: more than a horn that is one tooth off."""

PLACES = 5

CONTACT = math.radians(3.0), 0.0
"""A joint that grips is not mapped nearer to where it touches."""

CLEAR = math.radians(5.0), 0.0
"""A joint that comes from so far has taken up its gap and friction on the way."""


def run_step(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """Maps of all joints that are not to be kept; quick: of those of which no droop tells, from three places."""
    context.explain(
        "Each joint is sent to some pulses, and you read where it stands: with the inclinometer along a link, 0 when level, "
        "positive when its far end is up; or by ruler, from the zero of the URDF, in degrees, as 52 mm at 300 mm, or in mm."
    )
    names, found = estimate.servos.joint_names, {}
    if context.quick:
        for name in (name for name in names if name not in estimate.loaded):
            estimate, points = _first_two(context, estimate, name)
            farther = 1.0 if points[1].angle > points[0].angle else 0.0  # the nudge goes inwards
            estimate = _across(context, estimate, name, points, ((2, farther),))
        return estimate
    words = {"": "map it", "keep": "the servo map is right for it"}
    wanted = [name for name in names if not context.choose(f"{name}.how", f"Joint {name}:", words, about=("joint", name))]
    for name in wanted:
        estimate, found[name] = _first_two(context, estimate, name)
    for name in wanted:
        estimate = _across(context, estimate, name, found[name])
    return estimate


def _first_two(context: StepContext, estimate: ArmEstimate, name: str) -> tuple[ArmEstimate, list[MapPoint]]:
    """At the rest pose and a little from there: zero and direction; a joint that does not move is told."""
    column = estimate.servos.joint_names.index(name)
    given, described = estimate.servos.servos[column], estimate.description.movable[column]
    middle = 0.0 if described.type == "continuous" else 0.5 * (described.lower + described.upper)
    nudge = min(joint_way(given, NUDGE), 0.5 * (described.upper - described.lower)) if given.slides else joint_way(given, NUDGE)
    while True:
        first = _point(context, estimate, name, 0, None)
        there = _with(estimate, column, anchored(given, first))
        second = _point(context, there, name, 1, math.copysign(nudge, middle - first.angle))
        told = moved_as_told(there.servos.servos[column], first, second)
        if told == -1:
            context.tell(
                f"{name} goes the other way than the servo map says: its direction is {-given.direction:+d} now", "warning"
            )
        if told:
            return _with(estimate, column, anchored(given, second, told)), [first, second]
        away = (
            readings.position(nudge, given.slides, ".0f"),
            readings.position(abs(second.angle - first.angle), given.slides, ".1f"),
        )
        context.tell(
            f"{name} does not move: it was sent {away[0]} away and went {away[1]}. Is its plug on channel {given.channel}, the "
            "right way round, and the servo supply on? Does the horn's screw hold?",
            "warning",
        )
        words = {"again": "put right: read and move it once more", "leave": "end here; what was answered is kept"}
        answer = context.choose(f"{name}.still", "What now?", words, keep=False)
        for number in (0, 1):
            context.forget(f"{name}.{number}.")
        if answer == "leave":
            raise LeaveError(f"{name} does not move; put it right, then run the same command: it goes on here")


def _across(
    context: StepContext,
    estimate: ArmEstimate,
    name: str,
    points: list[MapPoint],
    places: Sequence[tuple[int, float]] = ((2, 0.0), (3, 1.0), (4, 0.5)),
) -> ArmEstimate:
    """The ends and the middle of the range; the map that all points tell.

    Args:
        places: number and share of the range of those to be read still.
    """
    column = estimate.servos.joint_names.index(name)
    given = estimate.servos.servos[column]
    points = [*points, *(_point(context, estimate, name, number, place) for number, place in places)]
    if given.grip is not None:  # where it touches it does not follow its pulse
        points = [point for point in points if point.angle > given.grip.contact + joint_way(given, CONTACT)]
    try:
        servo, off = mapped(given, points)
    except InputError as error:
        context.tell(f"{error}  All of {name} again.", "warning")
        for number in range(PLACES):
            context.forget(f"{name}.{number}.")
        estimate, points = _first_two(context, estimate, name)
        return _across(context, estimate, name, points, places)
    within = readings.position(2.0 * off, given.slides, ".1f")
    line = "a straight line" if len(servo.pulses_us) == 2 else f"a map of {len(servo.pulses_us)} points"
    context.tell(f"{name}: {len(points)} points, ± {within} of {line}; direction {servo.direction:+d}.", "good")
    angles = dict(estimate.angles)
    if name not in estimate.loaded:
        angles[name] = _figures(servo, points, off)
    return replace(_with(estimate, column, servo), angles=angles)


def _figures(servo: Servo, points: Sequence[MapPoint], off: float) -> ServoFigures:
    """Zero and scale of a joint that no droop tells of; ``off``: the points' distance from its map [rad or m, rms].

    It rests short of its set-point by gap and friction: where the side from which it came is known that is taken off, and what
    is assumed of both may be wrong by as much at all of these points; elsewhere it may rest anywhere within.
    """
    usual, sides = with_friction(servo), np.array([point.side for point in points])
    driven, within = (1.0 - usual.load_friction) * usual.stiffness, held_back(servo, 0.0)
    sd = np.maximum(off, np.hypot(RULER_SD if servo.slides else ANGLE_SD, np.where(sides == 0.0, within / math.sqrt(3.0), 0.0)))
    wrong = math.hypot(PRIORS["gap"][1] * servo.per_turn, PRIORS["coulomb"][1] * usual.stall_torque / driven)
    told, read = [float(servo.to_angle(point.pulse_us)) for point in points], [point.angle for point in points]
    return angle_figures(servo, told, read, f"{len(points)} places read", sd, wrong * abs(float(np.mean(sides))))


def _point(context: StepContext, estimate: ArmEstimate, name: str, number: int, place: float | None) -> MapPoint:
    """Pulse and angle at one place: None: as it stands; 0 … 1: share of the range, number 1: by an angle [rad or m]."""
    column, key = estimate.servos.joint_names.index(name), f"{name}.{number}"
    servos, servo, validator = estimate.servos, estimate.servos.servos[column], estimate.validator()
    pulses = np.array(context.once(f"{key}.pulses", lambda: _moved(context, estimate, name, number, place)))
    setpoints = servos.to_angle(np.clip(pulses, servos.pulse_lower_us, servos.pulse_upper_us))
    q = resting_at(validator, setpoints)
    angle = _standing(context, estimate, key, name, f"{name}, place {number + 1} of {PLACES}", q)
    context.require_sound()
    if not servo.slides:
        angle = q[column] + math.remainder(angle - q[column], 2.0 * math.pi)  # a joint may stand beyond half a turn
    side = float(context.known(f"{key}.side") or 0.0)
    setpoint, load = setpoint_of(validator, setpoints, column, angle, side), float(validator.model.gravity(setpoints)[column])
    return MapPoint(float(pulses[column]), setpoint, side, held_back(servo, load))


def _moved(context: StepContext, estimate: ArmEstimate, name: str, number: int, place: float | None) -> list[float]:
    """Go to a place, see ``_point``: the pulses there (n,) [us]; of a joint without droop it is noted from which side it came."""
    mover, validator, column = context.arm(estimate), estimate.validator(), estimate.servos.joint_names.index(name)
    servo, start = estimate.servos.servos[column], mover.setpoint(validator)
    if place is not None:
        goal = start + place * np.eye(len(start))[column] if number < 2 else held_place(validator, estimate, column, place, start)
        if name not in estimate.loaded:  # a nudge goes straight, other ways perhaps by home or rest
            passed = [start] if number < 2 else [start, validator.limits.servo_map.home, validator.limits.servo_map.rest]
            ways = [goal[column] - one[column] for one in passed]
            sides = {math.copysign(1.0, one) if abs(one) > joint_way(servo, CLEAR) else 0.0 for one in ways}
            context.note(f"{name}.{number}.side", sides.pop() if len(sides) == 1 else 0.0)
        context.tell(f"{name} goes to {readings.position(goal[column], servo.slides, '+.0f')}.", "hint")
        if number < 2:
            mover.line(validator, np.clip(goal, *mover.reach(validator)), JOG_SPEED)
        else:
            mover.travel(validator, goal)
    mover.outputs.wait(context.settle_s)
    return mover.outputs.pulses_us.tolist()


def _standing(context: StepContext, estimate: ArmEstimate, key: str, name: str, what: str, q: np.ndarray) -> float:
    """Where a joint stands [rad or m], as a person reads it; ``q``: (n,) where joints are believed to be."""
    arm, column, sensors = estimate.description, estimate.servos.joint_names.index(name), tilted_links(estimate.description, name)
    servo, joint = estimate.servos.servos[column], arm.movable[column]
    if not sensors:
        unit, within = servo.position_unit, joint_way(servo, TOLERANCE)
        return context.read(
            f"{key}.angle",
            f"{what}: where does it stand, from its zero [{'mm' if servo.slides else 'deg'}]?",
            lambda text: readings.place(name, text, joint.lower, joint.upper) if servo.slides else readings.angle(name, text),
            doubt=lambda value: readings.near(name, value, q[column], within, unit),
            about=("joint", name),
        )
    values: list[float] = []
    if context.person is not None and any(context.known(f"{key}.{one.link}") is None for one in sensors):
        path = context.folder / "pose_map.png"
        pose_figure.draw(arm, [(what, q, sensors)], path)
        context.explain(f"How the inclinometer lies is drawn anew at each place: {path}")
    for one in sensors:
        last = one is sensors[-1]
        expected = tilt(arm, name, q, [*values, 0.0])[1] if last else 0.0
        within = TOLERANCE[0] if last else math.pi
        values.append(context.read_sensor(f"{key}.{one.link}", arm, one, expected, within, what=f"{what}: "))
    return tilt(arm, name, q, values)[0]


def held_place(validator: MotionValidator, estimate: ArmEstimate, column: int, share: float, start) -> np.ndarray:
    """Set-points (n,) [rad] with a joint at a share of what it can hold, the others at home, at rest, or as at ``start``.

    The nearest to it to which there is a way from ``start`` (n,) [rad].

    Raises:
        InputError: it can hold nothing there.
        PickerError: there is no way to any of it.
    """
    servos, least = validator.limits.servo_map, least_height(estimate.description, validator.limits.servo_map)
    low = max(estimate.description.lower[column], servos.setpoint_lower[column])
    high = min(estimate.description.upper[column], servos.setpoint_upper[column])
    name = servos.joint_names[column]
    why: PickerError = InputError(
        f"{name}: its servo cannot surely hold it anywhere, the others at home or at rest", subject=name
    )
    for others in (servos.home, servos.rest, start):  # a weak arm cannot surely hold itself at home
        places = np.tile(np.asarray(others, dtype=float), (33, 1))
        places[:, column] = np.linspace(low + EDGE * (high - low), high - EDGE * (high - low), 33)
        held = [q for q in places if passes(validator, q) and validator.model.forward_kinematics(q)[2] > least]
        for number in (
            sorted(range(len(held)), key=lambda one: abs(one - round(share * (len(held) - 1)))) if len(held) > 2 else ()
        ):
            goal = servos.to_angle(servos.quantise_us(servos.to_pulse_us(held[number])))
            try:
                way(validator, start, goal)
                return goal
            except PickerError as error:
                why = error
    raise why


def _with(estimate: ArmEstimate, column: int, servo: Servo) -> ArmEstimate:
    servos = estimate.servos.servos
    return replace(estimate, servos=replace(estimate.servos, servos=(*servos[:column], servo, *servos[column + 1 :])))
