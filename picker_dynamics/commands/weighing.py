"""The arm as a scale: what is read where, which poses are visited, and weighing on a running arm.

The arm moves from visit to visit; a person says what inclinometer or ruler show, joints that measure efforts tell by themselves.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from picker_dynamics.errors import GoalAbortedError, InputError, LinkError, refuse_if
from picker_dynamics.robot import arms, servo_arm

from . import options as shared
from .terminal import YES

BORNE = 1.0, 0.5, 0.25, 0.1
"""Shares of the heaviest payload that poses are to bear, the largest that finds some."""

SETTLE_S, LISTEN_S = 2.0, 1.0
"""Until the arm stands after a motion, and how long joints that measure are listened to [s]."""

MOVE_S, APPROACH_S = 0.8, 2.5
"""At least, for a motion between visits, and from the stand-off into the pose: an arm that comes slowly does not swing [s]."""

EFFORT_SD_FLOOR = 0.003
"""Of a measured effort, as a share of the joint's limit: noise does not say what a sensor is off by."""


def scale_of(options, known=None):
    """The arm as a scale, and its validator: as the options name it, as calibrated, or as ``known`` of the running arm."""
    from picker_dynamics.dynamics.rigid_body import RigidBody
    from picker_dynamics.estimation.payload.droop import DroopScale
    from picker_dynamics.execution.validator import torque_validator

    name = options.arm
    refuse_if(name not in ("", arms.DEFAULT), f"the droop of the {name} tells nothing: its joints are no servos", "arm", name)
    if known is None or options.servo_overlay:
        arm, servos = servo_arm.load(options.urdf, options.servos, options.servo_overlay)
    else:
        arm, servos = known.description, known.servos
    scale = DroopScale(arm, servos, tuple(options.com), 1e-3 * options.heaviest)
    return scale, torque_validator(RigidBody(arm, servos.armature), servos)


def sensor_for(scale, link: str):
    """The inclinometer on a link; on none that is named: the last but one of those that the payload turns down.

    Of an arm whose joints it only slides down: a ruler under the link, or under the tool.
    """
    from picker_dynamics.estimation.calibration.instruments import sensor_on

    arm = scale.description
    refuse_if(not scale.columns, f"no joint of {arm.name} bears a payload: its droop tells no mass", "payload")
    turned = [joint.child for joint in (arm.movable[column] for column in scale.columns) if joint.type != "prismatic"]
    link = link or ([*turned[-2:], arm.tool][0])
    refuse_if(link not in arm.links, f"no link {link!r}; the arm has {', '.join(arm.links)}", link, link)
    return sensor_on(arm, link, "elevation" if turned else "height")


def typed(what: str, text: str, unit: str) -> float:
    """An angle or a length as typed, in degrees or millimetres unless it says otherwise [``unit``]."""
    from picker_dynamics.robot.units import ANGLE, LENGTH, quantity

    return quantity(what, text, *((LENGTH, "mm") if unit == "m" else (ANGLE, "deg")))


def planned(options, scale, validator, sensor, near):
    """The visits, what they promise, and the mass that they bear [kg]; the person is told.

    Raises:
        InputError: no pose bears a tenth of the heaviest payload, or what they promise says nothing.
    """
    from picker_dynamics.estimation.calibration.measured import NORMAL_95
    from picker_dynamics.estimation.payload.poses import plan

    within, why, heaviest = options.within * 1e-3, None, scale.heaviest_kg
    for borne_kg in (share * heaviest for share in BORNE):
        try:
            visits, half = plan(scale, validator, sensor, near, within, heaviest_kg=borne_kg, count=options.visits)
            break
        except InputError as error:
            why = why or error
    else:
        raise why
    blind, tell = NORMAL_95 * scale.blind_kg, sys.stderr if options.json else sys.stdout
    promise = f"{len(visits) // 2} poses without and with the payload: the mass to ± {1e3 * half:.1f} g (95 %)"
    stiff = f"{promise}, which says nothing: such stiff servos hardly sag by {1e3 * heaviest:g} g"
    refuse_if(half > blind, f"{stiff}; more --visits, or a heavier payload (--heaviest)", "payload", half, blind)
    print(promise, file=tell, flush=True)
    if borne_kg < heaviest:
        print(f"These poses bear up to {1e3 * borne_kg:.0f} g: put no heavier payload into the tool", file=tell, flush=True)
    return visits, half, borne_kg


