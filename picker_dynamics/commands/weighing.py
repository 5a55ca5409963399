"""The arm as a scale: what is read where, which poses are visited, and weighing on a running arm.

The arm moves from visit to visit; a person says what the inclinometer shows.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from picker_dynamics.errors import GoalAbortedError, InputError, refuse_if
from picker_dynamics.robot import arms, servo_arm

from . import options as shared
from .terminal import agreed

SETTLE_S = 2.0
"""Until the arm stands after a motion [s]."""

MOVE_S, APPROACH_S = 0.8, 2.5
"""At least, for a motion between visits, and from the stand-off into the pose: an arm that comes slowly does not swing [s]."""


def scale_of(options, overlay: str = "", known=None):
    """The arm as a scale, and its validator: as the options and ``overlay`` name it, or as ``known`` of the running arm."""
    from picker_dynamics.dynamics.rigid_body import RigidBody
    from picker_dynamics.estimation.payload.droop import DroopScale
    from picker_dynamics.execution.validator import torque_validator

    name = options.arm
    refuse_if(name not in ("", arms.DEFAULT), f"the droop of the {name} tells nothing: its joints are no servos", "arm", name)
    if known is None or overlay:
        arm, servos = servo_arm.load(options.urdf, options.servos, overlay)
    else:
        arm, servos = known.description, known.servos
    scale = DroopScale(arm, servos, tuple(options.com), 1e-3 * options.heaviest)
    return scale, torque_validator(RigidBody(arm, servos.armature), servos)


def sensor_for(scale, link: str):
    """The inclinometer on a link; on none that is named: the last but one of those that the payload turns down."""
    from picker_dynamics.estimation.calibration.instruments import inclinometer_on

    arm = scale.description
    refuse_if(not scale.columns, f"no joint of {arm.name} that turns bears a payload: its droop tells no mass", "payload")
    link = link or [arm.movable[column].child for column in scale.columns][-2:][0]
    refuse_if(link not in arm.links, f"no link {link!r}; the arm has {', '.join(arm.links)}", link, link)
    return inclinometer_on(arm, link)


def planned(options, scale, validator, near):
    """The plan of the visits; the person is told what it promises."""
    from picker_dynamics.estimation.payload.poses import plan

    made = plan(scale, validator, sensor_for(scale, options.link), near, options.within * 1e-3, options.visits)
    print(
        f"{len(made.visits) // 2} poses without and with the payload, which bear up to {1e3 * made.borne_kg:.0f} g: the mass to "
        f"± {1e3 * made.half_kg:.1f} g (95 %)",
        file=sys.stderr if options.json else sys.stdout,
        flush=True,
    )
    return made


def live(options):
    """Weigh on the running arm, and tell it where that is wanted; what was found, and more for the report."""
    with shared.client(options) as client:
        known = shared.equipment(options, client)
        efforts = f"{known.description.name} does not sag, and weighing reads droop: set the payload by picker payload"
        refuse_if(known.torque is not None, efforts, "arm")
        # No approach at the end, and set-points that tell nothing of a side: joints rest on that from which they come, and may
        # be off their goals by what their gears hold: readings go by pulses.
        anywhere = {f"constraints.{name}.goal": 0.0 for name in known.description.joint_names}
        with (
            client.meanwhile("trajectory_controller", {"approach": "off", **anywhere}),
            client.meanwhile("dynamics", {"compensation": "gravity"}),
        ):
            weighed, more = by_droop(options, client, known)
        if options.set:
            mass = max(0.0, weighed.mass.value)
            client.set("dynamics", {"payload.mass": mass, "payload.com": [float(x) for x in options.com]})
    return weighed, more


def by_droop(options, client, known):
    """Visit poses without and with the payload; a person types what the instrument shows."""
    from picker_dynamics.estimation.calibration.poses import stand_off

    scale, validator = scale_of(options, options.servo_overlay, known)
    servos = scale.servos
    client.wait_holding()
    visits, half, borne_kg = planned(options, scale, validator, client.reference())
    asked = f"The arm will visit {len(visits) // 2} poses, twice. Is the tool empty, and are hands away? Type yes: "
    refuse_if(not options.yes and not agreed(asked, _answer), "not weighed")
    read = []
    for number, visit in enumerate(visits):
        if visit.loaded and visit.pose == 0:
            asked = f"Put the payload, {1e3 * borne_kg:.0f} g at the most, into the tool, gently, and take your hands away. "
            while not agreed(asked + "Type yes, and the arm moves on: ", _answer):
                pass
        there = servos.to_angle(visit.pulses_us)
        _go(client, stand_off(servos, there, visit.side, scale.columns), there)
        pulses = servos.quantise_us(servos.to_pulse_us(servos.clamp(client.setpoint())))
        read.append(_typed(scale, replace(visit, pulses_us=pulses), f"{number + 1} of {len(visits)}"))
    return scale.weigh(read), {"planned_half_width_kg": half}


def _go(client, stand_off, pose) -> None:
    """To the stand-off, into the pose, and wait until the arm rests; again after an abort if the person says so."""
    while True:
        try:
            client.move_through([MOVE_S], [stand_off])
            client.move_through([APPROACH_S], [pose])
            return client.spin(SETTLE_S)
        except GoalAbortedError as error:
            print(error, file=sys.stderr, flush=True)
            if not agreed("The arm holds. Is its way free, and is it to go there again? Type yes: ", _answer):
                raise
            client.wait_holding()


def _typed(scale, visit, which: str):
    """The person reads the inclinometer [deg]; asked again where that is none, or none that can be."""
    from picker_dynamics.estimation.calibration.instruments import lay
    from picker_dynamics.robot.units import ANGLE, quantity

    link = visit.sensor.link
    what = f"{which}: inclinometer on {link}, {lay(scale.description, link).laid} [deg]: "
    while True:
        try:
            read = replace(visit, value=quantity(link, _answer(what), ANGLE, "deg"))
            scale.require_plausible([read])
            return read
        except InputError as slip:
            if slip.subject == "input":
                raise
            print(slip, file=sys.stderr, flush=True)


def _answer(question: str) -> str:
    print(question, end="", file=sys.stderr, flush=True)
    try:
        return input()
    except EOFError as error:
        raise InputError("nobody answers: not weighed", subject="input") from error
