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
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.servo_map import Servo, ServoMap

from .. import pose_figure, readings
from ..arm_estimate import ArmEstimate
from ..droop_model import PRIORS
from ..instruments import RULER_SD, lay, sensor_on
from ..joint_map import (
    Levelled,
    MapPoint,
    anchored,
    held_back,
    joint_way,
    levelled,
    mapped,
    moved_as_told,
    resting_at,
    setpoint_of,
    turned_round,
)
from ..poses import least_height, passes, way
from ..procedure import ANGLE_SD, angle_figures
from ..servo_figures import ServoFigures, with_friction
from ..step_context import LeaveError, StepContext

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

HOW = (("", "map it"), ("keep", "the servo map is right for it"))
AGAIN = (("again", "put right: read and move it once more"), ("leave", "end here; what was answered is kept"))


def run_step(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """Maps of all joints that are not to be kept."""
    context.explain(
        "Each joint is sent to some pulses, and you read where it stands: with the inclinometer (a phone) held along a "
        "link, 0 when level, positive when its far end is up; or with a ruler or protractor, in degrees from the zero "
        "of the URDF, or as 52 mm at 300 mm; of a joint that slides, how far it is from the zero of the URDF, in mm."
    )
    names = estimate.servos.joint_names
    if context.quick:  # the droop tells of the others
        idle = [name for name in names if name not in estimate.loaded]
        for name in idle:
            estimate, points = _first_two(context, estimate, name)
            farther = 1.0 if points[1].angle > points[0].angle else 0.0  # the nudge goes inwards
            estimate = _across(context, estimate, name, points, ((2, farther),))
        return estimate
    wanted = [name for name in names if context.choose(f"{name}.how", f"Joint {name}:", HOW, about=(name,)) == ""]
    found: dict[str, list[MapPoint]] = {}
    for name in wanted:
        estimate, found[name] = _first_two(context, estimate, name)
    for name in wanted:
        estimate = _across(context, estimate, name, found[name])
    return estimate


def _first_two(context: StepContext, estimate: ArmEstimate, name: str) -> tuple[ArmEstimate, list[MapPoint]]:
    """At the rest pose and a little from there: zero and direction; a joint that does not move is told."""
    column = estimate.servos.joint_names.index(name)
    while True:
        given = estimate.servos.servos[column]
        first = _point(context, estimate, name, 0, None)
        estimate = _with(estimate, column, anchored(given, first))
        described = estimate.description.movable[column]
        middle = 0.0 if described.type == "continuous" else 0.5 * (described.lower + described.upper)
        inwards = math.copysign(1.0, middle - first.angle)
        nudge, slides = joint_way(given, NUDGE), given.slides
        if slides:
            nudge = min(nudge, 0.5 * (described.upper - described.lower))
        second = _point(context, estimate, name, 1, inwards * nudge)
        told = moved_as_told(estimate.servos.servos[column], first, second)
        if told == 1:
            return _with(estimate, column, anchored(estimate.servos.servos[column], second)), [first, second]
        if told == -1:
            servo = turned_round(estimate.servos.servos[column], second)
            context.tell(
                f"{name} {'slides' if slides else 'turns'} the other way than the servo map says: its direction is "
                f"{servo.direction:+d} now.",
                "warning",
            )
            return _with(estimate, column, servo), [first, second]
        context.tell(
            f"{name} does not move: it was sent {readings.position(nudge, slides, '.0f')} away and went "
            f"{readings.position(abs(second.angle - first.angle), slides, '.1f')}. Is its plug on channel "
            f"{given.channel}, the right way round, and the servo supply on? Does the horn's screw hold?",
            "warning",
        )
        answer = context.choose(f"{name}.still", "What now?", AGAIN, about=(name,), keep=False)
        for number in (0, 1):
            context.forget(f"{name}.{number}.")
        if answer == "leave":
            raise LeaveError(f"{name} does not move; put it right, then run the same command: it goes on here")
        estimate = _with(estimate, column, given)


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
    grip, slides = given.grip, given.slides
    if grip is not None:  # where it touches it does not follow its pulse
        points = [point for point in points if point.angle > grip.contact + joint_way(given, CONTACT)]
    try:
        servo, off = mapped(given, points)
    except InputError as error:
        context.tell(f"{error}  All of {name} again.", "warning")
        context.forget(f"{name}.")
        context.note(f"{name}.how", "")
        estimate, points = _first_two(context, estimate, name)
        return _across(context, estimate, name, points, places)
    context.tell(
        f"{name}: {len(points)} points within {readings.position(off, slides, '.1f')} of "
        f"{'a straight line' if len(servo.pulses_us) == 2 else f'a map of {len(servo.pulses_us)} points'}; direction "
        f"{servo.direction:+d}, zero at horn {math.degrees(servo.zero / servo.per_turn):+.1f} deg.",
        "good",
    )
    remark = f"measured {context.when}: {len(points)} points, ± {readings.position(2 * off, slides, '.1f')}"
    remarks = {**estimate.remarks, (name, "pulse_map"): remark}
    angles = dict(estimate.angles)
    if name not in estimate.loaded:
        angles[name] = _figures(servo, points, off)
    return replace(_with(estimate, column, servo), remarks=remarks, angles=angles)


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
    return angle_figures(
        servo, told, read, f"{len(points)} {'places' if servo.slides else 'angles'} read", sd, wrong * abs(float(np.mean(sides)))
    )


def _point(context: StepContext, estimate: ArmEstimate, name: str, number: int, place: float | None) -> MapPoint:
    """Pulse and angle at one place: None: as it stands; 0 … 1: share of the range, number 1: by an angle [rad or m]."""
    column = estimate.servos.joint_names.index(name)
    key, servo, joint = f"{name}.{number}", estimate.servos.servos[column], estimate.description.movable[column]
    slides = joint.type == "prismatic"
    if context.known(f"{key}.pulses") is None:
        mover, validator = context.arm(estimate), estimate.validator()
        if place is not None:
            start = mover.setpoint(validator)
            goal = start + place * np.eye(len(start))[column]
            if number > 1:
                goal = held_place(validator, estimate, column, place, start)
            if name not in estimate.loaded:
                context.note(
                    f"{key}.side",
                    _side(goal[column], [one[column] for one in _passed(validator, start, number)], joint_way(servo, CLEAR)),
                )
            context.tell(f"{name} goes to {readings.position(goal[column], slides, '+.0f')}.", "hint")
            _go(mover, validator, goal, number)
        mover.outputs.wait(context.settle_s)
        context.note(f"{key}.pulses", mover.outputs.pulses_us.tolist())
    servos = estimate.servos
    pulses = np.array(context.known(f"{key}.pulses"))
    validator = estimate.validator()
    setpoints = servos.to_angle(np.clip(pulses, servos.pulse_lower_us, servos.pulse_upper_us))
    expected = resting_at(validator, setpoints)[column]
    how = levelled(estimate.description, name, setpoints)
    if how is None:

        def doubt(value: float) -> str:
            return (readings.near_place if slides else readings.near)(name, value, expected, joint_way(servo, TOLERANCE))

        angle = context.read(
            f"{key}.angle",
            f"Where does {name} stand, from its zero [{'mm' if slides else 'deg'}]? (place {number + 1} of {PLACES})",
            lambda text: readings.place(name, text, joint.lower, joint.upper) if slides else readings.angle(name, text),
            about=(name,),
            doubt=doubt,
        )
    else:
        what = f"{name}, place {number + 1} of {PLACES}"
        if context.person is not None and any(context.known(f"{key}.{link}") is None for link in how.links):
            sensors = [sensor_on(estimate.description, link) for link in how.links]
            _draw(context, estimate.description, pose_figure.Panel(what, setpoints, sensors))
        angle = _levelled_angle(context, estimate.description, key, what, how, expected)
    context.require_sound()
    if not slides:
        angle = expected + math.remainder(angle - expected, 2.0 * math.pi)  # a joint may stand beyond half a turn
    side = float(context.known(f"{key}.side") or 0.0)
    setpoint, load = setpoint_of(validator, setpoints, column, angle, side), float(validator.model.gravity(setpoints)[column])
    return MapPoint(float(pulses[column]), setpoint, side, held_back(servo, load))


def _passed(validator: MotionValidator, start, number: int) -> list[np.ndarray]:
    """Poses (n,) [rad] from which the joint may come: the first move is straight, others may go by home or rest."""
    servos = validator.limits.servo_map
    return [start] if number < 2 else [start, servos.home, servos.rest]


def _side(goal: float, passed: Sequence[float], clear: float) -> float:
    """From which side a joint comes to ``goal`` [rad or m], if from at least ``clear`` away: +1 from below, -1 from above, 0
    where that depends on the way."""
    signs = {math.copysign(1.0, goal - one) if abs(goal - one) > clear else 0.0 for one in passed}
    return signs.pop() if len(signs) == 1 else 0.0


def _draw(context: StepContext, description: ArmDescription, panel: pose_figure.Panel) -> None:
    """Show a person how the inclinometer lies at the present place."""
    path = context.folder / "pose_map.png"
    pose_figure.draw(description, [panel], path)
    context.explain(f"How the inclinometer lies is drawn anew at each place: {path}")


def _levelled_angle(
    context: StepContext, description: ArmDescription, key: str, what: str, how: Levelled, expected: float
) -> float:
    read = {}
    for link in how.links:

        def doubt(value: float, link=link) -> str:
            if link != how.child:
                return ""
            return readings.near(f"{link}", value, how.expected(expected, read), TOLERANCE[0])

        read[link] = context.read(
            f"{key}.{link}",
            f"{what}: inclinometer on {link}, {lay(description, link).laid} [deg]?",
            lambda text, link=link: readings.angle(link, text),
            doubt=doubt,
            about=(link,),
        )
    return how.angle(read)


def _go(mover, validator: MotionValidator, goal, number: int) -> None:
    """A nudge goes straight: its way is 10 degrees; others as the validator has them."""
    if number < 2:
        mover.line(validator, np.clip(goal, *mover.reach(validator)), 0.3)
    else:
        mover.travel(validator, goal)


def held_place(validator: MotionValidator, estimate: ArmEstimate, column: int, share: float, start) -> np.ndarray:
    """Set-points (n,) [rad] with a joint at a share of what it can hold, the others at home, at rest, or as at ``start``.

    The nearest to it to which there is a way from ``start`` (n,) [rad].

    Raises:
        InputError: it can hold nothing there.
        PickerError: there is no way to any of it.
    """
    servos = validator.limits.servo_map
    least = least_height(estimate.description, servos)
    low = max(estimate.description.lower[column], servos.setpoint_lower[column])
    high = min(estimate.description.upper[column], servos.setpoint_upper[column])
    why: PickerError | None = None
    for others in (servos.home, servos.rest, start):  # a weak arm cannot surely hold itself at home
        held = []
        for angle in np.linspace(low + EDGE * (high - low), high - EDGE * (high - low), 33):
            q = np.array(others)
            q[column] = angle
            if passes(validator, q) and validator.model.forward_kinematics(q)[2] > least:
                held.append(q)
        if len(held) < 3:
            continue
        wanted = round(share * (len(held) - 1))
        for number in sorted(range(len(held)), key=lambda one: abs(one - wanted)):
            goal = servos.to_angle(servos.quantise_us(servos.to_pulse_us(held[number])))
            try:
                way(validator, start, goal)
                return goal
            except PickerError as error:
                why = why or error
    name = servos.joint_names[column]
    if why is None:
        try:
            validator.require_holdable(servos.rest)
        except PickerError as error:
            why = InputError(
                f"{name} has no place to be read at, as the arm cannot surely hold its rest pose: {error}", subject=name
            )
    raise why or InputError(
        f"{name}: its servo cannot surely hold it anywhere, the others at home or at rest: are these poses right?", subject=name
    )


def _with(estimate: ArmEstimate, column: int, servo: Servo) -> ArmEstimate:
    servos: ServoMap = estimate.servos
    return replace(estimate, servos=replace(servos, servos=(*servos.servos[:column], servo, *servos.servos[column + 1 :])))