def live(options):
    """Weigh on the running arm; what it found, and more for the report."""
    with shared.client(options) as client:
        known = shared.equipment(options, client)
        if known.torque is not None:
            return by_efforts(options, known.torque, client), {}
        # No approach at the end, and set-points that tell nothing of a side: joints rest on that from which they come, and may
        # be off their goals by what their gears hold: readings go by pulses.
        anywhere = {f"constraints.{name}.goal": 0.0 for name in known.description.joint_names}
        with (
            client.meanwhile("trajectory_controller", {"approach": "off", **anywhere}),
            client.meanwhile("dynamics", {"compensation": "gravity"}),
        ):
            return by_droop(options, client, known)


def tell(options, mass: float) -> None:
    """Set the payload of the arm that runs [kg]."""
    with shared.client(options) as client:
        client.set("dynamics", {"payload.mass": float(mass), "payload.com": [float(x) for x in options.com]})


def by_droop(options, client, known):
    """Visit poses without and with the payload; a person types what the instrument shows."""
    from picker_dynamics.estimation.payload.poses import before

    scale, validator = scale_of(options, known)
    servos = scale.servos
    client.wait_holding()
    visits, half, borne_kg = planned(options, scale, validator, sensor_for(scale, options.link), client.reference())
    asked = f"The arm will visit {len(visits) // 2} poses, twice. Is the tool empty, and are hands away? Type yes: "
    refuse_if(not options.yes and not _yes(asked), "not weighed")
    read = []
    for visit in visits:
        if visit.loaded and visit.visit == len(visits) // 2:
            asked = f"Put the payload, {1e3 * borne_kg:.0f} g at the most, into the tool, gently, and take your hands away. "
            while not _yes(asked + "Type yes, and the arm moves on: "):
                pass
        _go(client, before(scale, visit), servos.to_angle(visit.pulses_us))
        pulses = servos.quantise_us(servos.to_pulse_us(servos.clamp(client.setpoint())))
        read.append(_typed(scale, replace(visit, pulses_us=pulses), len(visits)))
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
            if not _yes("The arm holds. Is its way free, and is it to go there again? Type yes: "):
                raise
            client.wait_holding()


def _typed(scale, visit, count: int):
    """The person reads inclinometer or ruler; asked again where that is no angle or height, or none that can be."""
    from picker_dynamics.estimation.calibration.instruments import lay

    sensor = visit.sensor
    what = f"height of {sensor.link} above the mounting plane [mm]"
    if sensor.kind == "elevation":
        what = f"inclinometer on {sensor.link}, {lay(scale.description, sensor.link).laid} [deg]"
    while True:
        text = _answer(f"{visit.visit + 1} of {count}: {what}: ")
        try:
            read = replace(visit, value=typed(sensor.link, text, sensor.unit))
            scale.require_plausible([read])
            return read
        except InputError as slip:
            print(slip, file=sys.stderr, flush=True)


def _answer(question: str) -> str:
    print(question, end="", file=sys.stderr, flush=True)
    try:
        return input()
    except EOFError as error:
        raise InputError("nobody answers: not weighed", subject="input") from error


def _yes(question: str) -> bool:
    """Whether the person types yes: the arm moves then, and Enter alone agrees to nothing."""
    return _answer(question).strip().lower() in YES


def by_efforts(options, arm, client):
    """Listen to the efforts that hold the arm where it stands, without and with the payload."""
    from picker_dynamics.dynamics.rigid_body import RigidBody
    from picker_dynamics.estimation.payload.torque import MODEL_SHARE, weigh_by_effort

    effort_limit, empty = arm.description.effort, None

    def at_rest():
        """Mean position and effort of a second where the arm stands, and the effort's noise (n,) [N·m or N]."""
        client.spin(LISTEN_S)
        q, effort = client.listen(LISTEN_S)
        if effort is None:
            raise LinkError("joint_states carry no efforts: nothing tells what the tool holds")
        return (q.mean(axis=0), effort.mean(axis=0)), np.maximum(effort.std(axis=0), EFFORT_SD_FLOOR * effort_limit)

    client.wait_holding()
    if not options.absolute:
        if not options.yes:
            _answer("Take everything out of the tool, and your hands away. Then press Enter: ")
        empty, _ = at_rest()
        _answer("Now put the payload in, and take your hands away. Then press Enter: ")
    loaded, sd = at_rest()
    share = 0.0 if options.absolute else MODEL_SHARE
    return weigh_by_effort(RigidBody(arm.description), loaded, empty, sd, effort_limit, tuple(options.com), model_share=share)
